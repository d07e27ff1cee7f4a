"""A run is replayed from its journal: a journal that leaves out or relabels episodes is none."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surepath
from faults import tabular
from flaky import Gauge, Walk
from forging import entry, forged, with_entry
from surepath.inference.independence import Dependence
from surepath.journal.database import Journal
from surepath.journal.rows import PILOT, Origin, Row
from surepath.prepare.replay import _not_made_again, replay
from surepath.results.verify import verify as verify_readings
from surepath.system import Actions

# ---------------------------------------------------------------- what is replayed

SYSTEMS: list[tuple[str, Any, dict[str, Any]]] = [
    ("symbols", Walk(), {}),
    ("vectors", Gauge(), {"features": "linear"}),
    ("kernel", Gauge(), {"budget": 600}),
    ("summaries", tabular(), {}),
    ("moments", surepath.make("gaussian", horizon=3, states=3, seed=1), {}),
    ("future", surepath.make("overcomplete", horizon=4), {"future": 2}),
    ("proved", tabular(), {"guarantee": "proved", "budget": 3000}),
    ("stopped", Walk(), {"budget": 50}),
    ("stopped at once", Walk(), {"budget": 1}),
    ("environment", "FrozenLake-v1", {"horizon": 3, "budget": 500}),
    ("box", "CartPole-v1", {"horizon": 3, "budget": 500}),
]


@pytest.mark.parametrize(("name", "system", "how"), SYSTEMS, ids=[each[0] for each in SYSTEMS])
def test_a_run_ends_again_as_it_did(
    name: str, system: Any, how: dict[str, Any], tmp_path: Path
) -> None:
    result = surepath.learn(system, journal=tmp_path / "a.db", **how)
    found = surepath.verify(tmp_path / "a.db")
    assert found.differences == ()
    assert found.taken == (), name
    assert found.certified == result.certified


def test_what_was_told_is_replayed_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with surepath.AskTell(2, 2, n_observations=2, journal=tmp_path / "a.db") as loop:
        while requests := loop.ask():
            loop.tell([answer(request, rng) for request in requests])
        assert loop.result().certified
    found = surepath.verify(tmp_path / "a.db")
    assert (found.differences, found.taken) == ((), ())
    with Journal(tmp_path / "a.db") as journal:
        assert {row.origin for row in journal.rows()} == {Origin.GIVEN}


def answer(request: surepath.Request, rng: np.random.Generator) -> surepath.Episodes:
    seen = rng.integers(2, size=(request.count, min(len(request.actions) + 1, 2)))
    paid = np.tile(np.array(request.actions) * 0.5, (request.count, 1))
    return surepath.Episodes(request.actions, seen, paid)


def test_rows_of_a_pilot_say_so(tmp_path: Path) -> None:
    surepath.learn(Gauge(), journal=tmp_path / "a.db", budget=600)
    with Journal(tmp_path / "a.db") as journal:
        origins = {(row.batch >= PILOT, row.origin) for row in journal.rows()}
    assert origins == {(True, Origin.PILOT), (False, Origin.ASKED)}


def test_what_cannot_be_replayed_is_said_with_the_reason(tmp_path: Path) -> None:
    surepath.learn(Gauge(), features=lambda x: x[:, :2], journal=tmp_path / "a.db")
    found = surepath.verify(tmp_path / "a.db")
    assert found.certified
    assert any("asked for just these" in each and "lambda" in each for each in found.taken)
    path = tmp_path / "b.db"
    surepath.learn(Walk(), journal=path)
    configuration, result = entry(path, "configuration"), entry(path, "result")
    configuration["engine"] = result["call"]["engine"] = 1
    with_entry(path, "configuration", configuration)
    with_entry(path, "result", result)
    found = surepath.verify(path)
    assert found.certified
    assert [each for each in found.taken if "engine 1" in each]


def test_nothing_is_run_or_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    surepath.learn(Walk(), journal=path)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nothing may be run")

    monkeypatch.setattr(Walk, "play", refuse)
    monkeypatch.setattr("surepath.prepare.systems._from_factory", refuse)
    monkeypatch.setattr("surepath.prepare.systems._environment", refuse)
    assert surepath.verify(path).certified


# ---------------------------------------------------------------- what a forger tries


class Tossed:
    """Begins in one of two states, by chance: what is read at one step tells of the next."""

    horizon, n_actions, n_observations = 2, 2, 2
    identity = {"system": "tossed"}  # noqa: RUF012

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> surepath.Episodes:
        start = rng.integers(2, size=(n, 1))
        paid = np.tile(np.array(actions) * 0.5, (n, 1))
        steps = min(len(actions) + 1, self.horizon)
        return surepath.Episodes(actions, np.tile(start, (1, steps)), paid)


def test_doubts_cannot_be_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even with the certificate that the same run would have had without them."""
    path = tmp_path / "a.db"
    assert surepath.learn(Tossed(), journal=path, delta=1e-6).certificate.doubts
    with monkeypatch.context() as patched:
        for name in ("doubt", "warning"):
            patched.setattr(Dependence, name, lambda _: "")
        assert surepath.learn(Tossed(), journal=path, delta=1e-6).certified
        assert surepath.verify(path).certified
    derived = verify_readings(path)
    assert not derived.agrees
    assert any(each.startswith("doubts") for each in derived.differences)


@pytest.mark.parametrize(
    ("name", "value"), [("gap", 0.5), ("delta", 0.3), ("norm", 2.0), ("radius", 0.1)]
)
def test_terms_follow_from_the_call(name: str, value: float, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    surepath.learn(Walk(), journal=path)
    result = entry(path, "result")
    result["certificate"]["terms"][name] = value
    with_entry(path, "result", result)
    found = surepath.verify(path)
    assert not found.agrees
    assert any(each.startswith(f"{name}: the terms say") for each in found.differences)


def test_another_call_is_not_the_one_that_asked(tmp_path: Path) -> None:
    """Journal, result and terms all say another delta, as if the run had been called with it."""
    path = tmp_path / "a.db"
    surepath.learn(Walk(), journal=path)
    other = tmp_path / "b.db"
    surepath.learn(Walk(), journal=other, delta=0.4)
    forged_from(path, other)
    assert not surepath.verify(path).agrees


def forged_from(path: Path, other: Path) -> None:
    """Give a journal the entries of another."""
    for key in ("configuration", "result"):
        with_entry(path, key, entry(other, key))


def relabel(database: sqlite3.Connection) -> None:
    """Everything after the first batches becomes a pilot, which no prefix counts."""
    database.execute(
        f"UPDATE readings SET batch = batch + {PILOT}, origin = 'pilot' WHERE batch > 2"
    )


def drop(database: sqlite3.Connection) -> None:
    database.execute("DELETE FROM readings WHERE batch = (SELECT max(batch) FROM readings)")


def shorten(database: sqlite3.Connection) -> None:
    database.execute("UPDATE readings SET origin = 'fresh 1 1' WHERE batch = 1")


@pytest.mark.parametrize("change", [relabel, drop, shorten])
def test_every_row_is_one_that_was_asked_for(
    change: Callable[[sqlite3.Connection], None], tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    surepath.learn(Walk(), journal=path)
    forged(path, change)
    assert not surepath.verify(path).agrees
    with Journal(path) as journal:
        assert replay(journal).differences


def test_what_readings_do_not_show_is_compared_with_the_replayed_run(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    surepath.learn(Walk(), journal=path, budget=100)
    result = entry(path, "result")
    result["usage"]["rounds"] += 1
    with_entry(path, "result", result)
    assert verify_readings(path).agrees
    found = surepath.verify(path)
    assert found.differences == (
        f"usage.rounds: the file says {result['usage']['rounds']}, and it is "
        f"{result['usage']['rounds'] - 1}",
    )


def test_true_episodes_that_suit_a_plan_are_not_a_run(tmp_path: Path) -> None:
    """Episodes are left out, and everything else is what a run with the rest would have written.

    Readings and result fit each other. Only the run shows that it would have gone on.
    """
    path, rest = tmp_path / "a.db", tmp_path / "b.db"
    surepath.learn(Walk(), journal=path)
    with Journal(path) as journal:
        held = list(journal.rows())
    half = max(row.batch for row in held) // 2

    kept = [row for row in held if row.batch <= half or row.batch % 2]
    with Journal(rest, entry(path, "configuration")) as journal:
        journal.add([replace_batch(row, number) for number, row in enumerate(kept)])
        journal.put("result", entry(path, "result"))
    with Journal(rest) as journal:
        assert replay(journal).differences


def replace_batch(row: Row, number: int) -> Row:
    return Row(number, 0, 0, row.readings, row.origin)


def test_a_problem_as_large_as_no_file_may_ask_for_is_not_made() -> None:
    sizes = {"problem": "tabular", "states": 3, "seed": 2**40}
    assert _not_made_again({**sizes, "horizon": 3}) == ""
    assert "horizon 2.15e+09 is larger" in _not_made_again({**sizes, "horizon": 2**31})

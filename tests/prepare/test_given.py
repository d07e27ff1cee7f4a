"""Episodes from before: evidence for what is proposed, recorded, and never fresh."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surepath
from surepath.errors import InputError, JournalError
from surepath.journal.database import Journal
from surepath.journal.export import export
from surepath.journal.rows import GIVEN, Origin
from surepath.prepare.given import Given
from surepath.results.verify import verify

SIZES: dict[str, Any] = {"horizon": 3, "states": 3, "observations": 4, "seed": 2}


class Single:
    """A problem as a system of single episodes."""

    def __init__(self, seed: int = 2) -> None:
        inner = surepath.make("tabular", **{**SIZES, "seed": seed})
        self.horizon, self.n_actions = inner.horizon, inner.n_actions
        self.n_observations, self.rollout, self.optimum = (
            inner.n_observations,
            inner.rollout,
            inner.optimum,
        )


def log(count: int, seed: int = 9) -> list[surepath.Episodes]:
    system, rng = Single(), np.random.default_rng(seed)
    return [system.rollout(each, count, rng) for each in product(range(2), repeat=3)]


@pytest.mark.parametrize("guarantee", ["calibrated", "proved"])
def test_what_was_read_before_is_not_read_again(tmp_path: Path, guarantee: str) -> None:
    bare = surepath.learn(Single(), guarantee=guarantee)
    path = tmp_path / "run.db"
    how: dict[str, Any] = {"guarantee": guarantee, "data": log(40)}
    told = surepath.learn(Single(), journal=path, **how)
    assert told.certified
    assert told.actions == bare.actions
    assert told.episodes < bare.episodes
    assert told.usage.given_episodes == 8 * 40
    assert told.usage.given_steps == 3 * 8 * 40
    found = surepath.verify(path)
    assert found.certified
    assert not found.taken
    told.save(tmp_path / "run.json")
    assert verify(tmp_path / "run.json").certified
    with Journal(path) as journal:
        rows = list(journal.rows())
    given = [row for row in rows if row.origin is Origin.GIVEN]
    assert {row.batch for row in given} == {GIVEN}
    assert sum(row.readings.count for row in given) == 320
    fresh = [row for row in rows if row.origin is Origin.FRESH]
    assert bool(fresh) == (guarantee == "proved")


def test_a_run_that_was_given_episodes_is_continued(tmp_path: Path) -> None:
    whole = surepath.learn(Single(), data=log(10), separation=0.2)
    path = tmp_path / "run.db"
    first = surepath.learn(Single(), data=log(10), separation=0.2, journal=path, budget=30)
    assert not first.certified
    assert first.episodes <= 30
    # The journal has them: they need not be given twice, and no others may be.
    assert surepath.learn(Single(), separation=0.2, journal=path) == whole
    assert surepath.learn(Single(), data=log(10), separation=0.2, journal=path) == whole
    with pytest.raises(JournalError, match="data"):
        surepath.learn(Single(), data=log(11), separation=0.2, journal=path)


def test_given_episodes_that_were_changed_are_found(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    surepath.learn(Single(), data=log(10), journal=path)
    with Journal(path) as journal:
        configuration, said = journal.configuration, journal.get("result")
        rows = [row for row in journal.rows() if not (row.batch == GIVEN and row.request == 3)]
    forged = tmp_path / "forged.db"
    with Journal(forged, configuration) as journal:
        journal.add(rows)
        journal.put("result", said)
    assert not surepath.verify(forged).agrees


@pytest.mark.parametrize("ending", ["db", "csv", "parquet"])
def test_files_of_earlier_runs(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "earlier.db"
    earlier = surepath.learn(Single(), journal=path, seed=5)
    if ending != "db":
        with Journal(path) as journal:
            export(journal, path.with_suffix(f".{ending}"))
    given = Given.of(str(path.with_suffix(f".{ending}")), Single(), 3)
    assert given.episodes == earlier.episodes
    again = surepath.learn(Single(), data=[path.with_suffix(f".{ending}"), *log(1)])
    assert again.certified
    assert again.usage.given_episodes == earlier.episodes + 8
    assert again.episodes < earlier.episodes


def test_vectors_of_a_table_are_those_of_the_system(tmp_path: Path) -> None:
    problem = surepath.make("gaussian", horizon=3, states=3, dimension=3, seed=1)

    class Vectors:
        horizon, n_actions, dimension = problem.horizon, problem.n_actions, 3
        rollout = staticmethod(problem.rollout)

    path = tmp_path / "earlier.db"
    surepath.learn(Vectors(), features="linear", journal=path, budget=300)
    with Journal(path) as journal:
        export(journal, path.with_suffix(".csv"))
    one, other = (Given.of(path.with_suffix(e), Vectors(), 3) for e in (".db", ".csv"))
    assert one.episodes == other.episodes
    both = [
        sum(each.observations.sum(axis=0)[0] for each in given.readings) for given in (one, other)
    ]
    assert np.allclose(*both)


def test_longer_episodes_are_cut_to_the_horizon() -> None:
    given = Given.of(log(4), Single(), 2)
    assert {len(each.actions) for each in given.readings} == {2}
    assert {each.observations.shape for each in given.readings} == {(4, 2)}


# ---------------------------------------------------------------- what is refused


def test_what_is_no_data_is_refused(tmp_path: Path) -> None:
    for data, message in (
        (3.5, "is a file, or episodes"),
        ([], "holds no episodes"),
        ("nowhere.csv", "no such file"),
        ([surepath.Episodes((7,), np.zeros((2, 2)), np.zeros((2, 1)))], "the system's actions"),
        ([surepath.Episodes((1,), np.zeros((2, 1)), np.zeros((2, 1)))], "an observation before"),
        ([surepath.Episodes((1,), np.zeros((2, 2)), np.full((2, 1), 7.0))], "rewards must lie"),
    ):
        with pytest.raises(InputError, match=message):
            surepath.learn(Single(), data=data)
    with pytest.raises(InputError, match="adaptive schedule"):
        surepath.learn("lock", 3, schedule="tight", data=log(1))


ROWS = [
    {"episode": 0, "step": 0, "action": 1, "reward": 0.5, "o0": 2},
    {"episode": 0, "step": 1, "action": 0, "reward": 0.0, "o0": 1},
    {"episode": 0, "step": 2, "action": "", "reward": "", "o0": 3},
]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_log_of_ones_own(tmp_path: Path) -> None:
    given = Given.of(written(tmp_path / "log.csv", ROWS), Single(), 3)
    (episodes,) = given.readings
    assert isinstance(episodes, surepath.Episodes)
    assert episodes.actions == (1, 0)
    assert episodes.observations.tolist() == [[2, 1, 3]]
    assert episodes.rewards.tolist() == [[0.5, 0.0]]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"step": 5}, "step 5 after 1"),
        ({"step": "\x1b[31m=1+1"}, "step is"),
        ({"reward": "x" * 10_000}, "reward is"),
        ({"action": 0.5}, "action 0.5"),
        ({"kind": "counts"}, "counts"),
        ({"o0": "one"}, "o0 is"),
    ],
)
def test_a_table_that_is_none_is_refused_in_few_words(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    rows = [{"kind": "episode", **row} for row in ROWS]
    rows[1] = {**rows[1], **changed}
    with pytest.raises(InputError, match="one row for each step") as refused:
        Given.of(written(tmp_path / "log.csv", rows), Single(), 3)
    text = str(refused.value)
    assert said in text
    assert len(text) < 1000
    assert "\x1b" not in text


def test_other_files_are_no_tables(tmp_path: Path) -> None:
    for name, content in (("a.csv", b"\x00\xff\x00"), ("a.parquet", b"PAR1 not really")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError):
            Given.of(tmp_path / name, Single(), 3)

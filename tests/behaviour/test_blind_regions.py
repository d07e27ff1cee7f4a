"""Regions that a pilot misses: they are seen once they are read, and every run sees the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

import surepath
from caverns import Cavern, Nook, outlook
from surepath.asktell import AskTell
from surepath.bench.families.judging import Trial, judge
from surepath.results.result import Result
from surepath.results.verify import verify
from surepath.run.seeds import generator
from surepath.system import Episodes


def learn(system: Any = None, **options: Any) -> Result:
    chosen = {"features": outlook(), "future": 1, **options}
    return surepath.learn(system or Nook(1), **chosen)


def content(result: Result) -> dict[str, Any]:
    """All of a result, its readings too; but not what it cost to repeat lost work."""
    saved = result.saved()
    saved["usage"].update(retries=0, replaced=0)
    return saved


def is_false(system: Cavern, result: Result) -> bool:
    """Whether the certificate claims more than is true."""
    tolerance = result.certificate.tolerance
    loss = system.best() - system.value(result.actions)
    return tolerance is not None and loss > tolerance + 1e-9


def test_the_run_says_that_landmarks_were_added() -> None:
    result = learn()
    note = result.certificate.notes[-1]
    assert "landmarks were added, the first after" in note
    assert result.certified
    assert not is_false(Nook(1), result)


def test_a_place_that_stays_out_of_sight_refuses_the_certificate(tmp_path: Path) -> None:
    result = learn(features=outlook(16, most=16), budget=3000)
    assert result.certificate.status == "refused"
    assert "far from all landmarks" in result.certificate.doubts[0]
    assert result.interval == (0.0, 4.0)
    result.save(tmp_path / "result.json")
    assert verify(tmp_path / "result.json").agrees


def test_features_of_a_pilot_grow_too(tmp_path: Path) -> None:
    system = Cavern(2)
    features = surepath.KernelFeatures("rbf", components=24)
    result = surepath.learn(system, features=features, seed=2, journal=tmp_path / "run.db")
    assert "approximated by 24 landmarks" in result.certificate.notes[0]
    assert "landmarks were added, the first after" in result.certificate.notes[-1]
    assert result.certified
    assert not is_false(system, result)
    assert verify(tmp_path / "run.db").agrees


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    whole = content(learn())
    for budget in (100, 300, 600, 900):
        learn(journal=tmp_path / "run.db", budget=budget)
    assert content(learn(journal=tmp_path / "run.db")) == whole
    assert verify(tmp_path / "run.db").agrees


def test_processes_find_the_same() -> None:
    assert content(learn(workers=2)) == content(learn())


def test_ask_and_tell_find_the_same(tmp_path: Path) -> None:
    def told(loop: AskTell, batch: int, most: int) -> int:
        while (requests := loop.ask()) and batch < most:
            answers: list[Episodes] = []
            for index, request in enumerate(requests):
                noise = generator(0, batch, index)
                answers.append(Nook(1).rollout(request.actions, request.count, noise))
            loop.tell(answers)
            batch += 1
        return batch

    sizes = {"horizon": 4, "n_actions": 3, "dimension": 2}
    options = {**sizes, "features": outlook(), "future": 1, "journal": tmp_path / "run.db"}
    with AskTell(**options) as loop:
        batch = told(loop, 0, 12)
    with AskTell(**options) as loop:
        told(loop, batch, 10**6)
        found, alone = content(loop.result()), content(learn())
    calls = [each.pop("call") for each in (found, alone)]
    assert found == alone
    assert calls[0]["system"] != calls[1]["system"]  # one does not know what it asks


def test_places_closer_than_the_kernel_is_wide_are_told_apart() -> None:
    """Through landmarks alone it saw two of the last places as one, and did not end."""
    run = judge(Trial("blind regions", seed=102, delta=0.2))
    assert run.certified
    assert not run.false


@pytest.mark.slow
def test_no_more_certificates_are_false_than_delta_allows() -> None:
    systems = [Cavern(seed) for seed in range(100)]
    results = [surepath.learn(system, seed=i, delta=0.05) for i, system in enumerate(systems)]
    wrong = sum(map(is_false, systems, results))
    certified = sum(result.certified for result in results)
    assert certified >= 90
    assert wrong <= binom.ppf(0.999, certified, 0.05)

"""How the settings of rivals are chosen."""

from __future__ import annotations

import pytest

from surepath.bench.harness import rival_tuning as tuning
from surepath.bench.harness.attempt import Trace, Trial
from surepath.bench.harness.rivals import Settings
from surepath.bench.harness.runs import Crew
from traces import SMALL, trace


def test_settings_are_chosen_on_training_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, hasty, never = ((("batch", 1),), (("batch", 2),), (("batch", 3),))
    good, refused = trace((900, 0.0)), Trace((), (), 0, stopped=False, refused="no")
    ends = {
        slow: lambda _: good,
        hasty: lambda seed: trace((20, 0.0 if seed % 2 else 0.1)),  # right in half of its runs
        never: lambda _: refused,
    }

    def fake(trial: Trial) -> Trace:
        assert trial.seed >= tuning.TRAINING
        assert trial.stage.parameters["seed"] == trial.seed
        return ends[trial.settings](trial.seed)

    monkeypatch.setattr(tuning, "attempt", fake)
    monkeypatch.setattr(tuning, "settings_of", lambda *_: (never, hasty, slow))

    def chosen() -> Settings:
        return tuning.tune(Crew(), ["UCT"], SMALL, 1000, 4, "small")["UCT"][0]

    assert chosen() == slow  # what is right in the end comes before what is sometimes right soon
    ends[slow] = lambda _: trace((5, 0.7))
    assert chosen() == hasty
    ends[hasty] = ends[slow]
    assert chosen() == hasty  # the first that could be run


def test_who_was_never_right_is_tried_on_no_more_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[str]()

    def fake(trial: Trial) -> Trace:
        tried.append(trial.method)
        return trace((20, 0.0 if trial.method == "UCT" else 0.1))

    monkeypatch.setattr(tuning, "attempt", fake)
    monkeypatch.setattr(tuning, "settings_of", lambda *_: ((("batch", 1),), (("batch", 2),)))
    found = tuning.tune(Crew(), ["UCT", "LUCB"], SMALL, 1000, 20, "small")
    assert tried.count("UCT") == 2 * 20
    assert tried.count("LUCB") == 2 * 5
    assert len(found["LUCB"]) == 2

"""Adaptive learners that tests drive by hand."""

from __future__ import annotations

from typing import Any

import surepath
from surepath.builtin_problems import Problem
from surepath.learners.adaptive import Adaptive
from surepath.prepare.call import Call
from surepath.prepare.start import start
from surepath.run.runner import summarises
from surepath.run.work import perform, unit_of
from surepath.system import Request


def small(seed: int, **options: Any) -> Problem:
    sizes = {"horizon": 3, "states": 3, "observations": 4, "gap": 0.15}
    return surepath.make("tabular", seed=seed, **{**sizes, **options})


def learner_for(system: Any, *, seed: int = 0, **options: Any) -> Adaptive:
    learner = start(Call.of(system, seed=seed, **options)).learner
    assert isinstance(learner, Adaptive)
    return learner


def play(learner: Adaptive, system: Any, seed: int, order: int = 1) -> list[tuple[Request, ...]]:
    """Run to the end, answering each round in the given direction; all that was asked."""
    asked = list[tuple[Request, ...]]()
    whole = summarises(system, learner.embedding.statistics)
    while requests := learner.ask():
        assert requests == learner.ask()  # asking twice asks the same
        places = list(enumerate(requests))[::order]
        told = {
            i: perform(system, unit_of(system, len(asked), i, request, seed, summary=whole)).done[
                0
            ][1]
            for i, request in places
        }
        learner.tell([told[i] for i in range(len(requests))])
        asked.append(requests)
    return asked

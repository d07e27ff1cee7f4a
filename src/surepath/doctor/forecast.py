"""What a run will take, from the pilot: the run itself, on a system made of the pilot's readings.

The readings of the pilot are sorted into states, as a run sorts them. A stand-in walks these
states, and draws what is read and paid there from what the pilot read and was paid. Where the pilot
has not been, the stand-in goes to some state of the level. How many episodes `learn` takes on it is
the forecast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surepath.doctor.finding import Forecast
from surepath.doctor.looks import likely_machine, states_of
from surepath.doctor.pilot import Pilot
from surepath.errors import InputError
from surepath.inference.states import UNKNOWN, Automaton
from surepath.inference.terms import SEPARATION
from surepath.journal.identity import ATTRIBUTES
from surepath.journal.rows import GIVEN
from surepath.prepare.call import PROVED, Call
from surepath.prepare.start import start
from surepath.results.adaptive_claim import more_episodes
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.run.seeds import choices_beside
from surepath.system import Actions, Declared, Episodes, IntArray

CAP = 30_000
"""Episodes after which a run on the stand-in is stopped, and what it still takes is estimated."""

RUNS = 2
"""Runs on the stand-in, each with noise of its own."""

FACTOR = 2.5
"""How far a forecast may be off either way, in four of five cases, beyond what the runs differ."""


class StandIn:
    """A system made of a pilot's readings."""

    def __init__(self, pilot: Pilot, machine: Automaton, rng: np.random.Generator) -> None:
        self.horizon, self.n_actions = pilot.call.horizon, pilot.call.system.n_actions
        self.last_actions = pilot.call.last_actions
        said = Declared(pilot.call.system)
        self.observation_space = said.observation_space
        for name in ATTRIBUTES - {"latent_dimension", "radius"}:
            if (value := getattr(said, name)) is not None:
                setattr(self, name, value)
        self._pilot = pilot
        self._states = states_of(pilot, machine)
        self._targets = [_filled(machine, level, rng) for level in range(self.horizon)]
        self._read: dict[tuple[int, int], IntArray] = {}
        self._paid: dict[tuple[int, int, int], IntArray] = {}

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        pilot, state = self._pilot, 0
        levels = min(len(actions) + 1, self.horizon)
        rewards = np.zeros((n, len(actions)))
        seen = np.empty((n, levels, *pilot.observations.shape[2:]), pilot.observations.dtype)
        for level in range(levels):
            seen[:, level] = pilot.observations[rng.choice(self._pool(level, state), size=n), level]
            if level < len(actions):
                # At the last step, actions that do not differ are all like the last that does.
                action = min(actions[level], self._targets[level].shape[1] - 1)
                rewards[:, level] = pilot.rewards[
                    rng.choice(self._rewards(level, state, action), size=n), level
                ]
                state = int(self._targets[level][state, action])
        return Episodes(actions, seen, rewards)

    def _pool(self, level: int, state: int) -> IntArray:
        """The episodes of the pilot that were in this state."""
        key = (level, state)
        if key not in self._read:
            self._read[key] = np.flatnonzero(self._states[level] == state)
        return self._read[key]

    def _rewards(self, level: int, state: int, action: int) -> IntArray:
        """Those that took the action there; else anywhere at this level; else any of the level."""
        key = (level, state, action)
        if key not in self._paid:
            took = self._pilot.actions[:, level] == action
            there = np.flatnonzero((self._states[level] == state) & took)
            elsewhere = there if len(there) else np.flatnonzero(took)
            every = np.arange(len(took))
            self._paid[key] = elsewhere if len(elsewhere) else every
        return self._paid[key]


def _filled(machine: Automaton, level: int, rng: np.random.Generator) -> IntArray:
    """Where edges lead; those that nobody has walked lead to some state."""
    target = machine.layers[level].target.copy()
    if level + 1 < machine.horizon:
        unknown = target == UNKNOWN
        target[unknown] = rng.integers(len(machine.layers[level + 1].members), size=unknown.sum())
    return target


@dataclass(frozen=True, slots=True)
class _Ran:
    episodes: float
    steps: float
    finished: bool


def forecasts(pilot: Pilot, step_seconds: float, workers: int) -> tuple[Forecast, ...]:
    """For a calibrated run, and for a proved one where the call allows it."""
    machine = likely_machine(pilot)
    rng = choices_beside(pilot.call.seed, GIVEN, 2**31 + 1)
    system = StandIn(pilot, machine, rng)
    said = pilot.call.declared_separation or SEPARATION
    found = list[Forecast]()
    for guarantee, times in (("calibrated", RUNS), (PROVED, 1)):
        call = _call(pilot, system, guarantee=guarantee, separation=said)
        try:
            ran = [_ran(replace(call, seed=seed)) for seed in range(times)]
        except InputError:
            continue  # no such run is made on this system
        found.append(_forecast(guarantee, ran, step_seconds, workers))
    return tuple(found)


def _call(pilot: Pilot, system: StandIn, **options: Any) -> Call:
    given = {
        name: getattr(pilot.call, name)
        for name in ("future", "delta", "gap", "tolerance", "predict", "return_range")
    }
    return Call.of(
        system,
        features=pilot.features,
        reward_range=pilot.call.rewards,
        budget=CAP,
        **{**given, **options},
    )


def _ran(call: Call) -> _Ran:
    run = start(call, lambda: Runner(call.system, call.seed))
    finished = drive(run.learner, run.task.runner, budget=CAP)
    usage = run.learner.usage
    episodes = float(usage.episodes)
    if not finished:
        judged = getattr(getattr(run.learner, "proposer", run.learner), "judgement", None)
        more = 0.0 if judged is None else more_episodes(judged)
        episodes += more if 0 < more < math.inf else episodes
    return _Ran(episodes, episodes * usage.steps / max(usage.episodes, 1), finished)


def _forecast(guarantee: str, ran: list[_Ran], step_seconds: float, workers: int) -> Forecast:
    logs = np.log([each.episodes for each in ran])
    episodes = float(np.exp(logs.mean()))
    per_episode = sum(each.steps for each in ran) / sum(each.episodes for each in ran)
    steps = episodes * per_episode
    return Forecast(
        guarantee,
        episodes,
        float(np.exp(logs.min())) / FACTOR,
        float(np.exp(logs.max())) * FACTOR,
        steps,
        steps * step_seconds / workers,
        "" if all(each.finished for each in ran) else "; at least: it was not settled by then",
    )

"""What happens when the assumptions do not hold: a refusal is right, a false certificate is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepath.api import learn
from surepath.bench.harness.reasons import by_kind
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import Crew, Outcome, certified_rate, outcome
from surepath.bench.harness.statistics import rate
from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.tabular import Tabular, tabular
from surepath.system import Actions, Episodes, FloatArray, System

BUDGET = 200_000
"""Episodes after which a run that cannot settle anything is stopped."""

Returns = Mapping[Actions, float]
"""Exact expected return of every action sequence."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A system that breaks an assumption, with its truth, and how `learn` is called on it."""

    system: System
    returns: Returns
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Slippery:
    """A machine whose actions sometimes lead to another state: its transitions are random."""

    def __init__(self, machine: Tabular, slip: float) -> None:
        self.machine, self.slip = machine, slip
        self.horizon, self.n_actions = machine.horizon, machine.n_actions
        self.n_observations = machine.n_observations
        self._sums = machine.emissions.cumsum(axis=2)  # [H, S, O]

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        dynamics, levels = self.machine.dynamics, min(len(actions) + 1, self.horizon)
        observations = np.empty((n, levels), dtype=np.int64)
        rewards = np.empty((n, len(actions)))
        states = np.zeros(n, dtype=np.int64)
        for h in range(levels):
            # One uniform number lands on a symbol through the sums of its law.
            observations[:, h] = (rng.random((n, 1)) > self._sums[h, states, :-1]).sum(axis=1)
            if h < len(actions):
                means = dynamics.rewards[h, states, actions[h]]
                rewards[:, h] = rng.random(n) < means
                states = self._moved(dynamics.transitions[h, states, actions[h]], rng)
        return Episodes(actions, observations, rewards)

    def _moved(self, meant: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        other = (meant + rng.integers(1, self.machine.n_states, size=len(meant))) % (
            self.machine.n_states
        )
        return np.where(rng.random(len(meant)) < self.slip, other, meant)

    def expected_return(self, actions: Actions) -> float:
        """Exact, by following the belief over the hidden state."""
        dynamics, n_states = self.machine.dynamics, self.machine.n_states
        belief, total = np.eye(n_states)[0], 0.0
        for h, action in enumerate(actions):
            total += float(belief @ dynamics.rewards[h, :, action])
            meant = np.eye(n_states)[dynamics.transitions[h, :, action]]
            belief = belief @ ((1 - self.slip) * meant + self.slip * (1 - meant) / (n_states - 1))
        return total


def slippery(seed: int, slip: float) -> Broken:
    system = Slippery(_machine(seed), slip)
    return Broken(system, _returns(system.expected_return, system))


def nearly_tied(seed: int, lead: float) -> Broken:
    """On the best path, at a random level, another action does the same but pays a little less."""
    machine, rng = _machine(seed), np.random.default_rng([seed, 1])
    level = int(rng.integers(machine.horizon))
    state, best = machine.path(machine.optimum[0])[level], machine.optimum[0][level]
    other = int((best + rng.integers(1, machine.n_actions)) % machine.n_actions)
    transitions, rewards = machine.dynamics.transitions.copy(), machine.dynamics.rewards.copy()
    transitions[level, state, other] = transitions[level, state, best]
    rewards[level, state, best] = max(rewards[level, state, best], lead)
    rewards[level, state, other] = rewards[level, state, best] - lead
    tied = Tabular(Dynamics(transitions, rewards), machine.emissions)
    return Broken(tied, _returns(tied.expected_return, tied))


def blurred(seed: int, kinds: int) -> Broken:
    """Features that take the symbols together to so many kinds."""
    machine = _machine(seed)
    options = {"features": partial(_kind_of, kinds)}
    return Broken(machine, _returns(machine.expected_return, machine), options)


def _kind_of(kinds: int, symbols: NDArray[Any]) -> FloatArray:
    return np.eye(kinds)[symbols % kinds]


def look_alike(seed: int, twins: float) -> Broken:
    """So many states emit the same at every level, and move and pay differently."""
    machine = _machine(seed)
    emissions = machine.emissions.copy()
    emissions[:, : int(twins)] = emissions[:, :1]
    alike = Tabular(machine.dynamics, emissions)
    return Broken(alike, _returns(alike.expected_return, alike))


def _machine(seed: int) -> Tabular:
    return tabular(horizon=4, states=3, actions=2, observations=4, seed=seed)


def _returns(value: Callable[[Actions], float], system: System) -> Returns:
    sequences = product(range(system.n_actions), repeat=system.horizon)
    return {actions: value(actions) for actions in sequences}


@dataclass(frozen=True, slots=True)
class Row:
    """One way and degree of breaking an assumption."""

    broken: str
    make: Callable[[int, Any], Broken]
    degree: float


ROWS = (
    *(Row(f"slips, {p:.0%}", slippery, p) for p in (0.05, 0.1, 0.2, 0.5)),
    *(Row(f"no gap: {lead:g}", nearly_tied, lead) for lead in (0.004, 0.0004)),
    Row("symbols in 2 kinds", blurred, 2),
    Row("symbols all alike", blurred, 1),
    Row("2 of 3 states alike", look_alike, 2),
    Row("all states alike", look_alike, 3),
)


def run_broken(job: tuple[int, int]) -> Outcome:
    """A row of the table, by number, on an instance: functions do not travel."""
    number, seed = job
    broken = ROWS[number].make(seed, ROWS[number].degree)
    result = learn(broken.system, seed=seed, budget=BUDGET, **broken.options)
    return outcome(result, max(broken.returns.values()) - broken.returns[result.actions])


def broken_assumptions(crew: Crew, instances: int) -> list[Section]:
    played = {
        row.broken: crew.spread(
            run_broken, [(number, seed) for seed in range(instances)], row.broken
        )
        for number, row in enumerate(ROWS)
    }
    return [
        Section(
            f"broken assumptions: {instances} runs a row (H=4, S=3, A=2, O=4), at most "
            f"{BUDGET} episodes. Of the certified, false: worse than the certificate admits",
            ("broken", "certified", "false", "not the best", "refused or warned"),
            [(broken, *_rates(runs)) for broken, runs in played.items()],
        ),
        Section(
            "broken assumptions: what was said most often, as a refusal or a warning",
            ("broken", "runs", "for example"),
            [(broken, *_commonest(runs)) for broken, runs in played.items()],
        ),
    ]


def _rates(runs: list[Outcome]) -> tuple[Cell, ...]:
    certified = [run for run in runs if run.certified]
    warned = sum(bool(run.warnings) for run in certified)
    return (
        certified_rate(runs),
        rate(sum(run.false for run in runs), len(certified)),
        rate(sum(run.wrong for run in runs), len(certified)),
        rate(len(runs) - len(certified) + warned, len(runs)),
    )


def _commonest(played: list[Outcome]) -> tuple[int, str]:
    """The most common kind of refusal or warning, and the first of them in full."""
    said = [run.reason for run in played if not run.certified]
    said += [text for run in played if run.certified for text in run.warnings]
    return by_kind(said)[0] if said else (0, "-")

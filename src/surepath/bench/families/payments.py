"""Rewards that mislead: rare ones, nearly equal ones, late ones, and one that is hard to find."""

from __future__ import annotations

import numpy as np

from surepath.bench.families.case import Case, Family, case_of
from surepath.bench.families.machines import Lottery, drawn, emissions, paid_last
from surepath.builtin_problems.finite import Dynamics, random_dynamics
from surepath.builtin_problems.tabular import Tabular
from surepath.inference.tuning import TUNING
from surepath.system import IntArray

# ---------------------------------------------------------------- lotteries


SURE = 0.05
"""What one action of a jackpot's level pays every time."""


def jackpots(rng: np.random.Generator) -> Case:
    """At every level one action pays a little for certain, the other rarely 1, and more on average.

    The more levels there are, the more likely it is that at one of them the jackpot keeps away for
    as long as it takes to rule it out. Nothing has to be told apart: a level has one state.
    """
    horizon = drawn(8, 32, rng)
    rewards = np.full((horizon, 1, 2), SURE)
    prizes, lucky = rewards.copy(), rng.integers(2, size=horizon)
    levels = np.arange(horizon)
    rewards[levels, 0, lucky] *= rng.uniform(1.2, 1.5)
    prizes[levels, 0, lucky] = 1.0
    stays = Dynamics(np.zeros((horizon, 1, 2), dtype=int), rewards)
    return case_of(Lottery(Tabular(stays, np.ones((horizon, 1, 1))), prizes))


def lottery(rng: np.random.Generator) -> Case:
    """In every state one action pays a little for certain, and another rarely pays 1.

    On a path the rare prizes add up: together they are worth several times what is certain, or a
    fraction of it. As long as none was paid, they look like nothing at all.
    """
    horizon, states = drawn(6, 12, rng), drawn(2, 3, rng)
    chance = rng.uniform(0.01, 0.05)
    certain = chance * rng.choice([0.2, 2.0])
    rewards = np.full((horizon, states, 2), certain)
    prizes = rewards.copy()
    for h, s in np.ndindex(horizon, states):
        action = rng.integers(2)
        rewards[h, s, action], prizes[h, s, action] = chance * rng.uniform(0.8, 1.0), 1.0
    transitions = rng.integers(states, size=rewards.shape)
    laws = emissions(horizon, states, drawn(4, 8, rng), rng.uniform(0.4, 0.6), rng)
    return case_of(Lottery(Tabular(Dynamics(transitions, rewards), laws), prizes))


# ---------------------------------------------------------------- near ties

TOLERANCE = 0.1


def near_ties(rng: np.random.Generator) -> Case:
    """Along the best path other actions do the same and pay a little less.

    One of them loses just less or just more than the tolerance; or one at every level loses less,
    and all together lose more.
    """
    horizon, states, actions = (
        drawn(3, 6, rng),
        drawn(2, 4, rng),
        drawn(2, 3, rng),
    )
    dynamics = random_dynamics(horizon, states, actions, 2 * TOLERANCE, rng)
    laws = emissions(horizon, states, drawn(4, 8, rng), rng.uniform(0.4, 0.6), rng)
    machine = Tabular(dynamics, laws)
    if rng.random() < 0.5:
        levels = [drawn(0, horizon - 1, rng)]
        lead = TOLERANCE * rng.choice([rng.uniform(0.5, 1.0), rng.uniform(1.0, 1.3)])
    else:
        levels, lead = list(range(horizon)), TOLERANCE * rng.uniform(1.1, 1.8) / horizon
    transitions, rewards = dynamics.transitions.copy(), dynamics.rewards.copy()
    for h in levels:
        state, best = machine.path(machine.optimum[0])[h], machine.optimum[0][h]
        other = int((best + rng.integers(1, actions)) % actions)
        transitions[h, state, other] = transitions[h, state, best]
        rewards[h, state, best] = max(rewards[h, state, best], lead)
        rewards[h, state, other] = rewards[h, state, best] - lead
    return case_of(Tabular(Dynamics(transitions, rewards), laws))


# ---------------------------------------------------------------- worst gaps


def worst_gaps(rng: np.random.Generator) -> Case:
    """A decision at each of a few levels, all with gaps that are decided wrongly most often.

    Around the tolerance: much smaller ones cost nothing, larger ones are seen. There is one place
    at every level, so what is false is put down to the rule that rules out ways to leave the plan.
    """
    horizon = drawn(2, 12, rng)
    rewards = np.full((horizon, 1, 2), rng.uniform(0.3, 0.6, (horizon, 1, 1)))
    better = rng.integers(2, size=horizon)
    rewards[np.arange(horizon), 0, better] += rng.uniform(0.05, 0.15, horizon)
    moves = np.zeros(rewards.shape, dtype=np.int64)
    return case_of(Tabular(Dynamics(moves, rewards), np.ones((horizon, 1, 1))))


# ---------------------------------------------------------------- one among equals


TREES = ((1, 25), (2, 5), (2, 8), (3, 3), (3, 5), (6, 2))
"""Levels and actions."""


def one_among_equals(rng: np.random.Generator) -> Case:
    """A tree whose leaves all pay the same, but for one that pays more by about the tolerance.

    Whoever takes the leaf that looks best takes the one that chance has favoured most, and holds
    the better one against that. Every state shows by itself, so nothing is merged wrongly.
    """
    horizon, actions = TREES[int(rng.integers(len(TREES)))]
    states = int(actions ** (horizon - 1))
    transitions = np.zeros((horizon, states, actions), dtype=np.int64)
    for level in range(horizon - 1):
        for state in range(int(actions**level)):
            transitions[level, state] = state * actions + np.arange(actions)
    base = rng.uniform(0.3, 0.85)
    rewards = np.zeros(transitions.shape)
    rewards[-1] = base
    tolerance = TUNING.tolerance * base**0.5  # of rewards that are 0 or 1
    more = min(tolerance * rng.uniform(0.9, 1.3), 1 - base)
    rewards[-1, rng.integers(states), rng.integers(actions)] += more
    laws = np.broadcast_to(np.eye(states), (horizon, states, states))
    return case_of(Tabular(Dynamics(transitions, rewards), laws.copy()))


# ---------------------------------------------------------------- close calls


def close_calls(rng: np.random.Generator) -> Case:
    """A decision at each of many levels, and every one of them is close.

    There is one place at every level, so nothing is merged wrongly. A plan that was chosen by the
    readings takes the wrong side of many decisions, and each costs a small part of the tolerance.
    """
    horizon, actions = drawn(15, 45, rng), drawn(2, 3, rng)
    rewards = np.full((horizon, 1, actions), 0.5)
    lead = TUNING.tolerance * 0.5**0.5 * rng.uniform(0.02, 0.12)
    for level in range(horizon):
        rewards[level, 0, rng.integers(actions)] += lead
    moves = np.zeros(rewards.shape, dtype=np.int64)
    return case_of(Tabular(Dynamics(moves, rewards), np.ones((horizon, 1, 1))))


# ---------------------------------------------------------------- late payoff


def late_payoff(rng: np.random.Generator) -> Case:
    """Many levels without any reward: every one of a long chain of merges has to be right."""
    horizon, states = drawn(10, 20, rng), drawn(2, 4, rng)
    transitions = _permuted(horizon, states, 2, rng)
    laws = emissions(horizon, states, drawn(6, 12, rng), 0.3, rng)
    return case_of(Tabular(paid_last(transitions, rng), laws))


def _permuted(horizon: int, states: int, actions: int, rng: np.random.Generator) -> IntArray:
    """Moves by which no state is lost: an action leads from two states to two states."""
    return np.argsort(rng.random((horizon, actions, states)), axis=2).swapaxes(1, 2)


# ---------------------------------------------------------------- never paid


def never_paid(rng: np.random.Generator) -> Case:
    """Nothing is ever paid but at the end of one sequence, and there sometimes rarely."""
    horizon, actions = drawn(4, 8, rng), drawn(2, 4, rng)
    secret = rng.integers(actions, size=horizon)
    transitions = np.ones((horizon, 2, actions), dtype=np.int64)
    transitions[np.arange(horizon), 0, secret] = 0
    rewards = np.zeros(transitions.shape)
    rewards[-1, 0, secret[-1]] = rng.choice([rng.uniform(0.2, 0.4), rng.uniform(0.4, 1.0)])
    laws = emissions(horizon, 2, drawn(4, 12, rng), 0.3, rng)
    return case_of(Tabular(Dynamics(transitions, rewards), laws))


FAMILIES = (
    Family("lotteries", lottery, 50_000),
    Family("jackpots", jackpots, 100_000),
    Family("near ties", near_ties, 50_000, options={"tolerance": TOLERANCE}),
    Family("worst gaps", worst_gaps, 50_000),
    Family("one among equals", one_among_equals, 50_000),
    Family("close calls", close_calls, 1_000_000, runs=40),
    Family("late payoff", late_payoff, 50_000),
    Family("never paid", never_paid, 50_000),
)

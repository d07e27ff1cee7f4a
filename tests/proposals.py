"""Proposals made by hand or at random, what answers them, and how often something may fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from surepath.inference.attempt import Attempt
from surepath.inference.fresh_block import Counted, Told, Totals
from surepath.inference.proposal import Observed, Proposal, Role, Route, Rules, Sums
from surepath.system import Episodes, FloatArray, steps_of

SURE = 1e-4
"""Chance that a rate which is as large as it may be is taken for a larger one."""

SYMBOLS = Observed("symbols", 3, 0.0, "")
BOUNDED = Observed("bounded", 2, 1.5, "as they are")
NOISY = Observed("noisy", 2, 0.4, "as they are")


def most(rate: float, runs: int) -> int:
    """More of these runs fail with a chance of SURE, if each fails with this rate."""
    return int(stats.binom.isf(SURE, runs, rate))


def rules(**changes: Any) -> Rules:
    """Of the first attempt on a tree, with rewards in [0, 1]."""
    usual = Rules(
        route=Route.TREE,
        rewards=(0.0, 1.0),
        reward_noise=0.5,
        delta=0.2,
        attempt=1,
        shared=False,
        observed=None,
        future=1,
        separation=None,
        norm=None,
        tolerance=0.0,
        gap=None,
    )
    return replace(usual, **changes)


def separated(**changes: Any) -> Rules:
    said = {"route": Route.SEPARATION, "observed": SYMBOLS, "separation": 0.4}
    return rules(**said | changes)


def normed(**changes: Any) -> Rules:
    return rules(**{"route": Route.NORM, "observed": BOUNDED, "norm": 0.5} | changes)


# ---------------------------------------------------------------- machines


def machine(
    said: Rules,
    n_actions: int,
    edges: Sequence[tuple[Role, int]],
    states: tuple[int, ...],
    plan: tuple[int, ...],
    **changes: Any,
) -> Proposal:
    """The proposal with these edges, each with its role and target; nothing is known before."""
    none = Proposal(
        rules=said,
        horizon=len(states),
        n_actions=n_actions,
        states=states,
        role=[role for role, _ in edges],
        target=np.array([target for _, target in edges]),
        radius=np.zeros(len(edges)),
        known=Sums.none(len(edges)),
        plan=plan,
    )
    return replace(none, **changes)


def duel(said: Rules, n_actions: int = 2) -> Proposal:
    """One step: the first action against the others."""
    return machine(said, n_actions, [(Role.ENDS, -1)] * n_actions, (1,), (0,))


def meeting(said: Rules, n_actions: int = 2) -> Proposal:
    """Two steps: all first actions are taken to lead to the state that the first one founds."""
    edges = [(Role.FOUNDS, 0)] + [(Role.MERGES, 0)] * (n_actions - 1)
    edges += [(Role.ENDS, -1)] * n_actions
    return machine(said, n_actions, edges, (1, 1), (0, 0))


def tree(said: Rules, horizon: int, n_actions: int = 2) -> Proposal:
    """No two prefixes are one; the plan is the first action over and over."""
    edges = list[tuple[Role, int]]()
    for level in range(horizon - 1):
        edges += [(Role.FOUNDS, state) for state in range(n_actions ** (level + 1))]
    edges += [(Role.ENDS, -1)] * n_actions**horizon
    states = tuple(n_actions**level for level in range(horizon))
    return machine(said, n_actions, edges, states, (0,) * horizon)


def random_proposal(rng: np.random.Generator, said: Rules, most_states: int = 3) -> Proposal:
    """Any closed machine that the rules allow, with any plan and any guesses."""
    horizon, n_actions = int(rng.integers(said.future, 5)), int(rng.integers(1, 4))
    edges, states, plan = list[tuple[Role, int]](), [1], list[int]()
    radius, here = list[float](), 0
    for level in range(horizon):
        size = states[-1] * n_actions
        plan.append(int(rng.integers(n_actions)))
        own = here * n_actions + plan[-1]
        if level + 1 == horizon:
            edges += [(Role.ENDS, -1)] * size
            radius += [0.0] * size
            continue
        merges = said.route is not Route.TREE and level + 1 + said.future <= horizon
        founders = _founders(rng, said, size, own, merges, most_states)
        found = {edge: state for state, edge in enumerate(founders)}
        for edge in range(size):
            top = said.bounded and (not merges or rng.random() < 0.3) and edge != own
            if edge in found:
                edges.append((Role.FOUNDS, found[edge]))
            else:
                state = int(rng.integers(len(founders)))
                edges.append((Role.TOP, -1) if top else (Role.MERGES, state))
            merged = edges[-1][0] is Role.MERGES and said.norm is not None
            radius.append(float(rng.uniform(0.1, 0.5)) if merged else 0.0)
        here = edges[own - size][1]
        states.append(len(founders))
    count = rng.integers(0, 4, size=len(edges)).astype(float)
    total = np.array([rng.integers(0, n + 1) for n in count], dtype=float)
    return machine(
        said,
        n_actions,
        edges,
        tuple(states),
        tuple(plan),
        radius=np.array(radius),
        known=Sums(count, total, total.copy()),
    )


def _founders(
    rng: np.random.Generator, said: Rules, size: int, own: int, merges: bool, most_states: int
) -> list[int]:
    """The edges that found a state; the plan's own where it must."""
    everyone = not merges and not said.bounded  # nothing may be merged or left out
    number = size if everyone else int(rng.integers(1, min(size, most_states) + 1))
    chosen = [int(each) for each in rng.permutation(size)[:number]]
    if own not in chosen and (not merges or said.route is Route.NORM):
        chosen[0] = own
    return chosen


def paths_of(proposal: Proposal) -> Iterator[list[int]]:
    """Every path through the machine, by its edges, one by one."""

    def on(level: int, state: int) -> Iterator[list[int]]:
        for action in range(proposal.n_actions):
            edge = proposal.edge(level, state, action)
            target = int(proposal.target[edge])
            if target < 0:
                yield [edge]
            else:
                yield from ([edge, *rest] for rest in on(level + 1, target))

    yield from on(0, 0)


# ---------------------------------------------------------------- readings


def totals_of(observed: Observed | None) -> Totals | None:
    if observed is None:
        return None
    if observed.type == "symbols":
        return lambda sample: np.bincount(sample, minlength=observed.size).astype(float)  # type: ignore[arg-type]
    return lambda sample: np.asarray(sample, dtype=float).sum(axis=0)


def random_episodes(
    proposal: Proposal, actions: tuple[int, ...], count: int, rng: np.random.Generator
) -> Episodes:
    """The plan pays well and all else does not; what is seen hardly depends on anything."""
    plan, said = set(proposal.plan_edges), proposal.rules
    rewards = np.full((count, len(actions)), 0.3)
    for step, edge in enumerate(proposal.walk(actions)):
        rewards[:, step] = 0.9 if edge in plan else 0.1
    rewards = (rng.random(rewards.shape) < rewards).astype(float)
    shape = (count, steps_of(actions, proposal.horizon))
    if said.observed is None or said.observed.type == "symbols":
        size = 1 if said.observed is None else said.observed.size
        seen = rng.choice(size, p=np.eye(size)[0] * 0.8 + 0.2 / size, size=shape)
        return Episodes(actions, seen, rewards)
    return Episodes(actions, rng.uniform(0.4, 0.6, size=(*shape, said.observed.size)), rewards)


def answered(
    proposal: Proposal, requests: Counted, rng: np.random.Generator
) -> tuple[list[Told], list[Episodes]]:
    raw = [random_episodes(proposal, actions, n, rng) for actions, n in requests]
    totals = totals_of(proposal.rules.observed)
    return [Told.of(each, totals, proposal.horizon) for each in raw], raw


def paid(actions: tuple[int, ...], rewards: FloatArray, seen: Any = None) -> Told:
    """Rewards [n, L] of one request, and what was counted or summed up at each step."""
    sums = zip(rewards.sum(axis=0), (rewards**2).sum(axis=0), strict=True)
    return Told(actions, len(rewards), [(float(s), float(q)) for s, q in sums], seen)


def passes(attempt: Attempt) -> bool:
    """Whether every path is ruled out by now."""
    return bool(np.isinf(attempt.paths.least))

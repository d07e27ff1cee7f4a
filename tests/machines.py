"""Machines and tries made by hand or read off a problem, for the tests of the adaptive schedule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from surepath.builtin_problems import Problem
from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.gaussian import GaussianReadings
from surepath.features import Linear, OneHot
from surepath.inference.states import UNKNOWN, Automaton, Edge, Layer, Shape
from surepath.readings.columns import Grouped, TrieColumns
from surepath.readings.digests import Cloud
from surepath.readings.embedding import CloudEmbedding
from surepath.readings.trie import Node, Tally
from surepath.system import Actions, Episodes, Request, RewardMoments


class Raw:
    """A problem as a user's own system: single episodes only, and no oracle."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.horizon, self.n_actions = problem.horizon, problem.n_actions
        self.n_observations = problem.n_observations
        self.reward_noise = problem.reward_noise

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        return self._problem.rollout(actions, n, rng)


def fan(width: int = 14) -> GaussianReadings:
    """Every first action leads to a state of its own; the last ones are worth most.

    Values are linear in what is seen there, almost without noise: some states are expanded, and
    say what the others are worth.
    """
    place = np.arange(width + 1) / width
    transitions = np.zeros((2, width + 1, width), dtype=np.int64)
    transitions[0, 0] = np.arange(width) + 1
    rewards = np.full((2, width + 1, width), 0.5)
    rewards[1] = place[:, None] * np.linspace(0.2, 0.9, width)
    signatures = np.stack([place, 1 - place], axis=1)[None].repeat(2, axis=0)
    return GaussianReadings(Dynamics(transitions, rewards), signatures, noise=0.001)


# ---------------------------------------------------------------- tries read off a problem


def features_of(problem: Problem) -> OneHot | Linear:
    if problem.n_observations is None:
        return Linear(problem.dimension)
    return OneHot(problem.n_observations)


def shape_of(problem: Problem, future: int = 1) -> Shape:
    features = features_of(problem)
    symbols = isinstance(features, OneHot)
    return Shape(problem.horizon, problem.n_actions, features.dimension, symbols, future)


def read_trie(
    problem: Problem,
    count: int,
    rng: np.random.Generator,
    sequences: Iterable[Actions] | None = None,
) -> Node:
    """The trie after `count` episodes of each sequence; of all full ones when none are named."""
    embedding = CloudEmbedding(features_of(problem), problem.n_actions)
    root = Node()
    for actions in sequences or product(range(problem.n_actions), repeat=problem.horizon):
        observed = range(min(len(actions) + 1, problem.horizon))
        request = Request(tuple(actions), count, observed, range(len(actions)))
        answer = problem.summarise(request, rng)
        digests = embedding.read(answer, observed)
        node = root
        node.absorb(digests[0])
        for level, action in enumerate(actions):
            node = node.child(action)
            node.rewards.add(answer.rewards[level])
            if level + 1 < problem.horizon:
                node.absorb(digests[level + 1])
    return root


# ---------------------------------------------------------------- tries made by hand


def coins(count: int, mean: float) -> RewardMoments:
    """So many rewards of 0 and 1 with this mean."""
    return RewardMoments(count, mean, count * mean * (1 - mean))


def symbols(*counts: int) -> Cloud:
    """Readings of a discrete observation: how often each symbol was seen."""
    total = np.array(counts, dtype=float)
    return Cloud(int(total.sum()), total, np.diag(total))


def written_trie(entries: Mapping[Actions, tuple[Cloud | None, RewardMoments | None]]) -> Node:
    """The trie with these observations and rewards at each prefix."""
    root = Node()
    for prefix, (cloud, rewards) in entries.items():
        node = root
        for action in prefix:
            node = node.child(action)
        node.digest = cloud
        node.rewards = Tally()
        if rewards is not None:
            node.rewards.add(rewards)
    return root


# ---------------------------------------------------------------- machines made by hand


def random_machine(
    rng: np.random.Generator,
    horizon: int,
    n_actions: int,
    most_states: int,
    counts: Sequence[int] = (5,),
) -> Automaton:
    """Random reward means and targets; every state can be reached, every edge was read.

    The number of readings of each edge is drawn from `counts`; where it is 0, its end is not known.
    """
    layers = list[Layer]()
    prefixes: list[Actions] = [()]
    for level in range(horizon):
        shape = (len(prefixes), n_actions)
        count = rng.choice(counts, size=shape).astype(float)
        target = np.full(shape, UNKNOWN)
        following = list[Actions]()
        if level + 1 < horizon:
            known = [edge for edge in np.ndindex(shape) if count[edge] > 0]
            for i in rng.permutation(len(known)):
                new = not following or (len(following) < most_states and rng.random() < 0.5)
                target[known[i]] = len(following) if new else rng.integers(len(following))
                if new:
                    following.append((*prefixes[known[i][0]], known[i][1]))
        layers.append(
            Layer(
                prefixes,
                count,
                np.where(count > 0, rng.random(shape), 0.0),
                np.where(count > 0, 0.2 * count, 0.0),
                target,
            )
        )
        prefixes = following
    return Automaton(layers, n_actions)


def paths_from(machine: Automaton, level: int, state: int) -> Iterator[tuple[Edge, ...]]:
    """Every path from a state to the end, by its edges."""
    if level == machine.horizon:
        yield ()
        return
    for action in range(machine.n_actions):
        following = int(machine.layers[level].target[state, action])
        for rest in paths_from(machine, level + 1, following):
            yield ((state, action), *rest)


def follow(machine: Automaton, actions: Actions) -> list[Edge]:
    """The edges that the actions pass, as far as their ends are known."""
    edges, state = list[Edge](), 0
    for level, action in enumerate(actions):
        if state == UNKNOWN:
            break
        edges.append((state, action))
        state = int(machine.layers[level].target[state, action])
    return edges


def one_state(tallies: list[RewardMoments]) -> Automaton:
    """A single state of so many nodes, and what its one action paid at each of them."""
    root = Node()
    for action, tally in enumerate(tallies):
        root.child(action).child(0).rewards.add(tally)
    columns, zeros = TrieColumns(root), np.zeros((1, 1))
    one = np.arange(len(tallies)), np.zeros(len(tallies), dtype=int)
    here, below = (Grouped(columns.level(level), *one) for level in (1, 2))
    return Automaton([Layer([()], zeros, zeros, zeros, zeros.astype(int), here, below)], 1)

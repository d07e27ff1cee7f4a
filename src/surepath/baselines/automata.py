"""Learning an automaton by AALpy, and planning in it.

From random episodes: IOAlergia (Mao, Chen, Jaeger, Nielsen, Larsen and Nielsen, "Learning
deterministic probabilistic automata from a model checking perspective", Machine Learning 105, 2016)
merges states of the tree of everything that was read, where their futures are statistically alike.
The result is a stochastic Mealy machine whose outputs are here what is read and paid; it is solved
by dynamic programming. In such a machine the next state follows from the output, so that noise of
sensors makes states.

By queries: L* for such machines (Tappler, Muskardin, Aichernig and Pill, "Active Model Learning of
Stochastic Reactive Systems", SEFM 2021) chooses every input by the outputs before it, so it acts in
the system itself instead of asking for sequences.

Muskardin, Aichernig, Pill, Pferscher and Tappler, "AALpy: an active automata learning library"
(Innovations in Systems and Software Engineering 18, 2022).
"""

# The package is loaded when it is used, and has few types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import random
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from surepath.baselines.openloop import Blind
from surepath.builtin_problems.base import Problem
from surepath.errors import InputError, MissingExtraError
from surepath.learners.base import Answer, Asking
from surepath.readings.embedding import VectorEmbedding
from surepath.results.usage import shorten
from surepath.system import Actions, Episodes, FloatArray, Request
from surepath.validate import between, whole

CHAOS = "chaos"
"""What L* has a machine say where it knows nothing yet."""

MOST_REWARDS = 16
"""Different rewards that can be outputs of a machine."""


class _Unsummed(Blind):
    """Every episode as it was read: a machine is learned from what follows what."""

    statistics = ()


class Alergia(Asking):
    """Draws `episodes` random sequences, learns a machine from them, and plans in it.

    eps: of the Hoeffding test by which states are compared; a larger one merges less.
    """

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        episodes: int,
        *,
        eps: float = 0.05,
        seed: int = 0,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        super().__init__(horizon, n_actions, VectorEmbedding(_Unsummed(), n_actions), reward_range)
        self.eps = between("eps", eps, 0, 2)
        self.states = 0  # of the machine, once there is one
        rng = np.random.default_rng(whole("seed", seed, least=0))
        drawn = rng.integers(n_actions, size=(whole("episodes", episodes, least=1), horizon))
        levels = range(horizon)
        self._pending = tuple(
            Request(tuple(actions), 1, levels, levels) for actions in drawn.tolist()
        )

    def status(self) -> dict[str, str]:
        return {
            "episodes": f"{self.usage.episodes:.3g}",
            "incumbent": shorten(self.incumbent, 12) or "-",
        }

    def _advance(self, answers: list[Answer] | None) -> None:
        machine = learned([_trace(answer.raw) for answer in answers or ()], self.eps)
        self.states = len(machine)
        self.incumbent = planned(machine, self.horizon, self.n_actions)
        self.plan = ()


def _trace(episode: Any) -> list[Any]:
    """Inputs with their outputs: an action, and what is read after it and paid for it."""
    assert isinstance(episode, Episodes)  # no statistic was allowed for
    if episode.observations.ndim != 2 or episode.observations.dtype.kind not in "iu":
        raise InputError(
            "an automaton is learned from symbols",
            got=f"readings of shape {episode.observations.shape[2:]}",
            remedy="Use a method for vectors.",
        )
    seen = [*episode.observations[0, 1 : len(episode.actions)].tolist(), -1]
    paid = episode.rewards[0].tolist()
    return list(zip(episode.actions, zip(seen, paid, strict=True), strict=True))


Machine = Mapping[int, Mapping[int, list[tuple[int, float, float]]]]
"""By state and action: next state, probability and reward; the first state is where it begins."""


def learned(traces: list[list[Any]], eps: float) -> Machine:
    """The machine that AALpy learns from traces."""
    rewards = {output[1] for trace in traces for _, output in trace}
    if len(rewards) > MOST_REWARDS:
        raise InputError(
            "an automaton is learned from few different rewards",
            got=f"{len(rewards)} different ones, where {MOST_REWARDS} can be outputs",
            remedy="Use a method for real rewards.",
        )
    try:
        from aalpy.learning_algs import run_Alergia
    except ImportError as error:
        raise MissingExtraError("aalpy", "rivals", "Alergia") from error
    found: Any = run_Alergia(traces, automaton_type="smm", eps=eps, print_info=False)
    return machine_of(found)


def machine_of(found: Any) -> Machine:
    """A stochastic Mealy machine of AALpy as data."""
    ordered = [found.initial_state, *(s for s in found.states if s is not found.initial_state)]
    places = {id(state): place for place, state in enumerate(ordered)}
    return {
        place: {
            int(action): [
                (places[id(after)], float(probability), 0.0 if output == CHAOS else output[1])
                for after, output, probability in ways
            ]
            for action, ways in state.transitions.items()
        }
        for place, state in enumerate(ordered)
    }


def planned(machine: Machine, horizon: int, n_actions: int) -> Actions:
    """The actions that are best on average over where the machine may be by then."""
    q = np.zeros((horizon + 1, len(machine), n_actions))
    for level in range(horizon - 1, -1, -1):
        best = q[level + 1].max(axis=1)
        for state, ways in machine.items():
            for action, after in ways.items():
                q[level, state, action] = sum(p * (paid + best[s]) for s, p, paid in after)
    likely: FloatArray = np.eye(len(machine))[0]
    actions = list[int]()
    for level in range(horizon):
        actions.append(int((likely @ q[level]).argmax()))
        following = np.zeros(len(machine))
        for state in np.flatnonzero(likely).tolist():
            for after, probability, _ in machine[state].get(actions[-1], []):
                following[after] += likely[state] * probability
        likely = following
    return tuple(actions)


# ---------------------------------------------------------------- by queries


class _SpentError(Exception):
    """All steps are spent."""


def lstar(problem: Problem, cap: int, seed: int, *, rounds: int, walk: int) -> tuple[int, Actions]:
    """Steps that so many rounds of L* take, and the plan of the machine; none if the cap is less.

    walk: steps of the random walk that looks for a difference after every round.
    """
    try:
        from aalpy.base import SUL
        from aalpy.learning_algs import run_stochastic_Lstar
        from aalpy.oracles import RandomWalkEqOracle
    except ImportError as error:
        raise MissingExtraError("aalpy", "rivals", "lstar") from error

    class Acted(SUL):  # type: ignore[misc]
        """The problem, one action at a time. After its last level nothing is read or charged."""

        def __init__(self) -> None:
            super().__init__()
            self.rng, self.steps = np.random.default_rng(seed), 0

        def pre(self) -> None:
            self.level, self.state = 0, problem.start
            self.steps += 1

        def post(self) -> None:
            """Nothing to give back."""

        def step(self, letter: int) -> tuple[int, float]:
            if self.level == problem.horizon:
                return -1, 0.0
            law = problem.reward_law(self.level, self.state, letter)
            paid = float(law.draw(1, self.rng)[0])
            self.state = problem.move(self.level, self.state, letter)
            self.level += 1
            if self.level == problem.horizon:
                return -1, paid
            self.steps += 1
            if self.steps > cap:
                raise _SpentError
            seen = problem.observation_law(self.level, self.state).draw(1, self.rng)
            return int(seen[0]), paid

    system, letters = Acted(), list(range(problem.n_actions))
    oracle = RandomWalkEqOracle(letters, system, num_steps=walk, reset_prob=1 / problem.horizon)
    with _seeded(seed):
        try:
            found: Any = run_stochastic_Lstar(
                letters, system, oracle, automaton_type="smm", min_rounds=1, max_rounds=rounds,
                print_level=0,
            )  # fmt: skip
        except _SpentError:
            return cap, ()
    return system.steps, planned(machine_of(found), problem.horizon, problem.n_actions)


@contextmanager
def _seeded(seed: int) -> Generator[None]:
    """AALpy draws from Python's global state: it is put back as it was."""
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)

"""The methods that surepath is compared with, and the settings that each may be given.

Rivals have constants; each lists the settings it may be given, and gets the one that serves it best
on training instances. All are asked and told in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from surepath.baselines.agnostic import AgnosticQ
from surepath.baselines.arms import Lucb, SequentialHalving
from surepath.baselines.automata import Alergia, lstar
from surepath.baselines.crossentropy import CrossEntropy
from surepath.baselines.goexplore import GoExplore
from surepath.baselines.merging import Merging, true_separation
from surepath.baselines.olop import Olop
from surepath.baselines.outside import NOISY_CHOICES, CatCma, Nevergrad, OptunaTpe
from surepath.baselines.propagation import Propagation
from surepath.baselines.told import ToldElimination, ToldHalving, ToldLucb
from surepath.baselines.uct import Uct
from surepath.bench.harness.arena import Arena, Stage, arena_of
from surepath.builtin_problems.base import Problem
from surepath.builtin_problems.finite import FiniteProblem
from surepath.errors import InputError
from surepath.features import Custom, Features
from surepath.learners.base import Asking
from surepath.run.runner import Runner
from surepath.system import Actions, Declared

Settings: TypeAlias = tuple[tuple[str, Any], ...]
"""Names and values, in a form that can be a key."""

Builder: TypeAlias = Callable[..., Asking]


class Acted(NamedTuple):
    """What came of a method that does not ask for sequences, but acts in the system itself."""

    steps: int
    actions: Actions  # its plan; empty where it has none


@dataclass(frozen=True, slots=True)
class Rival:
    """How to build a competing method, and the settings it is tuned over."""

    build: Callable[[Arena, int, int, Mapping[str, Any]], tuple[Asking, Runner] | Acted]
    # arena, cap, seed, settings
    settings: tuple[Settings, ...] = ((),)
    settings_of: Callable[[Arena], tuple[Settings, ...]] | None = None
    told: str = ""  # what it is told that nobody tells surepath


def grid(**values: Sequence[Any]) -> tuple[Settings, ...]:
    """All combinations of the values."""
    return tuple(tuple(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


def _open_loop(
    kind: Builder, arena: Arena, cap: int, seed: int, settings: Mapping[str, Any]
) -> tuple[Asking, Runner]:
    """Methods that look at rewards only."""
    given = dict(settings)
    if "share" in given:  # of the cap: the episodes of a method that has to know them
        given["episodes"] = max(1, int(given.pop("share") * cap / arena.horizon))
    system = arena.system
    made = kind(
        arena.horizon, system.n_actions, seed=seed, reward_range=arena.reward_range, **given
    )
    return made, Runner(system, seed)


def _embedded(
    kind: Callable[[Arena, Features, Mapping[str, Any]], Asking],
    arena: Arena,
    cap: int,  # noqa: ARG001 - as all builders
    seed: int,
    settings: Mapping[str, Any],
) -> tuple[Asking, Runner]:
    """Methods on mean embeddings: of the features that ours takes, which are paid for likewise."""
    task = arena.task(seed)
    features, paid = cast(Features, task.features), 0
    if not isinstance(arena.system, Problem):
        features, paid = _at_length_one(features, arena, seed), LENGTHS
    learner = kind(arena, features, settings)
    learner.usage.episodes, learner.usage.steps = task.episodes + paid, task.steps + paid
    return learner, task.runner


LENGTHS = 16
"""Readings of the start by which features are brought to length 1."""


def _at_length_one(features: Features, arena: Arena, seed: int) -> Features:
    """Features as long as those of the built-in problems, which rivals' constants are made for.

    An environment's readings are scaled by the bounds of their space and may be tiny.
    """
    read = arena.system.rollout((), LENGTHS, np.random.default_rng(seed)).observations[:, 0]
    length = float(np.linalg.norm(features.rows(read).mean(axis=0)))
    return Custom(lambda observations: features.rows(observations) / length, features.dimension)


def _merging(arena: Arena, features: Features, settings: Mapping[str, Any]) -> Asking:
    """Told how far apart the states look, where there are states."""
    apart = SEPARATION
    if isinstance(arena.system, FiniteProblem):
        apart = true_separation(arena.system)
    told: dict[str, Any] = {"separation": apart, **settings}
    return Merging(
        arena.horizon,
        arena.system.n_actions,
        features,
        reward_range=arena.reward_range,
        **told,
    )


def _merging_settings(arena: Arena) -> tuple[Settings, ...]:
    """Where states can be listed it is told how far apart they look; elsewhere that is tuned."""
    samples = (16, 24, 32, 64, 128, 256)
    if isinstance(arena.system, FiniteProblem):
        return grid(samples=samples)
    return grid(samples=samples, separation=(0.1, 0.4))


def _agnostic(arena: Arena, features: Features, settings: Mapping[str, Any]) -> Asking:
    return AgnosticQ(
        arena.horizon, arena.system.n_actions, features, reward_range=arena.reward_range, **settings
    )


def _propagation(arena: Arena, features: Features, settings: Mapping[str, Any]) -> Asking:
    """Told the norm where the problem knows it; where nobody does, one that excludes little."""
    try:
        norm = arena.system.norm if isinstance(arena.system, Problem) else UNKNOWN_NORM
    except InputError:
        norm = UNKNOWN_NORM
    return Propagation(
        arena.horizon,
        arena.system.n_actions,
        features,
        norm=norm,
        reward_range=arena.reward_range,
        **settings,
    )


def _goexplore(arena: Arena, cap: int, seed: int, settings: Mapping[str, Any]) -> Any:
    """On the mean readings of the features that ours takes."""

    def kind(arena: Arena, features: Features, settings: Mapping[str, Any]) -> Asking:
        return GoExplore(
            arena.horizon,
            arena.system.n_actions,
            features,
            seed=seed,
            reward_range=arena.reward_range,
            **settings,
        )

    return _embedded(kind, arena, cap, seed, settings)


def _lstar(arena: Arena, cap: int, seed: int, settings: Mapping[str, Any]) -> Acted:
    problem = _known(arena, "symbols and few rewards that it can be given one by one")
    bounded = math.isfinite(problem.reward_range[1])
    if Declared(problem).n_observations is None or not bounded:
        raise InputError(
            "an automaton is learned from symbols",
            got="readings or rewards that are real numbers",
            remedy="Use a method for these.",
        )
    return Acted(*lstar(problem, cap, seed, **settings))


def _known(arena: Arena, what: str) -> Problem:
    if not isinstance(arena.system, Problem):
        raise InputError(
            f"only a built-in problem has {what}",
            got="an environment",
            remedy="Use a method that is told nothing.",
        )
    return arena.system


def _told(
    kind: Builder, arena: Arena, cap: int, seed: int, settings: Mapping[str, Any]
) -> tuple[Asking, Runner]:
    """Methods that know which prefixes lead to the same state."""
    problem = _known(arena, "states that can be told")
    knowing = partial(_with_states, kind, problem)
    return _open_loop(knowing, arena, cap, seed, settings)


def _with_states(kind: Builder, problem: Problem, *sizes: int, **options: Any) -> Asking:
    return kind(*sizes, problem.start, problem.move, **options)


SEPARATION = 0.2
"""What counts as apart where nobody can say, unless it is tuned."""

UNKNOWN_NORM = 100.0
"""Ten times what a value can be at the horizons used here, for features of length 1."""

BATCH = 4
"""How often a sequence is played before the next is chosen: once would take the bench days."""

SHARES = (1.0, 1 / 4, 1 / 16, 1 / 64)
"""Of the cap: what a method is told that has to know its episodes in advance."""

RIVALS: Mapping[str, Rival] = {
    "state merging": Rival(partial(_embedded, _merging), settings_of=_merging_settings),
    "agnostic Q": Rival(
        partial(_embedded, _agnostic), grid(samples=(32, 64, 128), threshold=(1.0, 1.4))
    ),
    "propagation": Rival(
        partial(_embedded, _propagation), grid(samples=(128, 512), slack=(0.05, 0.1))
    ),
    "OLOP": Rival(
        partial(_open_loop, partial(Olop, kl=False)),
        grid(share=SHARES, constant=(0.1, 0.25, 1.0, 4.0), batch=(BATCH,)),
    ),
    "KL-OLOP": Rival(
        partial(_open_loop, partial(Olop, kl=True)),
        grid(share=SHARES, constant=(0.1, 0.25, 0.5, 1.0, 2.0), batch=(BATCH,)),
    ),
    "sequential halving": Rival(partial(_open_loop, SequentialHalving), grid(share=SHARES)),
    "LUCB": Rival(partial(_open_loop, Lucb), grid(batch=(BATCH, 32))),
    "UCT": Rival(partial(_open_loop, Uct), grid(exploration=(0.3, 0.6, 1.4), batch=(BATCH,))),
    "cross-entropy": Rival(
        partial(_open_loop, CrossEntropy),
        grid(population=(30, 100, 300), smoothing=(0.1, 0.5), batch=(BATCH,)),
    ),
    "CatCMA": Rival(partial(_open_loop, CatCma), grid(batch=(BATCH, 32))),
    "nevergrad": Rival(
        partial(_open_loop, Nevergrad),
        grid(
            optimizer=(NOISY_CHOICES, "NoisyDiscreteOnePlusOne", "DoubleFastGADiscreteOnePlusOne"),
            batch=(8, 32),
        ),
    ),
    "Optuna": Rival(partial(_open_loop, OptunaTpe), grid(batch=(16, 64))),
    "Go-Explore": Rival(_goexplore, grid(width=(0.25, 0.5, 1.0), batch=(4, 16), repeat=(0.0, 0.3))),
    "ALERGIA": Rival(
        partial(_open_loop, Alergia), grid(share=(1 / 2, 1 / 8, 1 / 32), eps=(0.005, 0.05, 0.5))
    ),
    "stochastic L*": Rival(_lstar, grid(rounds=(5, 20, 80), walk=(100, 1000))),
    "halving, told equality": Rival(
        partial(_told, ToldHalving), grid(share=SHARES), told="which prefixes are one state"
    ),
    "LUCB, told equality": Rival(
        partial(_told, ToldLucb),
        grid(width=(0.01, 0.05, 0.2, 1.0), batch=(BATCH,)),
        told="which prefixes are one state",
    ),
    "elimination, told states": Rival(
        partial(_told, ToldElimination),
        grid(width=(0.02, 0.1, 0.3, 1.0), batch=(BATCH,)),
        told="the states and where actions lead",
    ),
}
"""All but recurrent PPO, which is trained for minutes and stands apart."""

UNTOLD = tuple(method for method, rival in RIVALS.items() if not rival.told)
"""Those that know no more than surepath."""


def settings_text(settings: Settings) -> str:
    """Settings for people."""
    return ", ".join(f"{name}={value}" for name, value in settings) or "-"


def settings_of(method: str, stage: Stage) -> tuple[Settings, ...]:
    """What a rival may be given on this system."""
    rival = RIVALS[method]
    return rival.settings if rival.settings_of is None else rival.settings_of(arena_of(stage))

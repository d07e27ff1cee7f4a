"""The methods that surepath is compared with, and the settings that each may be given.

Rivals have constants; each lists the settings it may be given, and gets the one that serves it best
on training instances. All are asked and told in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, TypeAlias, cast

import numpy as np

from surepath.baselines.agnostic import AgnosticQ
from surepath.baselines.arms import Lucb, SequentialHalving
from surepath.baselines.crossentropy import CrossEntropy
from surepath.baselines.merging import Merging, true_separation
from surepath.baselines.olop import Olop
from surepath.baselines.outside import NOISY_CHOICES, CatCma, Nevergrad
from surepath.baselines.propagation import Propagation
from surepath.baselines.uct import Uct
from surepath.bench.harness.arena import Arena, Stage, arena_of
from surepath.builtin_problems.base import Problem
from surepath.builtin_problems.finite import FiniteProblem
from surepath.errors import InputError
from surepath.features import Custom, Features
from surepath.learners.base import Asking
from surepath.run.runner import Runner

Settings: TypeAlias = tuple[tuple[str, Any], ...]
"""Names and values, in a form that can be a key."""

Builder: TypeAlias = Callable[..., Asking]


@dataclass(frozen=True, slots=True)
class Rival:
    """How to build a competing method, and the settings it is tuned over."""

    build: Callable[[Arena, int, int, Mapping[str, Any]], tuple[Asking, Runner]]  # cap, seed
    settings: tuple[Settings, ...] = ((),)
    settings_of: Callable[[Arena], tuple[Settings, ...]] | None = None


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
}
"""All that are asked and told; recurrent PPO acts in an environment and stands apart."""


def settings_text(settings: Settings) -> str:
    """Settings for people."""
    return ", ".join(f"{name}={value}" for name, value in settings) or "-"


def settings_of(method: str, stage: Stage) -> tuple[Settings, ...]:
    """What a rival may be given on this system."""
    rival = RIVALS[method]
    return rival.settings if rival.settings_of is None else rival.settings_of(arena_of(stage))

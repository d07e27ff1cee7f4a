"""One run of any method on any system, watched: what it would have answered after every step.

All methods are asked and told in the same way and charged in the same way: a step is an observation
read, looked at or not. Rivals have constants; each lists the settings it may be given, and gets the
one that serves it best on training instances. Ours has none: it is called as anybody would call it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, product
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from surepath.adapters.gym import as_system
from surepath.baselines.agnostic import AgnosticQ
from surepath.baselines.arms import Lucb, SequentialHalving
from surepath.baselines.crossentropy import CrossEntropy
from surepath.baselines.merging import Merging, true_separation
from surepath.baselines.olop import Olop
from surepath.baselines.outside import NOISY_CHOICES, CatCma, Nevergrad
from surepath.baselines.propagation import Propagation
from surepath.baselines.uct import Uct
from surepath.bench.harness.runs import Crew, Instance
from surepath.bench.harness.worlds import Case
from surepath.bench.suites.rivals import DELTA
from surepath.builtin_problems.base import Problem
from surepath.builtin_problems.finite import FiniteProblem
from surepath.errors import InputError
from surepath.features import Custom, Features
from surepath.learners.base import Asking
from surepath.prepare.adaptive import AdaptiveRun
from surepath.prepare.call import Call
from surepath.prepare.task import Task, plan_task
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.system import Actions, FloatArray, System

OURS = "surepath"

EXACT = 1e-9
"""Losses up to this are rounding."""

WANTED = 0.95
"""Share of runs that are to be right."""

Settings: TypeAlias = tuple[tuple[str, Any], ...]
"""Names and values, in a form that can be a key."""


@dataclass(frozen=True, slots=True)
class Arena:
    """A system to be tried, and what its plans are worth."""

    system: System
    horizon: int
    best: float
    value: Callable[[Actions], float]  # expected return of a whole sequence
    options: Mapping[str, Any]  # for `learn`
    reward_range: tuple[float, float]

    def loss(self, actions: Actions) -> float:
        """Of a plan; what is missing of it is filled with zeros, as `learn` does."""
        return self.best - self.value(actions + (0,) * (self.horizon - len(actions)))


def arena_of(stage: Instance | Case) -> Arena:
    if isinstance(stage, Instance):
        problem = stage.build()
        best = problem.oracle.value
        return Arena(
            problem, problem.horizon, best, problem.expected_return, {}, problem.reward_range
        )
    world = stage.build()
    options = dict(world.options)
    paid = options.get("reward_range", (0.0, 1.0))
    system = as_system(world.noisy, world.horizon)
    return Arena(system, world.horizon, world.best, world.returns, options, paid)


@dataclass(frozen=True, slots=True)
class Trial:
    """One run."""

    stage: Instance | Case
    method: str
    settings: Settings
    cap: int  # most steps
    seed: int


@dataclass(frozen=True, slots=True)
class Trace:
    """How a run went: from these steps on its answer lost so much."""

    steps: tuple[int, ...]  # ascending
    losses: tuple[float, ...]
    total: int  # steps when it ended
    stopped: bool  # by itself, before the cap
    certified: bool = False
    refused: str = ""  # why it could not be run

    def exact_at(self, steps: float) -> bool:
        """Whether its answer after so many steps was an optimal plan."""
        index = bisect_right(self.steps, steps) - 1
        return index >= 0 and self.losses[index] <= EXACT


@dataclass(slots=True)
class Watch:
    """Notes the incumbent's loss whenever it changes."""

    arena: Arena
    steps: list[int] = field(default_factory=list[int])
    losses: list[float] = field(default_factory=list[float])
    _last: Actions | None = None
    _known: dict[Actions, float] = field(default_factory=dict[Actions, float])

    def __call__(self, learner: Asking) -> None:
        self.note(learner.usage.steps, learner.incumbent)

    def note(self, steps: int, actions: Actions) -> None:
        if actions == self._last:
            return
        self._last = actions
        if actions not in self._known:
            self._known[actions] = self.arena.loss(actions)
        loss = self._known[actions]
        if not self.losses or loss != self.losses[-1]:
            self.steps.append(steps)
            self.losses.append(loss)

    def trace(self, total: int, *, stopped: bool, certified: bool = False) -> Trace:
        return Trace(tuple(self.steps), tuple(self.losses), total, stopped, certified)


# ---------------------------------------------------------------- the methods

Builder: TypeAlias = Callable[..., Asking]


@dataclass(frozen=True, slots=True)
class Method:
    """A rival: how to build it, and the settings it is tuned over."""

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
    task = _task(arena, seed)
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


def _task(arena: Arena, seed: int) -> Task:
    return plan_task(Call.of(arena.system, arena.horizon, delta=DELTA, seed=seed, **arena.options))


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

RIVALS: Mapping[str, Method] = {
    "state merging": Method(partial(_embedded, _merging), settings_of=_merging_settings),
    "agnostic Q": Method(
        partial(_embedded, _agnostic), grid(samples=(32, 64, 128), threshold=(1.0, 1.4))
    ),
    "propagation": Method(
        partial(_embedded, _propagation), grid(samples=(128, 512), slack=(0.05, 0.1))
    ),
    "OLOP": Method(
        partial(_open_loop, partial(Olop, kl=False)),
        grid(share=SHARES, constant=(0.1, 0.25, 1.0, 4.0), batch=(BATCH,)),
    ),
    "KL-OLOP": Method(
        partial(_open_loop, partial(Olop, kl=True)),
        grid(share=SHARES, constant=(0.1, 0.25, 0.5, 1.0, 2.0), batch=(BATCH,)),
    ),
    "sequential halving": Method(partial(_open_loop, SequentialHalving), grid(share=SHARES)),
    "LUCB": Method(partial(_open_loop, Lucb), grid(batch=(BATCH, 32))),
    "UCT": Method(partial(_open_loop, Uct), grid(exploration=(0.3, 0.6, 1.4), batch=(BATCH,))),
    "cross-entropy": Method(
        partial(_open_loop, CrossEntropy),
        grid(population=(30, 100, 300), smoothing=(0.1, 0.5), batch=(BATCH,)),
    ),
    "CatCMA": Method(partial(_open_loop, CatCma), grid(batch=(BATCH, 32))),
    "nevergrad": Method(
        partial(_open_loop, Nevergrad),
        grid(
            optimizer=(NOISY_CHOICES, "NoisyDiscreteOnePlusOne", "DoubleFastGADiscreteOnePlusOne"),
            batch=(8, 32),
        ),
    ),
}
"""All that are asked and told; recurrent PPO acts in an environment and stands apart."""


def told(settings: Settings) -> str:
    """Settings for people."""
    return ", ".join(f"{name}={value}" for name, value in settings) or "-"


def lock(horizon: int) -> Instance:
    return Instance("lock", {"horizon": horizon, "actions": 4})


def settings_of(method: str, stage: Instance | Case) -> tuple[Settings, ...]:
    """What a rival may be given on this system."""
    rival = RIVALS[method]
    return rival.settings if rival.settings_of is None else rival.settings_of(arena_of(stage))


# ---------------------------------------------------------------- a run


def attempt(trial: Trial) -> Trace:
    """Run a trial. A method that cannot be used on the system says why."""
    arena = arena_of(trial.stage)
    if trial.method == OURS:
        return _ours(arena, trial)
    watch = Watch(arena)
    try:
        rival = RIVALS[trial.method]
        learner, runner = rival.build(arena, trial.cap, trial.seed, dict(trial.settings))
        stopped = drive(learner, runner, steps=trial.cap, watch=watch)
    except InputError as error:
        return Trace((), (), 0, stopped=False, refused=f"{error.what}: {error.got}")
    return watch.trace(learner.usage.steps, stopped=stopped)


def _ours(arena: Arena, trial: Trial) -> Trace:
    run = AdaptiveRun.of(_task(arena, trial.seed))
    watch = Watch(arena)
    finished = drive(run.learner, run.task.runner, steps=trial.cap, watch=watch)
    result = run.result()
    watch.note(result.steps, result.actions)
    return watch.trace(result.steps, stopped=finished, certified=result.certified)


# ---------------------------------------------------------------- many runs


def checkpoints(cap: int, per_octave: int = 4) -> tuple[float, ...]:
    """Steps at which runs are compared, the cap last."""
    count = math.ceil(per_octave * math.log2(cap / 8))
    return tuple(cap * 2 ** (-k / per_octave) for k in range(count, -1, -1))


def success(traces: Sequence[Trace], steps: Sequence[float]) -> list[float]:
    """Share of the runs whose answer was optimal after so many steps."""
    return right(traces, steps).mean(axis=0).tolist()


def right(traces: Sequence[Trace], steps: Sequence[float]) -> NDArray[np.bool_]:
    """Whether each run's answer was optimal after so many steps: [runs, steps]."""
    return np.array([[trace.exact_at(s) for s in steps] for trace in traces])


def steps_to(traces: Sequence[Trace], cap: int, wanted: float = WANTED) -> float:
    """The first checkpoint from which on the share stays as wanted; infinity if there is none."""
    points = checkpoints(cap)
    return _first_lasting(points, right(traces, points).mean(axis=0), wanted)


def _first_lasting(points: Sequence[float], shares: FloatArray, wanted: float) -> float:
    missed = np.flatnonzero(shares < wanted)
    first = missed[-1] + 1 if len(missed) else 0
    return points[first] if first < len(points) else math.inf


RESAMPLES = 1000
"""Of the runs, for the interval of a ratio."""


def ratio_interval(ours: Sequence[Trace], theirs: Sequence[Trace], cap: int) -> tuple[float, float]:
    """95 % bootstrap interval of the ratio of steps to 95 % success.

    Runs are resampled in pairs, because both are on the same instance. Whoever does not get there
    within the cap is taken to do so at the cap.
    """
    points = checkpoints(cap)
    both = np.stack([right(ours, points), right(theirs, points)])  # [2, runs, points]
    rng = np.random.default_rng(0)
    ratios = list[float]()
    for _ in range(RESAMPLES):
        chosen = rng.integers(len(ours), size=len(ours))
        mine, other = (
            min(_first_lasting(points, shares, WANTED), cap)
            for shares in both[:, chosen].mean(axis=1)
        )
        ratios.append(mine / other)
    low, high = np.quantile(ratios, (0.025, 0.975)).tolist()
    return low, high


# ---------------------------------------------------------------- the best setting of each


TRAINING = 1000
"""Instances and runs from this seed on choose settings; reports use those from 0."""


FINALISTS = 3
"""Settings of a rival that are tried on all training instances; the others on a quarter of them."""


def tune(
    crew: Crew, methods: Iterable[str], stage: Instance | Case, cap: int, training: int, title: str
) -> dict[str, tuple[Settings, ...]]:
    """The settings of each rival that take the fewest steps on the training instances, best first.

    Where none, or several, are right often enough, those that are right most of the time.
    """
    choice = {method: settings_of(method, numbered(stage, TRAINING)) for method in methods}
    runs: dict[tuple[str, Settings], list[Trace]] = {}
    for first, end in pairwise((0, math.ceil(training / 4), training)):
        trials = [
            Trial(numbered(stage, TRAINING + run), method, settings, cap, TRAINING + run)
            for method, offered in choice.items()
            for settings in offered
            for run in range(first, end)
        ]
        traces = crew.spread(attempt, trials, f"{title}: tuning")
        for trial, trace in zip(trials, traces, strict=True):
            runs.setdefault((trial.method, trial.settings), []).append(trace)
        for method, offered in choice.items():
            merits = {settings: _merit(runs[method, settings], cap) for settings in offered}
            best = sorted(offered, key=lambda settings: merits[settings], reverse=True)
            choice[method] = tuple(best[:FINALISTS])
    return choice


def numbered(stage: Instance | Case, seed: int) -> Instance | Case:
    """An instance of a problem; an environment is the same every time."""
    return stage.numbered(seed) if isinstance(stage, Instance) else stage


def _merit(traces: Sequence[Trace], cap: int) -> tuple[float, float, bool]:
    """Fewest steps first, then success over all checkpoints; what could not be run comes last."""
    mean = float(np.mean(success(traces, checkpoints(cap))))
    return -steps_to(traces, cap), mean, not any(trace.refused for trace in traces)

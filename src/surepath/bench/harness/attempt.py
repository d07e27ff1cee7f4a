"""One run of any method on any system, watched: what it would have answered after every step.

All methods are asked and told in the same way and charged in the same way: a step is an observation
read, looked at or not. Rivals are given settings. Ours has none: it is called as anybody would call
it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from surepath.bench.harness.arena import Arena, Stage, arena_of
from surepath.bench.harness.rivals import RIVALS, Acted, Settings
from surepath.errors import InputError
from surepath.learners.base import Asking
from surepath.prepare.adaptive_run import AdaptiveRun
from surepath.run.driver import drive
from surepath.system import Actions

OURS = "surepath"

EXACT = 1e-9
"""Losses up to this are rounding."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run."""

    stage: Stage
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


def attempt(trial: Trial) -> Trace:
    """Run a trial. A method that cannot be used on the system says why."""
    arena = arena_of(trial.stage)
    if trial.method == OURS:
        return _ours(arena, trial)
    watch = Watch(arena)
    try:
        rival = RIVALS[trial.method]
        made = rival.build(arena, trial.cap, trial.seed, dict(trial.settings))
        if isinstance(made, Acted):
            watch.note(made.steps, made.actions)
            return watch.trace(made.steps, stopped=bool(made.actions))
        learner, runner = made
        stopped = drive(learner, runner, steps=trial.cap, watch=watch)
    except InputError as error:
        return Trace((), (), 0, stopped=False, refused=f"{error.what}: {error.got}")
    return watch.trace(learner.usage.steps, stopped=stopped)


def _ours(arena: Arena, trial: Trial) -> Trace:
    run = AdaptiveRun.of(arena.task(trial.seed))
    watch = Watch(arena)
    finished = drive(run.learner, run.task.runner, steps=trial.cap, watch=watch)
    result = run.result()
    watch.note(result.steps, result.actions)
    return watch.trace(result.steps, stopped=finished, certified=result.certified)

"""What a call comes down to on its system: features and future, with a pilot if needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from surepath.errors import InputError
from surepath.features import WindowFeatures
from surepath.learners.adaptive import Adaptive
from surepath.prepare.call import Call
from surepath.prepare.features import resolve
from surepath.prepare.future import FutureChoice, choose_future
from surepath.prepare.kernel_features import EXACT_SAMPLES
from surepath.prepare.pilot import Pilot, draw_pilot
from surepath.prepare.resolved import Resolved
from surepath.readings.embedding import Averaged, KernelMap
from surepath.results.usage import Usage
from surepath.run.runner import Runner, summarises

ADAPTIVE_LANDMARKS = 64
"""Landmarks of a kernel in adaptive runs: so few that all covariances of what they see can be
recorded, with those of the numbers beside it."""

RANK_SAMPLES, RAW_RANK_SAMPLES = 10**7, 4000
"""Readings of each prefix when ranks are compared, where the system draws statistics and where it
runs single episodes. The second is also what a node is taken to have where no schedule of the
user's own says it, which decides whether a kernel is used exactly."""


@dataclass(frozen=True, slots=True)
class Task:
    call: Call
    runner: Runner
    psi: Resolved  # the features that were chosen
    future: int
    notes: tuple[str, ...]  # what was chosen on the way, and from what
    episodes: int = 0  # spent on that
    steps: int = 0
    pilot: Pilot | None = None  # where one was drawn; among the above

    @property
    def features(self) -> Averaged:
        return self.psi.features

    def charge(self, usage: Usage) -> None:
        """Begin the account of a run with what the task has cost already."""
        usage.episodes = usage.pilot_episodes = self.episodes
        usage.steps = usage.pilot_steps = self.steps

    def begin(self, learner: Adaptive) -> None:
        """Charge a learner, and tell it what the pilot has read."""
        self.charge(learner.usage)
        if self.pilot is not None:
            learner.begin_with(self.pilot.readings)


def plan_task(call: Call, runner: Runner | None = None) -> Task:
    """Resolve the features and fix the future; `runner` says who runs the episodes this takes."""
    runner = runner or Runner(call.system, call.seed)

    @cache
    def pilot() -> Pilot:
        return draw_pilot(runner, call.horizon, call.budget, call.last_actions)

    own = call.own_schedule
    # Of a kernel that is approximated a named schedule can prove nothing: it is used exactly.
    named = RAW_RANK_SAMPLES if call.adaptive else EXACT_SAMPLES
    samples = named if own is None else own.feature_samples
    landmarks = [ADAPTIVE_LANDMARKS] if call.adaptive else []
    psi = resolve(call.features, call.system, pilot, samples, *landmarks, grow=call.adaptive)
    drawn = pilot() if pilot.cache_info().currsize else None
    spent = drawn.episodes if drawn else 0
    choice = _future(call, runner, psi.features, samples, spent)
    return Task(
        call=call,
        runner=runner,
        psi=psi,
        future=choice.future,
        notes=(f"features: {psi.note}", *([f"future: {choice.reason}"] if choice.reason else [])),
        episodes=choice.episodes + spent,
        steps=choice.steps + (drawn.steps if drawn else 0),
        pilot=drawn,
    )


def _future(
    call: Call, runner: Runner, features: Averaged, samples: int, spent: int
) -> FutureChoice:
    if isinstance(features, WindowFeatures) and call.future in (None, "auto"):
        return FutureChoice(features.future, "as many observations as the features are of")
    if call.future is None or call.future_grows:
        return FutureChoice(1, "")
    if call.future != "auto":
        return FutureChoice(call.future, "")
    if isinstance(features, KernelMap | WindowFeatures):
        raise InputError(
            'future="auto" compares the ranks of finite-dimensional embeddings',
            got="a kernel that is used exactly",
            remedy='Set future to a number, or use KernelFeatures(kernel, "nystroem").',
        )
    if summarises(runner.system, features.statistics):
        samples = RANK_SAMPLES
    left = None if call.budget is None else call.budget - spent
    return choose_future(runner, call.horizon, features, samples=samples, budget=left)

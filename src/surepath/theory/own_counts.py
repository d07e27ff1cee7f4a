"""Certificates by what a run did, instead of what it might have done.

Let failure(n) be what `bounds_at` proves of a schedule if no level is expanded more than n times;
it grows with n. Fix n before the run with failure(n) <= delta, and look at the run only until a
level is to be expanded for the (n + 1)-th time. Up to there it samples at most F(n) embeddings and
R(n) reward means, whatever it reads; the statements about them fail with probability failure(n) at
most, those that are never made not at all. If none fails and the run ended before it was stopped,
its plan is optimal. So a run that ends with at most n expansions a level is wrong with probability
at most delta, and nothing has to be known of the features' dimension, their length or a kernel's
information gain.

A run of `stages` begins with a schedule for few expansions, and begins again, with fresh readings,
for twice as many where a level takes more. Stage j has its own share of delta, the shares add up to
delta, and only the stage that ends makes a claim: the union over stages is all that is paid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from surepath.theory.expansion_bounds import (
    expansion_bound,
    feature_batches,
    has_count,
    largest_count,
    reward_batches,
)
from surepath.theory.schedule import Bounds, Count, Schedule, bounds_at, reward_scale
from surepath.theory.setting import Setting

FIRST = 8
"""Expansions of a level that the first stage is made for, or the dimension where it is smaller.
Readings grow with the square of this number: too small a first stage costs a third of the second,
too large a one costs its square."""

STAGES = 20
"""Stages of a run where nothing is known of the number of expansions: up to 2^22 a level."""

THRESHOLD = 1.25
"""Above 1, so that a second visit of a state is covered by the first one in spite of its noise:
with 1 most states are expanded twice. Noise that (*) allows falls in proportion."""

BIAS = 0.2
"""Share of half the gap that the ridge may shift an estimate by; the rest is left to the noise."""

QUIET = 4.0
"""Ridge in units of the squared length of an embedding's noise, at least: a noise of the ridge's
size makes every visit look new."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A schedule with what it is made for."""

    schedule: Schedule
    most: int | None  # expansions of a level; a run that needs more begins the next stage
    delta: float  # its share of the failure probability


def allowance(schedule: Schedule, setting: Setting, delta: float) -> Bounds | None:
    """The most expansions a level that the schedule can afford, and what they then prove.

    None where it cannot even afford none.
    """
    setting = replace(setting, windows=schedule.windows)

    def at(n: int) -> Bounds:
        return bounds_at(schedule, setting, n, Count.OWN)

    if at(0).failure > delta:
        return None
    return at(largest_count(lambda n: at(n).failure <= delta))


def by_counts(setting: Setting, expansions: int, delta: float) -> Schedule:
    """The smallest samples that prove delta if no level is expanded more often.

    sqrt(lambda) Theta eps is BIAS of Delta / 2, t is the largest that (*) then allows, and delta is
    shared evenly between embeddings and rewards. Embeddings are read at least so often that their
    noise does not look like something new.
    """
    n, half = max(1, expansions), setting.gap / 2
    ridge = (BIAS * half / (setting.norm * THRESHOLD)) ** 2
    t = (1 - 1e-6) * (1 - BIAS) * half / (2 * THRESHOLD * math.sqrt(n) + 1)
    along = setting.noise * setting.norm / t
    f, r = feature_batches(setting, n), reward_batches(setting, n)
    m = 2 * math.log(4 * setting.n_actions * max(f, 1) / delta) * along**2
    quiet = QUIET * setting.continuations * (setting.noise * setting.spread) ** 2 / ridge
    m_reward = 2 * math.log(4 * max(r, 1) / delta) * (reward_scale(setting) / t) ** 2
    return Schedule(
        ridge=ridge,
        threshold=THRESHOLD,
        feature_samples=math.ceil(max(m, quiet, 1)),
        reward_samples=math.ceil(max(m_reward, 1)),
        windows=setting.windows,
        name="tight",
    )


def stages(setting: Setting) -> tuple[Stage, ...]:
    """Schedules for more and more expansions, up to what is known to suffice.

    Each takes half of the delta that is left, the last one all of it.
    """
    count = first = min(FIRST, setting.latent_dimension or setting.window_dimension or FIRST)
    sizes = [first]
    schedule = by_counts(setting, first, setting.delta)
    last = None
    if has_count(setting):
        last = max(1, expansion_bound(setting, schedule.ridge, schedule.threshold))
    while len(sizes) < STAGES and (last is None or sizes[-1] < last):
        count *= 2
        sizes.append(count)
    if last is not None:
        sizes[-1] = min(sizes[-1], last)
    left, found = setting.delta, list[Stage]()
    for number, size in enumerate(sizes, start=1):
        share = left if number == len(sizes) else left / 2
        most = None if number == len(sizes) else size
        found.append(Stage(by_counts(setting, size, share), most, share))
        left -= share
    return tuple(found)


STAGED: Mapping[str, Callable[[Setting], tuple[Stage, ...]]] = {"tight": stages}
"""Schedules by name that a run comes to in stages; the others are as their rule says."""

"""Fixed start and determinism: given the actions, the steps of an episode are independent.

What is read and paid at step i tells of the hidden state at step i. If that is always the same, it
says nothing about what comes later; so, for every step, what is read there is held against all that
follows, among episodes with the same actions (`surepath.inference.independence` has the statistic).
The first step that depends on what follows is the one before which the path forks: at step 0 the
start, later a transition. A slip to a state that the pilot has seen elsewhere is looked for by what
is known of that state (`surepath.doctor.slips`), which finds rarer ones.

Noise that is shared by steps depends on each other too. It is told from a random path by what is
paid: a path that forks changes both what is read and what is paid, a sensor's noise only the first.
Where nothing that is paid depends on anything, this cannot be decided.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from surepath.doctor.finding import DOUBTFUL, Finding, Verdict
from surepath.doctor.pilot import Pilot
from surepath.doctor.slips import slips
from surepath.inference.independence import normal_tail, paired, standardised
from surepath.inference.tuning import TUNING
from surepath.system import FloatArray, IntArray
from surepath.theory.special import chi_square_tail

START = "fixed start, deterministic moves, independent noise"


@dataclass(slots=True)
class _Sum:
    """Dependence found, expected and its variance, over all groups of a kind."""

    found: float = 0.0
    expected: float = 0.0
    variance: float = 0.0

    def add(self, one: FloatArray, other: FloatArray, groups: list[IntArray]) -> None:
        for group in groups:
            if len(group) < TUNING.dependence_batch:
                continue
            mine, theirs = standardised(one[group]), standardised(other[group])
            found, expected, variance = paired(mine, theirs)
            # Readings were scaled to unit length: a group counts by the square of its size, which
            # is where the evidence of a dependence of one strength lies.
            weight = float(len(group)) ** 2
            self.found += weight * found
            self.expected += weight * expected
            self.variance += weight**2 * variance

    def and_also(self, other: _Sum) -> _Sum:
        return _Sum(
            self.found + other.found,
            self.expected + other.expected,
            self.variance + other.variance,
        )

    @property
    def chance(self) -> float:
        """The tail of the chi-square with the same mean and variance."""
        if self.variance <= 0:
            return 1.0
        freedom = 2 * self.expected**2 / self.variance
        return float(chi_square_tail(freedom, self.found * freedom / self.expected))


@dataclass(slots=True)
class _Step:
    """How a step depends on what follows, by what is read and what is paid."""

    read: _Sum = field(default_factory=_Sum)  # what is read, with what is read later
    paid: _Sum = field(default_factory=_Sum)  # anything that involves a reward

    @property
    def chance(self) -> float:
        return self.read.and_also(self.paid).chance


def determinism(pilot: Pilot) -> Finding:
    """Whether the steps of an episode are independent, and which fork where they are not."""
    steps, slipped = _steps(pilot), slips(pilot)
    depends = [min(step.chance, 1.0) for step in steps]
    together = [normal_tail(each.after) for each in slipped]
    # Two tests: of each step with all that follows, and of slips to states that are known.
    chance = 2 * min(len(depends) * min(depends), len(together) * min(together, default=1.0))
    chance = min(1.0, chance)
    verdict = Verdict.of(chance)
    by_step = _by_step(depends, [normal_tail(each.there) for each in slipped])
    data = {"by_step": by_step}
    if verdict is Verdict.HOLDS:
        words = "what is read and paid at a step says nothing about what follows it"
        return Finding(START, words, verdict, chance, data=data)
    # Something depends for certain; of which step it is the first sign may be weaker.
    first = next(i for i, each in enumerate(by_step) if each <= max(DOUBTFUL, min(by_step)))
    kind, words, remedy = _explained(pilot, steps[first], first)
    data |= {"kind": kind, "step": first}
    return Finding(START, words, verdict, chance, remedy, data)


def _by_step(depends: list[float], there: list[float]) -> list[float]:
    """The chance of each step, by both tests; a slip is none of the start."""
    both = [min(1.0, 2 * min(pair)) for pair in zip(depends[1:], there, strict=True)]
    return [depends[0], *both]


def _steps(pilot: Pilot) -> list[_Step]:
    """Groups are as large as they may be: what is read at step j has to do with j actions."""
    rows, paid, horizon = pilot.rows, pilot.rewards, pilot.call.horizon
    found = [_Step() for _ in range(horizon)]
    for later in range(horizon):
        before, after = pilot.groups(later), pilot.groups(later + 1)
        for step in range(later):
            found[step].read.add(rows[step], rows[later], before)
            found[step].paid.add(paid[:, [step]], rows[later], before)
            both = np.column_stack([rows[step], paid[:, step]])
            found[step].paid.add(both, paid[:, [later]], after)
        found[later].paid.add(rows[later], paid[:, [later]], after)
    return found


def _explained(pilot: Pilot, step: _Step, first: int) -> tuple[str, str, str]:
    """What forks, in words, and what to do about it."""
    paid, read = step.paid.chance, step.read.chance
    if first:  # the noise of a sensor would be shared from the first reading on
        return (
            "transition",
            f"the hidden path forks at action {first - 1} (counted from 0): what is read at step "
            f"{first} of the same actions says what comes later, and nothing before it does",
            "That action does not always lead to the same place. Make the move deterministic (turn "
            "off sticky actions and random moves, fix the layout); else the certificate is of the "
            "best fixed sequence, if there is one at all.",
        )
    if paid < DOUBTFUL:
        return (
            "start",
            "the start is random: what is read at step 0 says what is read and paid later",
            "Reset to the same state: fix the layout or the seed of the reset.",
        )
    if _alike(pilot) and read < DOUBTFUL:
        return (
            "noise",
            "the noise of the sensor is shared by steps (an offset, or autocorrelation): readings "
            "of an episode lie on the same side of their means, and what is paid does not depend "
            "on them",
            'Declare shared_noise = True on the system, and use guarantee="proved"; or reset the '
            "sensor before every reading.",
        )
    return (
        "unclear",
        "what is read at step 0 says what is read later, and what is paid does not depend on it: a "
        "random start that pays alike, or noise that is shared by steps. This cannot be told apart",
        "Fix the start first; if the doctor still says so, declare shared_noise = True.",
    )


def _alike(pilot: Pilot) -> bool:
    """Whether features of neighbouring steps lie on the same side of their means, mostly.

    A random path has no reason to; an offset or an autocorrelation of the sensor does that.
    """
    total = size = 0.0
    for step in range(pilot.call.horizon - 1):
        for group in pilot.groups(step + 1):
            if len(group) < TUNING.dependence_batch:
                continue
            one, other = (pilot.rows[h][group] for h in (step, step + 1))
            one, other = one - one.mean(axis=0), other - other.mean(axis=0)
            cross = one.T @ other
            total += float(np.trace(cross))
            size += float(np.sqrt((cross**2).sum() * cross.shape[0]))
    return total > ALIKE * size


ALIKE = 0.3
"""Share of the dependence of neighbouring steps that is of each feature with itself."""

"""Ask and tell: what every learner has in common.

A learner does no input or output. It asks for episodes and is told what they read; whoever drives
it runs them, here or elsewhere.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surepath.errors import InputError
from surepath.inference.threads import one_thread
from surepath.journal.course import Purpose
from surepath.readings.embedding import Embedding
from surepath.results.certificate import Level
from surepath.results.round import Round
from surepath.results.usage import Usage, shorten
from surepath.system import (
    Actions,
    Episodes,
    FloatArray,
    Readings,
    Request,
    RewardMoments,
    steps_of,
)
from surepath.validate import finite_observations, whole

ULPS = 4
"""Units in the last place, of the larger end, by which a reward may miss its range."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a learner needs of the readings of one request."""

    observations: dict[int, Any]  # digests, by the level of the node they belong to
    rewards: dict[int, RewardMoments]  # by time step
    raw: Readings  # as they came


class Asking(ABC):
    """`ask` for requests, `tell` their readings, until `plan` is there."""

    def __init__(
        self,
        horizon: int,
        n_actions: int,
        embedding: Embedding,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.horizon = whole("horizon", horizon, least=1)
        self.n_actions = whole("n_actions", n_actions, least=1)
        self.embedding = embedding
        self.reward_range = reward_range
        self.usage = Usage(n_actions, [0] * horizon, [0] * horizon)
        self.plan: tuple[Level, ...] | None = None
        self.value: float | None = None  # last estimate of V* at the root
        self.incumbent: Actions = ()  # best actions known so far, as far as they are known
        self._pending: tuple[Request, ...] = ()

    @property
    def done(self) -> bool:
        return self.plan is not None

    def ask(self) -> tuple[Request, ...]:
        """What to run next; empty when done. Asking twice asks for the same."""
        return self._pending

    @one_thread()
    def tell(self, readings: Sequence[Readings]) -> None:
        """The readings of every request of the last `ask`, in its order."""
        self._advance(self.take(readings))

    def take(self, readings: Sequence[Readings]) -> list[Answer]:
        """Check the readings, and charge what they cost."""
        answers = self.check(readings)
        for request in self._pending:
            self.usage.episodes += request.count
            self.usage.steps += request.count * steps_of(request.actions, self.horizon)
        self._pending = ()
        return answers

    def check(self, readings: Sequence[Readings]) -> list[Answer]:
        """Check the readings without using them: what `tell` would take in, or an error."""
        if len(readings) != len(self._pending):
            raise InputError(
                "every request needs its readings",
                got=f"{len(readings)} answers to {len(self._pending)} requests",
                remedy="Answer all that ask() returned, in the same order.",
            )
        # All are read before any is used: a bad answer is refused and nothing is lost.
        return [self._read(*pair) for pair in zip(self._pending, readings, strict=True)]

    def give(self, readings: Sequence[Readings], *, decide: bool = True) -> None:
        """Take in episodes that nobody asked for, from before or from elsewhere.

        decide: whether to decide anew what to ask for; else that stays as it is.
        """
        del decide
        raise InputError(
            "only the adaptive schedule takes episodes that it did not ask for",
            got=f"{sum(each.count for each in readings)} of them",
            remedy='Leave out data, or use schedule="adaptive".',
        )

    @property
    def fresh(self) -> tuple[int, int] | None:
        """Attempt and block, where what is asked for is to prove a proposal."""
        return None

    def purpose(self, request: Request) -> Purpose:
        """What the request is made for."""
        del request
        return Purpose.EXPLORE

    @property
    def spending(self) -> list[int]:
        """Episodes that are asked for now, by purpose."""
        asked = [(self.purpose(request), request.count) for request in self.ask()]
        return [sum(count for each, count in asked if each is purpose) for purpose in Purpose]

    def decided(self) -> dict[str, Any] | None:
        """All that does not follow from what was told but by deciding again, as data.

        None of a learner that has to decide again, whatever it costs.
        """
        return None

    def status(self) -> dict[str, str]:
        """How far it is, for people who watch: short texts by name."""
        return {
            "nodes": str(self.usage.nodes),
            "episodes": f"{self.usage.episodes:.3g}",
            "incumbent": shorten(self.incumbent, 12) or "-",
        }

    def round(self) -> Round:
        """How far it is, for a callback."""
        value = math.nan if self.value is None else self.value
        return Round(self.usage.episodes, self.usage.steps, self.incumbent, value)

    @abstractmethod
    def _advance(self, answers: list[Answer] | None) -> None:
        """Take the answers in, and set what is pending."""

    def _read(self, request: Request, answer: Readings) -> Answer:
        if answer.actions != request.actions or answer.count != request.count:
            raise InputError(
                "readings must come from the actions and the count that were asked for",
                got=f"{answer.count} episodes of {answer.actions}",
                remedy=f"Run {request.actions} exactly {request.count} times.",
            )
        try:
            digests = self.embedding.read(answer, request.observations)
            rewards = self._paid(answer, request.rewards)
        except LookupError as error:
            raise InputError(
                "readings must hold every time step that was asked for",
                got=f"nothing for step {error} of {request.actions}",
                remedy=f"Read the observations of steps {[*request.observations]} and the rewards "
                f"of steps {[*request.rewards]}.",
            ) from error
        counts = {d.count for d in (*digests.values(), *rewards.values())}
        if counts - {request.count}:
            raise InputError(
                "every time step must be read in every episode",
                got=f"readings of {sorted(counts)} episodes among {request.count}",
                remedy="Return all episodes at every step, or ask for fewer.",
            )
        return Answer(digests, rewards, answer)

    def _paid(self, answer: Readings, steps: range) -> dict[int, RewardMoments]:
        low, high = self.reward_range
        for step, (least, most) in zip(steps, reward_ranges(answer, steps), strict=True):
            if not (low <= least <= most <= high and math.isfinite(least + most)):
                got = f"rewards from {least:g} to {most:g} at step {step} of {answer.actions}"
                raise bad_reward(self.reward_range, got)
        return dict(zip(steps, reward_moments(answer, steps), strict=True))


def reward_ranges(readings: Readings, steps: range) -> list[tuple[float, float]]:
    """`reward_range` of all these steps at once."""
    if not isinstance(readings, Episodes):
        return [readings.reward_range(step) for step in steps]
    rewards = readings.rewards[:, steps]
    return list(zip(rewards.min(axis=0).tolist(), rewards.max(axis=0).tolist(), strict=True))


def reward_moments(readings: Readings, steps: range) -> list[RewardMoments]:
    """`reward` of all these steps at once, to the last digit: added in the same order."""
    if not isinstance(readings, Episodes):
        return [readings.reward(step) for step in steps]
    rewards = np.ascontiguousarray(readings.rewards[:, steps].T)
    mean = rewards.mean(axis=1)
    scatter = ((rewards - mean[:, None]) ** 2).sum(axis=1)
    both = zip(mean.tolist(), scatter.tolist(), strict=True)
    return [RewardMoments(readings.count, *each) for each in both]


def sound(readings: Readings, reward_range: tuple[float, float]) -> Readings:
    """The readings as they may be recorded and used; an error names the first that cannot be.

    This is where episodes come in: whoever tells a learner has made them sound before.
    """
    if not isinstance(readings, Episodes):  # drawn by a problem of our own
        return readings
    low, high = reward_range
    rewards = _rounded_into(readings.rewards, low, high)
    good = (rewards >= low) & (rewards <= high) & np.isfinite(rewards)
    if not good.all():
        episode, step = (int(i) for i in np.argwhere(~good)[0])
        got = f"{rewards[episode, step]:g} at step {step} of {readings.actions}"
        raise bad_reward(reward_range, got)
    finite_observations(
        readings.observations, lambda at: f"at step {at[1]} of {readings.actions}", axes=2
    )
    return readings if rewards is readings.rewards else replace(readings, rewards=rewards)


def _rounded_into(rewards: FloatArray, low: float, high: float) -> FloatArray:
    """Rewards that rounding put just outside of their range are at its end.

    A sum of rewards may miss its bound by a few units in the last place; that is no other reward.
    """
    if rewards.dtype.kind != "f":
        return rewards
    slack = ULPS * float(np.spacing(max(abs(low), abs(high))))  # not a number where there is no end
    inside = np.where((rewards > high) & (rewards <= high + slack), high, rewards)
    inside = np.where((inside < low) & (inside >= low - slack), low, inside)
    return rewards if (inside == rewards).all() else inside


def check_returns(
    readings: Readings,
    reward_range: tuple[float, float],
    return_range: tuple[float, float],
    horizon: int,
) -> None:
    """Refuse episodes that paid what no whole episode was said to, whatever else they would pay."""
    if not isinstance(readings, Episodes):  # drawn by a problem of our own
        return
    left = horizon - len(readings.actions)
    # What is still to be paid can make up for it.
    low, high = (
        end - (left * other if left else 0.0)
        for end, other in zip(return_range, reversed(reward_range), strict=True)
    )
    paid = readings.rewards.sum(axis=1)
    slack = ULPS * horizon * float(np.spacing(max(map(abs, return_range))))
    bad = np.flatnonzero(~((paid >= low - slack) & (paid <= high + slack)))
    if len(bad):
        ends = tuple(f"{end:g}" for end in return_range)
        raise InputError(
            f"the rewards of an episode must add up to a return in [{ends[0]}, {ends[1]}]",
            got=f"{paid[bad[0]]:g} after {readings.actions}",
            remedy="Pass return_range=(low, high) with the least and the most that a whole episode "
            "can pay (--return-range LOW HIGH on the command line), or leave it out.",
        )


def bad_reward(reward_range: tuple[float, float], got: str) -> InputError:
    """What to say of a reward that cannot be."""
    low, high = reward_range
    return InputError(
        f"rewards must lie in [{low:g}, {high:g}] and be finite",
        got=got,
        remedy="Repair the reward, or pass reward_range=(low, high) to learn with the "
        "system's true range (--reward-range LOW HIGH on the command line).",
    )

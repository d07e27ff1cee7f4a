"""The proving learner: proposes like the adaptive one, and proves what it proposed on fresh data.

Each attempt fixes a proposal, then reads in blocks. Counts and bets of a block are fixed before it
is read, from what was read before; an attempt ends when all tests have passed, or when it is
refuted or would take too long. All its readings are then evidence for the next proposal, and the
next attempt has the next share of delta.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from surepath.inference.attempt import Attempt
from surepath.inference.fresh_block import Told, Totals
from surepath.inference.judgement import Judgement
from surepath.inference.proposal import Rules
from surepath.inference.tuning import TUNING
from surepath.journal.course import Purpose
from surepath.learners.adaptive import Adaptive
from surepath.learners.ahead import parts
from surepath.learners.allocation import Allocation, likely
from surepath.learners.base import Answer, Asking
from surepath.learners.propose import propose
from surepath.results.round import Round
from surepath.system import FloatArray, Readings, Request, steps_of

MOST_ATTEMPTS = 8


class Rulebook(Protocol):
    """What an attempt is held to."""

    def __call__(self, proposer: Adaptive, judged: Judgement, attempt: int) -> Rules: ...

    def totals(self, proposer: Adaptive) -> Totals | None:
        """How observations are summed up; None where nothing is compared."""
        ...


class Proving(Asking):
    """Finds a plan and proves it, sans-IO."""

    def __init__(
        self,
        proposer: Adaptive,
        rules: Rulebook,
        *,
        largest_batch: int | None = None,
        at_once: int = 1,
    ) -> None:
        """at_once: episodes that can run at the same time. A block has no more for that: its
        requests are only cut into parts.
        """
        super().__init__(
            proposer.horizon, proposer.n_actions, proposer.embedding, proposer.reward_range
        )
        self.proposer = proposer
        self.usage = proposer.usage
        self.attempt: Attempt | None = None  # while it goes on, and when it has succeeded
        self.keeps_raw = False  # whether to keep all fresh readings as they came
        self.forecast = 0  # episodes that sufficed by expectation when the attempt began
        self.expected = 0  # episodes that it is now expected to take in all
        self.given_up: list[str] = []  # why, for each attempt that failed
        self._rules = rules
        self._largest_batch, self._at_once = largest_batch, at_once
        self._asked: tuple[Request, ...] = ()
        self._noise: FloatArray  # of the attempt that goes on, like the next
        self.totals: Totals | None = None
        self._go_on()

    @property
    def fresh(self) -> tuple[int, int] | None:
        """Attempt and block of what is asked for now, where it is to prove a proposal."""
        if self.attempt is None:
            return None
        return len(self.given_up) + 1, len(self.attempt.blocks)

    def purpose(self, request: Request) -> Purpose:
        return self.proposer.purpose(request) if self.attempt is None else Purpose.CERTIFY

    def decided(self) -> dict[str, Any] | None:
        """Between attempts. One that goes on is begun again: what it decides is soon decided."""
        if self.attempt is not None:
            return None
        return {"given_up": list(self.given_up), "proposer": self.proposer.decided()}

    def catch_up(self, told: Iterable[Sequence[Readings]], decided: Mapping[str, Any]) -> None:
        """Be told many batches, and be where `decided` says after them; no attempt goes on then."""
        self.proposer.catch_up(told, decided["proposer"])
        self.attempt, self.given_up = None, list(decided["given_up"])
        self._ask_for(self.proposer.ask())

    def give(self, readings: Sequence[Readings], *, decide: bool = True) -> None:
        """Evidence for what is proposed, and for no attempt: these readings are not fresh."""
        between = decide and self.attempt is None
        self.proposer.give(readings, decide=between)
        if between:
            self._go_on()

    def _advance(self, answers: list[Answer] | None) -> None:
        told = answers or []
        self.proposer.pool(self._asked, told)
        if self.attempt is None:
            self.proposer.reconsider()
        else:
            self._tell(self.attempt, told)
        self._go_on()

    def _tell(self, attempt: Attempt, answers: list[Answer]) -> None:
        attempt.tell([Told.of(each.raw, self.totals, self.horizon) for each in answers])
        if self.keeps_raw:
            attempt.blocks[-1].raw = [each.raw for each in answers]
        why = attempt.hopeless
        if attempt.episodes > TUNING.attempt_patience * self.forecast:
            why = why or "it took much longer than was expected"
        if why and not attempt.proved:
            self.given_up.append(why)
            self.attempt = None
            self.proposer.reconsider()

    def _go_on(self) -> None:
        """Begin an attempt where there is something to propose; ask for what comes next."""
        judged = self.proposer.judgement
        if self.attempt is None and judged is not None and self._proposes(judged):
            self._begin(judged)
        self._ask_for(self.proposer.ask() if self.attempt is None else self._block(self.attempt))
        if not self._pending:
            self.plan = self.proposer.plan or ()

    def _ask_for(self, requests: tuple[Request, ...]) -> None:
        self._asked = self._pending = requests
        self.embedding = self.proposer.embedding
        self.incumbent, self.value = self.proposer.incumbent, self.proposer.value

    def _proposes(self, judged: Judgement) -> bool:
        settled = self.proposer.done and judged.settled and not judged.too_short
        return settled and len(self.given_up) < MOST_ATTEMPTS

    def _begin(self, judged: Judgement) -> None:
        rules = self._rules(self.proposer, judged, len(self.given_up) + 1)
        proposal, self._noise = propose(judged, rules)
        self.attempt, self.forecast = Attempt(proposal), 0
        # Features may grow while the attempt goes on: it keeps those that it was proposed with.
        self.totals = self._rules.totals(self.proposer)

    def _block(self, attempt: Attempt) -> tuple[Request, ...]:
        """The requests of the next block; none when everything is proved."""
        if attempt.proved:
            return ()
        allocation = Allocation(attempt, self._noise)
        wanted = allocation.requests(self.forecast) or [(attempt.proposal.plan, 1)]
        enough = max(allocation.forecast, 1)
        self.forecast = self.forecast or enough
        self.expected = attempt.episodes + likely(enough)
        cut = parts(wanted, self._at_once, self._largest_batch)
        return tuple(
            Request(actions, count, range(steps_of(actions, self.horizon)), range(len(actions)))
            for actions, count in attempt.begin(cut).requests
        )

    def progress(self) -> str:
        """How far the attempt is that goes on; empty where there is none."""
        if self.attempt is None:
            return ""
        paths, merges = (f"{min(each, 99.0):.3g}" for each in self.attempt.evidence)
        level = self.attempt.proposal.rules.level
        return (
            f"the run stopped after {self.usage.episodes} episodes: attempt "
            f"{len(self.given_up) + 1} to prove the plan has evidence {paths} against the next "
            f"best plan and {merges} for what is merged, and needs {level:.3g}; about "
            f"{self.expected} fresh episodes are expected in all, and it has taken "
            f"{self.attempt.episodes}"
        )

    def notes(self) -> tuple[str, ...]:
        """What became of earlier attempts."""
        return tuple(
            f"proof: attempt {number} was given up, because {why}"
            for number, why in enumerate(self.given_up, start=1)
        )

    def status(self) -> dict[str, str]:
        cells = self.proposer.status()
        if self.attempt is not None:
            cells["proof"] = self._attempted(self.attempt)
        return cells

    def round(self) -> Round:
        found = self.proposer.round()
        return (
            found if self.attempt is None else replace(found, proof=self._attempted(self.attempt))
        )

    def _attempted(self, attempt: Attempt) -> str:
        paths, merges = attempt.evidence
        return (
            f"attempt {len(self.given_up) + 1}, block {len(attempt.blocks)}: "
            f"{attempt.episodes} of about {self.expected} episodes, "
            f"evidence {paths:.2g} (plan), {merges:.2g} (merges) of "
            f"{attempt.proposal.rules.level:.2g}"
        )

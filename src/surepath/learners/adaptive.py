"""The adaptive learner: reads where the answer still depends on it, stops when it is settled.

Where there are few sequences, good ones are tried first (`scouting`).
Each round the readings so far are judged (`judge`), and what is open decides what to read next:

1. edges of the machine that were hardly read: several at a time, by sequences that pass many;
2. states on the best path, or on a path that may be better, whose value is only predicted;
3. paths that may still be better than the plan, ends that may be another state than they are taken
   for, and prefixes that pay differently from others of their state (`open_questions`);
4. what has to be seen before a certificate.

Where more episodes can run at once than that takes, what will probably be needed next is asked for
too (`ahead`). Whether prefixes are taken for one state at all is decided on the way (`bare_tree`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surepath.features import Features
from surepath.features.growing import Growing
from surepath.inference.coverage import missing
from surepath.inference.drift import Drift
from surepath.inference.independence import Dependence
from surepath.inference.judgement import Judgement, judge
from surepath.inference.merge_audit import own_walk, walks
from surepath.inference.states import Automaton, columns_of
from surepath.inference.terms import Terms
from surepath.inference.threads import one_thread
from surepath.inference.tuning import TUNING
from surepath.journal.course import Purpose
from surepath.learners.ahead import Asked, Wanted, episodes_of, filled, merged, parts
from surepath.learners.audit import Auditor
from surepath.learners.bare_tree import TreeOrMachine
from surepath.learners.base import Answer, Asking
from surepath.learners.growth import Growth
from surepath.learners.next_readings import cover, expand, explore
from surepath.learners.open_questions import OpenQuestions
from surepath.learners.scouting import Scout
from surepath.readings.embedding import CloudEmbedding
from surepath.readings.trie import Node
from surepath.results.adaptive_claim import levels
from surepath.results.round import Round, log_cells, weakest_of
from surepath.results.usage import states_of, tried_by_level
from surepath.system import (
    Actions,
    Episodes,
    Readings,
    Request,
    RewardMoments,
    steps_of,
)


class Adaptive(Asking):
    """Finds the plan and settles what could beat it, sans-IO."""

    def __init__(
        self,
        features: Features,
        terms: Terms,
        choices: np.random.Generator,
        *,
        future_grows: bool = False,
        may_use_tree: bool = False,
        audits_merges: bool = True,
        largest_batch: int | None = None,
        at_once: int = 1,
    ) -> None:
        """`choices` draws actions where nobody has been: the same stream, the same requests.

        future_grows: whether to look further ahead where the readings show that it has to be.
        may_use_tree: whether to go on without merging where that is cheaper.
        audits_merges: whether some of what was taken for one state is followed to the end.
        at_once: episodes that can run at the same time, if that is more than one (`ahead`).
        """
        self._tree_or_machine = TreeOrMachine(terms, may_choose=may_use_tree)
        self.terms = terms = self._tree_or_machine.first
        shape = terms.shape
        embedding = CloudEmbedding(features, shape.n_actions, shape.future)
        super().__init__(shape.horizon, shape.n_actions, embedding, terms.reward_range)
        self.root = Node()
        self.columns = columns_of(self.root, terms.shape)
        self.judgement: Judgement | None = None  # None while hardly anything was read
        self.dependence = Dependence(features)
        self.growth = Growth(features) if isinstance(features, Growing) else None
        self.drift = Drift(terms.reward_range)
        self._largest_batch, self._at_once = largest_batch, at_once
        self._choices = choices
        self._future_grows = future_grows
        self._audits_merges = audits_merges
        self._look_on = 1  # readings at which to ask next whether what looks alike goes on alike
        self.auditor = Auditor(choices)
        self.grown: tuple[str, ...] = ()  # why it looks further ahead than it was told to
        self._asked: tuple[Request, ...] = ()
        self._purposes: dict[Actions, Purpose] = {}
        self._scout = Scout(needed=self._tree_or_machine.may_choose)
        self._advance(None)

    @property
    def embedding_features(self) -> Features:
        """Those of the moment: they may grow."""
        return self.dependence.features

    @property
    def known(self) -> Actions:
        """The best that is known while too little was read to judge all of it."""
        return self.incumbent or self.root.best_tried()

    def decided(self) -> dict[str, Any]:
        return {
            "asked": [[list(request.actions), request.count] for request in self._asked],
            "choices": self._choices.bit_generator.state,
            "future": self.terms.shape.future,
            "grown": list(self.grown),
            "tree_or_machine": self._tree_or_machine.decided(),
            "scouting": self._scout.decided(),
            "incumbent": list(self.incumbent),
            "look_on": self._look_on,
            "audit": self.auditor.decided(),
            "rounds": self.usage.rounds,
            "expansions": self.usage.expansions,
            "covered": self.usage.covered,
        }

    @one_thread()
    def catch_up(self, told: Iterable[Sequence[Readings]], decided: Mapping[str, Any]) -> None:
        """Be told many batches, and be where `decided` says after them, without judging each."""
        for readings in told:
            self._asked = self._pending = tuple(
                self._request(each.actions, each.count) for each in readings
            )
            self._take_all(self.take(readings))
        self._choices.bit_generator.state = decided["choices"]
        self.terms = self.terms.with_future(decided["future"])
        self._tree_or_machine.catch_up(decided["tree_or_machine"])
        self._scout.catch_up(decided["scouting"])
        self.grown, self._look_on = tuple(decided["grown"]), decided["look_on"]
        self.incumbent = tuple(decided["incumbent"])
        self.auditor.catch_up(decided["audit"])
        self.usage.rounds = decided["rounds"]
        self.usage.expansions, self.usage.covered = decided["expansions"], decided["covered"]
        self._asked = self._pending = tuple(
            self._request(tuple(actions), count) for actions, count in decided["asked"]
        )

    def _take_all(self, answers: Sequence[Answer]) -> None:
        for request, answer in zip(self._asked, answers, strict=True):
            self._take_in(request.actions, answer.observations, answer.rewards)
            if isinstance(answer.raw, Episodes):
                self.dependence.add(answer.raw)
        growth = self.growth
        if growth and growth.look(self.root, answers, self.usage.episodes):
            self._grow(growth)

    def _advance(self, answers: list[Answer] | None) -> None:
        self._take_all(answers or ())
        self.reconsider()

    def pool(self, requests: Sequence[Request], answers: Sequence[Answer]) -> None:
        """Take in what somebody else asked for and was charged for."""
        self._asked = tuple(requests)
        self._take_all(answers)

    def begin_with(self, readings: Sequence[Readings]) -> None:
        """What was read before the first request, and was charged for."""
        self.usage.pooled_episodes, self.usage.pooled_steps = self._pool(readings)
        self.reconsider()

    @one_thread()
    def give(self, readings: Sequence[Readings], *, decide: bool = True) -> None:
        episodes, steps = self._pool(readings)
        self.usage.given_episodes += episodes
        self.usage.given_steps += steps
        if decide:
            self.reconsider()

    def _pool(self, readings: Sequence[Readings]) -> tuple[int, int]:
        """Take in what it did not ask for: so many episodes, and steps."""
        requests = [self._request(each.actions, each.count) for each in readings]
        answers = [self._read(*pair) for pair in zip(requests, readings, strict=True)]
        asked = self._asked
        self.pool(requests, answers)
        self._asked = asked
        return (
            sum(each.count for each in requests),
            sum(each.count * steps_of(each.actions, self.horizon) for each in requests),
        )

    def reconsider(self) -> None:
        """Decide, from all that was read, what to ask for next."""
        self.plan = None
        purposes = self._scouted() or self._judged_wanted()
        wanted = merged(purposes)
        self._purposes = {
            actions: purpose for purpose in reversed(purposes) for actions, _ in purposes[purpose]
        }
        self._asked = self._pending = tuple(
            self._request(actions, count)
            for actions, count in parts([*wanted.items()], self._at_once, self._largest_batch)
        )
        if not wanted:
            assert self.judgement is not None  # nothing is wanted once everything was judged
            self.plan = levels(self.judgement)

    def _scouted(self) -> Asked:
        """Whole sequences, where there are few, until one of them is probably the best."""
        wanted = self._scout.wanted(
            self.root, self.columns, self.terms, self._choices, self._at_once
        )
        if not wanted:
            return {}
        self.usage.rounds += 1
        self.incumbent = self._scout.best
        return {Purpose.EXPLORE: wanted}

    def _judged_wanted(self) -> Asked:
        judged = self._looked()
        purposes = self._wanted(judged)
        if self._at_once > 1:
            later = self._certify(judged, drawn=False) if judged.whole else []
            purposes = filled(purposes, self._at_once, judged.machine, self.root, later)
        return purposes

    def _take_in(
        self, actions: Actions, digests: Mapping[int, Any], rewards: Mapping[int, RewardMoments]
    ) -> None:
        self.usage.nodes += self.root.take_in(actions, digests, rewards)
        self.columns.touch(actions)
        self.drift.add(self.root, actions, digests, rewards)

    def _grow(self, growth: Growth) -> None:
        """Go on with the grown features, as if they had been there from the beginning."""
        shape = replace(self.terms.shape, dimension=growth.features.dimension)
        self.terms = replace(self.terms, shape=shape)
        embedding = CloudEmbedding(growth.features, shape.n_actions, shape.future)
        self.embedding, self.dependence.features = embedding, growth.features
        self.root, self.usage.nodes = Node(), 0
        self.columns = columns_of(self.root, shape)
        self.drift = Drift(self.terms.reward_range)
        for told in growth.retold(embedding):
            self._take_in(*told)

    def _request(self, actions: Actions, count: int) -> Request:
        observed = range(steps_of(actions, self.horizon))
        return Request(actions, count, observed, range(len(actions)))

    # ------------------------------------------------------------ what to read next

    def purpose(self, request: Request) -> Purpose:
        return self._purposes.get(request.actions, Purpose.EXPLORE)

    def _looked(self) -> Judgement:
        """What all that was read decides; where it has to be, by a longer future."""
        self.usage.rounds += 1
        judged = self._judged()
        while judged.too_short and self._look_further(judged.too_short):
            judged = self._judged()
        if (other := self._tree_or_machine.other(judged, self.terms, self.root)) is not None:
            self.terms, why = other
            named = "one machine" if self.terms.shape.merges else "the bare tree"
            self.grown += (f"{named} from episode {self.usage.episodes} on, because {why}",)
            judged = self._judged()
        if judged.complete:
            self._note(judged)
        else:
            self.judgement, self.value = None, None
        self.incumbent = judged.known
        return judged

    def _wanted(self, judged: Judgement) -> Asked:
        """What is short of readings comes first; where that is little, beside all else."""
        short = self._cover(judged.machine)
        few = episodes_of(short) <= self._worth_a_round
        if short and not (few and judged.complete and not judged.settled):
            return {Purpose.EXPLORE: short}
        found = self._wanted_by(judged)
        return {**found, Purpose.EXPLORE: short + found.get(Purpose.EXPLORE, [])}

    @property
    def _worth_a_round(self) -> int:
        """Episodes: a round judges everything anew, whatever it is for."""
        return int(TUNING.worth_a_round * self.root.count)

    def _cover(self, machine: Automaton) -> list[Wanted]:
        """The first readings of every edge that has to have them."""
        first, most_from = self.terms.first_readings, self.terms.most_from
        if not missing(machine, first, most_from):
            return []
        return cover(machine, first, most_from, self._choices, merges=self.terms.shape.merges)

    def _wanted_by(self, judged: Judgement) -> Asked:
        """What the judgement leaves open."""
        if len(judged.plan.edges) < self.horizon:
            at_once = max(self._at_once, self._worth_a_round)
            return {Purpose.EXPLORE: explore(judged, self.terms.first_readings, at_once)}
        if self.dependence.hopeless:
            return {}
        found = OpenQuestions(judged, self.terms, self.root).wanted()
        return found or {Purpose.CERTIFY: self._certify(judged)}

    def _certify(self, judged: Judgement, *, drawn: bool = True) -> list[Wanted]:
        """What is still to be seen before a plan is certified that nothing speaks against.

        drawn: with states that are drawn at random, once nothing else is left.
        """
        wanted = own_walk(judged)
        if not wanted and self._audits_merges:
            wanted += walks(judged, self.usage.episodes, self.terms)
        if drawn and not wanted and judged.predicted:
            for level, state in self.auditor.wanted(judged, self.terms, self.root):
                wanted += expand(judged.machine, level, state, self.terms.first_readings[level])
        return wanted

    def _judged(self) -> Judgement:
        look_on = self.root.count >= self._look_on
        if look_on:
            self._look_on = math.ceil(TUNING.looks_apart * self.root.count)
        return judge(self.root, self.terms, look_on=look_on, columns=self.columns)

    def _look_further(self, why: str) -> bool:
        """One observation more, on the same readings; False where that is not allowed."""
        shape = replace(self.terms.shape, future=self.terms.shape.future + 1)
        possible = shape.future <= shape.horizon
        possible &= shape.continuations <= TUNING.most_continuations
        if not (self._future_grows and possible):
            return False
        self.terms = replace(self.terms, shape=shape)
        self.grown += (
            f"future: {shape.future} observations from episode {self.usage.episodes} on, because "
            f"{why}",
        )
        return True

    def _note(self, judged: Judgement) -> None:
        self.judgement = judged
        self.value = judged.value if judged.whole else None
        self.usage.expansions, self.usage.covered = tried_by_level(judged.machine)

    def status(self) -> dict[str, str]:
        return log_cells(self.round())

    def round(self) -> Round:
        found, judged = super().round(), self.judgement
        if judged is None or not judged.whole:
            return replace(found, actions=self.known, bound=self.terms.return_range[1])
        conflict = judged.conflict is not None and not judged.conflict.final
        questions = (judged.open, judged.unsure_ends, judged.ahead.suspects)
        return replace(
            found,
            bound=min(self.terms.return_range[1], judged.value + max(judged.loss, 0.0)),
            open_questions=sum(map(len, questions)) + conflict,
            weakest=weakest_of(judged) if judged.challengers else "",
            states=states_of(judged.machine),
        )

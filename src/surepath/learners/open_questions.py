"""Which sequences answer what a judgement leaves open.

- Paths that may still be better than the plan: the plan or its challenger, whichever narrows the
  difference more for its cost; or what follows the challenger, where nobody has tried that.
- Ends of edges that may be another state than they are taken for, where that could matter.
- Prefixes that pay differently from others of their state.

While the plan may well be another one, only what decides that is asked for: the first, or the
others, whichever takes fewer episodes. Then all that is open is asked for at once, so that many can
work on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from surepath.inference.judgement import Judgement, UnsureEnd
from surepath.inference.paths import Challenger
from surepath.inference.terms import Terms
from surepath.inference.tuning import TUNING
from surepath.journal.course import Purpose
from surepath.learners.ahead import Asked, Wanted, episodes_of
from surepath.learners.next_readings import expand, sharpen
from surepath.learners.settling import Need, least_alike, once_more, together
from surepath.learners.telling_apart import exactly
from surepath.readings.trie import Node
from surepath.system import steps_of


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """Of a judgement with a whole plan."""

    judged: Judgement
    terms: Terms
    root: Node

    def wanted(self) -> Asked:
        """What to read; empty where nothing is open."""
        doubtful = [each for each in self.judged.open if each.growth > TUNING.doubtful]
        if doubtful and not self.terms.exact:
            return self._cheaper_first(doubtful)
        apart = self._tell_all_apart(self.judged.open)
        identify = self._identify(self.judged.unsure_ends, apart)
        found = {Purpose.TELL_APART: apart, Purpose.IDENTIFY: identify}
        return found if any(found.values()) else {}

    def _cheaper_first(self, doubtful: Sequence[Challenger]) -> Asked:
        """While the plan may well be another one: what makes it so, or what the states are.

        Whichever takes fewer episodes now: paths may be hard to tell apart because an end is taken
        for another state than it is, and ends need not be known to find a good plan. Of the ends,
        those that look least like what they are taken for: one that is another state is most
        likely among them, and then what lies behind it is found.
        """
        found = {
            Purpose.TELL_APART: self._tell_all_apart(doubtful),
            Purpose.IDENTIFY: self._identify(least_alike(self.judged.unsure_ends), ()),
        }
        cost = {each: episodes_of(wanted) for each, wanted in found.items() if wanted}
        purpose = min(cost, key=lambda each: cost[each])
        return {purpose: found[purpose]}

    def _tell_all_apart(self, several: Sequence[Challenger]) -> list[Wanted]:
        wanted = [each for one in several for each in self._tell_apart(one)]
        return exactly(self.judged, wanted, self.terms) if self.terms.exact else wanted

    def _tell_apart(self, challenger: Challenger) -> list[Wanted]:
        judged = self.judged
        readings = sharpen(
            judged.machine, judged.plan, challenger, judged.spreads, judged.shortfalls
        )
        stop = challenger.level + len(challenger.path.edges)
        if stop < self.terms.shape.horizon:
            first = self.terms.first_readings[stop]
            trying = expand(judged.machine, stop, challenger.path.end, first)
            settling = challenger.growth * self._steps(readings)
            taken_for_the_most = not challenger.guessed and self._steps(trying) < settling
            if taken_for_the_most or challenger.guessed >= TUNING.mostly_guessed:
                return trying
        growth = min(max(challenger.growth, TUNING.least_growth), TUNING.most_growth)
        return [
            (actions, max(TUNING.least_request, math.ceil(growth * count)))
            for actions, count in readings
        ]

    def _identify(self, ends: Sequence[UnsureEnd], ran: Sequence[Wanted]) -> list[Wanted]:
        """Readings that say which state an edge leads to, or a prefix is."""
        needs = [Need(each.level, each.read, each.onwards, each.more) for each in ends]
        settling = together(self.judged.machine, self.root, needs, ran)
        return settling + once_more(self.judged, self.root)

    def _steps(self, wanted: Sequence[Wanted]) -> int:
        horizon = self.terms.shape.horizon
        return sum(count * steps_of(actions, horizon) for actions, count in wanted)

"""The adaptive learner: reads where the answer still depends on it, stops when it is settled.

Each round the readings so far are judged (`judge`), and what is open decides what to read next:

1. edges of the machine that were hardly read: several at a time, by sequences that pass many;
2. states on the best path, or on a path that may be better, whose value is only predicted;
3. paths that may still be better than the plan: the plan or the rival, whichever narrows the
   difference more for its cost;
4. ends of edges that may be another state than they are taken for, where that could matter;
5. prefixes that pay differently from others of their state.

All that is open is asked for at once, so that many can work on it.
"""

from __future__ import annotations

import math

import numpy as np

from surepath.features import Features
from surepath.inference.independence import Dependence
from surepath.inference.judgement import Doubt, Judgement, Terms, judge
from surepath.inference.paths import Challenger, cover, missing, reach, sharpen
from surepath.inference.states import Automaton
from surepath.learners.base import Answer, Asking
from surepath.readings.embedding import CloudEmbedding
from surepath.readings.trie import Node
from surepath.results.adaptive import decisions
from surepath.system import Actions, Episodes, Request

FIRST = 8
"""Readings of every edge before anything is decided."""

GROWTH = (0.1, 0.4)
"""Least and most by which the readings behind an open question grow at a time."""

AT_ONCE = 0.25
"""States that are expanded together, as a share of those of their level that were before."""

FEWEST = 4
"""Episodes below which a request is not worth its while."""


class Adaptive(Asking):
    """Finds the plan and settles what could beat it, sans-IO."""

    def __init__(
        self,
        features: Features,
        terms: Terms,
        *,
        largest_batch: int | None = None,
        seed: int = 0,
    ) -> None:
        shape = terms.shape
        embedding = CloudEmbedding(features, shape.n_actions, shape.future)
        super().__init__(shape.horizon, shape.n_actions, embedding, terms.reward_range)
        self.terms = terms
        self.root = Node()
        self.judgement: Judgement | None = None  # None while hardly anything was read
        self.dependence = Dependence(features)
        self._largest_batch = largest_batch or 2**62
        # Where nobody has been, actions are drawn: the same ones for the same seed and answers.
        self._rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**32,)))
        self._asked: tuple[Request, ...] = ()
        self._advance(None)

    def _advance(self, answers: list[Answer] | None) -> None:
        for request, answer in zip(self._asked, answers or (), strict=True):
            self._absorb(request, answer)
        wanted = self._wanted()
        self._asked = self._pending = tuple(
            self._request(actions, part)
            for actions, count in wanted.items()
            for part in self._parts(count)
        )
        if not wanted:
            assert self.judgement is not None  # nothing is wanted once everything was judged
            self.plan = decisions(self.judgement)

    def _absorb(self, request: Request, answer: Answer) -> None:
        node = self.root
        node.absorb(answer.observations[0])
        for level, action in enumerate(request.actions):
            node = node.child(action)
            node.rewards.add(answer.rewards[level])
            if not node.seen:
                node.seen = True
                self.usage.nodes += 1
            if level + 1 < self.horizon:
                node.absorb(answer.observations[level + 1])
        if isinstance(answer.raw, Episodes):
            self.dependence.add(answer.raw)

    def _parts(self, count: int) -> list[int]:
        whole, rest = divmod(count, self._largest_batch)
        return [self._largest_batch] * whole + [rest] * (rest > 0)

    def _request(self, actions: Actions, count: int) -> Request:
        observed = range(min(len(actions) + 1, self.horizon))
        return Request(actions, count, observed, range(len(actions)))

    # ------------------------------------------------------------ what to read next

    def _wanted(self) -> dict[Actions, int]:
        self.usage.rounds += 1
        judged = judge(self.root, self.terms, self.incumbent or None)
        machine = judged if isinstance(judged, Automaton) else judged.machine
        if isinstance(judged, Judgement):
            self._note(judged)
        if missing(machine, FIRST):
            return _merged(cover(machine, FIRST, self._rng))
        assert isinstance(judged, Judgement)
        if len(judged.plan.edges) < self.horizon:
            return _merged(self._explore(judged))
        wanted = list[tuple[Actions, int]]()
        for rival in judged.open:
            wanted += self._tell_apart(judged, rival)
        for doubt in judged.doubts:
            wanted.append(self._identify(machine, doubt))
        if judged.conflict is not None:
            wanted += [(odd, max(FEWEST, count)) for odd, count in judged.conflict.short]
        if not (wanted or judged.settled):
            # Two plans take turns, each the best as long as the other's nodes stand for their
            # states: what tells their nodes apart are readings of both.
            turns = dict.fromkeys([judged.plan.actions, judged.kept or judged.plan.actions])
            wanted += [self._more(plan) for plan in turns]
        return _merged(wanted)

    def _note(self, judged: Judgement) -> None:
        self.judgement = judged
        self.incumbent = judged.plan.actions
        self.value = judged.value
        for level, layer in enumerate(judged.machine.layers):
            expanded = int(layer.expanded.sum())
            self.usage.expansions[level] = expanded
            # Ends of edges that needed no expansion of their own.
            if level:
                ends = judged.machine.layers[level - 1].target
                self.usage.covered[level] = int((ends >= 0).sum()) - expanded

    def _explore(self, judged: Judgement) -> list[tuple[Actions, int]]:
        """Expand where the best path ends, and a few states that promise as much."""
        machine, level = judged.machine, len(judged.plan.edges)
        expanded = machine.layers[level].expanded
        promise = reach(machine)[level] + judged.values.best(level)
        as_good = promise >= promise[judged.plan.end] - self.terms.resolution
        order = np.argsort(-promise, kind="stable")
        others = [int(state) for state in order if as_good[state] and not expanded[state]]
        most = max(1, int(AT_ONCE * expanded.sum()))
        chosen = dict.fromkeys([judged.plan.end, *others])
        return [
            request
            for state in list(chosen)[:most]
            for request in self._expand(machine, level, state)
        ]

    def _expand(self, machine: Automaton, level: int, state: int) -> list[tuple[Actions, int]]:
        prefix = machine.layers[level].prefixes[state]
        return [((*prefix, action), FIRST) for action in range(self.n_actions)]

    def _tell_apart(self, judged: Judgement, rival: Challenger) -> list[tuple[Actions, int]]:
        if rival.guessed >= 0.5:
            level = rival.level + len(rival.path.edges)
            return self._expand(judged.machine, level, rival.path.end)
        # Widths shrink with the root of the readings: how many more would settle it.
        allowed = rival.width - rival.excess
        least, most = GROWTH
        needed = (rival.width / allowed) ** 2 - 1 if allowed > 0 else most
        growth = min(max(needed, least), most)
        pools = self.terms.widths().pools
        readings = sharpen(judged.machine, judged.plan, rival, judged.spreads, pools=pools)
        return [(actions, max(FEWEST, math.ceil(growth * count))) for actions, count in readings]

    def _identify(self, machine: Automaton, doubt: Doubt) -> tuple[Actions, int]:
        state, action = doubt.read
        actions = (*machine.layers[doubt.level].prefixes[state], action)
        return actions, max(FEWEST, math.ceil(GROWTH[1] * doubt.count))

    def _more(self, actions: Actions) -> tuple[Actions, int]:
        """A share more readings of a sequence than it has."""
        node, count = self.root, self.root.count
        for action in actions:
            node = node.children[action]  # a plan was read to its end
            count = min(count, node.rewards.count)
        return actions, max(FIRST, math.ceil(GROWTH[1] * count))

    def status(self) -> dict[str, str]:
        judged = self.judgement
        cells = {
            "episodes": f"{self.usage.episodes:.3g}",
            "nodes": str(self.usage.nodes),
            "expanded": str(sum(self.usage.expansions)),
            "incumbent": "-",
            "bound": "-",
            "gap": "-",
            "weakest": "-",
        }
        if judged is not None and judged.rivals:
            loss = max(judged.loss, 0.0)
            weakest = judged.weakest
            assert weakest is not None  # there are rivals
            cells["incumbent"] = f"{judged.value:.4f}"
            cells["bound"] = f"{judged.value + loss:.4f}"
            cells["gap"] = f"{loss:.4f}"
            cells["weakest"] = (
                f"level {weakest.level}: {judged.plan.actions[weakest.level]} over "
                f"{weakest.action} by {weakest.margin:.3f} +- {weakest.width:.3f}"
            )
        return cells


def _merged(wanted: list[tuple[Actions, int]]) -> dict[Actions, int]:
    """The largest count asked for each sequence."""
    merged = dict[Actions, int]()
    for actions, count in wanted:
        merged[actions] = max(count, merged.get(actions, 0))
    return merged

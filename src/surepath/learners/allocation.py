"""How often to read what in the next block, so that the tests of a proposal are expected to pass.

Everything here is decided before the block is read, from what was read before it. What it decides
costs episodes only: no choice made here can make a claim false.
"""

from __future__ import annotations

import math

import numpy as np

from surepath.inference.attempt import Attempt
from surepath.inference.fresh_block import Counted, episodes_of, planned
from surepath.inference.merge_evidence import Compared
from surepath.inference.path_evidence import hardest, least_against
from surepath.inference.proposal import Proposal
from surepath.inference.tuning import TUNING
from surepath.system import Actions, FloatArray

BET_FACTORS = (1.3, 1.7, 2.3)
"""Bets for which a block is planned, in units of evidence / lead of the plan; 2 would be best for a
single path, less reads the plan and its next best path less often. The cheapest is taken."""

LEAST_LEAD, LEAST_TARGET = 1e-3, 0.1
"""Of the range of rewards, and of the evidence that is needed: what blocks are planned for at
least."""

STEP = 0.1
"""The share by which readings grow while a block is planned."""

MOST_STEPS, MOST_GROWTH = 10_000, 20
"""Where the planning of a block ends in any case: a lead that is none cannot be shown, and more
than so many times what was read before is not worth planning for."""

SPARE = 1.1
"""Merges are read so much more often than they need by expectation."""

UNLUCKY = 1.5
"""Attempts take so many times the episodes that suffice by expectation, as measured: readings
scatter, the last of many tests to pass is an unlucky one, and the plan that was proposed seemed
better than it is. It only says what to expect, and decides nothing."""


def likely(episodes: int) -> int:
    """How many episodes it takes where so many suffice by expectation."""
    return round(UNLUCKY * episodes)


class Allocation:
    """The requests of one block."""

    def __init__(self, attempt: Attempt, noise: FloatArray) -> None:
        """noise: [E], how far the two sides of each merge are expected to seem apart at M = 1."""
        self.proposal = attempt.proposal
        self.paths, self.merges = attempt.paths, attempt.merges
        self._noise = noise
        self.forecast = 0  # episodes that suffice by expectation, this block's included

    def requests(self, whole: int) -> Counted:
        """The next block, with `TUNING.least_block` episodes at least; empty if nothing is missing.

        whole: episodes that the first block of the attempt was expected to lead to; a block is a
        share of that.
        """
        wanted = self._block(whole)
        wider = max(1.0, TUNING.least_block / episodes_of(wanted)) if wanted else 1.0
        block = [(actions, math.ceil(wider * count)) for actions, count in wanted]
        self.forecast = max(self.forecast, episodes_of(block))
        return block

    def _block(self, whole: int) -> Counted:
        """A part of what is expected to rule out every path."""
        windows = self._windows()
        base = self._for_merges(windows)
        if self.paths.least == math.inf:  # all other plans are ruled out
            return self._covered(base, windows)
        base = np.maximum(base, np.where(self.paths.closed, 0.0, 1.0))
        start = self._covered(base, windows)
        options = self._for_paths(start)
        best = min(options, key=episodes_of)
        self.forecast = episodes_of(best)
        share = min(1.0, TUNING.block_share * max(1.0, whole / self.forecast))
        part = share * planned(self.proposal, best)[0]
        return self._covered(np.maximum(part, base), windows)

    # ------------------------------------------------------------ merges

    def for_merges(self) -> int:
        """The part of the forecast that it takes whatever the plan pays: episodes for merges."""
        windows = self._windows()
        alone = episodes_of(self._covered(self._for_merges(windows), windows))
        return min(alone, self.forecast)

    def _windows(self) -> dict[tuple[int, Actions], int]:
        """How many windows of each edge and continuation are still wanted."""
        rules, proposal = self.proposal.rules, self.proposal
        wanted = dict[tuple[int, Actions], int]()
        into = dict[int, int]()  # merges by the edge that founds their state
        for edge in proposal.merges:
            founder = proposal.founded_by(edge)
            into[founder] = into.get(founder, 0) + 1
        for (edge, way), test in self.merges.tests.items():
            if test.best >= rules.level:
                continue
            founder = proposal.founded_by(edge)
            more, share = self._missing(edge, test), math.sqrt(into[founder])
            for each, count in ((edge, 1 + 1 / share), (founder, 1 + share)):
                here = math.ceil(more * count)
                wanted[each, way] = max(wanted.get((each, way), 0), here)
        return wanted

    def _missing(self, edge: int, test: Compared) -> float:
        """How much M has to grow by until the merge is expected to be settled."""
        rules = self.proposal.rules
        if rules.separation is not None and math.isinf(rules.separation):
            return 0.5  # one reading of each
        bet = self.merges.bet(edge)
        rate = bet * self.merges.size(edge) - bet**2 * self.merges.proxy / 2  # at distance 0
        # rate M - bet noise sqrt(M) = level
        noise = float(self._noise[edge])
        if test.weight > 0:
            noise = max(noise, self.merges.distance(test) * math.sqrt(test.weight))
        part = bet * noise
        root = (part + math.sqrt(part**2 + 4 * rate * SPARE * rules.level)) / (2 * rate)
        return max(root**2 - test.weight, 0.1 * root**2, 1.0)

    def _for_merges(self, windows: dict[tuple[int, Actions], int]) -> FloatArray:
        """[E], readings of edges that their windows take, one window a reading."""
        needed = np.zeros(self.proposal.first[-1])
        for (edge, _), count in windows.items():
            needed[edge] += count
        return needed

    # ------------------------------------------------------------ paths

    def _for_paths(self, start: Counted) -> list[Counted]:
        """Requests with which it is expected to be proved, for several bets."""
        rules = self.proposal.rules
        reached = self.paths.least + rules.tolerance * self.paths.bets
        needed = max(rules.level - reached, LEAST_TARGET * rules.level)
        lead = self._lead()
        return [self._until(start, factor * needed / lead) for factor in BET_FACTORS]

    def _lead(self) -> float:
        """By how much the plan is expected to lead the next best path, the tolerance added.

        Where it is not expected to lead (it was only proposed), by a little.
        """
        proposal = self.proposal
        gain = self.paths.guess().mean
        theirs = np.where(self.paths.closed, np.inf, -gain - proposal.slack)
        lead = least_against(proposal, gain[None], theirs[None])[0]
        tolerance = proposal.rules.tolerance
        return float(max(lead + tolerance, tolerance / 2, LEAST_LEAD * proposal.rules.span))

    def _until(self, start: Counted, bet: float) -> Counted:
        """Add episodes of the plan, or of the path that is hardest to rule out, until it is.

        Whichever of the two takes more noise away.
        """
        proposal, rules = self.proposal, self.proposal.rules
        wanted, count = dict(start), planned(proposal, start)[0]
        gain = bet * self.paths.guess().mean
        bonus = rules.tolerance * (bet + self.paths.bets)
        ours = set(proposal.plan_edges)
        known = (proposal.known + self.paths.read).count
        most = MOST_GROWTH * max(float(known.max()), float(count.max()), 1000.0)
        cost = self._cost(bet, count)
        for _ in range(MOST_STEPS):
            path, least = hardest(
                proposal,
                self.paths.ours + gain - cost,
                self.paths.theirs - gain - cost - bet * proposal.slack,
            )
            if least + bonus >= rules.level or count.max() > most:
                break
            theirs = set(proposal.passed(path))
            options = [
                self._more(bet, count, cost, actions, apart)
                for actions, apart in ((proposal.plan, ours - theirs), (path, theirs - ours))
            ]
            _, actions, more, cost = max(options, key=lambda option: option[0])
            wanted[actions] = wanted.get(actions, 0) + more
            count[proposal.walk(actions)] += more
        return list(wanted.items())

    def _more(
        self, bet: float, count: FloatArray, cost: FloatArray, actions: Actions, apart: set[int]
    ) -> tuple[float, Actions, int, FloatArray]:
        """What some more episodes of these actions save for each of them; how many, and the cost.

        apart: the edges on which it matters. Where these actions do not read all of them (readings
        behind a merge may not count), the dearest is read by itself.
        """
        edges = list(apart)
        if not apart <= set(self.proposal.walk(actions)):
            edges = [max(apart, key=lambda edge: float(cost[edge]))]
            actions = self.proposal.reading(edges[0])
        more = math.ceil(STEP * float(count[edges].min()))
        raised = count.copy()
        raised[self.proposal.walk(actions)] += more
        after = self._cost(bet, raised)
        return float((cost - after)[edges].sum()) / more, actions, more, after

    def _cost(self, bet: float, count: FloatArray) -> FloatArray:
        """[E], what noise is expected to cost with so many readings."""
        weight = count * (self.proposal.horizon if self.proposal.rules.shared else 1)
        return self.paths.expected_cost(np.array([[bet]]), count, weight)[0]

    # ------------------------------------------------------------ sequences

    def _covered(self, needed: FloatArray, windows: dict[tuple[int, Actions], int]) -> Counted:
        """Sequences that read every edge and every window as often as is needed."""
        proposal = self.proposal
        short, wanted = np.ceil(needed), dict[Actions, int]()
        if proposal.rules.future > 1:
            _cover_windows(proposal, short, dict(windows), wanted)
        while (short > 0).any():
            actions, edges = _longest(proposal, short)
            gaps = short[edges]
            count = int(gaps[gaps > 0].min())
            short[edges] -= count
            wanted[actions] = wanted.get(actions, 0) + count
        return list(wanted.items())


def _cover_windows(
    proposal: Proposal,
    short: FloatArray,
    windows: dict[tuple[int, Actions], int],
    wanted: dict[Actions, int],
) -> None:
    """Ask for the windows: each by the representative of its edge, and on by what is short."""
    for edge, way in sorted(windows, key=lambda each: int(proposal.level_of[each[0]])):
        left = windows[edge, way]
        if left <= 0:
            continue
        start = (*proposal.reading(edge), *way)
        actions, passed = _through_windows(proposal, start, windows)
        short[proposal.walk(actions)] -= left
        wanted[actions] = wanted.get(actions, 0) + left
        for key in passed:
            if key in windows:
                windows[key] -= left


def _through_windows(
    proposal: Proposal, start: Actions, windows: dict[tuple[int, Actions], int]
) -> tuple[Actions, list[tuple[int, Actions]]]:
    """The actions, and on to the end by windows that are still wanted; all windows on the way."""
    depth, actions = proposal.rules.future, list(start)
    edges = proposal.walk(actions)
    while len(edges) == len(actions) < proposal.horizon and proposal.goes_on[edges[-1]] >= 0:
        first = len(actions) + 1 - depth  # level of the edge whose window the next action completes
        ends = tuple(actions[first + 1 :])
        left = [windows.get((edges[first], (*ends, a)), 0) for a in range(proposal.n_actions)]
        actions.append(int(np.argmax(left)))
        edges = proposal.walk(actions)
    keys = [
        (edge, tuple(actions[level + 1 : level + depth]))
        for level, edge in enumerate(edges)
        if level + depth <= proposal.horizon - 1
    ]
    return tuple(actions), keys


def _longest(proposal: Proposal, short: FloatArray) -> tuple[Actions, list[int]]:
    """The path that passes most of what is short."""
    weight = np.maximum(short, 0.0)
    after, choice = np.zeros(1), list[np.ndarray]()
    for level in range(proposal.horizon - 1, -1, -1):
        part = slice(proposal.first[level], proposal.first[level + 1])
        target = proposal.goes_on[part]
        total = weight[part] + np.where(target >= 0, after[np.maximum(target, 0)], 0.0)
        total = total.reshape(-1, proposal.n_actions)
        choice.append(total.argmax(axis=1))
        after = total.max(axis=1)
    choice.reverse()
    state, actions, edges = 0, list[int](), list[int]()
    for level in range(proposal.horizon):
        action = int(choice[level][state])
        actions.append(action)
        edges.append(proposal.edge(level, state, action))
        state = int(proposal.goes_on[edges[-1]])
        if state < 0:
            break
    useful = max(i for i, edge in enumerate(edges) if weight[edge] > 0) + 1
    return tuple(actions[:useful]), edges[:useful]

"""Evidence that the plan is better than every other path: one bet a block, and the worst path.

Suppose a path is better than the plan. Its edges, and those of the plan, are read in blocks whose
counts and bets are fixed before they are read. Then the product over the blocks of

    exp(lambda X - cost),      X: lead of the plan in the means of the block,

has mean at most 1, and ever reaches 1/delta with probability at most delta (Ville). `cost` is
Hoeffding's lambda^2 v / (2 n) for each edge in which the two differ, or the empirical Bernstein
psi(lambda R / n) sum (x - mu)^2 / R^2 with a guess mu made before. With one bet for all paths the
logarithms add up over edges, so that dynamic programming finds the least of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surepath.inference.proposal import Proposal, Sums
from surepath.system import Actions, FloatArray

BETS = 2.0 ** (np.arange(-24, 61) / 4)
"""All bets that are considered, in units of level / span."""


@dataclass(frozen=True, slots=True)
class Guess:
    """What is expected of the rewards of every edge, from what was read before."""

    mean: FloatArray  # [E]
    variance: FloatArray  # [E]


class PathEvidence:
    """The evidence so far against every path that is not the plan."""

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal
        size = proposal.first[-1]
        self.ours, self.theirs = np.zeros(size), np.zeros(size)
        self.bets = 0.0  # their sum
        self.read = Sums.none(size)  # in all blocks
        self.loss = 0.0  # the most that a path which is ruled out may gain on the plan

    @property
    def closed(self) -> NDArray[np.bool_]:
        """[E], edges all of whose paths are ruled out."""
        return self.theirs == np.inf

    @property
    def least(self) -> float:
        """The least evidence against any path that is not ruled out; infinite where all are."""
        return float(least_against(self.proposal, self.ours[None], self.theirs[None])[0])

    def guess(self) -> Guess:
        rules = self.proposal.rules
        known = self.proposal.known + self.read
        seen = np.maximum(known.count, 1)
        middle = sum(rules.rewards) / 2 if rules.bounded else 0.0
        mean = np.where(known.count > 0, known.total / seen, middle)
        mean = np.clip(mean, *rules.rewards)
        scatter = np.maximum(known.squares - known.total**2 / seen, 0.0)
        return Guess(mean, (scatter + rules.span**2 / 4) / (known.count + 1))

    def expected(self, count: FloatArray, weight: FloatArray, bets: FloatArray) -> FloatArray:
        """[B], F of each bet: the least evidence expected after a block, the tolerance included.

        count: [E], readings of the block. weight: [E], how much of them depends on each other (g).
        """
        guess, rules = self.guess(), self.proposal.rules
        bet = bets[:, None]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            cost = self.expected_cost(bet, count, weight)
            gain = np.where(bet > 0, bet * guess.mean, 0.0)
            ours = self.ours + gain - cost
            theirs = self.theirs - gain - cost - bet * self.proposal.slack
            least = least_against(self.proposal, ours, theirs)
        found = least + rules.tolerance * (bets + self.bets)
        return np.where(np.isfinite(found), found, -np.inf)

    def expected_cost(self, bet: FloatArray, count: FloatArray, weight: FloatArray) -> FloatArray:
        """[B, E], what noise is expected to cost in a block with these counts."""
        guess = self.guess()
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return self._cost(bet, count, weight, guess, count * guess.variance)

    def bet(self, count: FloatArray, weight: FloatArray) -> float:
        """The bet of a block with these counts: a function of what was known before it."""
        if self.proposal.n_actions == 1:
            return 0.0
        rules = self.proposal.rules
        bets = np.concatenate([[0.0], rules.level / rules.span * BETS])
        return float(bets[self.expected(count, weight, bets).argmax()])

    def add(self, bet: float, block: Sums, weight: FloatArray) -> None:
        """Take in the rewards of a block that was read with this bet."""
        guess = self.guess()
        seen = np.maximum(block.count, 1)
        around = block.squares - 2 * guess.mean * block.total + block.count * guess.mean**2
        least = (block.total - block.count * guess.mean) ** 2 / seen  # whatever rounding says
        if bet > 0:
            with np.errstate(invalid="ignore", divide="ignore"):
                cost = self._cost(
                    np.array([[bet]]), block.count, weight, guess, np.maximum(around, least)
                )
            gain = bet * block.total / seen
            self.ours += gain - cost[0]
            self.theirs -= gain + cost[0] + bet * self.proposal.slack
        self.bets += bet
        self.read = self.read + block
        self._close()

    def _close(self) -> None:
        """Rule out edges: all paths by them have enough against them, the tolerance included.

        What has passed its test has passed it for good (Ville), and is not read any more.
        """
        level, tolerance = self.proposal.rules.level, self.proposal.rules.tolerance
        through = least_through(self.proposal, self.ours, self.theirs)
        through[self.proposal.plan_edges] = -np.inf
        passed = ~self.closed & (through + tolerance * self.bets >= level)
        if passed.any():
            short = level - float(through[passed].min())
            self.loss = max(self.loss, short / self.bets if short > 0 else 0.0)
            self.theirs[passed] = np.inf

    def _cost(
        self,
        bet: FloatArray,
        count: FloatArray,
        weight: FloatArray,
        guess: Guess,
        around: FloatArray,
    ) -> FloatArray:
        """[B, E], what noise costs.

        around: [E], squared distances of the block's rewards from the guess, in all.
        """
        rules = self.proposal.rules
        hoeffding = bet**2 * rules.reward_noise**2 * weight / (2 * count**2)
        share = bet * rules.span / count
        allowed = (share < 1) & rules.bounded & (not rules.shared)
        psi = -np.log1p(-np.where(allowed, share, 0.0)) - np.where(allowed, share, 0.0)
        taken = allowed & (psi * count * guess.variance / rules.span**2 < hoeffding)
        cost = np.where(taken, psi * around / rules.span**2, hoeffding)
        unread = np.where((bet > 0) & ~self.closed, np.inf, 0.0)
        return np.where(count > 0, np.where(bet > 0, cost, 0.0), unread)


def least_against(proposal: Proposal, ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """[B], the least evidence against any path but the plan, from that of edges [B, E]."""
    return np.min([others for _, others in _leaving(proposal, ours, theirs)[0]], axis=(0, 2))


def hardest(proposal: Proposal, ours: FloatArray, theirs: FloatArray) -> tuple[Actions, float]:
    """The path with the least evidence against it, and how much that is; from that of edges [E]."""
    leaving, totals = _leaving(proposal, ours[None], theirs[None])
    least, level, action = min(
        (float(others[0, action]), level, action)
        for level, (_, others) in enumerate(leaving)
        for action in range(proposal.n_actions)
    )
    state, _ = divmod(proposal.plan_edges[level] - proposal.first[level], proposal.n_actions)
    actions = [*proposal.plan[:level], action]
    state = int(proposal.target[proposal.edge(level, state, action)])
    while state >= 0 and (level := level + 1) < proposal.horizon:
        actions.append(int(totals[level][0, state].argmin()))
        state = int(proposal.target[proposal.edge(level, state, actions[-1])])
    return tuple(actions), least


def _leaving(
    proposal: Proposal, ours: FloatArray, theirs: FloatArray
) -> tuple[list[tuple[int, FloatArray]], list[FloatArray]]:
    """The least evidence against paths that leave the plan at each level by each action [B, A].

    Infinite for the plan's own. And the least cost of all ways on, [B, S, A] for each level.
    """
    edges = proposal.plan_edges
    cost = theirs.copy()
    cost[:, edges] = -ours[:, edges]  # shared with the plan: neither side counts
    leaving, totals = list[tuple[int, FloatArray]](), list[FloatArray]()
    after, own = np.zeros((len(ours), 1)), np.zeros((len(ours), 1))
    for level in range(proposal.horizon - 1, -1, -1):
        part = slice(proposal.first[level], proposal.first[level + 1])
        target = proposal.target[part]
        total = cost[:, part] + np.where(target >= 0, after[:, np.maximum(target, 0)], 0.0)
        totals.append(total.reshape(len(ours), proposal.states[level], proposal.n_actions))
        state, action = divmod(edges[level] - proposal.first[level], proposal.n_actions)
        own = own + ours[:, [edges[level]]]
        others = own + totals[-1][:, state]
        others[:, action] = np.inf
        leaving.append((state, others))
        after = totals[-1].min(axis=2)
    return leaving[::-1], totals[::-1]


def least_through(proposal: Proposal, ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """[E], the least evidence against any path by each edge, from that of edges [E]."""
    _, totals = _leaving(proposal, ours[None], theirs[None])
    edges = proposal.plan_edges
    cost = theirs.copy()
    cost[edges] = -ours[edges]
    found, before = np.empty_like(cost), np.zeros(1)
    for level, total in enumerate(totals):
        part = slice(proposal.first[level], proposal.first[level + 1])
        found[part] = (before[:, None] + total[0]).ravel()
        if level + 1 < proposal.horizon:
            target, there = proposal.target[part], proposal.target[part] >= 0
            arrive = np.repeat(before, proposal.n_actions) + cost[part]
            before = np.full(proposal.states[level + 1], np.inf)
            np.minimum.at(before, target[there], arrive[there])
    return found + ours[edges].sum()


def by_action(proposal: Proposal, mean: FloatArray) -> list[list[float]]:
    """For each level of the plan, the most that can be had from there by each action, if every edge
    pays its mean.
    """
    _, totals = _leaving(proposal, mean[None], -mean[None])
    # The plan's own edges stand there with the sign of what is shared: they cost as much.
    found = list[list[float]]()
    for level, edge in enumerate(proposal.plan_edges):
        state = (edge - proposal.first[level]) // proposal.n_actions
        found.append([float(each) for each in -totals[level][0, state]])
    return found

"""An attempt to prove a proposal: its blocks, and the evidence that they add up to."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from surepath.inference.fresh_block import (
    Block,
    Counted,
    Told,
    episodes_of,
    planned,
    rewards_by_edge,
    windows_by_edge,
)
from surepath.inference.merge_evidence import MergeEvidence
from surepath.inference.path_evidence import PathEvidence
from surepath.inference.proposal import Proposal
from surepath.inference.tuning import TUNING


@dataclass
class Attempt:
    proposal: Proposal
    paths: PathEvidence = field(init=False)
    merges: MergeEvidence = field(init=False)
    blocks: list[Block] = field(default_factory=list[Block])

    def __post_init__(self) -> None:
        self.paths, self.merges = PathEvidence(self.proposal), MergeEvidence(self.proposal)

    def begin(self, requests: Counted) -> Block:
        """The next block; its bet is a function of what was read before it."""
        bet = self.paths.bet(*planned(self.proposal, requests))
        self.blocks.append(Block(requests, bet, self.evidence))
        return self.blocks[-1]

    def tell(self, told: list[Told]) -> None:
        """What was read in the last block: all of it, or it counts for nothing."""
        block = self.blocks[-1]
        block.told = told
        _, weight = planned(self.proposal, block.requests)
        self.paths.add(block.bet, rewards_by_edge(self.proposal, told), weight)
        self.merges.add(windows_by_edge(self.proposal, told))

    @property
    def evidence(self) -> tuple[float, float]:
        """The least against any open path, and the least for any merge."""
        return self.paths.least, self.merges.least

    @property
    def proved(self) -> bool:
        """Whether no path is open and every merge is settled."""
        told = bool(self.blocks) and bool(self.blocks[-1].told)
        return told and self.paths.least == math.inf and self.settled

    @property
    def settled(self) -> bool:
        return self.merges.least >= self.proposal.rules.level

    @property
    def optimal(self) -> bool:
        """Whether what is proved is that no plan is better."""
        gap = self.proposal.rules.gap
        return self.paths.loss == 0 or (gap is not None and self.paths.loss < gap)

    @property
    def value(self) -> float:
        """The plan's mean return in the fresh readings."""
        read, edges = self.paths.read, self.proposal.plan_edges
        return float((read.total[edges] / read.count[edges]).sum())

    @property
    def episodes(self) -> int:
        """Those that were read: what the last block asks for may still be missing."""
        return sum(episodes_of(block.requests) for block in self.blocks if block.told)

    @property
    def hopeless(self) -> str:
        """Why to give it up; empty as long as it may go on."""
        rules, level = self.proposal.rules, self.proposal.rules.level
        if self.paths.least + rules.tolerance * self.paths.bets < -TUNING.refuted * level:
            return "another plan seemed better"
        refuted = any(
            not test.best >= level and self.merges.last(edge, test) < -level
            for (edge, _), test in self.merges.tests.items()
        )
        return "what was taken for one state seemed to be two" if refuted else ""

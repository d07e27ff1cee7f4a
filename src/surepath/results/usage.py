"""What a run has to show for itself: what it cost, and what each decision rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal


def shorten(actions: Sequence[int], most: int = 24) -> str:
    """Actions as text, cut where they are many."""
    text = " ".join(map(str, actions[:most]))
    return f"{text} ... ({len(actions)} actions)" if len(actions) > most else text


@dataclass(slots=True)
class Usage:
    """What a run cost, and where. Levels are counted from 0."""

    n_actions: int
    expansions: list[int]  # by level: nodes that were not covered, all actions tried
    covered: list[int]  # by level: covered visits of Compute-V*
    rounds: int = 0  # of the main loop
    nodes: int = 0  # distinct prefixes sampled
    feature_batches: int = 0  # embeddings sampled
    reward_batches: int = 0  # reward means sampled
    episodes: int = 0
    steps: int = 0
    pilot_episodes: int = 0  # of the above, those before the first request
    pilot_steps: int = 0
    # What went wrong on the way is no part of what was found.
    retries: int = field(default=0, compare=False)  # attempts that failed; not counted above
    replaced: int = field(default=0, compare=False)  # workers that died or hung

    @property
    def alpha(self) -> int:
        """Covered (good) visits: the paper's alpha, summed over rounds."""
        return sum(self.covered)

    @property
    def beta(self) -> int:
        """Actions tried at uncovered (bad) nodes: the paper's beta, summed over rounds."""
        return self.n_actions * sum(self.expansions)


@dataclass(frozen=True, slots=True)
class Decision:
    """What one level of a plan rests on."""

    level: int
    action: int
    estimates: tuple[float, ...]  # of Q*, for every action
    coverage: float  # of the embedding by the stored ones; 0 where every action was tried
    samples: int  # readings behind the embedding, or behind each reward mean
    source: Literal["regression", "expansion"]  # where the estimates come from

    @property
    def margin(self) -> float:
        """How far the chosen action leads the next one; infinite when there is no other."""
        others = [q for a, q in enumerate(self.estimates) if a != self.action]
        return self.estimates[self.action] - max(others, default=float("-inf"))

"""What a run cost, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from surepath.inference.states import Automaton
from surepath.validate import SAID_IF_GIVEN

MISHAPS = ("retries", "replaced")
"""What `Usage` counts of failures; it depends on what happened and not on what was read."""


def shorten(actions: Sequence[int], most: int = 24) -> str:
    """Actions as text, cut where they are many."""
    text = " ".join(map(str, actions[:most]))
    return f"{text} ... ({len(actions)} actions)" if len(actions) > most else text


@dataclass(slots=True)
class Usage:
    """What a run cost, and where. Levels are counted from 0."""

    n_actions: int
    expansions: list[int]  # by level: uncovered nodes (adaptive: states), all actions tried
    covered: list[int]  # by level: covered visits of Compute-V*; adaptive: ends of edges that
    # needed no expansion of their own
    rounds: int = 0  # of the main loop; adaptive: how often the readings were judged
    nodes: int = 0  # distinct prefixes sampled
    feature_batches: int = 0  # embeddings sampled
    reward_batches: int = 0  # reward means sampled
    episodes: int = 0
    steps: int = 0
    pilot_episodes: int = 0  # of the above, those before the first request
    pilot_steps: int = 0
    # Of the pilot, what counts as readings: all but comparisons of ranks, in adaptive runs.
    pooled_episodes: int = field(default=0, metadata={SAID_IF_GIVEN: True})
    pooled_steps: int = field(default=0, metadata={SAID_IF_GIVEN: True})
    starts: int = 1  # how often the recursion began; all counts but those of what was paid, which
    # are episodes and steps, are of the last time
    # Told unasked, or from before; not counted above.
    given_episodes: int = field(default=0, metadata={SAID_IF_GIVEN: True})
    given_steps: int = field(default=0, metadata={SAID_IF_GIVEN: True})
    # Not compared: runs that found the same are equal, whatever went wrong on the way.
    retries: int = field(default=0, compare=False)  # attempts that failed; not counted above
    replaced: int = field(default=0, compare=False)  # workers that died or hung

    def start_again(self) -> None:
        """Forget the counts, not the cost."""
        self.expansions = [0] * len(self.expansions)
        self.covered = [0] * len(self.covered)
        self.rounds = self.nodes = self.feature_batches = self.reward_batches = 0
        self.starts += 1

    @property
    def read_episodes(self) -> int:
        """Those whose readings the answer rests on."""
        prepared = self.pilot_episodes - self.pooled_episodes
        return self.episodes - prepared + self.given_episodes

    @property
    def read_steps(self) -> int:
        prepared = self.pilot_steps - self.pooled_steps
        return self.steps - prepared + self.given_steps

    @property
    def alpha(self) -> int:
        """Covered (good) visits: the paper's alpha, summed over rounds."""
        return sum(self.covered)

    @property
    def beta(self) -> int:
        """Actions tried at uncovered (bad) nodes: the paper's beta, summed over rounds."""
        return self.n_actions * sum(self.expansions)


def states_of(machine: Automaton) -> int:
    """States that were told apart, of all levels."""
    return sum(len(layer.prefixes) for layer in machine.layers)


def tried_by_level(machine: Automaton) -> tuple[list[int], list[int]]:
    """What `expansions` and `covered` are of an adaptive run that has found this machine."""
    expanded = [int(layer.expanded.sum()) for layer in machine.layers]
    ends = [int((layer.target >= 0).sum()) for layer in machine.layers]
    covered = [before - own for before, own in zip(ends, expanded[1:], strict=False)]
    return expanded, [0, *covered]

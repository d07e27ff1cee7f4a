"""Small password games, for the tests of the family `few_actions`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from surepath.builtin_problems.hard import FewActions
from surepath.builtin_problems.hard.few_actions import FEE, Guess

STAKES, BASE = 0.25, 0.8
RHO = FEE + 9 / 16


def secrets(bits: int, most: int | None = None) -> list[tuple[int, ...]]:
    """Passwords with at least a quarter of ones, and at most `most` of them."""
    every = itertools.product((0, 1), repeat=bits)
    return [s for s in every if bits // 4 <= sum(s) <= (bits if most is None else most)]


def game(secret: tuple[int, ...], rounds: int) -> FewActions:
    return FewActions(secret, len(secret) // 4, rounds)


def reachable(process: FewActions) -> Iterator[tuple[int, Guess | None]]:
    """Every state with its step, each once."""
    level: set[Guess | None] = {process.start}
    for step in range(process.horizon):
        yield from ((step, state) for state in level)
        level = {process.move(step, s, a) for s in level for a in range(process.n_actions)}

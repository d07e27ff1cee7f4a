"""What to touch before a loop runs, so that its cache serves it best: found by trying.

A set of a cache holds four lines and evicts by a tree of three bits (pseudo-LRU): each bit points
away from the half that was used last, and the victim is where the bits point. Six lines compete for
it. Before a loop runs, four touches are free, of any but the last line; what the loop then takes is
measured with noise. The set is the hidden state. A simulator shows it without noise, and the last
step only measures: the shape of `llvm_passes.py`, in a few lines that run anywhere.

Run it with `python examples/cache_warming.py` (some seconds).
"""

from __future__ import annotations

from itertools import product

import numpy as np

import surepath

LINES, TOUCHES = 5, 4
START = ((0, 1, 2, 3), (0, 0, 0))
"""The lines that the four ways hold, and the bits of the tree: the root, its left and its right."""

LOOP = (4, 1, 5, 1, 3, 4, 0, 5, 3, 1)
HIT, MISS = 4, 40
"""Cycles that an access takes."""

JITTER = 10.0
"""Standard deviation of what is measured, in cycles."""

SLOWEST = MISS * len(LOOP) + 4 * JITTER
"""Cycles that pay nothing. What is measured is cut to between none and these."""

Set = tuple[tuple[int, ...], tuple[int, ...]]


def touch(cache: Set, line: int) -> tuple[Set, bool]:
    """The set after an access, and whether it was a hit."""
    ways, (root, *leaves) = cache
    hit = line in ways
    way = ways.index(line) if hit else 2 * root + leaves[root]
    half, side = divmod(way, 2)
    held = tuple(line if place == way else old for place, old in enumerate(ways))
    pointing = [1 - side if place == half else leaf for place, leaf in enumerate(leaves)]
    return (held, (1 - half, *pointing)), hit


def cycles(cache: Set) -> int:
    """What the loop takes."""
    total = 0
    for line in LOOP:
        cache, hit = touch(cache, line)
        total += HIT if hit else MISS
    return total


class Warming:
    """Actions touch lines; the last step runs the loop."""

    horizon, n_actions, last_actions = TOUCHES + 1, LINES, 1
    dimension = 7
    preferred_features = "linear"

    def caches(self, actions: tuple[int, ...]) -> list[Set]:
        """The set before, between and after the touches."""
        found: list[Set] = [START]
        for line in actions[:TOUCHES]:
            found.append(touch(found[-1], line)[0])
        return found

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        caches = self.caches(actions)
        shown = [[*ways, *bits] for ways, bits in caches]
        rewards = np.zeros((n, len(actions)))
        if len(actions) == self.horizon:
            taken = cycles(caches[-1]) + JITTER * rng.standard_normal(n)
            rewards[:, -1] = np.clip(1 - taken / SLOWEST, 0, 1)
        return surepath.Episodes(actions, np.tile(np.array(shown, float), (n, 1, 1)), rewards)


def fewest() -> int:
    """Cycles of the best order, by trying all of them without noise."""
    system = Warming()
    return min(cycles(system.caches(each)[-1]) for each in product(range(LINES), repeat=TOUCHES))


def learn(seed: int = 0) -> surepath.Result:
    return surepath.learn(
        Warming(),
        separation="exact",
        predict=False,
        return_range=(0.0, 1.0),
        gap=0.9 * (MISS - HIT) / SLOWEST,  # a miss more or less is the least that can differ
        seed=seed,
    )


def main() -> None:
    result = learn()
    touched = result.actions[:TOUCHES]
    print("touch", *touched, "takes", cycles(Warming().caches(touched)[-1]), "| best", fewest())
    print("nothing touched takes", cycles(START))
    print(result.certificate.claim, "|", result.episodes, "episodes")


if __name__ == "__main__":
    main()

"""How often laws at exactly the separation pass for one, simulated: the merge test by itself.

A state is known by a pool of readings; more and more is read of an end that is another state, at
exactly the declared separation, and the test is asked again and again as a run does. Beside it: how
many readings an end takes that is the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from surepath.bench.families.symbol_laws import shifted, some_law
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import Crew
from surepath.inference.symbols import Symbols
from surepath.inference.terms import SEPARATION, merge_evidence
from surepath.system import FloatArray

DELTAS = (0.05, 0.2)
POOLS = (60, 400)
"""Readings of the state."""
FIRST, GROWTH, LAST = 5, 1.4, 400
"""Readings of the end: at first, how they grow between looks, and when it is given up."""
RUNS, QUICK_RUNS = 1000, 50

ONE_NODE = np.zeros((1, 1), dtype=np.int64)

LAWS: Mapping[str, Callable[[np.random.Generator], FloatArray]] = {
    "2 even": lambda _: np.full(2, 0.5),
    "4 even": lambda _: np.full(4, 0.25),
    "8 even": lambda _: np.full(8, 0.125),
    "one of 6 usual": lambda _: np.array([0.8, 0.04, 0.04, 0.04, 0.04, 0.04]),
    "8, random": lambda rng: rng.dirichlet(np.ones(8)),
    "12, nearly even": lambda rng: some_law(12, rng),
    "12, sparse": lambda rng: rng.dirichlet(np.full(12, 0.3)),
    "30, random": lambda rng: rng.dirichlet(np.ones(30)),
}


def false_merges(crew: Crew) -> list[Section]:
    rng, runs = np.random.default_rng(0), QUICK_RUNS if crew.quick else RUNS
    rows: list[tuple[Cell, ...]] = []
    for name, law in LAWS.items():
        for pool in POOLS:
            cells = list[Cell]()
            for delta in DELTAS:
                passed = [settled(law(rng), SEPARATION, pool, delta, rng) for _ in range(runs)]
                same = [settled(law(rng), 0.0, pool, delta, rng) for _ in range(runs // 5)]
                cells += [f"{np.mean([n < LAST for n in passed]):.1%}", float(np.median(same))]
            rows.append((name, pool, *cells))
    sides = [f"delta {delta}: {side}" for delta in DELTAS for side in ("false", "readings")]
    title = (
        f"false merges: how often a law at exactly {SEPARATION} passes for that of a state, and "
        f"how many readings (median) one of the same law takes; {runs} runs"
    )
    return [Section(title, ("symbols", "pool", *sides), rows)]


def settled(
    law: FloatArray, distance: float, pool: int, delta: float, rng: np.random.Generator
) -> int:
    """Readings after which an end at this distance passes; LAST where it does not."""
    other = shifted(law, distance, rng) if distance else law
    known = rng.multinomial(pool, law).astype(np.float64)
    read, seen = FIRST, rng.multinomial(FIRST, other).astype(np.float64)
    test = Symbols()
    while read < LAST:
        apart = test.apart(seen[None], known[None], ONE_NODE)
        if float(test.log_evidence(apart, SEPARATION)[0]) >= merge_evidence(delta):
            return read
        more = int(np.ceil((GROWTH - 1) * read))
        seen += rng.multinomial(more, other)
        read += more
    return LAST

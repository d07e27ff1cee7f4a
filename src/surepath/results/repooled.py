"""The pooled readings of a run, once more from the episodes of its journal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from surepath.journal.database import Journal
from surepath.journal.rows import PILOT, Row
from surepath.readings.record import trie_of, walk
from surepath.readings.trie import Node, Tally
from surepath.results.result import Result
from surepath.system import Counts, FloatArray, steps_of


def recount(journal: Journal, result: Result) -> tuple[str, ...]:
    """Where the episodes of the journal say something else than the readings of the result.

    Numbers and rewards of every prefix are counted again; symbols too, where the features are
    symbols. Other features are functions that a file does not hold: those sums are taken as they
    are.
    """
    terms = result.certificate.terms
    assert terms is not None  # checked before, like the record
    assert result.record is not None
    told = {node.prefix: node for node in walk(trie_of(result.record))}
    symbols = terms.shape.dimension if terms.shape.symbols else None
    try:
        with np.errstate(all="ignore"):  # absurd numbers are a difference, not a warning
            found = _pooled(journal.rows(), terms.shape.horizon, symbols)
    except (LookupError, ValueError) as error:
        return (f"the episodes are not of this system: {error}",)
    differences = [
        f"the episodes do not show what is recorded of prefix {prefix}"
        for prefix in sorted(told.keys() | found.keys())
        if not _same(told.get(prefix), found.get(prefix), symbols)
    ]
    episodes = journal.count()[0]
    if episodes != result.episodes:
        differences.append(f"{episodes} episodes are recorded, {result.episodes} are claimed")
    return tuple(differences)


class _Pool:
    """What was read of one prefix."""

    def __init__(self) -> None:
        self.count = 0
        self.rewards = Tally()
        self.symbols: FloatArray | float = 0.0


def _pooled(rows: Iterable[Row], horizon: int, symbols: int | None) -> dict[tuple[int, ...], _Pool]:
    pools: dict[tuple[int, ...], _Pool] = {}
    for readings in (row.readings for row in rows if row.batch < PILOT):
        actions = readings.actions
        for step in range(steps_of(actions, horizon)):
            pool = pools.setdefault(actions[:step], _Pool())
            pool.count += readings.count
            if symbols is not None:
                pool.symbols = pool.symbols + _counts(readings.observation(step), symbols)
        for step in range(len(actions)):
            pools.setdefault(actions[: step + 1], _Pool()).rewards.add(readings.reward(step))
    return pools


def _counts(sample: Any, symbols: int) -> FloatArray:
    if isinstance(sample, Counts):
        return sample.counts.astype(np.float64)
    read = np.ravel(sample).astype(np.int64)
    if read.max(initial=0) >= symbols:  # counting them would take memory for all that are smaller
        raise ValueError(f"there are {symbols} symbols, and one was read that is {read.max()}")
    return np.bincount(read, minlength=symbols).astype(np.float64)


def _same(told: Node | None, found: _Pool | None, symbols: int | None) -> bool:
    if told is None or found is None:
        return False
    same = told.count == found.count and told.rewards.count == found.rewards.count
    for mine, theirs in (
        (told.rewards.total, found.rewards.total),
        (told.rewards.scatter, found.rewards.scatter),
    ):
        same = same and math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-6)
    if symbols is not None and told.digest is not None:
        same = same and bool(np.array_equal(told.digest.total, found.symbols))
    return same

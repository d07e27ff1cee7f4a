"""The pooled readings of a run, once more from the episodes of its journal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepath.features import OneHot
from surepath.inference.drift import Drift
from surepath.inference.independence import Dependence
from surepath.inference.terms import Terms
from surepath.inference.threads import one_thread
from surepath.journal.database import Journal
from surepath.journal.rows import GIVEN, PILOT, Origin, Row, as_told, requests_of
from surepath.readings.embedding import CloudEmbedding
from surepath.readings.record import trie_of, walk
from surepath.readings.trie import Node, Tally
from surepath.results.result import Result
from surepath.system import Counts, Episodes, FloatArray, steps_of


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
    proved = terms.guarantee == "proved"
    try:
        with np.errstate(all="ignore"):  # absurd numbers are a difference, not a warning
            pilot = result.usage.pooled_episodes > 0
            rows = as_told(journal.rows(), pilot=pilot)
            found = _pooled(rows, terms.shape.horizon, symbols)
    except (LookupError, ValueError) as error:
        return (f"the episodes are not of this system: {error}",)
    differences = [
        f"the episodes do not show what is recorded of prefix {prefix}"
        for prefix in sorted(told.keys() | found.keys())
        if not _same(told.get(prefix), found.get(prefix), symbols)
    ]
    return (*differences, *_cost(journal, result), *_misplaced(journal.rows(), proved=proved))


def _cost(journal: Journal, result: Result) -> tuple[str, ...]:
    """Where the episodes cost something else than is claimed."""
    horizon, pooled = len(result.actions), result.usage.pooled_episodes > 0
    episodes, steps = Counter[str](), Counter[str]()
    for row in journal.rows():
        kind = "given" if row.batch >= GIVEN else "pilot" if row.batch >= PILOT else "own"
        paid = row.readings.count * steps_of(row.readings.actions, horizon)
        for each in [kind, "pooled"] if row.of_pilot and pooled else [kind]:
            episodes[each] += row.readings.count
            steps[each] += paid
    usage = result.usage
    shown = (
        ("episodes", episodes["own"] + episodes["pilot"], usage.episodes),
        ("steps", steps["own"] + steps["pilot"], usage.steps),
        ("episodes of the pilot", episodes["pilot"], usage.pilot_episodes),
        ("steps of the pilot", steps["pilot"], usage.pilot_steps),
        ("episodes of the pilot that are readings", episodes["pooled"], usage.pooled_episodes),
        ("steps of the pilot that are readings", steps["pooled"], usage.pooled_steps),
        ("given episodes", episodes["given"], usage.given_episodes),
        ("given steps", steps["given"], usage.given_steps),
    )
    return tuple(
        f"{recorded} {what} are recorded, {claimed} are claimed"
        for what, recorded, claimed in shown
        if recorded != claimed
    )


def _misplaced(rows: Iterable[Row], *, proved: bool) -> tuple[str, ...]:
    """Rows that say to be what the place where they stand cannot be."""
    return tuple(
        f"the episodes of batch {row.batch}, request {row.request} say that they are {row.says}"
        for row in rows
        if (PILOT <= row.batch < GIVEN) != (row.origin is Origin.PILOT)
        or (row.batch >= GIVEN and row.origin is not Origin.GIVEN)
        or (row.origin is Origin.FRESH and not proved)
    )


# ---------------------------------------------------------------- what single episodes say


@dataclass(frozen=True, slots=True)
class Said:
    """What single episodes and their order said against the assumptions."""

    doubts: tuple[str, ...]
    warnings: tuple[str, ...]


@one_thread()
def said_by_episodes(journal: Journal, terms: Terms, *, pilot: bool) -> Said | None:
    """Doubts and warnings once more from the episodes; None where their features are not known.

    Symbols are features of themselves. Other features are functions that a file does not hold.
    pilot: whether its episodes count.
    """
    if not terms.shape.symbols:
        return None
    features = OneHot(terms.shape.dimension)
    embedding = CloudEmbedding(features, terms.shape.n_actions, future=1)
    root, dependence, drift = Node(), Dependence(features), Drift(terms.reward_range)
    for _, readings in requests_of(as_told(journal.rows(), pilot=pilot)):
        actions = readings.actions
        steps = range(steps_of(actions, terms.shape.horizon))
        digests = {step: embedding.digest(readings.observation(step)) for step in steps}
        rewards = {step: readings.reward(step) for step in range(len(actions))}
        root.take_in(actions, digests, rewards)
        drift.add(root, actions, digests, rewards)
        if isinstance(readings, Episodes):
            dependence.add(readings)
    tests = (dependence, dependence.succession, drift)
    return Said(
        tuple(doubt for test in tests if (doubt := test.doubt())),
        tuple(warning for test in tests if (warning := test.warning())),
    )


# ---------------------------------------------------------------- what all of them come down to


class _Pool:
    """What was read of one prefix."""

    def __init__(self) -> None:
        self.count = 0
        self.rewards = Tally()
        self.symbols: FloatArray | float = 0.0


def _pooled(rows: Iterable[Row], horizon: int, symbols: int | None) -> dict[tuple[int, ...], _Pool]:
    pools: dict[tuple[int, ...], _Pool] = {(): _Pool()}
    for readings in (row.readings for row in rows):
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
    if sample.dtype.kind not in "biuf":
        raise ValueError(f"symbols are numbers, and {sample.dtype} was read")
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

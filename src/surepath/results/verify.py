"""Check a certificate against the readings it came from, without the learner."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from surepath.errors import InputError
from surepath.inference.judgement import Judgement, judge
from surepath.inference.states import Shape
from surepath.inference.terms import EXACT, Terms
from surepath.inference.tuning import TUNING
from surepath.journal.database import Journal, is_journal
from surepath.readings.record import trie_of, walk
from surepath.readings.trie import Node
from surepath.results.adaptive_claim import conclude, interval, nothing_told_apart
from surepath.results.certificate import SCHEMA, Certificate
from surepath.results.repooled import recount
from surepath.results.result import Result, load, restored
from surepath.system import FloatArray
from surepath.validate import between


@dataclass(frozen=True, slots=True)
class Verification:
    """What the recorded readings say of a certificate."""

    agrees: bool
    differences: tuple[str, ...]  # between what the file claims and what its readings show
    certificate: Certificate  # derived again

    @property
    def certified(self) -> bool:
        """Whether the file claims a certificate and its readings carry it."""
        return self.agrees and self.certificate.certified


def verify(path: str | Path) -> Verification:
    """Derive the certificate of a result again from its recorded readings.

    Of a journal, the readings themselves are first derived again from the episodes.
    """
    if not is_journal(path):
        return _verified(load(path), path)
    with Journal(path) as journal:
        said = journal.get("result")
        if said is None:
            raise InputError(
                f"the run of {path} has not ended",
                got=f"{journal.count()[0]} episodes and no result",
                remedy=f"If the run is yours, go on with it first: surepath resume {path}",
            )
        result = restored(said, f"the result in {path}")
        found = _verified(result, path)
        differences = found.differences + recount(journal, result)
    return replace(found, agrees=not differences, differences=differences)


def _verified(result: Result, path: str | Path) -> Verification:
    claimed = result.certificate
    if claimed.terms is None or result.record is None:
        raise InputError(
            f"{path} holds no readings to check its certificate against",
            got=f"a result of the schedule {claimed.schedule.name!r}"
            if claimed.schedule
            else "a result saved without its readings",
            remedy="Only adaptive runs record their readings; save one with result.save(path).",
        )
    if claimed.schema < SCHEMA:
        raise InputError(
            f"the certificate of {path} was made by the rules of an older version, and cannot be "
            "derived again by these",
            got=f"schema {claimed.schema}, where this version has {SCHEMA}",
            remedy="Check it with the version that made it, or run it again.",
        )
    _check(claimed.terms, result.record)
    root = trie_of(result.record)
    judged = judge(root, claimed.terms, result.actions)
    # Pooled readings do not show what single episodes and their order said: doubts and warnings of
    # those are taken from the file. The warning that pooled readings give is derived again.
    pooled = nothing_told_apart(judged, claimed.terms)
    derived = conclude(
        judged,
        claimed.terms,
        episodes=result.episodes,
        audit=claimed.audit,
        doubts=claimed.doubts,
        notes=claimed.notes,
        warnings=tuple(warning for warning in claimed.warnings if warning not in pooled),
    )
    differences = (
        *_differences(claimed, derived),
        *_counts(root, claimed.terms.shape),
        *_cost(root, result),
        *_plan_and_value(judged, claimed.terms, result),
    )
    return Verification(not differences, differences, derived)


def _plan_and_value(judged: Judgement, terms: Terms, result: Result) -> tuple[str, ...]:
    """Where plan, value or interval are not what the readings show."""
    found: list[str] = []
    plan = judged.plan.actions
    if plan != result.actions[: len(plan)]:
        found.append(f"the readings make {plan} the plan")
    if math.isfinite(judged.value) and judged.value != result.value:
        found.append(f"the file says value {result.value}, its readings show {judged.value}")
    if not result.certificate.doubts:
        shown = interval(judged, terms)
        if shown != result.interval:
            found.append(f"the file says interval {result.interval}, its readings show {shown}")
    return tuple(found)


def _cost(root: Node, result: Result) -> tuple[str, ...]:
    """Where the cost is not what the readings show: every episode reads the start."""
    steps = sum(node.count for node in walk(root))
    episodes = result.episodes - result.usage.pilot_episodes
    shown = (
        ("episodes", episodes, root.count),
        ("steps", result.steps - result.usage.pilot_steps, steps),
    )
    return tuple(
        f"the file says {claimed} {name}, its readings show {read}"
        for name, claimed, read in shown
        if claimed != read
    )


def _counts(root: Node, shape: Shape) -> tuple[str, ...]:
    """Where the numbers of readings do not add up."""
    found: list[str] = []
    for node in walk(root):
        last = node.level == shape.horizon
        passed = sum(child.rewards.count for child in node.children.values())
        adds_up = passed <= node.count or last
        if node.parent is not None and not last:
            adds_up &= node.rewards.count == node.count
        if shape.symbols and node.digest is not None:
            counts: FloatArray = node.digest.total
            adds_up &= bool(counts.sum() == node.count and np.all(counts >= 0))
        if not adds_up:
            found.append(f"the numbers of readings at {node.prefix} do not add up")
    return tuple(found)


def _check(terms: Terms, record: Sequence[Mapping[str, Any]]) -> None:
    """Refuse terms that no run could have had, and readings that no system could have given."""
    between("delta", terms.delta, 0, 1)
    for name in ("gap", "norm", "radius", "tolerance", "tolerance_share"):
        if (value := getattr(terms, name)) is not None:
            between(name, value, 0, math.inf)
    if terms.separation != EXACT:
        between("separation", terms.separation, 0, 1)
    if terms.shape.continuations > TUNING.most_continuations:
        raise _damaged("a future has no more continuations than a run reads", terms.shape)
    low, high = terms.reward_range
    if math.isfinite(high - low) and not math.isclose(terms.reward_noise, (high - low) / 2):
        raise _damaged("the noise of rewards must be half their range", terms.reward_noise)
    between("reward_noise", terms.reward_noise, 0, math.inf, closed=(True, False))
    seen = set[tuple[int, ...]]()
    for entry in record:
        prefix = tuple(entry["prefix"])
        count, total, scatter = entry["rewards"]
        actions = all(action in range(terms.shape.n_actions) for action in prefix)
        if prefix in seen or not actions or len(prefix) > terms.shape.horizon:
            raise _damaged(
                "every prefix stands once, and is a sequence of the system's actions", prefix
            )
        # Without readings any mean will do.
        mean = total / count if count else max(low, min(high, 0.0))
        slack = 1e-9 * max(1.0, abs(mean))
        if not (scatter >= 0 and low - slack <= mean <= high + slack):
            raise _damaged(f"rewards lie between {low:g} and {high:g}", (prefix, total, scatter))
        seen.add(prefix)


def _damaged(what: str, got: object) -> InputError:
    return InputError(what, got=repr(got), remedy="Use the file as it was saved.")


def _differences(claimed: Certificate, derived: Certificate) -> tuple[str, ...]:
    ours, theirs = (c.to_dict() for c in (derived, claimed))
    return tuple(
        f"{name}: the file says {theirs[name]!r}, its readings show {ours[name]!r}"
        for name in ours
        if ours[name] != theirs[name]
    )

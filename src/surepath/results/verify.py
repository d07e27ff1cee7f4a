"""Check a certificate against the readings it came from, without the learner.

Here everything is derived again that readings alone show. Whether the run would have asked for just
these readings is for `prepare.replay` to find out, which `surepath.verify` calls too.
"""

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
from surepath.results.check_proof import proof_in, proved_differently
from surepath.results.data_differences import data_differences
from surepath.results.older import upgraded
from surepath.results.proved_claim import conclude_proved
from surepath.results.recorded_call import terms_against_call
from surepath.results.repooled import Said, recount, said_by_episodes
from surepath.results.result import Result, data_in, restored
from surepath.results.usage import MISHAPS, tried_by_level
from surepath.system import FloatArray
from surepath.validate import between, without_infinities

POOLED = "the readings themselves: a result holds what they come down to, and no episodes"
SINGLE = "what single episodes and their order said: doubts and warnings"
CHOSEN = "what was chosen on the way: notes, rounds, the pilot, the sample of the audit"
PLAN = "the plan: too little was read to decide one"
PROPOSED = "what was proposed before the fresh readings, and that they were read after it"
TERMS = "the terms: the file does not say what the run was called with"


@dataclass(frozen=True, slots=True)
class Verification:
    """What the recorded readings say of a certificate."""

    agrees: bool
    differences: tuple[str, ...]  # between what the file claims and what its readings show
    certificate: Certificate  # derived again
    taken: tuple[str, ...] = ()  # what nothing in the file could be compared with, and was believed

    @property
    def certified(self) -> bool:
        """Whether the file claims a certificate and its readings carry it."""
        return self.agrees and self.certificate.certified

    def and_also(self, differences: tuple[str, ...], taken: tuple[str, ...]) -> Verification:
        """The same with more differences, and with this in place of what was taken."""
        found = self.differences + differences
        return replace(self, agrees=not found, differences=found, taken=taken)


def verify(path: str | Path) -> Verification:
    """Derive the certificate of a result again from its recorded readings.

    Of a journal, the readings themselves are first derived again from the episodes, and what single
    episodes say where their features are symbols.
    """
    if not is_journal(path):
        data = data_in(path)
        result = restored(data, str(path))
        return _verified(result, path, data, call=result.call)
    with Journal(path) as journal:
        journal.check()
        said = journal.get("result")
        if said is None:
            raise InputError(
                f"the run of {path} has not ended",
                got=f"{journal.count()[0]} episodes and no result",
                remedy=f"If the run is yours, go on with it first: surepath resume {path}, with "
                "--system as it was named when the run was begun.",
            )
        result, call = restored(said, f"the result in {path}"), journal.configuration
        _check_holds_readings(result, path)
        again = recount(journal, result)
        if again:  # nothing else can be derived from them
            return Verification(False, again, result.certificate)
        assert result.certificate.terms is not None  # checked with the readings
        pilot = result.usage.pooled_episodes > 0
        episodes = said_by_episodes(journal, result.certificate.terms, pilot=pilot)
        found = _verified(result, path, said, call=call, episodes=episodes)
    call = without_infinities(call)
    other = data_differences("call", result.call, call) if journal.schema > 1 else ()
    return found.and_also(other, tuple(each for each in found.taken if each != POOLED))


def _check_holds_readings(result: Result, path: str | Path) -> None:
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


def _verified(
    result: Result,
    path: str | Path,
    data: Mapping[str, Any],
    *,
    call: Mapping[str, Any] | None,
    episodes: Said | None = None,
) -> Verification:
    """Compare the result, and the data that it was read from, with what its readings show."""
    _check_holds_readings(result, path)
    claimed, terms = result.certificate, result.certificate.terms
    assert terms is not None  # checked
    proved = terms.guarantee == "proved"
    root, judged = _judged(result)
    # Pooled readings do not show what single episodes and their order said: where these are not at
    # hand, doubts and warnings are taken from the file. What pooled readings say is derived again.
    pooled = nothing_told_apart(judged, terms)
    said = episodes or Said(
        claimed.doubts, tuple(each for each in claimed.warnings if each not in pooled)
    )
    attempt, against = proof_in(result) if proved else (None, ())
    derived = (
        conclude_proved(
            attempt,
            judged,
            terms,
            episodes=result.episodes,
            under_way="" if claimed.certified else claimed.reason,
            doubts=said.doubts,
            notes=claimed.notes,
            warnings=said.warnings,
        )
        if proved
        else conclude(
            judged,
            terms,
            episodes=result.episodes,
            audit=claimed.audit,
            doubts=said.doubts,
            notes=claimed.notes,
            warnings=said.warnings,
        )
    )
    differences = (
        *against,
        *data_differences("", _without_mishaps(upgraded(data)), result.saved()),
        *(() if call is None else terms_against_call(terms, call)),
        *_differences(claimed, derived),
        *_counts(root, terms.shape),
        *_cost(root, judged, result),
        *(
            _plan_and_value(judged, terms, result)
            if attempt is None
            else proved_differently(attempt, judged, terms, result)
        ),
    )
    known = {
        POOLED: False,
        SINGLE: episodes is not None,
        CHOSEN: False,
        PLAN: judged.complete,
        PROPOSED: not proved,
        TERMS: call is not None,
    }
    taken = tuple(what for what, derived_again in known.items() if not derived_again)
    return Verification(not differences, differences, derived, taken)


def judged_again(result: Result) -> Judgement | None:
    """What the readings of a result decide; None where it has none, or was made by older rules."""
    try:
        _check_holds_readings(result, "the result")
    except InputError:
        return None
    return _judged(result)[1]


def _judged(result: Result) -> tuple[Node, Judgement]:
    """The readings of a result that holds them, and what they decide."""
    terms = result.certificate.terms
    assert terms is not None  # checked, like the record
    assert result.record is not None
    root = trie_of(result.record)
    return root, judge(root, terms.proposing() if terms.guarantee == "proved" else terms)


def _without_mishaps(data: Mapping[str, Any]) -> dict[str, Any]:
    """A file of before may say what went wrong on the way, which no reading shows."""
    usage = {name: value for name, value in data["usage"].items() if name not in MISHAPS}
    return {**data, "usage": usage}


def _plan_and_value(judged: Judgement, terms: Terms, result: Result) -> tuple[str, ...]:
    """Where plan, value or interval are not what the readings show."""
    found: list[str] = []
    plan = judged.known
    rest = (0,) * (terms.shape.horizon - len(plan))
    decided = plan + rest if judged.complete else result.actions[: terms.shape.horizon]
    if decided != result.actions or len(decided) != terms.shape.horizon:
        found.append(f"the readings make {plan + rest} the plan")
    worth = judged.worth
    same = worth == result.value or (math.isnan(worth) and math.isnan(result.value))
    if not same:
        found.append(f"the file says value {result.value}, its readings show {worth}")
    shown = terms.return_range if result.certificate.doubts else interval(judged, terms)
    if shown != result.interval:
        found.append(f"the file says interval {result.interval}, its readings show {shown}")
    return tuple(found)


def _cost(root: Node, judged: Judgement, result: Result) -> tuple[str, ...]:
    """Where the cost is not what the readings show: every episode reads the start."""
    usage, nodes = result.usage, list(walk(root))
    shown: dict[str, tuple[Any, Any]] = {
        "episodes": (usage.read_episodes, root.count),
        "steps": (usage.read_steps, sum(node.count for node in nodes)),
        "nodes": (usage.nodes, sum(node.rewards.count > 0 for node in nodes)),
        "n_actions": (usage.n_actions, judged.machine.n_actions),
        "feature_batches": (usage.feature_batches, 0),  # of fixed schedules, like the next
        "reward_batches": (usage.reward_batches, 0),
        "starts": (usage.starts, 1),
    }
    if judged.complete:
        tried = tried_by_level(judged.machine)
        shown["expansions"], shown["covered"] = zip(
            (usage.expansions, usage.covered), tried, strict=True
        )
    return tuple(
        f"the file says {claimed} {name}, its readings show {read}"
        for name, (claimed, read) in shown.items()
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
    if terms.separation is None and terms.guarantee != "proved":
        raise _damaged("a run that is not proved has a separation", terms.separation)
    if terms.separation not in (EXACT, None):
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

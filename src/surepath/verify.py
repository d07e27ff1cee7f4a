"""Check a certificate against the readings it came from, without the learner."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from surepath.automaton import Automaton
from surepath.certificate import Certificate
from surepath.conclude import conclude, remarks
from surepath.errors import InputError
from surepath.judge import judge
from surepath.record import trie_of
from surepath.result import load


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
    """Derive the certificate of a saved result again from its recorded readings."""
    result = load(path)
    claimed = result.certificate
    if claimed.terms is None or result.record is None:
        raise InputError(
            f"{path} holds no readings to check its certificate against",
            got=f"a result of the schedule {claimed.schedule.name!r}"
            if claimed.schedule
            else "a result saved without its readings",
            remedy="Only adaptive runs record their readings; save one with result.save(path).",
        )
    root = trie_of(result.record)
    judged = judge(root, claimed.terms, result.actions)
    if isinstance(judged, Automaton):
        judged = None
    # What single episodes said is not in the pooled readings: doubts from there are kept.
    derived = conclude(
        judged,
        claimed.terms,
        episodes=result.episodes,
        doubts=claimed.doubts,
        notes=tuple(note for note in claimed.notes if note not in remarks(judged, claimed.terms)),
    )
    differences = _differences(claimed, derived)
    if judged is not None and judged.plan.actions != result.actions:
        differences += (f"the readings make {judged.plan.actions} the plan",)
    return Verification(not differences, differences, derived)


def _differences(claimed: Certificate, derived: Certificate) -> tuple[str, ...]:
    ours, theirs = (json.loads(json.dumps(c.to_dict())) for c in (derived, claimed))
    return tuple(
        f"{name}: the file says {theirs[name]!r}, its readings show {ours[name]!r}"
        for name in ours
        if ours[name] != theirs[name]
    )

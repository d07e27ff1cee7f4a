"""Proofs of real runs, changed: the checker has to refuse every one of them.

A byte is changed anywhere in the file; or a line is changed by somebody who then makes the chain of
hashes right again: another plan, a stronger delta with its share, another bet, a merge into another
state, a reading more or less, lines or blocks in another order, a stronger claim.

One kind of change may pass: a plan that takes another way where nothing was ever paid, to the same
state. All that was read speaks for it as it does for the plan. Whether it is as good is compared.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from surepath.api import learn
from surepath.bench.families.judging import Trial, told_to_prove
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import DELTA, Crew
from surepath.results.check_proof import check
from surepath.results.proof import sealed

Entries: TypeAlias = list[dict[str, Any]]
Change: TypeAlias = Callable[[Entries, random.Random], None]

BYTES, SEALED = 20, 21
"""Changes of each kind for a proof: of bytes, and of lines that are chained again."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """A proof, and how many of its changed copies were accepted."""

    lines: int
    numbers: int
    accepted: bool  # the honest one
    bytes_accepted: int  # of BYTES
    sealed_accepted: tuple[str, ...]  # what was changed in those of SEALED that were, and are false
    other_plans: int  # that were accepted and are as good as is claimed
    sealed: int  # that differ from the honest one at all


# ---------------------------------------------------------------- what is changed


def _plan(entries: Entries, rng: random.Random) -> None:
    plan, step = entries[0]["plan"], rng.randrange(entries[0]["horizon"])
    plan[step] = (plan[step] + 1) % entries[0]["actions"]


def _delta(entries: Entries, rng: random.Random) -> None:
    """A smaller one, with the attempt's share of it."""
    factor = rng.uniform(0.1, 0.95)
    entries[0]["delta"] *= factor
    entries[0]["share"] *= factor


def _of_kind(entries: Entries, kind: str) -> list[int]:
    return [place for place, entry in enumerate(entries) if entry["kind"] == kind]


def _bet(entries: Entries, rng: random.Random) -> None:
    block = entries[rng.choice(_of_kind(entries, "block"))]
    factor = 2 ** (rng.choice([-3, -2, -1, 1, 2, 3]) / 4)  # bets are powers of the fourth root of 2
    block["bet"] = block["bet"] * factor if block["bet"] else 1.0


def _merge(entries: Entries, rng: random.Random) -> None:
    """An edge into another state of its level."""
    states = entries[0]["states"]
    wide = [edge for edge in entries[0]["edges"] if edge[1] is not None]
    if wide:
        edge = rng.choice(wide)
        edge[1] = (edge[1] + 1) % max(states)


def _count(entries: Entries, rng: random.Random) -> None:
    """One reading more or less of a request, and its last reading twice or not at all."""
    place = rng.choice(_of_kind(entries, "readings"))
    start = max(block for block in _of_kind(entries, "block") if block < place)
    readings = entries[place]
    request = entries[start]["requests"][readings["request"]]
    more = rng.random() < 0.5 or request[1] == 1
    request[1] += 1 if more else -1
    for name in ("rewards", "observations"):
        if name in readings:
            rows = readings[name]
            readings[name] = [*rows, rows[-1]] if more else rows[:-1]


def _order(entries: Entries, rng: random.Random) -> None:
    place = rng.randrange(1, len(entries))
    entries[place - 1 : place + 1] = [entries[place], entries[place - 1]]


def _claim(entries: Entries, rng: random.Random) -> None:
    end = entries[-1]
    changed = rng.randrange(3)
    if changed == 0:
        end["claim"] = {"within": "optimal", "optimal": "within"}[end["claim"]]
    elif changed == 1:
        end["value"] += rng.choice([-1, 1]) * rng.uniform(0.001, 0.1)
    else:
        end["tolerance"] = end["tolerance"] / 2 if end["tolerance"] else -0.1


CHANGES: Mapping[str, Change] = {
    "plan": _plan,
    "delta": _delta,
    "bet": _bet,
    "merge": _merge,
    "count": _count,
    "order": _order,
    "claim": _claim,
}


# ---------------------------------------------------------------- one proof


def attack(trial: Trial) -> Attacked:
    case = trial.build()
    told: dict[str, Any] = {**told_to_prove(trial, case), "budget": None}
    result = learn(case.system, guarantee="proved", **told)
    assert result.proof is not None  # without a budget it ends with one

    def loss(entries: Entries) -> float:
        return case.best - case.value(tuple(entries[0]["plan"]))

    return attacked(list(result.proof), random.Random(trial.seed), loss)


def attacked(lines: list[str], rng: random.Random, loss: Callable[[Entries], float]) -> Attacked:
    """How the checker takes changed copies of these lines; `loss` is what their plan loses."""
    honest = [json.loads(line) for line in lines]
    for entry in honest:
        del entry["chain"]
    assert sealed(honest) == lines  # the format's own text: what is sealed differs by its change
    passed, different, as_good = list[str](), 0, 0
    names = list(CHANGES)
    for number in range(SEALED):
        name, entries = names[number % len(names)], copy.deepcopy(honest)
        CHANGES[name](entries, rng)
        if entries != honest:
            different += 1
            if check(sealed(entries)).valid:
                true = name == "plan" and loss(entries) <= entries[-1]["tolerance"]
                as_good += true
                passed += [] if true else [name]
    return Attacked(
        lines=len(lines),
        numbers=sum(line.count(",") for line in lines),
        accepted=check(lines).valid,
        bytes_accepted=sum(check(_one_byte(lines, rng)).valid for _ in range(BYTES)),
        sealed_accepted=tuple(passed),
        other_plans=as_good,
        sealed=different,
    )


def _one_byte(lines: Sequence[str], rng: random.Random) -> list[str]:
    data = "\n".join(lines).encode()
    place, bit = rng.randrange(len(data)), 1 << rng.randrange(8)
    changed = data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
    return changed.decode(errors="surrogateescape").splitlines(keepends=True)


# ---------------------------------------------------------------- the table


def attacks(crew: Crew, families: Sequence[str]) -> list[Section]:
    rows: list[tuple[Cell, ...]] = []
    for name in families:
        [found] = crew.spread(attack, [Trial(name, 10**6, DELTA)], f"{name}, changed")
        rows.append(
            (
                name,
                found.lines,
                found.numbers,
                "yes" if found.accepted else "NO",
                f"{found.bytes_accepted}/{BYTES}",
                f"{len(found.sealed_accepted)}/{found.sealed}",
                ", ".join(found.sealed_accepted) or "-",
                found.other_plans,
            )
        )
    columns = (
        "proof of", "lines", "numbers", "honest one accepted", "accepted: a byte changed",
        "changed and chained again", "which", "other plans, as good",
    )  # fmt: skip
    title = "proved: changed proofs of real runs; plan, delta, bet, merge, count, order, claim"
    return [Section(title, columns, rows)]

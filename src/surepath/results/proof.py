"""The witness of a proved certificate, as lines that anybody can check (`docs/proof.md`)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from surepath.inference.attempt import Attempt
from surepath.inference.fresh_block import Block, Told, Totals
from surepath.inference.proposal import Observed, Proposal, Role, Route, Rules, Sums
from surepath.system import Episodes, FloatArray, steps_of

FORMAT, VERSION = "surepath proof", 1


def proof_lines(attempt: Attempt, totals: Totals | None = None) -> list[str]:
    """The proof, one text a line, each with the hash of all before it.

    Readings are pooled by request; single episodes stand there where the attempt has kept them, and
    then `totals` is what their observations were looked at by.
    """
    return sealed(_contents(attempt, totals))


def sealed(contents: Iterable[Mapping[str, Any]]) -> list[str]:
    """The lines as texts, each with the hash of all before it."""
    digits, found = "0" * 64, list[str]()
    for content in contents:
        text = json.dumps(content, allow_nan=False, separators=(",", ":"))[:-1]
        digits = hashlib.sha256((digits + text).encode()).hexdigest()
        found.append(f'{text},"chain":"{digits}"}}')
    return found


def _contents(attempt: Attempt, totals: Totals | None) -> Iterator[dict[str, Any]]:
    yield _machine(attempt.proposal)
    told = [block for block in attempt.blocks if block.told]
    for number, block in enumerate(told, start=1):
        yield {
            "kind": "block",
            "block": number,
            "before": _evidence(block.before),
            "bet": block.bet,
            "requests": [[list(actions), count] for actions, count in block.requests],
        }
        for request, read in enumerate(block.told):
            place = {"kind": "readings", "block": number, "request": request}
            yield {**place, **_readings(block, request, read, attempt.proposal, totals)}
    if attempt.proved:
        yield {
            "kind": "end",
            "blocks": len(told),
            "evidence": _evidence(attempt.evidence),
            "tolerance": attempt.paths.loss,
            "claim": "optimal" if attempt.optimal else "within",
            "value": attempt.value,
            "episodes": attempt.episodes,
        }


def _evidence(least: tuple[float, float]) -> dict[str, float | None]:
    return {
        name: each if math.isfinite(each) else None
        for name, each in zip(("paths", "merges"), least, strict=True)
    }


def _machine(proposal: Proposal) -> dict[str, Any]:
    rules = proposal.rules
    exact = rules.separation is not None and math.isinf(rules.separation)
    known = proposal.known
    return {
        "kind": "machine",
        "format": FORMAT,
        "version": VERSION,
        "route": str(rules.route),
        "horizon": proposal.horizon,
        "actions": proposal.n_actions,
        "rewards": dict(zip(("low", "high"), rules.rewards, strict=True))
        if rules.bounded
        else {"noise": rules.reward_noise},
        "delta": rules.delta,
        "attempt": rules.attempt,
        "share": rules.share,
        "episode": "shared" if rules.shared else "independent",
        "observations": _observed(rules.observed),
        "future": rules.future,
        "separation": "exact" if exact else rules.separation,
        "norm": rules.norm,
        "tolerance": rules.tolerance,
        "gap": rules.gap,
        "plan": list(proposal.plan),
        "states": list(proposal.states),
        "edges": [
            [
                str(role),
                int(proposal.target[edge]) if proposal.target[edge] >= 0 else None,
                float(proposal.radius[edge]) or None,
                int(known.count[edge]),
                float(known.total[edge]),
                float(known.squares[edge]),
            ]
            for edge, role in enumerate(proposal.role)
        ],
    }


def _observed(observed: Observed | None) -> dict[str, Any] | None:
    if observed is None:
        return None
    said: dict[str, Any] = {"type": observed.type, "size": observed.size}
    if observed.type != "symbols":
        name = "diameter" if observed.type == "bounded" else "noise"
        said |= {name: observed.scale, "map": observed.map}
    return said


def _readings(
    block: Block, request: int, told: Told, proposal: Proposal, totals: Totals | None
) -> dict[str, Any]:
    raw = block.raw[request] if block.raw else None
    if isinstance(raw, Episodes):
        return _single(raw, proposal, totals)
    pooled: dict[str, Any] = {"paid": [list(each) for each in told.paid]}
    if told.observed is not None:
        pooled["observed"] = [_numbers(each, proposal) for each in told.observed]
    return pooled


def _single(raw: Episodes, proposal: Proposal, totals: Totals | None) -> dict[str, Any]:
    said: dict[str, Any] = {"rewards": raw.rewards.tolist()}
    observed = proposal.rules.observed
    if observed is not None and totals is not None:
        steps = range(1, steps_of(raw.actions, proposal.horizon))
        if observed.type == "symbols":
            said["observations"] = raw.observations[:, 1 : steps.stop].tolist()
        else:
            rows = [_each(raw.observations[:, step], totals) for step in steps]
            said["observations"] = [list(episode) for episode in zip(*rows, strict=True)] or [
                [] for _ in range(raw.count)
            ]
    return said


def _each(observations: Any, totals: Totals) -> list[list[float]]:
    """The features of single observations: what each of them alone adds up to."""
    return [totals(observations[i : i + 1]).tolist() for i in range(len(observations))]


def _numbers(totals: FloatArray, proposal: Proposal) -> list[float]:
    observed = proposal.rules.observed
    assert observed is not None  # something is compared
    symbols = observed.type == "symbols"
    return [int(each) for each in totals] if symbols else totals.tolist()


# ---------------------------------------------------------------- and back


def attempt_of(lines: Iterable[str]) -> Attempt:
    """The attempt that a proof tells of, from pooled lines that a checker has found valid."""
    said: list[dict[str, Any]] = [json.loads(line) for line in lines]
    attempt = Attempt(_proposal(said[0]))
    told: list[Told] = []
    for each, after in zip(said[1:], [*said[2:], {"kind": "end"}], strict=True):
        if each["kind"] == "block":
            requests = [(tuple(actions), count) for actions, count in each["requests"]]
            attempt.begin(requests)
            told = []
        elif each["kind"] == "readings":
            request: int = each["request"]
            told.append(_told(each, *attempt.blocks[-1].requests[request]))
        if told and after["kind"] != "readings":
            attempt.tell(told)
            told = []
    return attempt


def _told(said: Mapping[str, Any], actions: tuple[int, ...], count: int) -> Told:
    observed = said.get("observed")
    rows = None if observed is None else [np.array(each, dtype=np.float64) for each in observed]
    return Told(actions, count, [(total, squares) for total, squares in said["paid"]], rows)


def _proposal(said: Mapping[str, Any]) -> Proposal:
    role, target, radius, *known = zip(*said["edges"], strict=True)
    return Proposal(
        rules=_rules(said),
        horizon=said["horizon"],
        n_actions=said["actions"],
        states=tuple(said["states"]),
        role=[Role(each) for each in role],
        target=np.array([-1 if each is None else each for each in target]),
        radius=np.array([each or 0.0 for each in radius], dtype=np.float64),
        known=Sums(*(np.array(each, dtype=np.float64) for each in known)),
        plan=tuple(said["plan"]),
    )


def _rules(said: Mapping[str, Any]) -> Rules:
    rewards, seen = said["rewards"], said["observations"]
    low, high = rewards.get("low", -math.inf), rewards.get("high", math.inf)
    exact = said["separation"] == "exact"
    return Rules(
        route=Route(said["route"]),
        rewards=(low, high),
        reward_noise=rewards["noise"] if "noise" in rewards else (high - low) / 2,
        delta=said["delta"],
        attempt=said["attempt"],
        shared=said["episode"] == "shared",
        observed=None
        if seen is None
        else Observed(
            seen["type"],
            seen["size"],
            seen.get("diameter", seen.get("noise", 0.0)),
            seen.get("map", ""),
        ),
        future=said["future"],
        separation=math.inf if exact else said["separation"],
        norm=said["norm"],
        tolerance=said["tolerance"],
        gap=said["gap"],
    )

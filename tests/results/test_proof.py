"""Proofs as lines: an independent checker accepts them, and they can be read back."""

from __future__ import annotations

import hashlib
import json
import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from proposals import (
    BOUNDED,
    NOISY,
    answered,
    duel,
    normed,
    paid,
    random_proposal,
    rules,
    separated,
    totals_of,
)
from surepath.inference.attempt import Attempt
from surepath.inference.fresh_block import Counted
from surepath.inference.proposal import Rules
from surepath.results.check_proof import check
from surepath.results.proof import attempt_of, proof_lines

KINDS: dict[str, Rules] = {
    "tree": rules(tolerance=0.1),
    "symbols": separated(tolerance=0.2),
    "exact": separated(separation=math.inf, tolerance=0.2),
    "two steps": separated(future=2, tolerance=0.2),
    "noisy": separated(observed=NOISY, separation=0.6, tolerance=0.1),
    "bounded": separated(observed=BOUNDED, separation=0.9, gap=0.4, tolerance=0.3),
    "norm": normed(tolerance=0.3),
    "shared": separated(shared=True, tolerance=0.2),
    "no range": rules(rewards=(-math.inf, math.inf), reward_noise=0.6, attempt=2),
}


def random_attempt(said: Rules, seed: int, raw: bool, blocks: int = 6) -> Attempt:
    """Blocks until it is proved, or until there are enough."""
    rng = np.random.default_rng([13, seed])
    proposal = random_proposal(rng, said)
    attempt = Attempt(proposal)
    everything = list(product(range(proposal.n_actions), repeat=proposal.horizon))
    for _ in range(blocks):
        requests: Counted = [(actions, int(rng.integers(3, 12))) for actions in everything]
        attempt.begin(requests)
        told, episodes = answered(proposal, requests, rng)
        attempt.tell(told)
        if raw:
            attempt.blocks[-1].raw = list(episodes)
        if attempt.proved:
            break
    return attempt


@pytest.mark.parametrize("raw", [False, True], ids=["pooled", "single episodes"])
@pytest.mark.parametrize("said", KINDS.values(), ids=list(KINDS))
def test_the_checker_follows_every_line(said: Rules, raw: bool) -> None:
    """It computes all numbers again; where nothing is proved yet, what is missing is the end."""
    proved = 0
    for seed in range(6):
        attempt = random_attempt(said, seed, raw)
        lines = proof_lines(attempt, totals_of(said.observed))
        verdict = check(lines)
        if attempt.proved:
            assert verdict.valid, verdict
            proved += 1
        else:
            assert (verdict.valid, verdict.line) == (False, len(lines) + 1), verdict
    assert proved > 0


def evidence_of(attempt: Attempt) -> tuple[Any, ...]:
    paths, merges = attempt.paths, attempt.merges
    return (
        *(each.tolist() for each in (paths.ours, paths.theirs, paths.read.total)),
        (paths.bets, paths.loss, attempt.evidence, attempt.proved, attempt.episodes),
        [(key, test.best, test.weight) for key, test in merges.tests.items()],
        [(block.requests, block.bet, block.before) for block in attempt.blocks],
        (attempt.optimal, attempt.value, attempt.proposal.rules),
    )


@pytest.mark.parametrize("said", KINDS.values(), ids=list(KINDS))
def test_a_proof_read_back_has_the_same_evidence(said: Rules) -> None:
    for seed in range(6):
        attempt = random_attempt(said, seed, raw=False)
        lines = proof_lines(attempt)
        again = attempt_of(lines)
        assert evidence_of(again) == evidence_of(attempt)
        assert proof_lines(again) == lines
        assert again.proposal.role == attempt.proposal.role
        assert again.proposal.plan == attempt.proposal.plan
        assert again.proposal.target.tolist() == attempt.proposal.target.tolist()
        assert again.proposal.radius.tolist() == attempt.proposal.radius.tolist()


def test_every_line_ends_with_the_hash_of_all_before_it() -> None:
    lines = proof_lines(random_attempt(KINDS["symbols"], 0, raw=False))
    digits = "0" * 64
    for line in lines:
        text, mark, rest = line.partition(',"chain":"')
        digits = hashlib.sha256((digits + text).encode()).hexdigest()
        assert mark + rest == f',"chain":"{digits}"}}'
        assert list(json.loads(line))[-1] == "chain"


def test_a_block_that_was_not_told_is_not_written() -> None:
    attempt = Attempt(duel(rules()))
    attempt.begin([((0,), 2), ((1,), 2)])
    assert [json.loads(line)["kind"] for line in proof_lines(attempt)] == ["machine"]
    attempt.tell([paid((0,), np.ones((2, 1))), paid((1,), np.zeros((2, 1)))])
    attempt.begin([((0,), 2), ((1,), 2)])
    kinds = [json.loads(line)["kind"] for line in proof_lines(attempt)]
    assert kinds == ["machine", "block", "readings", "readings"]


def chained(entries: list[dict[str, Any]]) -> list[str]:
    digits, lines = "0" * 64, list[str]()
    for entry in entries:
        text = json.dumps(entry, separators=(",", ":"))[:-1]
        digits = hashlib.sha256((digits + text).encode()).hexdigest()
        lines.append(f'{text},"chain":"{digits}"}}')
    return lines


def first_proved(said: Rules) -> Attempt:
    attempts = (random_attempt(said, seed, raw=False) for seed in range(20))
    return next(each for each in attempts if each.proved and each.proposal.merges)


def test_the_checker_refuses_what_an_attempt_would_not_write() -> None:
    """A larger share, a bet that was not the one to make, readings that were left out."""
    attempt = first_proved(KINDS["symbols"])
    honest = [json.loads(line) for line in proof_lines(attempt)]
    for entry in honest:
        del entry["chain"]
    assert check(chained(honest)).valid

    def changed(place: int, **changes: Any) -> bool:
        entries = [dict(entry) for entry in honest]
        entries[place] |= changes
        return check(chained(entries)).valid

    block = next(i for i, entry in enumerate(honest) if entry["kind"] == "block")
    own = [actions for actions, _ in honest[block]["requests"]].index(honest[0]["plan"])
    pooled = honest[block + 1 + own]["paid"]
    assert not changed(0, share=2 * honest[0]["share"])
    assert not changed(0, separation=honest[0]["separation"] * 1.5)
    assert not changed(block, bet=honest[block]["bet"] * 2**0.25 + 1)
    assert not changed(block + 1 + own, paid=[[s - 0.5, q - 0.5] for s, q in pooled])
    assert not changed(len(honest) - 1, claim="within" if attempt.optimal else "optimal")
    assert not changed(len(honest) - 1, value=honest[-1]["value"] + 0.01)


def test_numbers_are_whole_where_symbols_were_counted() -> None:
    lines = [json.loads(line) for line in proof_lines(random_attempt(KINDS["symbols"], 1, False))]
    for entry in lines:
        if entry["kind"] == "readings":
            assert all(type(n) is int for row in entry["observed"] for n in row)
    assert all(type(edge[3]) is int for edge in lines[0]["edges"])


def test_nothing_is_seen_on_the_tree() -> None:
    attempt = random_attempt(KINDS["tree"], 3, raw=True)
    lines = [json.loads(line) for line in proof_lines(attempt)]
    assert lines[0]["observations"] is None
    assert all("observations" not in entry for entry in lines if entry["kind"] == "readings")

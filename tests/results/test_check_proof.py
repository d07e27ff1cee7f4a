"""Results with a proof: it has to be valid, and to prove what the result claims."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import surepath
from playing import small
from surepath.inference.terms import Terms
from surepath.results.check_proof import proof_in, proved_differently
from surepath.results.result import Result

RESULT = surepath.learn(small(1), guarantee="proved", separation=0.3, seed=4)
NOISY = surepath.learn(
    surepath.make("gaussian", horizon=2, states=2, dimension=3, noise=0.5, gap=0.2),
    guarantee="proved",
    separation=0.3,
    seed=4,
)
TREE = surepath.learn(small(1, horizon=2), guarantee="proved", seed=4, tolerance=0.2)


def under(result: Result, **changes: Any) -> Result:
    """The same result, as if other terms had been asked for."""
    terms = result.certificate.terms
    assert isinstance(terms, Terms)
    certificate = replace(result.certificate, terms=replace(terms, **changes))
    return replace(result, certificate=certificate)


@pytest.mark.parametrize("result", [RESULT, NOISY, TREE], ids=["symbols", "noisy", "tree"])
def test_a_proof_is_read_back_and_nothing_speaks_against_it(result: Result) -> None:
    attempt, against = proof_in(result)
    assert against == ()
    assert attempt is not None
    assert attempt.proved
    assert attempt.value == result.value
    assert attempt.proposal.plan == result.actions


def test_a_certificate_needs_its_proof() -> None:
    attempt, against = proof_in(replace(RESULT, proof=None))
    assert attempt is None
    assert against == ("a proved certificate needs its proof, and there is none",)
    budget = surepath.learn(small(1), guarantee="proved", separation=0.3, seed=4, budget=20)
    assert proof_in(budget) == (None, ())


def test_a_proof_that_is_not_valid_is_refused_with_its_line() -> None:
    assert RESULT.proof is not None
    lines = list(RESULT.proof)
    lines[2] = lines[2].replace("1", "2", 1)
    attempt, against = proof_in(replace(RESULT, proof=lines))
    assert attempt is None
    assert against[0].startswith("line 3 of the proof: ")
    attempt, against = proof_in(replace(RESULT, proof=lines[:2]))
    assert attempt is None
    assert len(against) == 1


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"delta": 0.01}, "delta"),
        ({"separation": 0.2}, "separation"),
        ({"separation": "exact"}, "separation"),
        ({"reward_range": (0.0, 2.0)}, "rewards"),
        ({"reward_noise": 0.4}, "noise of rewards"),
        ({"shared_noise": True}, "shared noise"),
        ({"gap": 0.3}, "gap"),
        ({"norm": 1.0}, "route"),
        ({"tolerance": 0.001}, "tolerance"),
    ],
)
def test_a_proof_under_other_terms_proves_something_else(
    changes: dict[str, Any], name: str
) -> None:
    _, against = proof_in(under(RESULT, **changes))
    assert any(each.startswith(f"{name}: the proof says ") for each in against)


def test_terms_that_follow_from_what_was_read_are_not_compared() -> None:
    assert TREE.certificate.terms is not None
    assert TREE.certificate.terms.tolerance == 0.2
    assert RESULT.certificate.terms is not None
    assert RESULT.certificate.terms.tolerance is None
    assert proof_in(TREE)[1] == proof_in(RESULT)[1] == ()


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"value": RESULT.value + 0.001}, "value"),
        ({"actions": tuple(1 - a for a in RESULT.actions)}, "plan"),
        ({"interval": (0.0, 0.1)}, "interval"),
    ],
)
def test_a_result_says_what_its_proof_shows(changes: dict[str, Any], name: str) -> None:
    attempt, _ = proof_in(RESULT)
    assert attempt is not None
    assert RESULT.certificate.terms is not None
    judged: Any = None  # of a proof it is not needed
    assert proved_differently(attempt, judged, RESULT.certificate.terms, RESULT) == ()
    found = proved_differently(
        attempt, judged, RESULT.certificate.terms, replace(RESULT, **changes)
    )
    assert len(found) == 1
    assert found[0].startswith(f"{name}: the file says ")


def test_verify_finds_a_proof_that_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    RESULT.save(path)
    assert surepath.verify(path).agrees
    said = json.loads(path.read_text())
    assert said["proof"] == RESULT.proof
    for place in (0, 2, len(said["proof"]) - 1):
        changed = json.loads(path.read_text())
        changed["proof"][place] = changed["proof"][place].replace("0.", "1.", 1)
        assert changed != said
        other = tmp_path / "other.json"
        other.write_text(json.dumps(changed))
        assert not surepath.verify(other).agrees
    said["proof"] = None
    (tmp_path / "without.json").write_text(json.dumps(said))
    assert not surepath.verify(tmp_path / "without.json").agrees

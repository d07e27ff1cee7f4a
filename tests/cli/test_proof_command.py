"""`surepath proof`: from a journal or a result to a file that the checker accepts by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from commands import invoke
from places import ROOT

PROBLEM = ("tabular", "-p", "horizon=3", "-p", "states=3", "-p", "observations=4", "-p", "seed=2")
ROUTES = {"separation": ("--separation", "0.3"), "tree": ()}


def checked(path: Path) -> subprocess.CompletedProcess[str]:
    """The checker alone, in a process and a folder where there is no surepath to import."""
    command = [sys.executable, "-I", "-S", str(ROOT / "checker.py"), str(path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=path.parent, check=False)


@pytest.mark.parametrize("route", ROUTES)
def test_a_proved_run_leaves_a_proof(route: str, tmp_path: Path) -> None:
    journal, saved = tmp_path / "run.db", tmp_path / "run.json"
    how = ("--guarantee", "proved", *ROUTES[route])
    learned = invoke("learn", *PROBLEM, *how, "--journal", str(journal), "--save", str(saved))
    assert learned.exit_code == 0, learned.output
    for source in (journal, saved):
        proof = tmp_path / f"{source.suffix[1:]}.jsonl"
        written = invoke("proof", str(source), str(proof))
        assert written.exit_code == 0, written.output
        verdict = checked(proof)
        assert (verdict.returncode, verdict.stderr) == (0, "")
        assert verdict.stdout.startswith("valid: ")
        assert invoke("verify", str(source)).exit_code == 0
    lines = proof.read_text().splitlines()
    proof.write_text("\n".join([*lines[:2], lines[2].replace("0", "1", 1), *lines[3:]]) + "\n")
    verdict = checked(proof)
    assert verdict.returncode == 1
    assert verdict.stdout.startswith("line 3: ")


def test_a_run_that_is_not_proved_has_no_proof(tmp_path: Path) -> None:
    saved = tmp_path / "run.json"
    invoke("learn", *PROBLEM, "--save", str(saved))
    refused = invoke("proof", str(saved), str(tmp_path / "proof.jsonl"))
    assert refused.exit_code == 2
    assert "holds no proof" in refused.output
    assert not (tmp_path / "proof.jsonl").exists()


def test_too_many_sequences_for_the_tree_say_what_to_give() -> None:
    refused = invoke("learn", "lock", "-p", "horizon=20", "--guarantee", "proved")
    assert refused.exit_code == 2
    assert "separation=" in refused.output

"""The command report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import surepath
from commands import invoke
from flaky import Walk
from surepath.cli import reporting


def test_a_page_is_written_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    surepath.learn(Walk(), journal=path)
    done = invoke("report", str(path))
    assert done.exit_code == 0
    assert "run.html" in done.output
    page = (tmp_path / "run.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert invoke("report", str(path), "-o", str(tmp_path / "a.html")).exit_code == 0
    assert (tmp_path / "a.html").read_text() == page


def test_files_are_not_mixed_up(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    surepath.learn(Walk(), journal=path, budget=50)
    kept = path.read_bytes()
    for words in (["-o", str(path)], ["-o", str(tmp_path / "no" / "a.html")], ["--every", "0"]):
        assert invoke("report", str(path), *words).exit_code == 2
    assert invoke("report", str(tmp_path / "none.db")).exit_code == 2
    assert path.read_bytes() == kept


def test_a_page_is_written_anew_until_the_run_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, path, rng = Walk(), tmp_path / "run.db", np.random.default_rng(0)
    loop = surepath.AskTell(3, 2, n_observations=4, journal=path)
    pages = list[str]()

    def go_on(seconds: float) -> None:
        assert seconds == 7
        pages.append((tmp_path / "run.html").read_text())
        if not loop.done:
            asked = loop.ask()
            loop.tell([system.rollout(each.actions, each.count, rng) for each in asked])
        else:
            loop.result()
            loop.close()

    monkeypatch.setattr(reporting.time, "sleep", go_on)
    done = invoke("report", str(path), "--watch", "--every", "7")
    assert done.exit_code == 0, done.output
    assert len(pages) > 10
    assert all('data-every="7"' in page for page in pages)
    last = (tmp_path / "run.html").read_text()
    assert "data-every" not in last
    assert "Certified" in last

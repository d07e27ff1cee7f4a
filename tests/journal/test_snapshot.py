"""A journal can be looked at while a run writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

import surepath
from flaky import Walk, content
from surepath.api import report
from surepath.errors import JournalError
from surepath.journal.course import course_in
from surepath.journal.database import Journal
from surepath.journal.snapshot import snapshot


def test_a_run_is_seen_while_it_goes_on(tmp_path: Path) -> None:
    path, seen = tmp_path / "a.db", list[tuple[int, int]]()

    def look(found: surepath.Round) -> None:
        with pytest.raises(JournalError):
            Journal(path)
        with snapshot(path) as (journal, running):
            assert running
            journal.check()
            seen.append((journal.count()[0], found.episodes))
            assert len(course_in(journal)) == len(seen)

    result = surepath.learn(Walk(), journal=path, callback=look)
    assert len(seen) > 10
    assert all(recorded == told for recorded, told in seen)
    with snapshot(path) as (journal, running):
        assert not running
        assert journal.count()[0] == result.episodes
    assert not list(tmp_path.glob("surepath-*"))
    assert content(path)


def test_what_is_no_journal_is_refused_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text("something else")
    with pytest.raises(JournalError, match="is not a journal"), snapshot(path):
        pass
    with pytest.raises(JournalError, match="no such journal"), snapshot(tmp_path / "b.db"):
        pass


def test_the_page_of_a_run_that_goes_on(tmp_path: Path) -> None:
    path, pages = tmp_path / "a.db", list[str]()

    def look(_: surepath.Round) -> None:
        page = report(path, reload_seconds=3)
        assert page.running
        pages.append(page.html)

    surepath.learn(Walk(), journal=path, callback=look)
    assert 'data-every="3"' in pages[-1]
    assert "Still running: best so far" in pages[-1]
    assert "not come far enough" in pages[0] or "no whole plan" in pages[0]
    assert "Still running" not in report(path).html

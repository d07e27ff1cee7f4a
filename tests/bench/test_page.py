"""The page that is made of what the suites wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from surepath.bench import publish
from surepath.bench.harness import page as pages
from surepath.bench.harness.report import Figure, Line, Section, SuiteReport
from surepath.bench.harness.store import Store
from surepath.errors import InputError


def test_the_page_is_made_of_what_the_suites_wrote(tmp_path: Path) -> None:
    for suite in pages.CHAPTERS:
        table = Section(f"of {suite}", ("a",), [(1,)])
        figure = Figure("f", "t", "x", "y", [Line("a", (1, 2), (1, 4))])
        report = SuiteReport(suite, [table, f"remark on {suite}", figure])
        with Store(tmp_path / f"{suite}.jsonl") as kept:
            publish(report, kept, tmp_path)
    pages.write(tmp_path, tmp_path / "compare.md")
    text = (tmp_path / "compare.md").read_text()
    for suite in pages.CHAPTERS:
        assert f"**of {suite}**" in text
        assert f"remark on {suite}" in text
        assert f"(compare/{suite}-f.svg)" in text
        assert (tmp_path / "compare" / f"{suite}-f.svg").is_file()
    (tmp_path / "peers.md").unlink()
    with pytest.raises(InputError, match="results of the suite 'peers'"):
        pages.write(tmp_path, tmp_path / "compare.md")

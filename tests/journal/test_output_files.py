"""What is written is whole or not there, and never in place of what was paid for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import surepath
from surepath.cli import app
from surepath.errors import InputError
from surepath.journal.output_files import check_output, replaced

LOCK = ("lock", "-p", "horizon=3", "-p", "actions=3", "--budget", "40")


def invoke(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, " ".join(done.output.split())


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "run.db"
    surepath.learn(surepath.make("lock", horizon=3, actions=3), journal=path, budget=40)
    return path


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_ends_early_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")

    def ends_early() -> None:
        with replaced(path) as place:
            place.write_text("half of the n")
            raise error

    with pytest.raises(InputError if isinstance(error, OSError) else type(error)):
        ends_early()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]
    with replaced(path) as place:
        place.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["result.json"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    with replaced(tmp_path / "link") as place:
        place.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_a_full_disk_is_explained(tmp_path: Path) -> None:
    def fills_the_disk() -> None:
        with replaced(tmp_path / "result.json") as place:
            place.symlink_to("/dev/full")
            place.write_text("x" * 10**6)

    with pytest.raises(InputError, match=r"cannot be written.*No space left"):
        fills_the_disk()
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_written_is_refused_before_a_run(tmp_path: Path) -> None:
    for bad in (tmp_path, tmp_path / "nowhere" / "x.json"):
        with pytest.raises(InputError, match=r"writable.*a folder|folder .* must exist"):
            check_output(bad)
        code, said = invoke("learn", *LOCK, "--save", str(bad), "--journal", str(tmp_path / "j"))
        assert code == 2, said
    assert os.listdir(tmp_path) == []


def test_a_journal_is_never_written_over(journal: Path, tmp_path: Path) -> None:
    before = journal.read_bytes()
    result = surepath.learn(surepath.make("lock", horizon=3, actions=3), budget=40)
    with pytest.raises(InputError, match="a journal is never written over"):
        result.save(journal)
    table = tmp_path / "run.csv"
    table.write_bytes(before)
    for arguments in (
        ("learn", *LOCK, "--save", str(journal)),
        ("learn", *LOCK, "--journal", str(journal), "--save", str(journal)),
        ("learn", *LOCK, "--journal", str(journal), "--plot", str(journal)),
        ("resume", str(journal), "--save", str(journal)),
        ("export", str(table), str(table)),
    ):
        code, said = invoke(*arguments)
        assert code == 2, (arguments, said)
        assert "never written over" in said or "two things at once" in said
    assert journal.read_bytes() == table.read_bytes() == before


def test_one_file_cannot_be_result_and_journal_and_picture(tmp_path: Path) -> None:
    path = str(tmp_path / "x.png")
    for pair in (("--save", "--plot"), ("--journal", "--save"), ("--journal", "--plot")):
        code, said = invoke("learn", *LOCK, *(part for name in pair for part in (name, path)))
        assert code == 2
        assert "two things at once" in said
    assert os.listdir(tmp_path) == []

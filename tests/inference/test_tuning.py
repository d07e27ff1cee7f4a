"""Every tuned number has a mark and a reason, and is used."""

from __future__ import annotations

from places import ROOT
from surepath.inference.tuning import TUNING, entries


def test_every_number_has_a_mark_and_a_reason() -> None:
    for entry in entries():
        assert entry.kind in ("validity", "cost")
        assert len(entry.why) > 40, entry.name
        assert entry.why.endswith(".")


def test_every_number_is_used() -> None:
    source = ROOT / "src" / "surepath"
    text = "".join(path.read_text() for path in source.rglob("*.py") if path.name != "tuning.py")
    assert [entry.name for entry in entries() if f"TUNING.{entry.name}" not in text] == []


def test_what_a_number_is_can_be_varied() -> None:
    values = {entry.name: entry.value for entry in entries()}
    assert values["first_readings"] == TUNING.first_readings
    assert type(TUNING)(**values) == TUNING

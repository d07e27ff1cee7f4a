"""Every single field of a result and of a journal's entries, changed: which still verify?

The changes are those of somebody who computes all checksums anew. What still verifies may only be
what no reading shows, and `verify` has to say of it that it was taken from the file.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import surepath
from flaky import Walk
from forging import entry, with_entry
from surepath.errors import SurepathError

Place = tuple[Any, ...]

BELIEVED = ("certificate.notes", "certificate.warnings", "usage.rounds", "call")
"""Of a result alone: fields of which a single change may pass. None says what is claimed, how sure
it is, of what, or what it cost."""

BESIDE_THE_TERMS = (
    "call.system", "call.engine", "call.features", "call.future", "call.seed", "call.norm",
    "call.declared",
)  # fmt: skip
"""Of the recorded call in a result: what its terms do not show, as they came out."""

REFUSALS = (SurepathError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""A file that cannot be read does not verify; in which words it is refused is another question."""


def places(data: Any, above: Place = ()) -> Iterator[Place]:
    """Every place in the data, leaves and branches, but the data themselves."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in list(items):
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))


def others(value: Any) -> list[Any]:
    """What may stand in place of a value."""
    if isinstance(value, bool):
        return [not value, None]
    if value is None:
        return [0.5, "x", True]
    if isinstance(value, int | float):
        return [value + 1, value / 2 if value else 0.25, -value if value else -1, None]
    if isinstance(value, str):
        return [value + " x", "", None]
    if isinstance(value, list):
        return [value[:-1], [*value, value[-1]], []] if value else [["x"], [0]]
    return [{}]


def at(data: Any, place: Place) -> Any:
    for key in place:
        data = data[key]
    return data


def edits(data: Any) -> Iterator[tuple[str, Any]]:
    """The data with one field changed or removed, and which field that is."""
    for place in places(data):
        name = ".".join(map(str, place))
        old = at(data, place)
        changed = [other for other in others(old) if other != old or type(other) is not type(old)]
        for other in changed:
            new = copy.deepcopy(data)
            at(new, place[:-1])[place[-1]] = other
            if new != data:
                yield name, new
        if isinstance(place[-1], str):
            new = copy.deepcopy(data)
            del at(new, place[:-1])[place[-1]]
            yield f"{name} removed", new


def passing(data: Any, write: Callable[[Any], Path]) -> tuple[int, list[str]]:
    """How many edits there are, and which of them verify."""
    tried, found = 0, list[str]()
    for name, edited in edits(data):
        tried += 1
        try:
            if surepath.verify(write(edited)).agrees:
                found.append(name)
        except REFUSALS:
            continue
    return tried, found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[surepath.Result, Path]:
    path = tmp_path_factory.mktemp("edits") / "a.db"
    result = surepath.learn(Walk(), horizon=3, future=1, journal=path)  # it merges
    assert result.certified
    assert surepath.verify(path).taken == ()
    return result, path


def test_no_edit_of_a_result_that_matters_verifies(
    run: tuple[surepath.Result, Path], tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    run[0].save(path)
    data = json.loads(path.read_text())
    record = data.pop("record")

    def write(edited: Any) -> Path:
        path.write_text(json.dumps({**edited, "record": record}))
        return path

    assert surepath.verify(write(data)).agrees
    tried, found = passing(data, write)
    assert tried > 500
    assert [name for name in found if not name.startswith(BELIEVED)] == []
    in_call = [name for name in found if name.startswith("call.")]
    assert [name for name in in_call if not name.startswith(BESIDE_THE_TERMS)] == []


def test_no_edit_of_a_proved_result_that_matters_verifies(tmp_path: Path) -> None:
    result = surepath.learn(Walk(), guarantee="proved", separation=0.5)
    assert result.certified
    data = json.loads(json.dumps(result.saved()))
    kept = {name: data.pop(name) for name in ("record", "proof")}  # these have tests of their own
    path = tmp_path / "run.json"

    def write(edited: Any) -> Path:
        path.write_text(json.dumps({**edited, **kept}))
        return path

    assert surepath.verify(write(data)).agrees
    tried, found = passing(data, write)
    assert tried > 500
    assert [name for name in found if not name.startswith(BELIEVED)] == []


def test_no_edit_of_the_entries_of_a_journal_that_matters_verifies(
    run: tuple[surepath.Result, Path], tmp_path: Path
) -> None:
    path, total = tmp_path / "a.db", 0
    for key in ("configuration", "result", "checkpoint"):
        whole = entry(run[1], key)
        record = {"record": whole.pop("record")} if key == "result" else {}

        def write(edited: Any, key: str = key, record: Any = record) -> Path:
            shutil.copy(run[1], path)
            with_entry(path, key, {**edited, **record})
            return path

        assert surepath.verify(write(whole)).agrees
        tried, found = passing(whole, write)
        assert found == []
        total += tried
    assert total > 500

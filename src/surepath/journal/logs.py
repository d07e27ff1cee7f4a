"""Episodes from before, out of a file: a journal, or a table with one row for each step.

A table is what `export` writes, or somebody's own log with the same columns: `step`, `reward`,
`action` and the numbers of the observation `o0`, `o1`, ..., and `episode` to tell episodes apart
(with `batch` and `request`, where there are such columns). Other columns are passed over.
"""

# pyarrow ships no types:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from surepath.decoding import limits
from surepath.errors import InputError, MissingExtraError
from surepath.journal.database import Journal, is_journal
from surepath.journal.rows import Origin, Row, requests_of
from surepath.system import Episodes, FloatArray, Readings

Cells: TypeAlias = Mapping[str, Any]
"""One row of a table, by the names of its columns."""

PARTS = 16
"""Parts of a log within which episodes of the same actions are put together: what was read early
and what was read late stay apart."""

PLACE = ("batch", "request", "episode")
"""The columns that tell episodes apart."""


def readings_in(path: str | Path) -> list[Readings]:
    """All episodes that a file holds, in its order; those of the same actions put together."""
    file = Path(path)
    if not file.is_file():
        raise InputError(
            "there is no such file of episodes",
            got=str(path)[: limits.SHOWN],
            remedy="Give a journal, or a .csv or .parquet file with one row for each step.",
        )
    if is_journal(file):
        with Journal(file) as journal:
            return [readings for row, readings in requests_of(journal.rows()) if _whole(row)]
    rows = _parquet(file) if file.suffix == ".parquet" else _csv(file)
    return _together(list(_episodes(rows, file.name)))


def _whole(row: Row) -> bool:
    """What else prepares a run beside the pilot may be read in part only."""
    return row.origin is not Origin.PILOT or row.of_pilot


def _csv(path: Path) -> Iterator[Cells]:
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        try:
            yield from csv.DictReader(file)
        except csv.Error as error:
            raise _unusable(path.name, str(error)) from error


def _parquet(path: Path) -> Iterator[Cells]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "parquet", "a .parquet file") from error
    try:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise _unusable(path.name, str(error)) from error


@dataclass(slots=True)
class _Episode:
    """One episode as far as it was read."""

    actions: list[int] = field(default_factory=list[int])
    rewards: list[float] = field(default_factory=list[float])
    seen: list[list[float]] = field(default_factory=list[list[float]])


def _episodes(rows: Iterable[Cells], name: str) -> Iterator[_Episode]:
    """The episodes of a table: rows of one place that follow each other, steps counting up."""
    numbered = enumerate(rows, start=2)  # of a .csv, the first line has the names
    for _, group in groupby(numbered, key=lambda each: tuple(each[1].get(c) for c in PLACE)):
        episode = _Episode()
        for line, cells in group:
            _take(episode, cells, f"{name}, row {line}")
        yield episode


def _take(episode: _Episode, cells: Cells, where: str) -> None:
    kind = cells.get("kind") or "episode"
    step = _number(cells, "step", where)
    at = max(len(episode.seen), len(episode.actions))
    if kind != "episode" or step != at:
        got = f"{str(kind)[:40]!r}" if kind != "episode" else f"step {step:g} after {at} steps"
        raise _unusable(where, got)
    if not _empty(cells.get("action")):
        action = _number(cells, "action", where)
        if len(episode.actions) < at or action != int(action):
            raise _unusable(where, f"action {action:g} at step {at}")
        episode.actions.append(int(action))
        episode.rewards.append(_number(cells, "reward", where))
    names = [f"o{i}" for i in range(len(cells)) if not _empty(cells.get(f"o{i}"))]
    if names:
        episode.seen.append([_number(cells, each, where) for each in names])


def _empty(cell: object) -> bool:
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell))


def _number(cells: Cells, name: str, where: str) -> float:
    cell = cells.get(name)
    try:
        return float(cell)  # pyright: ignore[reportArgumentType]  # whatever it is
    except (TypeError, ValueError):
        raise _unusable(where, f"{name} is {str(cell)[:40]!r}") from None


def _together(episodes: list[_Episode]) -> list[Readings]:
    """Episodes of the same actions as one, part by part of the log."""
    size = max(1, -(-len(episodes) // PARTS))
    found = list[Readings]()
    for start in range(0, len(episodes), size):
        alike = dict[tuple[tuple[int, ...], int, int], list[_Episode]]()
        for each in episodes[start : start + size]:
            width = len(each.seen[0]) if each.seen else 0
            alike.setdefault((tuple(each.actions), len(each.seen), width), []).append(each)
        for (actions, _, _), several in alike.items():
            rewards = np.array([each.rewards for each in several], dtype=np.float64)
            found.append(
                Episodes(actions, _seen(several), rewards.reshape(len(several), len(actions)))
            )
    return found


def _seen(episodes: list[_Episode]) -> FloatArray:
    try:
        seen = np.array([each.seen for each in episodes], dtype=np.float64)
    except ValueError as error:
        raise _unusable("observations", "different numbers of columns") from error
    return seen if seen.ndim == 3 else seen.reshape(len(episodes), -1, 1)


def _unusable(where: str, got: str) -> InputError:
    return InputError(
        "a table of episodes has one row for each step, with step 0, 1, ..., action, reward and "
        "o0, o1, ...; and an episode number",
        got=f"{where}: {got}"[: limits.SHOWN],
        remedy="Write it as `surepath export` does; a row without an action is the last of its "
        "episode. Statistics of several episodes are taken from journals only.",
    )

"""A journal as a table, for other tools: one row for each step of each episode."""

# pyarrow ships no types:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from surepath.errors import InputError, MissingExtraError
from surepath.journal.database import Journal
from surepath.journal.output_files import replaced
from surepath.journal.rows import Row
from surepath.system import Counts, Episodes, Summary

PARQUET_ROWS = 100_000
"""Rows of the table that are held in memory before they are written."""

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that a spreadsheet computes."""

Cells = dict[str, Any]
"""One row of the table: its values by the names of the columns; None where a cell is empty."""


def export(journal: Journal, path: Path) -> int:
    """Write the journal as a table to a .csv or .parquet file, and return the number of its rows.

    The column `kind` says what a row holds. "episode": one step of one episode. Where a problem
    drew the statistic of `count` episodes at once, a row holds one step of all of them: their mean
    reward, and of their observations the "counts" of symbols or the "means" of vectors.
    """
    writers = {".csv": _csv, ".parquet": _parquet}
    if path.suffix not in writers:
        raise InputError(
            "a table is a .csv or .parquet file",
            got=str(path),
            remedy="Give the file one of these endings.",
        )
    with replaced(path) as place:
        return writers[path.suffix](journal, place)


def _csv(journal: Journal, path: Path) -> int:
    width = _width(journal)
    written = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _names(width))
        writer.writeheader()
        for row in journal.rows():
            for cells in _cells(row, width):
                writer.writerow({name: _harmless(value) for name, value in cells.items()})
                written += 1
    return written


def _harmless(value: Any) -> Any:
    """A text that no spreadsheet takes for a formula: observations may be texts of a stranger."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    return f"'{text}" if isinstance(text, str) and text.startswith(FORMULAS) else text


def _parquet(journal: Journal, path: Path) -> int:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "parquet", "a .parquet file") from error
    width = _width(journal)
    real, whole = pyarrow.float64(), pyarrow.int64()
    kinds = {"kind": pyarrow.string(), "reward": real}
    kinds |= {f"o{i}": real for i in range(width)}
    schema = pyarrow.schema([(name, kinds.get(name, whole)) for name in _names(width)])
    written, waiting = 0, list[Cells]()
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for row in journal.rows():
            waiting += _cells(row, width)
            if len(waiting) >= PARQUET_ROWS:
                writer.write_table(_table(waiting, schema))
                written, waiting = written + len(waiting), []
        writer.write_table(_table(waiting, schema))
    return written + len(waiting)


def _table(rows: list[Cells], schema: Any) -> Any:
    import pyarrow

    try:
        return pyarrow.Table.from_pylist(rows, schema)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError) as error:
        raise InputError(
            "a .parquet file holds numbers, and these readings are something else",
            got=str(error),
            remedy="Write a .csv file.",
        ) from error


def _names(width: int) -> list[str]:
    first = ["kind", "batch", "request", "episode", "count", "step", "action", "reward"]
    return first + [f"o{i}" for i in range(width)]


def _width(journal: Journal) -> int:
    """Columns for observations: as many as the longest observation has numbers."""
    return max((_size(row) for row in journal.rows()), default=0)


def _size(row: Row) -> int:
    if isinstance(row.readings, Episodes):
        return int(np.prod(row.readings.observations.shape[2:]))
    return max((len(_numbers(row.readings, step)) for step in row.readings.observations), default=0)


def _cells(row: Row, width: int) -> Iterator[Cells]:
    place = {"batch": row.batch, "request": row.request}
    if isinstance(row.readings, Episodes):
        for number in range(row.readings.count):
            for cells in _episode(row.readings, number, width):
                yield {**place, "kind": "episode", "episode": row.first + number, **cells}
    else:
        for cells in _summary(row.readings, width):
            yield {**place, "episode": row.first, **cells}


def _episode(episodes: Episodes, number: int, width: int) -> Iterator[Cells]:
    seen = episodes.observations[number]
    for step in range(max(len(seen), len(episodes.actions))):
        acted = step < len(episodes.actions)
        values = np.ravel(seen[step]).tolist() if step < len(seen) else []
        yield {
            "count": 1,
            "step": step,
            "action": episodes.actions[step] if acted else None,
            "reward": float(episodes.rewards[number, step]) if acted else None,
            **_columns(values, width),
        }


def _summary(summary: Summary, width: int) -> Iterator[Cells]:
    for step in sorted(summary.observations.keys() | summary.rewards.keys()):
        read, paid = step in summary.observations, step in summary.rewards
        counts = read and isinstance(summary.observations[step], Counts)
        yield {
            "kind": "counts" if counts else "means",
            "count": summary.count,
            "step": step,
            "action": summary.actions[step] if step < len(summary.actions) else None,
            "reward": summary.rewards[step].mean if paid else None,
            **_columns(_numbers(summary, step) if read else [], width),
        }


def _numbers(summary: Summary, step: int) -> list[float]:
    sample = summary.observations[step]
    return (sample.counts if isinstance(sample, Counts) else sample.mean).tolist()


def _columns(values: list[float], width: int) -> Cells:
    return {f"o{i}": values[i] if i < len(values) else None for i in range(width)}

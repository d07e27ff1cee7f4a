"""What every run of a suite came to, kept in a file as it comes: a suite that stops can go on.

One line of JSON for each run, appended when it ends. A run is known by what it was: the function
and its job, both as text. Each line says which code made it, so that a report can tell when its
runs are not all of one make.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import json
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from surepath.errors import InputError


class Store:
    """Results by run; a context manager, because it holds a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._code = fingerprint()
        self._lines: dict[str, dict[str, Any]] = {}
        whole = 0
        if path.exists():
            data = path.read_bytes()
            whole = data.rfind(b"\n") + 1  # a line that a kill cut short is run again
            for text in data[:whole].splitlines():
                self._take(text)
        self._file = path.open("ab")
        self._file.truncate(whole)

    def _take(self, text: bytes) -> None:
        try:
            line = json.loads(text)
            self._lines[_key(line["run"], line["job"])] = line
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                "a file of results has one JSON object on every line",
                got=f"{text[:60]!r} in {self.path}",
                remedy="Remove the file, or write to another folder.",
            ) from error

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()

    def has(self, run: Callable[..., Any], job: object) -> bool:
        return _key(run.__qualname__, repr(job)) in self._lines

    def get(self, run: Callable[..., Any], job: object) -> Any:
        """The result of a run that was made."""
        line = self._lines[_key(run.__qualname__, repr(job))]
        return restored(typing.get_type_hints(run)["return"], line["result"])

    def keep(self, run: Callable[..., Any], job: object, result: object) -> None:
        line = {
            "run": run.__qualname__,
            "job": repr(job),
            "result": plain(result),
            "code": self._code,
        }
        self._lines[_key(line["run"], line["job"])] = line
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()

    @property
    def others(self) -> int:
        """Runs that other code than this made."""
        return sum(line["code"] != self._code for line in self._lines.values())

    def table(self, path: Path) -> None:
        """All runs as CSV: what was run, and what came of it."""
        results: list[dict[str, Any]] = [
            line["result"] if isinstance(line["result"], dict) else {"result": line["result"]}
            for line in self._lines.values()
        ]
        columns = list(dict.fromkeys(name for result in results for name in result))
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["run", "job", "code", *columns])
            writer.writeheader()
            for line, result in zip(self._lines.values(), results, strict=True):
                writer.writerow({name: line[name] for name in ("run", "job", "code")} | result)


def _key(run: str, job: str) -> str:
    return f"{run} {job}"


def fingerprint() -> str:
    """Of the package's source: changes when any line of it does."""
    root = Path(__file__).parents[1]
    state = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        state.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return state.hexdigest()[:12]


def plain(value: object) -> Any:
    """A result as JSON can have it: records become objects, tuples lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in cast(list[object], value)]
    return value


def restored(kind: Any, value: Any) -> Any:
    """The result that `plain` was made of, given its type."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        return kind(**{name: restored(hints[name], each) for name, each in value.items()})
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple and arguments[-1:] == (...,):
        return tuple(restored(arguments[0], each) for each in value)
    if origin is tuple:
        return tuple(restored(k, each) for k, each in zip(arguments, value, strict=True))
    if origin is list:
        return [restored(arguments[0], each) for each in value]
    return value

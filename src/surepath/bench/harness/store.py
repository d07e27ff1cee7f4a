"""What every run of a suite came to, kept in a file as it comes: a suite that stops can go on.

One line of JSON for each run, appended when it ends. A run is known by what it was: the function
and its job, both as text. Each line says which code made it, so that a report can tell when its
runs were made by other code than it would be now.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import inspect
import json
import typing
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from surepath.errors import InputError
from surepath.validate import plain


class Store:
    """Results by run; a context manager, because it holds a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._foreign = set[str]()
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
        key = _key(run.__qualname__, repr(job))
        line = self._lines[key]
        if line["code"] != fingerprint(run):
            self._foreign.add(key)
        return restored(typing.get_type_hints(run)["return"], line["result"])

    def keep(self, run: Callable[..., Any], job: object, result: object) -> None:
        line = {
            "run": run.__qualname__,
            "job": repr(job),
            "result": plain(result),
            "code": fingerprint(run),
        }
        self._lines[_key(line["run"], line["job"])] = line
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()

    @property
    def others(self) -> int:
        """Runs that were asked for and that other code than this had made."""
        return len(self._foreign)

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


RUNNING = (
    "arena.py",
    "attempt.py",
    "ppo.py",
    "registered.py",
    "rivals.py",
    "runs.py",
    "worlds.py",
)
"""What runs of a bench are made with, beside the package itself; its other modules choose runs and
report them."""


def fingerprint(run: Callable[..., Any]) -> str:
    """Of the code that a run is made by: changes when a line of it does."""
    return _digest(inspect.getfile(run))


@cache
def _digest(own: str) -> str:
    """Of the package without its benches, of what runs of them are made with, and one file more."""
    bench, root = Path(__file__).parents[1], Path(__file__).parents[2]
    files = {path for path in root.rglob("*.py") if bench not in path.parents}
    files |= {bench / "harness" / name for name in RUNNING} | {Path(own)}
    if Path(own).parent == bench / "families":  # a run on one of them is made by all of them
        files |= set(Path(own).parent.glob("*.py"))
    state = hashlib.sha256()
    for path in sorted(files):
        state.update(path.name.encode() + b"\0" + path.read_bytes())
    return state.hexdigest()[:12]


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

"""What is done with a mutated file or line: whatever a stranger's file can be passed to."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import surepath
from flaky import Walk
from fuzz.mutation import change_cells, changed_bytes, changed_data, text_of
from places import ASSETS
from proofs import sealed
from surepath.asktell import AskTell
from surepath.cli.serve import serve
from surepath.errors import InputError, JournalError
from surepath.journal.database import Journal
from surepath.journal.export import export
from surepath.results.check_proof import check

Case = Callable[[], tuple[int, int]]
"""Mutated input, ready to be passed to what reads it; returns how much was read, and refused."""

PROVED: dict[str, Any] = {"guarantee": "proved", "separation": 0.5}
"""A short run that proves what it finds."""

LINES = 25
"""That a run of `serve` reads."""


def _read(look: Callable[[], None]) -> tuple[int, int]:
    try:
        look()
    except (InputError, JournalError):
        return 0, 1
    return 1, 0


def results(folder: Path, rng: random.Random) -> Iterator[Case]:
    """Saved results, of this schema and of older ones."""
    surepath.learn(Walk(), budget=60).save(folder / "early.json")
    surepath.learn(Walk()).save(folder / "whole.json")
    surepath.learn(Walk(), **PROVED).save(folder / "proved.json")
    surepath.learn(surepath.make("lock", horizon=2, actions=2), schedule="tight").save(
        folder / "fixed.json"
    )
    kept = [*folder.glob("*.json"), *ASSETS.glob("result_*.json")]
    texts = [path.read_bytes() for path in sorted(kept)]
    path = folder / "mutated"
    while True:
        text = rng.choice(texts)
        if rng.randrange(5):
            text = text_of(changed_data(json.loads(text), rng), rng).encode()
        else:
            text = changed_bytes(text, rng)
        path.write_bytes(text)
        yield lambda: _read(lambda: _look_at_result(path))


def _look_at_result(path: Path) -> None:
    loaded = surepath.load(path)
    loaded.to_json()
    _ = [loaded.usage.expansions[level.level] for level in loaded.certificate.levels]
    surepath.verify(path)


def journals(folder: Path, rng: random.Random) -> Iterator[Case]:
    """Journals with other bytes, and with other cells under checksums that are right."""
    sources = folder / "sources"
    sources.mkdir()
    surepath.learn(Walk(), budget=40, journal=sources / "walk.db")
    small = surepath.make("tabular", horizon=2, states=2, observations=2, seed=1)
    surepath.learn(small, budget=60, journal=sources / "counts.db")
    vectors = surepath.make("gaussian", horizon=2, states=2, seed=1)
    surepath.learn(vectors, budget=60, journal=sources / "moments.db")
    surepath.learn(Walk(), **PROVED, budget=700, journal=sources / "proving.db")
    kept = [*sources.glob("*.db"), *ASSETS.glob("journal_*.db")]
    files = [path.read_bytes() for path in sorted(kept)]
    path = folder / "mutated.db"
    while True:
        for beside in folder.glob("mutated.db*"):
            beside.unlink()
        if rng.randrange(4):
            path.write_bytes(rng.choice(files))
            change_cells(path, rng)
        else:
            path.write_bytes(changed_bytes(rng.choice(files), rng))
        yield lambda: _read(lambda: _look_at_journal(path, folder))


def _look_at_journal(path: Path, folder: Path) -> None:
    with Journal(path) as journal:
        journal.count()
        export(journal, folder / "table.csv")
    surepath.verify(path)


def proofs(folder: Path, rng: random.Random) -> Iterator[Case]:
    """Lines of a proof, changed and chained again, and other bytes."""
    saved = folder / "proved.json"
    surepath.learn(Walk(), **PROVED).save(saved)
    data = json.loads(saved.read_bytes())
    entries = [json.loads(line) for line in data["proof"]]
    for entry in entries:
        del entry["chain"]
    path = folder / "mutated"
    while True:
        if rng.randrange(5):
            entry = rng.randrange(len(entries))
            changed = [*entries]
            changed[entry] = changed_data(entries[entry], rng)
            proof = list(sealed(changed))
        else:
            text = changed_bytes("".join(data["proof"]).encode(), rng)
            proof = text.decode(errors="surrogateescape").splitlines(keepends=True)
        path.write_text(json.dumps({**data, "proof": proof}))
        yield partial(_read, partial(_look_at_proof, path, proof))


def _look_at_proof(path: Path, proof: list[str]) -> None:
    """By the checker, and by whoever takes what it accepts for true."""
    found = surepath.verify(path)
    if not check(proof).valid:
        assert not found.agrees
        raise InputError("the proof is not valid", got="", remedy="")


def lines(folder: Path, rng: random.Random) -> Iterator[Case]:
    """Lines that `serve` reads: answers to what it asks, most of them mutated."""
    while True:
        yield lambda: _serve(rng)


def _serve(rng: random.Random) -> tuple[int, int]:
    out = io.StringIO()
    told = _Lines(rng, out)
    with AskTell(3, 2, n_observations=4, seed=rng.randrange(100)) as loop:
        serve(loop, told, out)
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    refused = sum("error" in answer for answer in answers)
    assert "result" in answers[-1]
    return told.number - refused, refused


class _Lines(io.StringIO):
    """A stream that answers the last request, rightly now and then."""

    def __init__(self, rng: random.Random, asked: io.StringIO) -> None:
        super().__init__()
        self.rng, self.asked, self.number, self.walk = rng, asked, 0, Walk()

    def readline(self, size: int | None = -1, /) -> str:
        if self.number == LINES:
            return ""
        self.number += 1
        last = [line for line in self.asked.getvalue().splitlines() if '"ask"' in line][-1]
        answer = {"tell": [self._answer(each) for each in json.loads(last)["ask"]]}
        if not self.rng.randrange(20):
            return json.dumps(answer) + "\n"
        text = text_of(changed_data(answer, self.rng), self.rng)
        if not self.rng.randrange(4):
            text = changed_bytes(text.encode(), self.rng).decode(errors="surrogateescape")
        return text.replace("\n", " ").replace("\r", " ") + "\n"

    def _answer(self, request: dict[str, list[int]]) -> dict[str, list[list[float]]]:
        noise = np.random.default_rng(self.rng.randrange(2**32))
        played = self.walk.rollout(tuple(request["actions"]), int(request["count"]), noise)  # pyright: ignore
        return {
            "observations": played.observations.tolist(),
            "rewards": played.rewards.tolist(),
        }


TARGETS: dict[str, Callable[[Path, random.Random], Iterator[Case]]] = {
    "results": results,
    "journals": journals,
    "proofs": proofs,
    "lines": lines,
}

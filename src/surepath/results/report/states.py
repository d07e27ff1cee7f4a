"""The machine that a run has found, as data for the page: small numbers in columns.

Twenty thousand prefixes are one or two megabytes that way. A state has a number over all levels;
prefixes are numbered too, and each is its parent's with one more action.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from surepath.inference.judgement import Judgement
from surepath.inference.states import UNKNOWN, Automaton, Layer
from surepath.readings.trie import Node

MOST_READ = 3
"""Numbers of a state's mean reading that are shown: its most frequent symbols, or its largest."""


def machine_data(judged: Judgement, *, symbols: bool) -> dict[str, Any]:
    """States, edges and prefixes."""
    machine = judged.machine
    sizes = [len(layer.prefixes) for layer in machine.layers]
    first = [sum(sizes[:level]) for level in range(len(sizes))]
    on_plan = [first[level] + state for level, (state, _) in enumerate(judged.plan.edges)]
    return {
        "sizes": sizes,
        "plan": on_plan,
        "chosen": [action for _, action in judged.plan.edges],
        "symbols": symbols,
        "read": [pair for layer in machine.layers for pair in _readings(layer, symbols)],
        "edges": _edges(judged, first),
        "prefixes": _prefixes(machine, first),
    }


def _edges(judged: Judgement, first: list[int]) -> dict[str, list[Any]]:
    """All that were read, by column."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("from", "action", "count", "mean", "spread", "to", "worth")
    }
    for level, layer in enumerate(judged.machine.layers):
        states, actions = np.nonzero(layer.count > 0)
        counts = layer.count[states, actions]
        spread = np.sqrt(layer.scatter[states, actions] / np.maximum(counts - 1, 1))
        targets = layer.target[states, actions]
        following = first[level + 1] if level + 1 < len(first) else 0
        columns["from"] += (states + first[level]).tolist()
        columns["action"] += actions.tolist()
        columns["count"] += counts.astype(np.int64).tolist()
        columns["mean"] += _short(layer.mean[states, actions])
        columns["spread"] += _short(spread)
        columns["to"] += np.where(targets == UNKNOWN, UNKNOWN, targets + following).tolist()
        worth = judged.values.q[level] if judged.complete else None
        columns["worth"] += (
            [None] * len(states) if worth is None else _short(worth[states, actions])
        )
    return columns


def _prefixes(machine: Automaton, first: list[int]) -> dict[str, list[int]]:
    """Of every prefix that is a state: which, its parent and last action, and its readings."""
    columns: dict[str, list[int]] = {name: [] for name in ("state", "parent", "action", "count")}
    number = dict[Node, int]()
    for level, layer in enumerate(machine.layers):
        for node, state in layer.here.nodes():
            number[node] = len(number)
            columns["state"].append(first[level] + state)
            columns["parent"].append(-1 if node.parent is None else number[node.parent])
            columns["action"].append(node.action)
            columns["count"].append(node.count)
    return columns


def _readings(layer: Layer, symbols: bool) -> Iterable[list[Any]]:
    """Of each state, a few places of its mean reading and the numbers there; empty if unread."""
    for members in layer.members:
        read = [node for node in members if node.digest is not None]
        count = sum(node.count for node in read)
        if not count or not len(read[0].digest.total):
            yield []
            continue
        mean = np.sum([node.digest.total for node in read], axis=0) / count
        order = np.argsort(-mean if symbols else -np.abs(mean), kind="stable")[:MOST_READ]
        kept = [place for place in order.tolist() if mean[place]]
        yield [kept, _short(mean[kept])] if kept else []


def _short(values: Any) -> list[float | None]:
    """Numbers with four digits; null where there is none."""
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in np.asarray(values).tolist()]

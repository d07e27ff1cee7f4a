"""The readings of a run, pooled by prefix, as data: what a certificate can be checked against."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from surepath.errors import InputError
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node, Tally
from surepath.system import FloatArray


def record_of(root: Node) -> list[dict[str, Any]]:
    """One entry for each prefix: number, sum and squares of its features, and its rewards."""
    return [_entry(node) for node in walk(root)]


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of their actions."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.children[action] for action in sorted(node.children, reverse=True))


def _entry(node: Node) -> dict[str, Any]:
    cloud: Cloud | None = node.digest
    tally = node.rewards
    return {
        "prefix": list(node.prefix),
        "observations": None
        if cloud is None
        else [cloud.count, _encode(cloud.total), _encode(cloud.squares)],
        "rewards": [tally.count, tally.total, tally.scatter],
    }


def trie_of(record: Sequence[Mapping[str, Any]]) -> Node:
    """The trie that a record was made of."""
    root = Node()
    try:
        for entry in record:
            node = root
            for action in entry["prefix"]:
                node = node.child(int(action))
            if entry["observations"] is not None:
                count, total, squares = entry["observations"]
                node.digest = Cloud(int(count), _decode(total), _decode(squares))
            count, total, scatter = entry["rewards"]
            node.rewards = Tally(int(count), float(total), float(scatter))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "the recorded readings are damaged",
            got=f"{type(error).__name__}: {error}",
            remedy="Use the file as it was saved.",
        ) from error
    return root


def _encode(array: FloatArray) -> dict[str, Any]:
    """An array as bytes with its shape; exact, and a tenth of the size of digits."""
    data = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return {"shape": list(array.shape), "float64": base64.b64encode(data).decode("ascii")}


def _decode(data: Mapping[str, Any]) -> FloatArray:
    values = np.frombuffer(base64.b64decode(data["float64"], validate=True), dtype="<f8")
    return values.reshape(data["shape"]).astype(np.float64)

"""The readings of a run, pooled by prefix, as data: what a certificate can be checked against."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Annotated, TypeAlias, TypedDict

import numpy as np

from surepath.decoding.kinds import Between
from surepath.decoding.limits import READINGS
from surepath.decoding.typed import decoded
from surepath.errors import InputError
from surepath.readings.digests import Cloud
from surepath.readings.trie import Node, Tally
from surepath.system import FloatArray
from surepath.validate import LARGEST

LARGEST_SUM = READINGS * LARGEST**2
"""Of features or of their squares: as many as there can be, each as large as a reading can be."""

Readings: TypeAlias = Annotated[int, Between(0, READINGS)]


class Packed(TypedDict):
    """An array as text."""

    shape: list[int]
    float64: str  # its numbers, eight bytes each, in base64


class Entry(TypedDict):
    """What was read of one prefix."""

    prefix: list[int]
    observations: tuple[Readings, Packed, Packed] | None  # number, sum and squares of the features
    rewards: tuple[Readings, float, float]  # number, sum and scatter, of the last action


def record_of(root: Node) -> list[Entry]:
    """One entry for each prefix: number, sum and squares of its features, and its rewards."""
    return [_entry(node) for node in walk(root)]


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of their actions."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.children[action] for action in sorted(node.children, reverse=True))


def _entry(node: Node) -> Entry:
    cloud: Cloud | None = node.digest
    tally = node.rewards
    return {
        "prefix": list(node.prefix),
        "observations": None
        if cloud is None
        else (cloud.count, _encode(cloud.total), _encode(cloud.squares)),
        "rewards": (tally.count, tally.total, tally.scatter),
    }


def trie_of(record: Sequence[Entry]) -> Node:
    """The trie that a record was made of; what is wrong with a record is said with its place."""
    root = Node()
    for place, entry in enumerate(decoded(list[Entry], record, "record")):
        node = root
        for action in entry["prefix"]:
            node = node.child(action)
        if entry["observations"] is not None:
            where = f"record[{place}].observations"
            count, *arrays = entry["observations"]
            total, squares = (_decode(packed, where) for packed in arrays)
            if total.ndim != 1 or squares.shape not in (total.shape, 2 * total.shape):
                raise _damaged(
                    f"{where} must be a vector and its squares",
                    f"shapes {total.shape} and {squares.shape}",
                )
            node.digest = Cloud(count, total, squares)
        node.rewards = Tally(*entry["rewards"])
    return root


def _encode(array: FloatArray) -> Packed:
    """An array as bytes with its shape; exact, and a tenth of the size of digits."""
    data = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return {"shape": list(array.shape), "float64": base64.b64encode(data).decode("ascii")}


def _decode(packed: Packed, where: str) -> FloatArray:
    try:
        data = base64.b64decode(packed["float64"], validate=True)
        values = np.frombuffer(data, dtype="<f8").reshape(packed["shape"]).astype(np.float64)
    except ValueError as error:
        raise _damaged(f"{where} must be the bytes of numbers", str(error)) from error
    if not np.all(np.abs(values) <= LARGEST_SUM):  # nor is it true of what is not a number
        raise _damaged(f"{where} must be numbers no larger than {LARGEST_SUM:g}", "others")
    return values


def _damaged(what: str, got: str) -> InputError:
    return InputError(what, got=got, remedy="Use the file as it was saved.")

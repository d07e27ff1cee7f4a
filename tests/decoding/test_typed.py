"""Data as the record that a type describes, and errors that name the place."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, TypedDict

import pytest

from surepath.decoding.kinds import Between, Bottomless, Unknown
from surepath.decoding.typed import decoded
from surepath.errors import InputError


class Colour(StrEnum):
    RED = "red"


class Point(TypedDict):
    at: tuple[int, float]


@dataclass(frozen=True)
class Thing:
    size: Annotated[int, Between(1, 9)]
    low: Bottomless
    points: list[Point]
    colour: Colour = Colour.RED
    share: float | Literal["all"] | None = None

    derived: ClassVar = ("double",)

    @property
    def double(self) -> int:
        return 2 * self.size


SOUND: dict[str, Any] = {"size": 2, "low": None, "points": [{"at": [1, 0.5]}], "double": 4}


def test_what_fits_is_decoded() -> None:
    thing = decoded(Thing, {**SOUND, "share": "all", "colour": "red"}, "it")
    assert thing == Thing(2, -math.inf, [{"at": (1, 0.5)}], Colour.RED, "all")
    assert math.isnan(decoded(Unknown, None, "it"))  # pyright: ignore


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 10}, "it.size must be a number between 1 and 9. Got: 10"),
        ({"size": True}, "it.size must be a whole number"),
        ({"size": 10**5000}, "it.size must be a whole number between 0 and 1e+300. Got: a whole"),
        ({"size": 2.0}, "it.size"),
        ({"low": math.inf}, "it.low must be a number"),
        ({"low": 10**200}, "it.low must be a number"),
        ({"points": {}}, "it.points must be an array. Got: an object of 0"),
        ({"points": [{"at": [1, 0.5]}, {"at": [1, "a"]}]}, "it.points[1].at[1] must be a number"),
        ({"points": [{"at": [1]}]}, "it.points[0].at must be an array of 2"),
        ({"points": [{}]}, "it.points[0] must be an object that has at"),
        ({"colour": "blue"}, "it.colour must be one of 'red'"),
        ({"colour": []}, "it.colour must be one of"),
        ({"share": "some"}, "it.share must be a number between -1e+150 and 1e+150 or one of 'all'"),
        ({"share": "\ud800"}, "it.share"),
        ({"double": 5}, "it.double must be 4, as follows from the rest. Got: 5"),
        ({"other": 5}, "it must be an object of size, low, points, colour, share, double"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], message: str) -> None:

    with pytest.raises(InputError, match=re.escape(message)):
        decoded(Thing, {**SOUND, **change}, "it")

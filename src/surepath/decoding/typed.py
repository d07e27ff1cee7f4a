"""Plain data as the record that a type describes: one decoder for all of them.

A type says what is expected: dataclasses and typed dictionaries are objects, tuples and lists are
arrays, and whole numbers are counts. `kinds` has marks for what types do not say. A dataclass may
name, in `derived`, properties that are written beside its fields: they have to say what the fields
say. An error names the place.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, TypeVar, cast

from surepath.decoding.forms import (
    Form,
    choices_of,
    derived_of,
    fields_of,
    form_of,
    optional_of,
)
from surepath.decoding.kinds import Between, Null
from surepath.decoding.limits import COUNT, NUMBER, SHOWN
from surepath.errors import InputError

T = TypeVar("T")
Decoder = Callable[[Any], Any]


class _MisfitError(Exception):
    """What was expected, what was found, and the way to it, which grows while it is raised."""

    def __init__(self, expected: str, got: object) -> None:
        super().__init__(expected)
        self.expected, self.got = expected, shortened(got)
        self.way = list[str | int]()  # from the inside to the outside


def decoded(kind: type[T], data: Any, what: str) -> T:
    """The record that the data are; `what` they are called is the beginning of every place."""
    try:
        return _decoder(kind)(data)
    except _MisfitError as misfit:
        steps = (f"[{s}]" if isinstance(s, int) else f".{s}" for s in reversed(misfit.way))
        raise InputError(
            f"{what}{''.join(steps)} must be {misfit.expected}",
            got=misfit.got,
            remedy="Use the file as it was written.",
        ) from None


@cache
def _decoder(kind: Any) -> Decoder:
    """The function that decodes data of a type; made once for each type."""
    return _MAKERS[form_of(kind)](kind)


def shortened(got: object) -> str:
    """What was found, by its type or its beginning: it may be anything, and of any size."""
    if isinstance(got, dict | list | tuple):
        name = "an object" if isinstance(got, dict) else "an array"
        return f"{name} of {len(cast(Sequence[Any], got))}"
    if isinstance(got, int) and abs(got) > COUNT:  # Python refuses to write all of its digits
        return f"a whole number of {got.bit_length()} bits"
    text = ascii(got[:SHOWN] if isinstance(got, str) else got)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


# ---------------------------------------------------------------- numbers and texts


def _whole(data: Any) -> int:
    if type(data) is not int or not 0 <= data <= COUNT:
        raise _MisfitError(f"a whole number between 0 and {COUNT:.0e}", data)
    return data


def _real(data: Any) -> float:
    if type(data) not in (int, float) or not abs(data) <= NUMBER:  # so is what is not a number
        raise _MisfitError(f"a number between {-NUMBER:g} and {NUMBER:g}", data)
    return data


def _text(data: Any) -> str:
    if type(data) is not str:
        raise _MisfitError("a text", data)
    try:
        data.encode()
    except UnicodeEncodeError:
        raise _MisfitError("a text that can be written as UTF-8", data) from None
    return data


def _truth(data: Any) -> bool:
    if type(data) is not bool:
        raise _MisfitError("true or false", data)
    return data


def _nothing(data: Any) -> None:
    if data is not None:
        raise _MisfitError("null", data)


_PLAIN: dict[Any, Decoder] = {
    int: _whole,
    float: _real,
    str: _text,
    bool: _truth,
    types.NoneType: _nothing,
}


def _choice(kind: Any) -> Decoder:
    known = choices_of(kind)

    def decode(data: Any) -> Any:
        if type(data) not in (str, int) or data not in known:
            raise _MisfitError("one of " + ", ".join(map(repr, known)), data)
        return known[data]

    return decode


def _marked(kind: Any) -> Decoder:
    inner, *marks = typing.get_args(kind)
    decode_inner = _decoder(inner)
    limits = [mark for mark in marks if isinstance(mark, Between)]
    nulls = [mark.stands_for for mark in marks if isinstance(mark, Null)]

    def decode(data: Any) -> Any:
        if nulls and (data is None or data == nulls[0]):
            return nulls[0]
        found = decode_inner(data)
        for limit in limits:
            if not limit.low <= found <= limit.high:
                raise _MisfitError(f"a number between {limit.low:g} and {limit.high:g}", data)
        return found

    return decode


def _union(kind: Any) -> Decoder:
    """The first type that fits; where none does, the error is of the one that came nearest."""
    decoders = [_decoder(each) for each in typing.get_args(kind)]

    def decode(data: Any) -> Any:
        misfits = list[_MisfitError]()
        for each in decoders:
            try:
                return each(data)
            except _MisfitError as misfit:  # the next may fit
                misfits.append(misfit)
        deepest = max(misfits, key=lambda misfit: len(misfit.way))
        if not deepest.way:
            deepest.expected = " or ".join(misfit.expected for misfit in misfits)
        raise deepest

    return decode


# ---------------------------------------------------------------- arrays and objects


def _sequence(kind: Any) -> Decoder:
    made, inner = cast(type, typing.get_origin(kind)), _decoder(typing.get_args(kind)[0])

    def decode(data: Any) -> Any:
        values = _array(data)
        return made(map(_placed, values, range(len(values)), [inner] * len(values)))

    return decode


def _fixed(kind: Any) -> Decoder:
    inner = [_decoder(each) for each in typing.get_args(kind)]

    def decode(data: Any) -> Any:
        values = _array(data)
        if len(values) != len(inner):
            raise _MisfitError(f"an array of {len(inner)}", data)
        return tuple(map(_placed, values, range(len(values)), inner))

    return decode


def _array(data: Any) -> Sequence[Any]:
    if not isinstance(data, list | tuple):
        raise _MisfitError("an array", data)
    return cast(Sequence[Any], data)


def _placed(data: Any, place: str | int, decode: Decoder) -> Any:
    try:
        return decode(data)
    except _MisfitError as misfit:
        misfit.way.append(place)
        raise


def _object(kind: Any) -> Decoder:
    fields, derived = fields_of(kind), derived_of(kind)
    known, needed = fields | derived, (fields | derived).keys() - optional_of(kind)
    decoders = {name: _decoder(each) for name, each in known.items()}

    def decode(data: Any) -> Any:
        if not isinstance(data, dict):
            raise _MisfitError("an object", data)
        said = cast(dict[str, Any], data)
        for name in said.keys() ^ known.keys():
            if name in said:
                raise _MisfitError(f"an object of {', '.join(known)}", name)
            if name in needed:
                raise _MisfitError(f"an object that has {name}", ", ".join(said))
        values = {name: _placed(each, name, decoders[name]) for name, each in said.items()}
        record = kind(**{name: each for name, each in values.items() if name not in derived})
        for name in derived:
            _placed(values[name], name, partial(_same, getattr(record, name)))
        return record

    return decode


def _free(_kind: Any) -> Decoder:
    def decode(data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise _MisfitError("an object", data)
        return cast(dict[str, Any], data)

    return decode


def _same(shown: Any, data: Any) -> None:
    if data != shown:
        raise _MisfitError(f"{shown!r}, as follows from the rest", data)


_MAKERS: dict[Form, Callable[[Any], Decoder]] = {
    Form.OBJECT: _object,
    Form.MARKED: _marked,
    Form.UNION: _union,
    Form.CHOICE: _choice,
    Form.FIXED: _fixed,
    Form.SEQUENCE: _sequence,
    Form.FREE: _free,
    Form.PLAIN: _PLAIN.__getitem__,
}

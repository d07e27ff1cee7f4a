"""What a type says of the data that stand for it: looked up by the decoder and by the schema."""

from __future__ import annotations

import dataclasses
import types
import typing
from enum import Enum, auto
from typing import Annotated, Any, Literal, Union, cast


class Form(Enum):
    OBJECT = auto()  # a dataclass or a typed dictionary
    MARKED = auto()  # a type with marks of `kinds`
    UNION = auto()
    CHOICE = auto()  # a few values: a Literal or an Enum
    FIXED = auto()  # a tuple of so many
    SEQUENCE = auto()  # a list or a tuple of any length
    FREE = auto()  # a dictionary of any plain data, which are looked at where they are used
    PLAIN = auto()  # a number, a text, a truth value or nothing


_BY_ORIGIN: dict[Any, Form] = {
    Annotated: Form.MARKED,
    Union: Form.UNION,
    types.UnionType: Form.UNION,
    Literal: Form.CHOICE,
    tuple: Form.SEQUENCE,
    list: Form.SEQUENCE,
    dict: Form.FREE,
}


def form_of(kind: Any) -> Form:
    if dataclasses.is_dataclass(kind) or typing.is_typeddict(kind):
        return Form.OBJECT
    origin = typing.get_origin(kind)
    if origin is tuple and typing.get_args(kind)[-1] is not ...:
        return Form.FIXED
    if origin is not None:
        return _BY_ORIGIN[origin]
    return Form.CHOICE if isinstance(kind, type) and issubclass(kind, Enum) else Form.PLAIN


def fields_of(kind: Any) -> dict[str, Any]:
    """The names in an object, and their types."""
    hints = typing.get_type_hints(kind, include_extras=True)
    if not dataclasses.is_dataclass(kind):
        return hints
    return {each.name: hints[each.name] for each in dataclasses.fields(kind)}


def optional_of(kind: Any) -> frozenset[str]:
    """The names that an object may lack: they have defaults, or nothing is said of them."""
    if not dataclasses.is_dataclass(kind):
        return kind.__optional_keys__
    missing = dataclasses.MISSING
    return frozenset(
        each.name
        for each in dataclasses.fields(kind)
        if each.default is not missing or each.default_factory is not missing
    )


def derived_of(kind: Any) -> dict[str, Any]:
    """The properties of a record that are written beside its fields, and their types."""
    return {
        name: typing.get_type_hints(getattr(kind, name).fget)["return"]
        for name in getattr(kind, "derived", ())
    }


def choices_of(kind: Any) -> dict[Any, Any]:
    """What may be written, and what it stands for."""
    if typing.get_origin(kind) is Literal:
        return {each: each for each in typing.get_args(kind)}
    return {each.value: each for each in cast(type[Enum], kind)}

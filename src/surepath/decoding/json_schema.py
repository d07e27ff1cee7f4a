"""The JSON schema of what `typed` decodes, from the same types."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from typing import Any

from surepath.decoding.forms import (
    Form,
    choices_of,
    derived_of,
    fields_of,
    form_of,
    optional_of,
)
from surepath.decoding.kinds import Between, Null
from surepath.decoding.limits import COUNT, NUMBER

Schema = dict[str, Any]

_PLAIN: dict[Any, Schema] = {
    int: {"type": "integer", "minimum": 0, "maximum": COUNT},
    float: {"type": "number", "minimum": -NUMBER, "maximum": NUMBER},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
}


def json_schema(kind: type, title: str) -> Schema:
    """The schema of data that `decoded(kind, ...)` takes."""
    schemas = _Schemas()
    top = schemas.of(kind)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **top,
        "$defs": dict(sorted(schemas.definitions.items())),
    }


class _Schemas:
    """Schemas of types; those of objects are defined once and referred to."""

    def __init__(self) -> None:
        self.definitions = dict[str, Schema]()
        self._makers: dict[Form, Callable[[Any], Schema]] = {
            Form.OBJECT: self._object,
            Form.MARKED: self._marked,
            Form.UNION: self._union,
            Form.CHOICE: self._choice,
            Form.FIXED: self._fixed,
            Form.SEQUENCE: self._sequence,
            Form.FREE: self._free,
            Form.PLAIN: _PLAIN.__getitem__,
        }

    def of(self, kind: Any) -> Schema:
        return self._makers[form_of(kind)](kind)

    def _object(self, kind: Any) -> Schema:
        name = kind.__name__
        if name not in self.definitions:
            known, optional = fields_of(kind) | derived_of(kind), optional_of(kind)
            self.definitions[name] = {
                "type": "object",
                "properties": {each: self.of(inner) for each, inner in known.items()},
                "required": [each for each in known if each not in optional],
                "additionalProperties": False,
            }
        return {"$ref": f"#/$defs/{name}"}

    def _marked(self, kind: Any) -> Schema:
        inner, *marks = typing.get_args(kind)
        schema = self.of(inner)
        for mark in marks:
            if isinstance(mark, Between):
                schema = {**schema, "minimum": mark.low, "maximum": mark.high}
            if isinstance(mark, Null):
                words = f"null stands for {mark.stands_for}"
                schema = {"anyOf": [schema, {"type": "null"}], "description": words}
        return schema

    def _choice(self, kind: Any) -> Schema:
        return {"enum": list(choices_of(kind))}

    def _union(self, kind: Any) -> Schema:
        return {"anyOf": [self.of(each) for each in typing.get_args(kind)]}

    def _free(self, _kind: Any) -> Schema:
        return {"type": "object"}

    def _fixed(self, kind: Any) -> Schema:
        items = [self.of(each) for each in typing.get_args(kind)]
        return {
            "type": "array",
            "prefixItems": items,
            "minItems": len(items),
            "maxItems": len(items),
        }

    def _sequence(self, kind: Any) -> Schema:
        return {"type": "array", "items": self.of(typing.get_args(kind)[0])}

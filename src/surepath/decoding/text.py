"""JSON from outside: its size and the length of its texts are known before it is held in memory."""

from __future__ import annotations

import json
from typing import Any, NoReturn, Protocol

from surepath.decoding.limits import CHUNK_BYTES, RESULT_BYTES, STRING_BYTES
from surepath.errors import InputError


class Bytes(Protocol):
    """An open file, or a value of a database that can be read in pieces."""

    def read(self, length: int = ..., /) -> bytes: ...


def json_of(source: Bytes, what: str) -> Any:
    """The data that the bytes are JSON of; `what` they are is named where they are not."""
    data = limited(source, what)
    try:
        return parsed(data.decode("utf-8"))
    except ValueError as error:
        raise _refused(f"{what} cannot be read", str(error)) from error


def parsed(text: str, *, constants: bool = False) -> Any:
    """The data that a text is JSON of; whatever is wrong with it is a ValueError.

    constants: whether not-a-number and infinity may be among them, which strict JSON does not have.
    """
    try:
        return json.loads(text, parse_constant=None if constants else _no_constant)
    except RecursionError as error:
        raise ValueError("lists or objects are nested too deeply") from error


def limited(source: Bytes, what: str) -> bytes:
    """All bytes, unless there are too many, or too many without a quotation mark among them."""
    parts = list[bytes]()
    size = unquoted = 0
    while part := source.read(CHUNK_BYTES):
        size += len(part)
        first = part.find(b'"')
        unquoted += len(part) if first < 0 else first
        if size > RESULT_BYTES or unquoted > STRING_BYTES:
            longest = RESULT_BYTES if size > RESULT_BYTES else STRING_BYTES
            kind = "data" if size > RESULT_BYTES else "one text or number"
            raise _refused(f"{what} is too large", f"more than {longest} bytes of {kind}")
        if first >= 0:
            unquoted = len(part) - part.rfind(b'"') - 1
        parts.append(part)
    return b"".join(parts)


def _no_constant(name: str) -> NoReturn:
    """NaN and infinity are not JSON, and never written."""
    raise ValueError(f"{name} is not a number")


def _refused(what: str, got: str) -> InputError:
    return InputError(what, got=got, remedy="Give a file as result.save(path) wrote it.")

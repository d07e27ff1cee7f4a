"""JSON of bounded size."""

from __future__ import annotations

import io

import pytest

from surepath.decoding import text
from surepath.errors import InputError


def test_all_of_it_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "CHUNK_BYTES", 3)
    assert text.json_of(io.BytesIO(b'{"a": ["bc", 1.5]}'), "it") == {"a": ["bc", 1.5]}


@pytest.mark.parametrize("chunk", [1, 3, 4, 100])
def test_long_texts_are_noticed_wherever_they_lie(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "CHUNK_BYTES", chunk)
    monkeypatch.setattr(text, "STRING_BYTES", 300)
    many = b"[" + b",".join([b'"' + b"a" * 290 + b'"'] * 50) + b"]"
    assert len(text.json_of(io.BytesIO(many), "it")) == 50
    with pytest.raises(InputError, match=r"it is too large.*300 bytes of one text"):
        text.json_of(io.BytesIO(b'["' + b"a" * 500 + b'"]'), "it")


def test_large_data_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "RESULT_BYTES", 100)
    with pytest.raises(InputError, match="more than 100 bytes of data"):
        text.json_of(io.BytesIO(b"[" + b'"",' * 100), "it")


def test_constants_are_read_where_they_are_written() -> None:
    assert text.parsed("[Infinity]", constants=True) == [float("inf")]
    with pytest.raises(InputError, match="Infinity is not a number"):
        text.json_of(io.BytesIO(b"[Infinity]"), "it")

"""What runs say in words, sorted by kind: the same sentence with other numbers is the same kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def by_kind(said: Iterable[str]) -> list[tuple[int, str]]:
    """How often each kind was said, with the first of the kind in full; the commonest first."""
    texts = list(said)
    examples = {_kind(text): text for text in reversed(texts)}
    return [(count, examples[kind]) for kind, count in Counter(map(_kind, texts)).most_common()]


def _kind(text: str) -> str:
    """How it begins, without the numbers in it."""
    return "".join(letter for letter in text if letter.isalpha())[:40]

"""The few ways surepath refuses: each message says what is wrong, what was found, what to do."""

from __future__ import annotations


def visible(text: object) -> str:
    """A text on one line, in which nothing can move a terminal's cursor or colour it.

    It may come from a file of a stranger: what is not printable is written as an escape.
    """
    line = " ".join(str(text).splitlines())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


class SurepathError(Exception):
    """Base of every error surepath raises on purpose."""


class ExplainedError(SurepathError):
    """An error in three parts: what is wrong, what was found, what to do."""

    def __init__(self, what: str, *, got: object, remedy: str) -> None:
        self.what = what
        self.got = got
        self.remedy = remedy
        super().__init__(visible(f"{what}. Got: {got}. {remedy}"))


class InputError(ExplainedError, ValueError):
    """Something the caller gave cannot be used; nothing of it was recorded."""


class EpisodeError(ExplainedError, RuntimeError):
    """The system failed more often than it was allowed to."""


class JournalError(ExplainedError, RuntimeError):
    """A journal cannot be read, written or continued; it is left as it is."""


class NumericalError(SurepathError, ArithmeticError):
    """Double precision does not carry the requested computation; says which and how far off."""


class MissingExtraError(SurepathError, ImportError):
    """An optional dependency is needed; the message names the extra that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'surepath[{extra}]' (in a clone: '.[{extra}]')"
        )

"""Ctrl-C at moments when nothing is half done.

A run is interrupted at once while it waits for episodes: what was read is recorded, and the learner
is as whole as after its last batch. While the learner takes readings in, the interrupt waits until
it has; a second one does not wait.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surepath.results.result import Result

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class InterruptedRun(KeyboardInterrupt):
    """A run was interrupted between two steps of its learner."""

    result: Result | None = None
    """The best plan by then, and what is known of it; where there was a learner already."""


@contextmanager
def interruptible() -> Generator[None]:
    """An interrupt inside leaves the learner whole."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise InterruptedRun(*error.args) from error


@contextmanager
def uninterrupted() -> Generator[None]:
    """An interrupt inside is raised at the end; a second one at once.

    Only the main thread is ever interrupted by a signal, and only by those that somebody handles.
    """
    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in SIGNALS}
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        if held:
            handlers[number](number, frame)
        held.append(number)

    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if signal.getsignal(number) is hold:
                signal.signal(number, handler)
    if held:
        with interruptible():
            handlers[held[0]](held[0], None)  # by default it raises KeyboardInterrupt

"""Ctrl-C and SIGTERM: a command keeps what it has, says how to go on, and ends."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer

from surepath.run.interrupts import SIGNALS, InterruptedRun

if TYPE_CHECKING:  # listing the commands needs nothing of it
    from surepath.results.result import Result


@contextmanager
def stoppable() -> Generator[None]:
    """The first signal raises KeyboardInterrupt with its number, the next ends the process."""
    before = {each: signal.getsignal(each) for each in SIGNALS}

    def interrupt(number: int, _frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        raise KeyboardInterrupt(number)

    for each, handler in before.items():
        if handler is not signal.SIG_IGN:  # a command in the background is not for Ctrl-C
            signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each, handler in before.items():
            # Not after a signal: while everything is closed, the next one ends that at once.
            if signal.getsignal(each) is interrupt:
                signal.signal(each, handler)


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """As a shell has it: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + (interrupt.args[0] if interrupt.args else signal.SIGINT)


def finished(run: Callable[[], Result], show: Callable[[Result], None], go_on: str) -> typer.Exit:
    """Run, show what came of it, also where that was interrupted, and say how to exit."""
    try:
        result = run()
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, InterruptedRun) and interrupt.result is not None:
            show(interrupt.result)
        typer.echo(f"interrupted: {go_on}", err=True)
        return typer.Exit(exit_code(interrupt))
    show(result)
    return typer.Exit(0 if result.certified else 1)


def how_to_go_on(journal: Path | None, system: str | None) -> str:
    """system: the name to repeat, where it is one that has to be imported."""
    if journal is None:
        return "nothing is recorded; with --journal FILE the next run can be continued"
    again = f"surepath resume {shlex.quote(str(journal))}"
    if system is not None and ":" in system:
        again += f" --system {shlex.quote(system)}"
    return f"what was read is recorded; go on with: {again}"

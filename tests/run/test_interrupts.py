"""An interrupt leaves nothing half done; a second one does not wait."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

import surepath
from flaky import Walk
from surepath.learners.adaptive import Adaptive
from surepath.run.interrupts import InterruptedRun, interruptible, uninterrupted
from surepath.system import Actions, Play, Readings

interrupt = partial(signal.raise_signal, signal.SIGINT)


def inside(*steps: Callable[[], object]) -> None:
    """One after the other, uninterrupted."""
    with uninterrupted():
        for step in steps:
            step()


def test_an_interrupt_waits_until_the_end() -> None:
    done = list[str]()
    with pytest.raises(InterruptedRun):
        inside(interrupt, lambda: done.append("the rest"))
    assert done == ["the rest"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_does_not_wait() -> None:
    done = list[str]()
    with pytest.raises(KeyboardInterrupt) as raised:
        inside(interrupt, interrupt, lambda: done.append("the rest"))
    assert done == []
    assert not isinstance(raised.value, InterruptedRun)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_inside_is_that_error() -> None:
    with pytest.raises(ZeroDivisionError):
        inside(interrupt, lambda: 1 // 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_ignores_the_signal_goes_on_ignoring_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        inside(interrupt)
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_is_left_alone() -> None:
    done = list[str]()
    thread = threading.Thread(target=inside, args=(lambda: done.append("the work"),))
    thread.start()
    thread.join()
    assert done == ["the work"]


def test_an_interrupt_keeps_its_number() -> None:
    with pytest.raises(InterruptedRun) as raised, interruptible():
        raise KeyboardInterrupt(signal.SIGTERM)
    assert raised.value.args == (signal.SIGTERM,)


@pytest.mark.parametrize("where", ["in an episode", "in the learner"])
def test_a_run_that_is_interrupted_has_a_result(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of a run whose budget ended after the same batches."""
    told = list[int]()
    tell = Adaptive.tell

    def interrupted_tell(learner: Adaptive, readings: Sequence[Readings]) -> None:
        told.append(sum(each.count for each in readings))
        if where == "in the learner" and len(told) == 3:
            signal.raise_signal(signal.SIGINT)
        tell(learner, readings)

    class Interrupted(Walk):
        def play(self, actions: Actions, seed: int) -> Play:
            if where == "in an episode" and len(told) == 3:
                raise KeyboardInterrupt
            return super().play(actions, seed)

    with monkeypatch.context() as patched:
        patched.setattr(Adaptive, "tell", interrupted_tell)
        with pytest.raises(KeyboardInterrupt) as raised:
            surepath.learn(Interrupted(), journal=tmp_path / "a.db")
    assert isinstance(raised.value, InterruptedRun)
    assert raised.value.result == surepath.learn(Walk(), budget=sum(told[:3]))
    assert surepath.learn(Walk(), journal=tmp_path / "a.db") == surepath.learn(Walk())

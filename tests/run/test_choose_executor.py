"""Who runs the episodes, by what the caller says."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from surepath.errors import InputError, MissingExtraError
from surepath.run import choose_executor as choice
from surepath.run.choose_executor import executor_of
from surepath.run.executors import Executor, Serial
from surepath.run.fleet import START_LIMIT
from surepath.run.processes import Processes


def test_without_workers_this_process_runs_everything() -> None:
    executor = executor_of(None, retries=7)
    assert isinstance(executor, Serial)
    assert executor.retries.most == 7


@pytest.mark.parametrize("workers", [3, "3"])
def test_a_number_is_a_number_of_processes(workers: int | str) -> None:
    executor = executor_of(workers, time_limit=2.5, retries=7, start_limit=90)
    assert isinstance(executor, Processes)
    assert (executor.size, executor.time_limit, executor.retries.most) == (3, 2.5, 7)
    assert executor.start_limit == 90
    executor.close()


def test_a_name_is_that_of_an_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[dict[str, Any]]()

    def make(**how: Any) -> Executor:
        made.append(how)
        return Serial()

    monkeypatch.setattr(choice, "BY_NAME", {"boats": make})
    assert isinstance(executor_of("boats", time_limit=2.0), Serial)
    assert made == [{"time_limit": 2.0, "start_limit": START_LIMIT, "retries": 4}]
    with pytest.raises(InputError, match='a number of processes, "boats", or an executor'):
        executor_of("ray")


def test_an_executor_is_itself() -> None:
    mine = Serial()
    assert executor_of(mine) is mine


@pytest.mark.parametrize("bad", [True, "two", "", "-1", "1.5", "²", 1.5, [2], 0, -1, "0"])
def test_anything_else_is_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="workers"):
        executor_of(bad)


@pytest.mark.parametrize("many", [100_000, "100000"])
def test_more_workers_than_the_machine_can_carry_are_refused(many: int | str) -> None:
    with pytest.raises(InputError, match=r"32 for each core.*100000 workers.*Ask for fewer"):
        executor_of(many)


def test_only_workers_can_be_stopped() -> None:
    with pytest.raises(InputError, match=r"time limit of 2 s without workers.*--workers 1"):
        executor_of(None, time_limit=2.0)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"surepath\[ray\]"):
        executor_of("ray")

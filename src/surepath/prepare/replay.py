"""A run once more, from its recorded call, with its journal as the only source of readings.

Whoever keeps only the episodes that suit him has a journal of true readings and a false plan. So
the deterministic run is replayed: every row has to be one that it asks for, none may be missing,
and what it ends with has to be the recorded result. Nothing is run or imported for that. The system
is a built-in problem, or a stand-in that knows what the system once declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from surepath.adapters.space_data import is_described, space_from_data
from surepath.decoding import limits
from surepath.errors import InputError, JournalError
from surepath.features import NAMES
from surepath.journal.course import KEY, Point, course_in
from surepath.journal.database import Journal
from surepath.journal.identity import ATTRIBUTES, ENGINE, call_of
from surepath.journal.rows import Origin
from surepath.learners.base import Asking
from surepath.prepare.call import Call
from surepath.prepare.given import Given
from surepath.prepare.proved_run import ProvedRun
from surepath.prepare.start import Run, start
from surepath.prepare.systems import system_again
from surepath.results.data_differences import data_differences
from surepath.results.result import Result, restored
from surepath.run.checkpoints import CHECKPOINT, Checkpoint, checkpoint_of
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.run.work import Unit, UnitReport
from surepath.system import Actions, Counts, Episodes, Moments, Request, Summary, System
from surepath.validate import without_infinities

UNUSABLE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)
"""What a call can end in that no run was ever made with."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of replaying a run."""

    differences: tuple[str, ...] = ()  # between the recorded run and the replayed one
    impossible: str = ""  # why it was not replayed; empty where it was


def replay(journal: Journal) -> Replay:
    """Replay the run of a journal that has ended, and compare."""
    configured, recorded = journal.configuration, restored(journal.get("result"))
    try:
        if why := impossible(configured):
            return Replay(impossible=why)
        again = _replayed(journal, configured, recorded.usage.episodes)
    except (JournalError, *UNUSABLE) as error:
        said = str(error) if isinstance(error, JournalError) else f"{type(error).__name__}: {error}"
        return Replay((f"the recorded run is not one that its call leads to: {said}",))
    episodes, found = journal.count()[0], again.result
    extra = episodes - found.episodes - found.usage.given_episodes
    unasked = (f"{extra} of the {episodes} recorded episodes were not asked for",) if extra else ()
    mine, theirs = ({**each.saved(), "call": None} for each in (recorded, found))
    return Replay(
        (
            *unasked,
            *data_differences("", mine, theirs),
            *data_differences(CHECKPOINT, *again.checkpoint),
            *_other_course(journal, again.course),
        )
    )


def _other_course(journal: Journal, made: list[Point]) -> tuple[str, ...]:
    """Where the recorded course is not that of the run; older versions recorded none, or a part."""
    said = {point["batch"]: point for point in course_in(journal)}
    pairs = [(said[point["batch"]], point) for point in made if point["batch"] in said]
    mine, theirs = ([without_infinities(dict(pair[side])) for pair in pairs] for side in (0, 1))
    return data_differences(KEY, mine, theirs)


def impossible(configured: Mapping[str, Any]) -> str:
    """Why nobody can replay the run by what its journal says; empty where it can be."""
    engine, features = configured.get("engine", 1), configured["features"]
    declared = configured.get("declared")
    if engine != ENGINE:
        return f"it was begun by engine {engine} of surepath, this is engine {ENGINE}"
    if features not in NAMES:
        return f"its features are not in the file: {features}"
    if declared is None:
        return _not_made_again(configured["system"])
    if declared["problem"] and (configured["guarantee"] != Call.guarantee):
        return "its system is a problem of somebody's own, whose oracle is not in the file"
    if not is_described(declared["observation_space"]):
        return "its observation space was too large to be written down"
    return ""


def _not_made_again(system: Mapping[str, Any]) -> str:
    """Why the built-in problem of a file is not made; empty where it can be."""
    if "problem" not in system:
        return "its journal is of a version that did not describe systems"
    for name, value in system.items():
        if name != "seed" and isinstance(value, int) and value > limits.HORIZON:
            return f"a problem with {name} {value:.3g} is larger than any that is made from a file"
    return ""


def proof_of(journal: Journal) -> list[str]:
    """The proof of a proved run, with every fresh episode, by replaying the run of the journal."""
    said = journal.get("result")
    recorded = None if said is None else restored(said)
    if recorded is None or recorded.proof is None:
        raise InputError(
            f"{journal.path} holds no proof",
            got="a run that has not ended" if recorded is None else recorded.certificate.claim,
            remedy='Only certified runs with guarantee="proved" have one.',
        )
    if impossible(journal.configuration):
        return recorded.proof  # pooled by request, which proves the same
    run, runner = run_again(journal, journal.configuration)
    assert isinstance(run, ProvedRun)  # the result has a proof
    run.learner.keeps_raw = True
    drive(run.learner, runner, budget=recorded.usage.episodes, checkpoints=False)
    return run.proof()


@dataclass(frozen=True, slots=True)
class _Again:
    """What a run comes to when it is run again."""

    result: Result
    checkpoint: tuple[Any, Any]  # as it is recorded, and as it was made again
    course: list[Point]


def _replayed(journal: Journal, configured: Mapping[str, Any], episodes: int) -> _Again:
    """The run once more, when it may spend so many episodes."""
    run, runner = run_again(journal, configured)
    kept = journal.get(CHECKPOINT)
    made: Checkpoint | None = None  # of the batch that the recorded one is of
    told, course = 0, list[Point]()

    def watch(learner: Asking) -> bool:
        nonlocal told, made
        if kept is not None and told == kept["batch"]:
            made = checkpoint_of(learner, told)
        told += 1
        return False

    watch(run.learner)
    drive(
        run.learner,
        runner,
        budget=episodes,
        watch=watch,
        note=course.append,
        checkpoints=False,
    )
    return _Again(run.result(), (kept, made), course)


def run_again(journal: Journal, configured: Mapping[str, Any]) -> tuple[Run, Runner]:
    """The run of the call, before its first request, and who answers from the journal."""
    called = call_of(configured)
    called["data"] = _given(journal, called.get("data"))
    identity, declared = called.pop("system"), configured.get("declared")
    if declared is None:
        system = system_again(identity, called["horizon"])
    else:
        system = _stand_in(called["horizon"], declared)
        called["reward_range"] = tuple(declared["rewards"])
    told = "elsewhere" in identity
    runner = Runner(
        system,
        called["seed"],
        executor=_Nobody(),
        journal=journal,
        origin=(lambda _: Origin.GIVEN) if told else Origin.of,
    )
    return start(Call.of(system, **called), lambda: runner), runner


def _given(journal: Journal, said: object) -> Given | None:
    """What the run was told before its first request, as its journal has it."""
    given = Given.recorded_in(journal)
    if given is not None and given.described() != said:
        raise JournalError(
            "the journal lacks episodes that the run was given",
            got=f"{given.episodes} of them, or others than the call names",
            remedy="Use the file as it was written.",
        )
    return given


class _Nobody:
    """An executor that runs nothing: whatever it is asked for should have been recorded."""

    replaced = 0

    def run(self, system: System, units: Iterable[Unit]) -> Iterator[UnitReport]:
        del system
        missing = next(iter(units))
        raise JournalError(
            "the journal lacks episodes that the run asked for",
            got=f"nothing for {missing}, {missing.count} times {missing.request.actions}",
            remedy="Use the file as it was written.",
        )

    def close(self) -> None:
        """Nothing to give back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


# ---------------------------------------------------------------- the system that is not here


class _StandIn:
    """A system that is not here, known by what it once declared."""

    def __init__(self, horizon: int, declared: Mapping[str, Any]) -> None:
        self.horizon: int = horizon
        self.n_actions: int = declared["n_actions"]
        self.last_actions: int | None = declared.get("last_actions")
        space = declared["observation_space"]
        self.observation_space = None if space is None else space_from_data(space)
        for name in ATTRIBUTES & declared.keys():
            setattr(self, name, declared[name])

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        raise NotImplementedError  # the executor runs nothing


class _SummarisingStandIn(_StandIn):
    """The same, of a system that drew sufficient statistics."""

    statistic: type[Counts | Moments] = Counts

    def summarise(self, request: Request, rng: np.random.Generator) -> Summary:
        raise NotImplementedError  # as above


def _stand_in(horizon: int, declared: Mapping[str, Any]) -> System:
    if declared["statistic"] is None:
        return _StandIn(horizon, declared)
    system = _SummarisingStandIn(horizon, declared)
    system.statistic = {"Counts": Counts, "Moments": Moments}[declared["statistic"]]
    return system

"""`diagnose`: a pilot, what it says of every assumption, and what a run will take."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from surepath.doctor.change import drift
from surepath.doctor.determinism import determinism
from surepath.doctor.finding import Diagnosis, Finding, Verdict
from surepath.doctor.forecast import forecasts
from surepath.doctor.linearity import blind, linear
from surepath.doctor.looks import aliases, noise, states
from surepath.doctor.payments import RANGE, paid_when, reward_range, tails
from surepath.doctor.pilot import Pilot, requests_of_pilot
from surepath.doctor.resets import clean
from surepath.inference.threads import one_thread
from surepath.journal.database import Journal
from surepath.prepare.call import Call, Future
from surepath.prepare.given import pilot_of
from surepath.prepare.task import plan_task
from surepath.prepare.terms import finite_features
from surepath.results.report.doctor import DIAGNOSIS
from surepath.run.choose_executor import executor_of
from surepath.run.executors import Executor
from surepath.run.runner import Runner
from surepath.validate import without_infinities

EPISODES = 2000
"""Episodes of a pilot that finds what the docs say it does."""


def diagnose(
    env: object,
    horizon: int | None = None,
    *,
    episodes: int = EPISODES,
    features: object = Call.features,
    future: Future | None = Call.future,
    guarantee: str = Call.guarantee,
    delta: float = Call.delta,
    gap: float | None = Call.gap,
    tolerance: float | str | None = Call.tolerance,
    separation: float | Literal["exact"] | None = Call.separation,
    predict: bool = Call.predict,
    norm: float | None = Call.norm,
    reward_range: tuple[float, float] = Call.reward_range,
    return_range: tuple[float, float] | None = Call.return_range,
    forecast: bool = True,
    journal: str | Path | None = None,
    workers: int | str | Executor | None = None,
    seed: int = Call.seed,
) -> Diagnosis:
    """Whether a system satisfies what `learn` assumes, what a run will cost, and what to change.

    episodes: of the pilot, about. They are chosen before any of them is read. The arguments that
    `learn` has too mean the same there.
    journal: where the pilot is recorded. `learn` with the same arguments and this journal goes on
    with it, and takes the pilot as evidence; so does `learn(data=journal)`.
    forecast: whether to say what a run will take, which takes as much computing as a few runs.
    """
    call = Call.of(
        env,
        horizon,
        features=features,
        future=future,
        guarantee=guarantee,
        delta=delta,
        gap=gap,
        tolerance=tolerance,
        separation=separation,
        predict=predict,
        norm=norm,
        reward_range=reward_range,
        return_range=return_range,
        seed=seed,
    )
    with ExitStack() as opened:
        executor = executor_of(workers)
        if executor is not workers:
            opened.enter_context(executor)
        record = None
        if journal is not None:
            asked = sum(each.count for each in requests_of_pilot(call, episodes))
            recorded: dict[str, Any] = {**call.recorded(), "data": pilot_of(asked)}
            record = opened.enter_context(Journal(journal, recorded))
        # Rewards outside their range are for the diagnosis to name.
        runner = Runner(call.system, seed, executor=executor, journal=record)
        task = plan_task(call, runner)
        pilot = Pilot.run(call, finite_features(task.psi), runner, episodes)
        several = workers if isinstance(workers, int) else 1
        found = examined(pilot, several, forecast=forecast)
        if record is not None:
            record.put(DIAGNOSIS, without_infinities(found.to_dict()))
    return found


@one_thread()
def examined(pilot: Pilot, workers: int = 1, *, forecast: bool = True) -> Diagnosis:
    """What a pilot says."""
    each_step = pilot.seconds / max(pilot.steps, 1)
    paid = reward_range(pilot)
    low, high = pilot.call.rewards
    if float(pilot.rewards.min()) < low or float(pilot.rewards.max()) > high:
        seen = (float(pilot.rewards.min()), float(pilot.rewards.max()))
        paid = Finding(
            RANGE,
            f"{paid.evidence}: some lie outside",
            Verdict.BROKEN,
            0.0,
            f"Say reward_range=(low, high) with at least {seen[0]:.4g} .. {seen[1]:.4g}.",
            paid.data,
        )
    found = (
        determinism(pilot),
        drift(pilot),
        clean(pilot),
        aliases(pilot),
        noise(pilot),
        states(pilot),
        paid,
        paid_when(pilot),
        tails(pilot),
        linear(pilot),
        blind(pilot),
    )
    findings = tuple(each for each in found if each is not None)
    return Diagnosis(
        findings,
        forecasts(pilot, each_step, workers) if forecast else (),
        pilot.episodes,
        pilot.steps,
        each_step,
        workers,
    )

"""Success against steps: surepath as it comes, and every rival at its best.

Each rival is tuned on training instances that the report does not use: the setting whose answers
are right soonest. PPO, of which a run takes minutes, keeps its own defaults. Ours is called with
nothing but the system and the seed. Only the steps count, and whether the plan is an optimal one;
that ours also knows when it is done, and most rivals do not, is a column and not a handicap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from surepath.bench import ppo
from surepath.bench.contest import (
    OURS,
    RIVALS,
    Settings,
    Trace,
    Trial,
    arena_of,
    attempt,
    checkpoints,
    lock,
    merit,
    settings_of,
    steps_to,
    success,
)
from surepath.bench.report import Cell, Figure, Finding, Line, Section, number, rate
from surepath.bench.rivals import DELTA, floor_of
from surepath.bench.runs import Crew, Instance, Part, geometric
from surepath.bench.worlds import Case
from surepath.problems.finite import FiniteProblem

PPO = "recurrent PPO"

TRAINING = 1000
"""Instances and runs from this seed on choose settings; the report uses those from 0."""


@dataclass(frozen=True, slots=True)
class Contest:
    """A problem to be solved within so many steps."""

    title: str
    stage: Instance | Case
    cap: int
    tuned_on: str = ""  # the contest whose settings are taken, where it is not this one

    def numbered(self, seed: int) -> Instance | Case:
        """An instance of the problem; an environment is the same every time."""
        return self.stage.numbered(seed) if isinstance(self.stage, Instance) else self.stage


CONTESTS = (
    Contest("lock H=10", lock(10), 50_000),
    Contest("lock H=20", lock(20), 150_000, tuned_on="lock H=10"),
    Contest("lock H=40", lock(40), 300_000, tuned_on="lock H=10"),
    Contest(
        "tabular",
        Instance("tabular", {"horizon": 8, "states": 5, "actions": 3, "observations": 8}),
        100_000,
    ),
    Contest("mixing", Instance("mixing", {"horizon": 8, "actions": 4}), 100_000),
    Contest("overcomplete", Instance("overcomplete", {}), 50_000),
    Contest("continuous", Instance("continuous", {}), 50_000),
    Contest(
        "MiniGrid-Empty-5x5",
        Case("MiniGrid-Empty-5x5", "minigrid_key", "MiniGrid-Empty-5x5-v0"),
        130_000,
    ),
)


@dataclass(frozen=True, slots=True)
class Scale:
    instances: int = 20
    training: int = 2  # instances a setting is tried on
    policies: int = 1  # that PPO is trained for, on each problem
    episodes: int = 20  # of each of them
    shrink: int = 1  # caps are divided by it
    contests: tuple[str, ...] = ()  # all where none is named


FULL = Scale()
QUICK = Scale(
    instances=5, training=1, policies=0, shrink=2, contests=("lock H=10", "tabular", "overcomplete")
)


@dataclass(frozen=True, slots=True)
class Standing:
    """The runs of one method on one problem."""

    method: str
    settings: Settings
    traces: list[Trace]
    cap: int

    @property
    def needed(self) -> float:
        """Steps to 95 % success."""
        return steps_to(self.traces, self.cap)

    @property
    def refused(self) -> str:
        return next((trace.refused for trace in self.traces if trace.refused), "")


def peers(crew: Crew) -> list[Finding]:
    scale = QUICK if crew.quick else FULL
    contests = [
        replace(contest, cap=contest.cap // scale.shrink)
        for contest in CONTESTS
        if not scale.contests or contest.title in scale.contests
    ]
    tuned: dict[str, Mapping[str, Settings]] = {}
    findings: list[Finding] = []
    standings: dict[str, list[Standing]] = {}
    for contest in contests:
        source = contest.tuned_on if contest.tuned_on in tuned else contest.title
        if source not in tuned:
            tuned[source] = tune(crew, contest, scale.training)
        standings[contest.title] = compete(crew, contest, tuned[source], scale)
        findings.append(_table(contest, standings[contest.title]))
        findings.append(_curves(contest, standings[contest.title]))
        findings += _floor(crew, contest, scale.instances)
    return [_summary(standings), _matrix(standings), *findings]


def tune(crew: Crew, contest: Contest, training: int) -> dict[str, Settings]:
    """The best setting of every rival, by its merit on the training instances."""
    trials = [
        Trial(contest.numbered(TRAINING + run), method, settings, contest.cap, TRAINING + run)
        for method in RIVALS
        for settings in settings_of(method, contest.numbered(TRAINING))
        for run in range(training)
    ]
    traces = crew.spread(attempt, trials, f"{contest.title}: tuning")
    merits: dict[tuple[str, Settings], list[Trace]] = {}
    for trial, trace in zip(trials, traces, strict=True):
        merits.setdefault((trial.method, trial.settings), []).append(trace)
    best: dict[str, Settings] = {}
    for method in RIVALS:
        # What could be run comes before what could not, even where nothing was ever right.
        tried = {
            settings: (merit(runs, contest.cap), not any(run.refused for run in runs))
            for (of, settings), runs in merits.items()
            if of == method
        }
        best[method] = max(tried, key=lambda settings: tried[settings])
    return best


def compete(
    crew: Crew, contest: Contest, chosen: Mapping[str, Settings], scale: Scale
) -> list[Standing]:
    methods: dict[str, Settings] = {OURS: (), **chosen}
    trials = [
        Trial(contest.numbered(run), method, settings, contest.cap, run)
        for method, settings in methods.items()
        for run in range(scale.instances)
    ]
    traces = crew.spread(attempt, trials, contest.title)
    standings = [
        Standing(
            method,
            settings,
            [t for trial, t in zip(trials, traces, strict=True) if trial.method == method],
            contest.cap,
        )
        for method, settings in methods.items()
    ]
    if scale.policies:
        policies = [
            Trial(contest.numbered(run), PPO, (("episodes", scale.episodes),), contest.cap, run)
            for run in range(scale.policies)
        ]
        trained = crew.spread(practise, policies, f"{contest.title}: {PPO}")
        standings.append(Standing(PPO, (), trained, contest.cap))
    return standings


def practise(trial: Trial) -> Trace:
    """PPO trained for all the steps there are; its answer is what it plays in most episodes."""
    arena = arena_of(trial.stage)
    model, env = ppo.train(_environment(trial.stage), arena.horizon, trial.cap, trial.seed)
    episodes = dict(trial.settings)["episodes"]
    played = [ppo.episode(model, env, seed=10**6 + number)[0] for number in range(episodes)]
    loss = float(np.median([arena.loss(actions) for actions in played]))
    return Trace((trial.cap,), (max(loss, 0.0),), trial.cap, stopped=False)


def _environment(stage: Instance | Case) -> object:
    if isinstance(stage, Case):
        return stage.build().noisy()
    from surepath.problems.registration import ProblemEnv

    return ProblemEnv(stage.name, **stage.parameters)


# ---------------------------------------------------------------- tables and figures


MOST_PATHS = 10_000
"""Action sequences that a floor is computed over."""


def _floor(crew: Crew, contest: Contest, instances: int) -> list[str]:
    """What no method can do with less, where it can be computed: a problem with few sequences."""
    if not isinstance(contest.stage, Instance):
        return []
    problem = contest.numbered(0).build()
    if not isinstance(problem, FiniteProblem) or problem.n_actions**problem.horizon > MOST_PATHS:
        return []
    drawn = [contest.stage.numbered(seed) for seed in range(instances)]
    fewest = geometric(crew.spread(floor_of, drawn, f"{contest.title}: floor"))
    return [
        f"{contest.title}: a method that is right with probability {1 - DELTA:.0%} on every such "
        f"problem takes {number(fewest)} episodes on average at least, "
        f"{number(problem.horizon * fewest)} steps where they are whole (geometric mean; "
        "transitions and sensors known to it)."
    ]


def _table(contest: Contest, standings: Sequence[Standing]) -> Section:
    rows = [_row(standing) for standing in sorted(standings, key=lambda s: s.needed)]
    return Section(
        f"{contest.title}: within {contest.cap} steps",
        ("method", "exact at the end", "steps to 95 %", "stops by itself", "settings"),
        rows,
    )


def _row(standing: Standing) -> tuple[Cell, ...]:
    if standing.refused:
        return standing.method, "cannot be run", "-", "-", standing.refused
    runs = len(standing.traces)
    ended = [trace for trace in standing.traces if trace.stopped]
    stops = f"{len(ended)}/{runs}"
    if ended:
        stops += f" after {number(geometric([max(trace.total, 1) for trace in ended]))}"
    return (
        standing.method,
        rate(sum(trace.exact_at(standing.cap) for trace in standing.traces), runs),
        _steps(standing.needed, standing.cap),
        stops,
        ", ".join(f"{name}={value}" for name, value in standing.settings) or "-",
    )


def _steps(needed: float, cap: int) -> str:
    return number(needed) if math.isfinite(needed) else f"> {number(cap)}"


def _summary(standings: Mapping[str, Sequence[Standing]]) -> Section:
    """Ours beside the best rival of each problem."""
    rows: list[tuple[Cell, ...]] = []
    for title, found in standings.items():
        ours = next(standing for standing in found if standing.method == OURS)
        best = min((s for s in found if s.method != OURS), key=lambda s: s.needed)
        nobody = not math.isfinite(best.needed)
        rows.append(
            (
                title,
                _steps(ours.needed, ours.cap),
                geometric([trace.total for trace in ours.traces]),
                rate(sum(trace.certified for trace in ours.traces), len(ours.traces)),
                "none" if nobody else best.method,
                _steps(best.needed, best.cap),
                _ratio(ours.needed, best.needed, best.cap),
            )
        )
    return Section(
        "steps to 95 % success: surepath's default beside the best rival; ratios below 1 are ours",
        ("problem", "surepath", "until it stops", "certified", "best rival", "its steps", "ratio"),
        rows,
    )


def _matrix(standings: Mapping[str, Sequence[Standing]]) -> Section:
    """Every rival on every problem."""
    methods = [s.method for s in next(iter(standings.values())) if s.method != OURS]
    rows: list[tuple[Cell, ...]] = []
    for method in methods:
        cells: list[Cell] = [method]
        for found in standings.values():
            ours, theirs = (next(s for s in found if s.method == m) for m in (OURS, method))
            if theirs.refused:
                cells.append("cannot be run")
            else:
                cells.append(_ratio(ours.needed, theirs.needed, theirs.cap))
        rows.append(tuple(cells))
    return Section(
        "surepath's steps to 95 % over each rival's; '< x' where the rival did not get there",
        ("rival", *standings),
        rows,
    )


def _ratio(ours: float, theirs: float, cap: int) -> str:
    if math.isfinite(ours) and math.isfinite(theirs):
        return f"{ours / theirs:.2g}"
    if math.isfinite(ours):
        return f"< {ours / cap:.2g}"
    return f"> {cap / theirs:.2g}" if math.isfinite(theirs) else "-"


def _curves(contest: Contest, standings: Sequence[Standing]) -> Figure:
    points = checkpoints(contest.cap)
    return Figure(
        contest.title.lower().replace(" ", "-").replace("=", ""),
        f"{contest.title}: share of runs whose plan is optimal",
        "steps",
        "success",
        [
            Line(standing.method, points, tuple(success(standing.traces, points)))
            for standing in standings
            if not standing.refused and standing.method != PPO
        ],
        log="x",
    )


PARTS: Mapping[str, Part] = {"peers": peers}

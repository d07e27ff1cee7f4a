"""Success against steps: surepath as it comes, and every rival at its best.

Each rival is tuned for each problem on training instances that the report does not use (an
environment has no other instances: there it is tuned on other runs): it gets the setting that is
right in 95 % of the runs soonest. PPO, of which a run takes minutes, keeps its own defaults and is
trained once, and asked six times meanwhile. Of MiniGrid, where a run takes half a minute whoever
plays, there are five, and rivals are tuned within a quarter of the steps. A rival that is never
right, on the training instances or in its first runs, makes no more. Ours is called with the system
and the seed, and on MiniGrid with linear features, which rivals that look at readings are
given too. Only the steps count, and whether the plan is an optimal one; that ours also knows when
it is done, and most rivals do not, is a column and not a handicap.

Some rivals are told what nobody tells ours: which prefixes are one state, or the states themselves.
They stand apart, as the price of not knowing, and never are the best rival.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from surepath.bench.harness import ppo
from surepath.bench.harness.arena import Stage, lock, numbered
from surepath.bench.harness.attempt import OURS, Trace, Trial, attempt
from surepath.bench.harness.report import Cell, Figure, Finding, Line, Section, number
from surepath.bench.harness.rival_tuning import tune
from surepath.bench.harness.rivals import RIVALS, Settings, settings_text
from surepath.bench.harness.runs import DELTA, Crew, Instance, Part, grouped
from surepath.bench.harness.statistics import geometric, rate
from surepath.bench.harness.success import (
    WANTED,
    checkpoints,
    ever_right,
    ratio_interval,
    steps_to,
    success,
)
from surepath.bench.harness.worlds import Case
from surepath.bench.suites.floor import floor_of
from surepath.builtin_problems.finite import FiniteProblem

PPO = "recurrent PPO"

FIRST_RUNS = 10
"""Runs of a rival that show whether it is ever right: if it is in one of seven, with 80 %."""

HALF = 0.5
"""The other share of successes at which methods are compared."""


@dataclass(frozen=True, slots=True)
class Contest:
    """A problem to be solved within so many steps."""

    title: str
    stage: Stage
    cap: int
    slow: bool = False  # a run takes half a minute, whoever plays: there are fewer of them


CONTESTS = (
    Contest("lock H=10", lock(10), 50_000),
    Contest("lock H=20", lock(20), 150_000),
    Contest("lock H=40", lock(40), 600_000),
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
        slow=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Scale:
    instances: int = 40
    training: int = 20  # instances a setting is tried on, if it is among the best of a few
    policies: int = 1  # that PPO is trained for, on each problem
    practice: int = 50_000  # steps that it is trained for at most: five minutes
    episodes: int = 20  # by which a policy is judged
    shrink: int = 1  # caps are divided by it
    contests: tuple[str, ...] = ()  # all where none is named


FULL = Scale()
QUICK = Scale(
    instances=5, training=2, policies=0, shrink=2, contests=("lock H=10", "tabular", "overcomplete")
)


@dataclass(frozen=True, slots=True)
class Standing:
    """The runs of one method on one problem."""

    method: str
    settings: Settings
    traces: list[Trace]
    cap: int

    def steps_to(self, wanted: float) -> float:
        """Steps to this share of successes."""
        return steps_to(self.traces, self.cap, wanted)

    @property
    def needed(self) -> float:
        """Steps to 95 % success."""
        return self.steps_to(WANTED)

    @property
    def ended(self) -> str:
        """How many runs stopped by themselves, and after how many steps."""
        ended = [max(trace.total, 1) for trace in self.traces if trace.stopped]
        after = f" after {number(geometric(ended))}" if ended else ""
        return f"{len(ended)}/{len(self.traces)}{after}"

    @property
    def told(self) -> str:
        """What it knows that ours does not."""
        return RIVALS[self.method].told if self.method in RIVALS else ""

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
    findings: list[Finding] = []
    standings: dict[str, list[Standing]] = {}
    for contest in contests:
        size = replace(scale, instances=5, training=1) if contest.slow else scale
        within = contest.cap // 4 if contest.slow else contest.cap
        tuned = tune(crew, RIVALS, contest.stage, within, size.training, contest.title)
        chosen = {method: best for method, (best, *_) in tuned.items()}
        standings[contest.title] = compete(crew, contest, chosen, size)
        findings.append(_table(contest, standings[contest.title]))
        findings.append(_curves(contest, standings[contest.title]))
        findings += _floor(crew, contest, scale.instances)
    return [_summary(standings), _knowing(standings), _matrix(standings), *findings]


def compete(
    crew: Crew, contest: Contest, chosen: Mapping[str, Settings], scale: Scale
) -> list[Standing]:
    """Every method with its settings on the same instances.

    A rival that is right at no time in its first runs makes no more.
    """
    found: dict[str, list[Trace]] = {OURS: []} | {method: [] for method in chosen}
    for first, end in pairwise((0, min(FIRST_RUNS, scale.instances), scale.instances)):
        going = [m for m, made in found.items() if m == OURS or not first or ever_right(made)]
        trials = [
            Trial(numbered(contest.stage, run), method, chosen.get(method, ()), contest.cap, run)
            for method in going
            for run in range(first, end)
        ]
        traces = grouped(crew.spread(attempt, trials, contest.title), max(end - first, 1))
        for method, made in zip(going, traces, strict=False):
            found[method] += made
    return [
        Standing(method, chosen.get(method, ()), made, contest.cap)
        for method, made in found.items()
    ] + _practised(crew, contest, scale)


def _practised(crew: Crew, contest: Contest, scale: Scale) -> list[Standing]:
    """PPO, where it is trained at all."""
    if not scale.policies:
        return []
    settings: Settings = (("episodes", scale.episodes),)
    cap = min(contest.cap, scale.practice)
    policies = [
        Trial(numbered(contest.stage, run), PPO, settings, cap, run)
        for run in range(scale.policies)
    ]
    trained = crew.spread(ppo.practise, policies, f"{contest.title}: {PPO}")
    return [Standing(PPO, (), trained, cap)]


# ---------------------------------------------------------------- tables and figures


MOST_PATHS = 10_000
"""Action sequences that a floor is computed over."""


def _floor(crew: Crew, contest: Contest, instances: int) -> list[str]:
    """What no method can do with less, where it can be computed: a problem with few sequences."""
    if not isinstance(contest.stage, Instance):
        return []
    problem = contest.stage.numbered(0).build()
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
    return (
        standing.method,
        rate(sum(trace.exact_at(standing.cap) for trace in standing.traces), runs),
        _steps(standing.needed, standing.cap),
        standing.ended,
        settings_text(standing.settings),
    )


def _steps(needed: float, cap: int) -> str:
    return number(needed) if math.isfinite(needed) else f"> {number(cap)}"


def _summary(standings: Mapping[str, Sequence[Standing]]) -> Section:
    """Ours beside the best rival of each problem."""
    return Section(
        "steps to 95 % success: surepath's default beside the best rival that is told no more; "
        "ratios below 1 are ours (95 % bootstrap intervals over the runs)",
        ("problem", "surepath", "stops by itself", "certified", "best rival", "ratio",
         "best at 50 %", "ratio at 50 %"),
        [(title, *_beside(found)) for title, found in standings.items()],
    )  # fmt: skip


def _beside(found: Sequence[Standing]) -> tuple[Cell, ...]:
    """Ours, the rival that is right in 95 % soonest, and the one that is in half."""
    ours = next(standing for standing in found if standing.method == OURS)
    others = [s for s in found if s.method != OURS and not s.told]
    return (
        _steps(ours.needed, ours.cap),
        ours.ended,
        rate(sum(trace.certified for trace in ours.traces), len(ours.traces)),
        *_against(ours, others, WANTED),
        *_against(ours, others, HALF),
    )


def _against(ours: Standing, others: Sequence[Standing], wanted: float) -> tuple[str, str]:
    """The best of the others, and the ratio to it with its interval."""
    best = min(others, key=lambda standing: standing.steps_to(wanted))
    mine, theirs = ours.steps_to(wanted), best.steps_to(wanted)
    return _named(best, theirs), _ratio(mine, theirs, best.cap) + _interval(ours, best, wanted)


def _knowing(standings: Mapping[str, Sequence[Standing]]) -> Section:
    """Ours beside the best of those that are told more: the price of not knowing it."""
    rows: list[tuple[Cell, ...]] = []
    for title, found in standings.items():
        ours = next(standing for standing in found if standing.method == OURS)
        told = [s for s in found if s.told and not s.refused]
        if told:
            told_cells = (*_against(ours, told, WANTED), *_against(ours, told, HALF))
            rows.append((title, _steps(ours.needed, ours.cap), *told_cells))
        else:
            rows.append((title, _steps(ours.needed, ours.cap), "none can be told", "-", "-", "-"))
    return Section(
        "the price of not knowing: surepath beside the best of those that are told which prefixes "
        "are one state, or the states",
        ("problem", "surepath", "best that is told", "ratio", "best at 50 %", "ratio at 50 %"),
        rows,
    )


def _named(standing: Standing, needed: float) -> str:
    """A rival with its steps, if it got there."""
    return f"{standing.method}, {number(needed)}" if math.isfinite(needed) else "none"


def _interval(ours: Standing, theirs: Standing, wanted: float) -> str:
    """Of the ratio, where both got there and have runs enough to say."""
    if not math.isfinite(max(ours.steps_to(wanted), theirs.steps_to(wanted))):
        return ""
    if len(theirs.traces) != len(ours.traces):
        return ""
    low, high = ratio_interval(ours.traces, theirs.traces, ours.cap, wanted)
    return f" [{low:.2g}, {high:.2g}]"


def _matrix(standings: Mapping[str, Sequence[Standing]]) -> Section:
    """Every rival on every problem."""
    methods = [s.method for s in next(iter(standings.values())) if s.method != OURS]
    rows: list[tuple[Cell, ...]] = []
    for method in methods:
        told = method in RIVALS and RIVALS[method].told
        cells: list[Cell] = [f"{method} *" if told else method]
        for found in standings.values():
            ours, theirs = (next(s for s in found if s.method == m) for m in (OURS, method))
            if theirs.refused:
                cells.append("cannot be run")
            else:
                cells.append(_ratio(ours.needed, theirs.needed, theirs.cap))
        rows.append(tuple(cells))
    return Section(
        "surepath's steps to 95 % over each rival's; '< x' where the rival did not get there; * is "
        "told states, or which prefixes are one",
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
            if not standing.refused
        ],
        log="x",
    )


PARTS: Mapping[str, Part] = {"peers": peers}

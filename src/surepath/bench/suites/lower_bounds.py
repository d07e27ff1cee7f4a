"""The paper's two lower bounds, seen: what becomes of the samples when an assumption is dropped.

Determinism. On the leaking graph the state is lost with a constant probability at every step, so
what tells one plan from another shrinks geometrically with the horizon, while the gap between
actions of a state stays. A learner meets beliefs, and a guarantee needs their gap: what the proved
schedule takes for it grows geometrically, and with the leak stopped, and everything else as large
as before, as a power of the horizon. That is the price of the proof. With few actions the answer
itself is had for less, by trying them all: the same schedule, told the gap of the states as if
moves were certain, is a control. The theorem has about 2^H actions, and there the price is real:
every method pays for each, and ours, which goes by the states it tells apart, a higher power of
their number than it does with the leak stopped.

The gap. On the two families with few actions the horizon and the dimension stay, only the gap
shrinks, and the samples grow with its inverse square.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from surepath.bench.harness.attempt import OURS, Trial, attempt
from surepath.bench.harness.report import Cell, Figure, Finding, Line, Section, number
from surepath.bench.harness.rivals import Settings, grid
from surepath.bench.harness.runs import (
    DELTA,
    Crew,
    Instance,
    Job,
    Outcome,
    Part,
    exact_rate,
    mean_steps,
    play,
)
from surepath.bench.harness.statistics import exponent, geometric, growth_factor
from surepath.bench.harness.success import steps_to
from surepath.bench.harness.sweeps import Reached, all_runs, fitted
from surepath.builtin_problems.hard import Leaking
from surepath.theory.floor import binary_kl

ALPHA = 0.25
"""Of the leaking graph: the state is lost with probability 1/4 at least; its features are few."""

FORKS = 4
"""Horizon of the family with a tunable gap."""


@dataclass(frozen=True, slots=True)
class Scale:
    horizons: tuple[int, ...] = (2, 3, 4, 5, 6, 7)  # of the graph with few actions
    bits: tuple[int, ...] = (2, 3, 4, 5)  # horizons of the graph with 2^H actions
    instances: int = 10
    searches: int = 5
    cap: int = 500_000  # steps of a search
    stakes: tuple[float, ...] = (0.25, 0.125, 0.0625)  # the gap of the first family follows them
    games: int = 2
    eps: tuple[float, ...] = (0.8, 0.4, 0.2, 0.1)  # and that of the second these


FULL = Scale()
QUICK = Scale(
    horizons=(2, 3, 4, 5),
    bits=(2, 3, 4),
    instances=3,
    cap=100_000,
    stakes=(0.25, 0.125),
    games=1,
    eps=(0.8, 0.4, 0.2),
)


def _scale(crew: Crew) -> Scale:
    return QUICK if crew.quick else FULL


# ---------------------------------------------------------------- determinism


def graph(horizon: int, actions: int, *, leak: bool, seed: int) -> Instance:
    sizes = {"horizon": horizon, "actions": actions, "alpha": ALPHA, "leak": leak}
    return Instance("leaking", {**sizes, "seed": seed})


def gaps(instance: Instance) -> tuple[float, float]:
    """Of the actions of a state, and of what a learner can tell apart."""
    problem = instance.build()
    assert isinstance(problem, Leaking)
    return problem.state_gap, problem.gap


def _play_told(
    crew: Crew, schedule: str, instances: Sequence[Instance], gaps: Sequence[float], title: str
) -> list[Outcome]:
    """A run on each instance, told a gap: it is what says when to stop looking."""
    jobs = [
        Job(one, seed, {"schedule": schedule, "gap": gap})
        for seed, (one, gap) in enumerate(zip(instances, gaps, strict=True))
    ]
    return crew.spread(play, jobs, title)


PRICES: Mapping[str, tuple[bool, int]] = {
    "with the leak": (True, 1),
    "with the leak, told the gap of states": (True, 0),
    "leak stopped": (False, 1),
}
"""Whether the graph leaks, and which of its `gaps` the schedule is told."""


def leaking(crew: Crew) -> list[Finding]:
    """The proved schedule: with the gap of beliefs, of states, and with the leak stopped."""
    scale = _scale(crew)
    horizons = tuple(float(horizon) for horizon in scale.horizons)
    found = [_prices(crew, horizon, scale.instances) for horizon in scale.horizons]
    steps = {name: [there[name] for _, there in found] for name in PRICES}
    return [
        Section(
            f"leaking graph, 5 actions, {scale.instances} instances: steps of the tight schedule",
            ("H", "gap of states", "of beliefs", "steps for the gap of beliefs", "exact",
             "told the gap of states", "exact", "leak stopped: gap", "steps", "exact"),
            [(horizon, *cells) for horizon, (cells, _) in zip(scale.horizons, found, strict=True)],
        ),
        _leaking_remark(horizons, *steps.values()),
        Figure(
            "leaking",
            "leaking graph: what a guarantee takes, with the assumption broken and restored",
            "horizon H",
            "steps",
            [Line(name, horizons, tuple(values)) for name, values in steps.items()],
            log="y",
        ),
    ]  # fmt: skip


def _prices(crew: Crew, horizon: int, instances: int) -> tuple[list[Cell], dict[str, float]]:
    """What the table says of one horizon, and the steps in it by the name of their price."""
    cells: list[Cell] = []
    steps: dict[str, float] = {}
    for leak in (True, False):
        drawn = [graph(horizon, 5, leak=leak, seed=seed) for seed in range(instances)]
        known = crew.spread(gaps, drawn, f"leaking, H={horizon}: gaps")
        shown = (0, 1) if leak else (1,)  # without the leak they are one
        cells += [geometric([pair[which] for pair in known]) for which in shown]
        for name in (name for name, (leaks, _) in PRICES.items() if leaks == leak):
            told = [pair[PRICES[name][1]] for pair in known]
            runs = _play_told(crew, "tight", drawn, told, f"leaking, H={horizon}: {name}")
            steps[name] = mean_steps(runs)
            cells += [steps[name], exact_rate(runs)]
    return cells, steps


def _leaking_remark(
    horizons: Sequence[float],
    proved: Sequence[float],
    control: Sequence[float],
    stopped: Sequence[float],
) -> str:
    return (
        f"leaking: what a guarantee takes grows {number(growth_factor(horizons, proved))}-fold "
        "with every step of the horizon while the gap of the states stays; with the leak stopped "
        f"it grows as H^{exponent(horizons, stopped).value:.2g}. Told the gap of states, with the "
        f"leak, the schedule takes H^{exponent(horizons, control).value:.2g} and proves nothing; "
        "where it is right all the same, that is because five actions can be told apart by their "
        "first rewards."
    )


SEARCHES: Mapping[str, tuple[str, Settings, bool]] = {
    OURS: (OURS, (), True),
    f"{OURS}, leak stopped": (OURS, (), False),
    "agnostic Q": ("agnostic Q", grid(samples=(128,))[0], True),
    "KL-OLOP": ("KL-OLOP", grid(share=(1.0,), constant=(1.0,), batch=(4,))[0], True),
    "UCT": ("UCT", grid(exploration=(0.3,), batch=(4,))[0], True),
    "cross-entropy": ("cross-entropy", grid(population=(100,), batch=(4,))[0], True),
}
"""Methods that can be run with any number of sequences, each with one setting for all sizes (it is
asked how the cost grows, not what it is), and whether the graph leaks."""


def search(crew: Crew) -> list[Finding]:
    """Steps until all runs are right when there are about 2^H actions."""
    scale = _scale(crew)
    rows: list[tuple[Cell, ...]] = []
    lines: list[Line] = []
    for name in SEARCHES:
        needed = [_searched(crew, name, bits, scale) for bits in scale.bits]
        known = [(b, n) for b, n in zip(scale.bits, needed, strict=True) if math.isfinite(n)]
        grows = number(growth_factor(*zip(*known, strict=True))) if len(known) > 2 else "-"
        rows.append((name, *(number(n) if math.isfinite(n) else "-" for n in needed), grows))
        if known:
            lines.append(Line(name, tuple(b for b, _ in known), tuple(n for _, n in known)))
    return [
        Section(
            f"leaking graph, 2^H actions: steps until all of {scale.searches} runs are right (- : "
            f"not within {number(scale.cap)}); factor for every step of H over the sizes solved",
            ("method", *(f"H={bits}" for bits in scale.bits), "factor"),
            rows,
        ),
        Figure("search", "leaking graph with 2^H actions", "horizon H",
               "steps until all runs are right", lines, log="y"),
    ]  # fmt: skip


def _searched(crew: Crew, name: str, bits: int, scale: Scale) -> float:
    """Steps of one search at one size; infinity where some run is never right."""
    method, settings, leak = SEARCHES[name]
    trials = [
        Trial(graph(bits, 2**bits, leak=leak, seed=seed), method, settings, scale.cap, seed)
        for seed in range(scale.searches)
    ]
    traces = crew.spread(attempt, trials, f"2^H actions, H={bits}: {name}")
    return steps_to(traces, scale.cap, wanted=1.0)


# ---------------------------------------------------------------- the gap


def gap_of(instance: Instance) -> float:
    return instance.build().gap


def _along(
    crew: Crew, title: str, points: Sequence[Instance], schedules: Sequence[str], seeds: int
) -> dict[str, list[Reached]]:
    """Runs along the inverse gap by schedule, each told the gap of its instance."""
    drawn = [[point.numbered(seed) for seed in range(seeds)] for point in points]
    known = [crew.spread(gap_of, instances, f"{title}: gaps") for instances in drawn]
    found: dict[str, list[Reached]] = {schedule: [] for schedule in schedules}
    for schedule, reached in found.items():
        for point, instances, gaps_there in zip(points, drawn, known, strict=True):
            runs = _play_told(crew, schedule, instances, gaps_there, f"{title}: {schedule}")
            reached.append(Reached(point.parameters, [1 / gap for gap in gaps_there], runs))
    return found


FEWEST = "fewest of any method"


def _gap_findings(
    name: str,
    title: str,
    reached: Mapping[str, Sequence[Reached]],
    floor: Sequence[float] = (),
) -> list[Finding]:
    """Table and figure of what `_along` found, beside a floor where there is one."""
    along = next(iter(reached.values()))
    places = tuple(at.size for at in along)
    curves = {schedule: tuple(at.steps for at in points) for schedule, points in reached.items()}
    fits = {
        schedule: (str(fitted(points)), exact_rate(all_runs(points)))
        for schedule, points in reached.items()
    }
    if floor:
        curves[FEWEST] = tuple(floor)
        fits[FEWEST] = (f"{exponent(places, floor).value:.2f}", "-")
    return [
        Section(
            f"{title}, {len(along[0].runs)} instances: steps as the gap shrinks",
            ("method", *(f"1/gap {number(value)}" for value in places), "exponent, 95 %", "exact"),
            [(method, *map(number, values), *fits[method]) for method, values in curves.items()],
        ),
        Figure(
            name,
            f"{title}: horizon and dimension stay, the gap shrinks",
            "1 / gap",
            "steps",
            [Line(method, places, values) for method, values in curves.items()],
        ),
    ]


def few_actions(crew: Crew) -> list[Finding]:
    scale = _scale(crew)
    points = [Instance("few_actions", {"bits": 4, "stakes": stakes}) for stakes in scale.stakes]
    found = _along(crew, "few actions", points, ("adaptive", "tight"), scale.games)
    return _gap_findings("few-actions", "few actions (H=5, A=4, d=68)", found)


def tunable_gap(crew: Crew) -> list[Finding]:
    scale = _scale(crew)
    points = [Instance("tunable_gap", {"horizon": FORKS, "eps": eps}) for eps in scale.eps]
    found = _along(crew, "tunable gap", points, ("adaptive", "tight"), scale.instances)
    fewest = [fewest_steps(eps) for eps in scale.eps]
    return _gap_findings("tunable-gap", "tunable gap (H=4, A=2, d=12)", found, fewest)


def fewest_steps(eps: float) -> float:
    """What any learner needs that is right with probability 1 - DELTA.

    A secret with one bit flipped moves the mean of an episode, 1/2 + eps k / (2 H), to the next k,
    whatever is played. An episode shows at most three draws of it: its reward, and one for each
    action in the last observation. The information has to add up to kl(DELTA, 1 - DELTA).
    """
    means = [0.5 + eps * k / (2 * FORKS) for k in range(-FORKS, FORKS + 1, 2)]
    pairs = [*pairwise(means), *pairwise(reversed(means))]
    information = 3 * max(binary_kl(p, q) for p, q in pairs)
    return FORKS * binary_kl(DELTA, 1 - DELTA) / information


PARTS: Mapping[str, Part] = {
    "leaking": leaking,
    "search": search,
    "few-actions": few_actions,
    "tunable-gap": tunable_gap,
}

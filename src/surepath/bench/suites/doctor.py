"""The doctor against systems whose truth is known: level, power, forecast, and what data saves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from surepath.api import learn
from surepath.bench.families.drift import Drifting
from surepath.bench.families.sick import Cart, Fading, Maze, Passes, RandomStart, SlipsOnce
from surepath.bench.families.symbol_laws import some_law
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import Crew, Part
from surepath.bench.harness.statistics import geometric, rate
from surepath.bench.suites.broken import look_alike
from surepath.builtin_problems import make
from surepath.builtin_problems.tabular import Tabular, tabular
from surepath.builtin_problems.truth import separation
from surepath.doctor.change import DRIFT
from surepath.doctor.determinism import START
from surepath.doctor.diagnose import diagnose
from surepath.doctor.finding import DOUBTFUL, Verdict
from surepath.doctor.linearity import LINEAR
from surepath.doctor.looks import ALIAS
from surepath.system import Episodes, System

SOUND, SICK, FORECAST, LOGS = 200, 60, 100, 20
"""Systems of each part; a quick suite takes one in ten."""


def _sizes(rng: np.random.Generator, most: int = 6) -> dict[str, int]:
    return {
        "horizon": int(rng.integers(3, most + 1)),
        "states": int(rng.integers(2, 5)),
        "actions": int(rng.integers(2, 4)),
        "observations": int(rng.integers(4, 9)),
    }


def _machine(rng: np.random.Generator, most: int = 6) -> Tabular:
    return tabular(seed=int(rng.integers(2**31)), **_sizes(rng, most))


def sound_system(seed: int) -> System:
    """A system of which all is true that is assumed; the kinds take turns."""
    rng = np.random.default_rng([seed, 7])
    kinds: tuple[Callable[[], System], ...] = (
        lambda: _machine(rng),
        lambda: make("gaussian", seed=seed, horizon=4),
        lambda: make("lock", seed=seed, horizon=int(rng.integers(3, 9)), actions=3),
        lambda: Cart(horizon=int(rng.integers(4, 9))),
        Maze,
        lambda: Passes(seed, 4, (1, 4, 12, 20), float(rng.choice([0.0, 0.1]))),
    )
    return kinds[seed % len(kinds)]()


@dataclass(frozen=True, slots=True)
class Patient:
    """A system that breaks one assumption, and what should be said of it."""

    system: System
    assumption: str
    step: int | None = None  # the first that depends on what follows, where a path forks


def random_start(rng: np.random.Generator) -> Patient:
    sizes = _sizes(rng)
    one, other = (tabular(seed=int(rng.integers(2**31)), **sizes) for _ in range(2))
    return Patient(RandomStart(one, other), START, 0)


def slipping(rng: np.random.Generator) -> Patient:
    machine = _machine(rng)
    at = int(rng.integers(machine.horizon - 2))
    return Patient(SlipsOnce(machine, float(rng.choice([0.1, 0.2, 0.3])), at), START, at + 1)


def fading(rng: np.random.Generator) -> Patient:
    return Patient(Fading(0.2, 2000, _machine(rng)), DRIFT)


def ageing(rng: np.random.Generator) -> Patient:
    machine = _machine(rng)
    law = some_law(machine.emissions.shape[2], rng)
    return Patient(Drifting(machine, 3000, read=law), DRIFT)  # 20 % by the end of the pilot


def autocorrelated(rng: np.random.Generator) -> Patient:
    return Patient(Cart(rho=0.3, horizon=int(rng.integers(4, 9))), START, 0)


def aliased(rng: np.random.Generator) -> Patient:
    """Drawn until both of those that look alike can be reached at one level, and are not one."""
    system = look_alike(int(rng.integers(2**31)), 2).system
    sick = isinstance(system, Tabular) and separation(system) == 0
    return Patient(system, ALIAS) if sick else aliased(rng)


def bent(rng: np.random.Generator) -> Patient:
    """The last action is worth 0.2, the misfit is half of that."""
    return Patient(Cart(bend=0.1, horizon=int(rng.integers(4, 9))), LINEAR)


PATIENTS: Mapping[str, Callable[[np.random.Generator], Patient]] = {
    "random start": random_start,
    "one action slips, by 0.1 to 0.3": slipping,
    "rewards fade by 20 %": fading,
    "20 % of readings age": ageing,
    "autocorrelation 0.3": autocorrelated,
    "two of three states look alike": aliased,
    "misfit of half the gap": bent,
}


@dataclass(frozen=True, slots=True)
class Examined:
    """What was said of a system."""

    chances: dict[str, float]  # by assumption, of those that are tests
    found: bool = False
    step: bool = False  # whether the right one was named


def examine_sound(seed: int) -> Examined:
    said = diagnose(sound_system(seed), seed=seed, forecast=False)
    return Examined({each.assumption: each.chance for each in said.findings if each.chance})


def examine_sick(job: tuple[str, int]) -> Examined:
    kind, seed = job
    patient = PATIENTS[kind](np.random.default_rng([seed, 11]))
    said = diagnose(patient.system, seed=seed, forecast=False)[patient.assumption]
    named = said.data.get("step") == patient.step
    return Examined({}, said.verdict is not Verdict.HOLDS, named)


def level(crew: Crew) -> list[Section]:
    """How often each test says "doubtful" of sound systems, against its level."""
    from scipy import stats

    many = SOUND // (10 if crew.quick else 1)
    runs = crew.spread(examine_sound, list(range(many)), "sound systems")
    rows: list[tuple[Cell, ...]] = []
    for name in sorted({name for run in runs for name in run.chances}):
        tested = [run.chances[name] for run in runs if name in run.chances]
        said = sum(chance < DOUBTFUL for chance in tested)
        allowed = int(stats.binom.ppf(0.99, len(tested), DOUBTFUL))
        rows.append(
            (name, len(tested), said, allowed, "holds" if said <= allowed else "DOES NOT HOLD")
        )
    return [
        Section(
            f"level: {many} sound systems of six kinds; said: doubtful or broken at the level "
            f"{DOUBTFUL:g}; allowed: the 99 % quantile of chance",
            ("test", "systems", "said", "allowed", "verdict"),
            rows,
        )
    ]


def power(crew: Crew) -> list[Section]:
    """How often what is broken is found, with 2000 pilot episodes."""
    many = SICK // (10 if crew.quick else 1)
    rows: list[tuple[Cell, ...]] = []
    for kind in PATIENTS:
        runs = crew.spread(examine_sick, [(kind, seed) for seed in range(many)], kind)
        found, named = sum(run.found for run in runs), sum(run.step for run in runs)
        forks = "random start" in kind or "slips" in kind
        rows.append((kind, rate(found, many), rate(named, many) if forks else "-"))
    title = "power: 2000 pilot episodes on systems that break one assumption each"
    return [Section(title, ("broken", "found", "forking step named"), rows)]


# ---------------------------------------------------------------- what a run will take


@dataclass(frozen=True, slots=True)
class Guess:
    """A forecast, and what the run took."""

    forecast: float
    low: float
    high: float
    episodes: int
    ended: bool


def guess(seed: int) -> Guess:
    rng = np.random.default_rng([seed, 13])
    machine = _machine(rng, 5)
    said = diagnose(machine, seed=seed).forecasts[0]
    run = learn(machine, seed=seed + 1, budget=100_000)
    return Guess(said.episodes, said.low, said.high, run.episodes, run.certified)


def forecast(crew: Crew) -> list[Section]:
    """Forecasts of calibrated runs beside what they took."""
    many = FORECAST // (10 if crew.quick else 1)
    runs = [run for run in crew.spread(guess, list(range(many)), "forecasts") if run.ended]
    ratios = [run.episodes / run.forecast for run in runs]
    close = sum(1 / 3 <= ratio <= 3 for ratio in ratios)
    inside = sum(run.low <= run.episodes <= run.high for run in runs)
    row = (
        len(runs),
        rate(close, len(runs)),
        rate(inside, len(runs)),
        geometric(ratios),
        sum(not math.isfinite(run.forecast) for run in runs),
    )
    columns = (
        "runs that ended",
        "within a factor of 3",
        "in the interval",
        "taken / said",
        "never",
    )
    return [Section("forecast: episodes of calibrated runs", columns, [row])]


# ---------------------------------------------------------------- what data save


@dataclass(frozen=True, slots=True)
class Saved:
    alone: int
    told: int
    false: bool


class _Taped:
    """A system that keeps what it has read."""

    def __init__(self, inner: Tabular) -> None:
        self.horizon, self.n_actions = inner.horizon, inner.n_actions
        self.n_observations, self._inner = inner.n_observations, inner
        self.tape: list[Episodes] = []

    def rollout(self, actions: tuple[int, ...], n: int, rng: np.random.Generator) -> Episodes:
        self.tape.append(self._inner.rollout(actions, n, rng))
        return self.tape[-1]


def save(seed: int) -> Saved:
    machine = _machine(np.random.default_rng([seed, 17]), 5)
    taped = _Taped(machine)
    alone = learn(taped, seed=seed, budget=100_000)
    told = learn(
        _Taped(machine), seed=seed + 1, data=_half(taped.tape, alone.episodes), budget=100_000
    )
    loss = machine.oracle.value - machine.expected_return(told.actions)
    admitted = told.certificate.tolerance or 0.0
    return Saved(alone.episodes, told.episodes, told.certified and loss > admitted + 1e-9)


def _half(tape: list[Episodes], episodes: int) -> list[Episodes]:
    """The first half of what a run has read."""
    kept, left = list[Episodes](), episodes // 2
    for each in tape:
        if left > 0:
            n = min(left, each.count)
            kept.append(Episodes(each.actions, each.observations[:n], each.rewards[:n]))
            left -= n
    return kept


def data(crew: Crew) -> list[Section]:
    """Runs that are given half of the episodes of another run."""
    many = LOGS // (5 if crew.quick else 1)
    runs = crew.spread(save, list(range(many)), "data")
    shares = [run.told / run.alone for run in runs]
    row = (many, geometric(shares), max(shares), sum(run.false for run in runs))
    columns = ("runs", "own episodes / alone", "largest", "false")
    return [Section("data: a log of half the episodes that a run takes", columns, [row])]


def exact(_: Crew) -> list[Section]:
    """338 states of exact readings at horizon 4."""
    rows: list[tuple[Cell, ...]] = []
    for noise in (0.0, 0.1):
        system = Passes(noise=noise)
        run = learn(
            system,
            separation="exact",
            tolerance=0.05,
            return_range=(0.0, 1.0),
            budget=50 * 269 * system.n_actions,
        )
        best = float(system.pay.max())
        loss = best - system.expected_return(run.actions)
        rows.append((noise, run.episodes, 50 * 269, str(run.certificate.status), loss))
    columns = ("noise of rewards", "episodes", "269 ends 50 times", "status", "loss")
    return [Section("exact: 338 states, horizon 4, within 0.05", columns, rows)]


PARTS: Mapping[str, Part] = {
    "level": level,
    "power": power,
    "forecast": forecast,
    "data": data,
    "exact": exact,
}

"""The doctor against systems whose truth is known: level and power of its tests.

What it says of a run, and what runs make of a log, is in `forecasts` and `given`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from surepath.bench.families.drift import Drifting
from surepath.bench.families.sick import (
    Cart,
    Fading,
    Maze,
    Moods,
    Passes,
    RandomStart,
    SlipsOnce,
    some_machine,
    some_sizes,
)
from surepath.bench.families.symbol_laws import some_law
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import Crew, Part
from surepath.bench.harness.statistics import rate
from surepath.bench.suites.broken import look_alike
from surepath.bench.suites.doctor_worlds import worlds
from surepath.bench.suites.forecasts import forecast
from surepath.bench.suites.given import data, exact, told
from surepath.builtin_problems import make
from surepath.builtin_problems.tabular import Tabular, tabular
from surepath.builtin_problems.truth import separation
from surepath.doctor.change import DRIFT
from surepath.doctor.determinism import START
from surepath.doctor.diagnose import diagnose
from surepath.doctor.finding import DOUBTFUL
from surepath.doctor.linearity import LINEAR
from surepath.doctor.looks import ALIAS
from surepath.doctor.resets import CLEAN
from surepath.system import System

SOUND, SICK = 200, 60
"""Systems of each part; a quick suite takes one in ten."""


def sound_system(seed: int) -> System:
    """A system of which all is true that is assumed; the kinds take turns."""
    rng = np.random.default_rng([seed, 7])
    kinds: tuple[Callable[[], System], ...] = (
        lambda: some_machine(rng),
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
    sizes = some_sizes(rng)
    one, other = (tabular(seed=int(rng.integers(2**31)), **sizes) for _ in range(2))
    return Patient(RandomStart(one, other), START, 0)


def slipping(rng: np.random.Generator) -> Patient:
    machine = some_machine(rng)
    at = int(rng.integers(machine.horizon - 2))
    return Patient(SlipsOnce(machine, float(rng.choice([0.1, 0.2, 0.3])), at), START, at + 1)


def fading(rng: np.random.Generator) -> Patient:
    return Patient(Fading(0.2, 2000, some_machine(rng)), DRIFT)


def ageing(rng: np.random.Generator) -> Patient:
    machine = some_machine(rng)
    law = some_law(machine.emissions.shape[2], rng)
    return Patient(Drifting(machine, 3000, read=law), DRIFT)  # 20 % by the end of the pilot


def autocorrelated(rng: np.random.Generator) -> Patient:
    return Patient(Cart(rho=0.3, horizon=int(rng.integers(4, 9))), START, 0)


def moody(rng: np.random.Generator) -> Patient:
    """Rewards of an episode and the one before have a correlation of about 0.2."""
    return Patient(Moods(0.5, 10.0, some_machine(rng)), CLEAN)


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
    "moods that last 10 episodes": moody,
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
    return Examined({}, not said.holds, named)


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


PARTS: Mapping[str, Part] = {
    "level": level,
    "power": power,
    "worlds": worlds,
    "forecast": forecast,
    "data": data,
    "told": told,
    "exact": exact,
}

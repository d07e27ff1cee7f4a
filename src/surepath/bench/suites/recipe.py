"""A dosing recipe: what decides is read by no sensor.

A vessel is heated, cooled, made less sour, dosed with reagent or left alone, five times. Its pH and
its temperature are read, with noise. How much reagent is left and how much product has been made
is not read, and depends on the order of the steps; the product is paid for at the end, with noise.
Two orders that end at the same pH and temperature therefore look alike and are not. With 3,125
recipes the truth is known exactly. To refuse is right; to certify a recipe that is worse than the
certificate admits is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from surepath.api import learn
from surepath.bench.harness.reasons import by_kind
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import Crew, Outcome, outcome
from surepath.bench.harness.statistics import rate
from surepath.system import Actions, Episodes, FloatArray, steps_of

BUDGET = 100_000
"""Episodes after which a run that cannot settle anything is stopped."""

WAIT, HEAT, COOL, BASE, REAGENT = range(5)

READING_NOISE = np.array([0.1, 1.0])
"""Standard deviations of pH and temperature."""

YIELD_NOISE = 0.1
"""The yield is weighed up to this much too high or too low."""


@dataclass(frozen=True, slots=True)
class Vessel:
    """What is in it now."""

    ph: float = 5.0
    temperature: float = 20.0
    reagent: float = 0.4
    made: float = 0.0


@dataclass(frozen=True, slots=True)
class Chemistry:
    """Where the reaction is fastest, how fast it is, and from where on heat destroys product."""

    ph: float
    temperature: float
    speed: float
    spoils_at: float

    @classmethod
    def drawn(cls, seed: int) -> Chemistry:
        rng = np.random.default_rng([seed, 5])
        return cls(
            ph=float(rng.uniform(6.0, 7.5)),
            temperature=float(rng.uniform(40, 60)),
            speed=float(rng.uniform(0.6, 1.0)),
            spoils_at=float(rng.uniform(55, 70)),
        )

    def after(self, vessel: Vessel, action: int) -> Vessel:
        """The vessel after an action and the reaction that follows it."""
        warm = vessel.temperature + {HEAT: 20.0, COOL: -20.0}.get(action, 0.0)
        ph = vessel.ph + (1.0 if action == BASE else 0.0)
        reagent = vessel.reagent + (0.3 if action == REAGENT else 0.0)
        away = ((warm - self.temperature) / 15) ** 2 + ((ph - self.ph) / 1.0) ** 2
        reacted = reagent * (1 - np.exp(-self.speed * np.exp(-away / 2)))
        spoiled = 0.3 if warm > self.spoils_at else 0.0
        return Vessel(
            ph=ph,
            temperature=20 + 0.9 * (warm - 20),
            reagent=reagent - float(reacted),
            made=(1 - spoiled) * vessel.made + float(reacted),
        )


class Recipe:
    """The vessel as a system to be learned."""

    horizon, n_actions, dimension = 5, 5, 2

    def __init__(self, chemistry: Chemistry) -> None:
        self.chemistry = chemistry

    def vessels(self, actions: Actions) -> list[Vessel]:
        """From the start to the last action."""
        passed = [Vessel()]
        for action in actions:
            passed.append(self.chemistry.after(passed[-1], action))
        return passed

    def value(self, actions: Actions) -> float:
        """The expected yield of a whole recipe: between 0.1 and 0.9, more for more product."""
        return float(0.1 + 0.8 * (1 - np.exp(-1.5 * self.vessels(actions)[-1].made)))

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        shown = self.vessels(actions)[: steps_of(actions, self.horizon)]
        read: FloatArray = np.array([(vessel.ph, vessel.temperature) for vessel in shown])
        observations = read + READING_NOISE * rng.standard_normal((n, *read.shape))
        rewards = np.zeros((n, len(actions)))
        if len(actions) == self.horizon:
            rewards[:, -1] = self.value(actions) + rng.uniform(-YIELD_NOISE, YIELD_NOISE, n)
        return Episodes(actions, observations, rewards)

    def best(self) -> float:
        """By trying everything."""
        return max(map(self.value, product(range(self.n_actions), repeat=self.horizon)))


def cook(seed: int) -> Outcome:
    """One run, on a chemistry of its own."""
    system = Recipe(Chemistry.drawn(seed))
    result = learn(system, budget=BUDGET, seed=seed)
    return outcome(result, system.best() - system.value(result.actions))


def recipes(crew: Crew, seeds: int) -> Section:
    runs = crew.spread(cook, list(range(seeds)), "recipe")
    wrong = [run for run in runs if run.false]
    right = [run for run in runs if run.certified and not run.false]
    rows: list[tuple[Cell, ...]] = [
        ("certified, right", rate(len(right), seeds), _example(right)),
        ("certified, wrong", rate(len(wrong), seeds), _example(wrong)),
    ]
    for count, reason in by_kind(run.reason for run in runs if not run.certified):
        rows.append(("not certified", rate(count, seeds), reason))
    rows.append(("plan optimal", rate(sum(run.optimal for run in runs), seeds), ""))
    return Section(
        f"recipe: reagent and product are read by no sensor; {seeds} seeds, default settings, at "
        f"most {BUDGET} episodes; wrong: worse than the certificate admits",
        ("what came of it", "runs", "for example"),
        rows,
    )


def _example(runs: list[Outcome]) -> str:
    if not runs:
        return "-"
    run = runs[0]
    return f"loses {run.loss:.3g}, admits {run.tolerance:.3g}, after {run.episodes} episodes"

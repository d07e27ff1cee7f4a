"""A dosing recipe: half of the state is read by no sensor.

Story. A stirred vessel is run for five steps. A step adds acid, adds base, heats, cools or doses
reagent. Reagent turns into product fastest at the right pH and temperature, and is lost where it is
too hot; acid and base that follow each other leave the pH where it was, but not the reagent. A
probe reads pH and temperature with noise. How much reagent is left and how much product was made
shows nowhere: the yield is paid at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.spatial.distance import pdist

from surepath.bench.families.case import Case, Family
from surepath.builtin_problems.truth import variation_of
from surepath.system import Actions, Episodes, FloatArray

ACID, BASE, HEAT, COOL, DOSE = range(5)
STEPS = 5
NOISE = (0.3, 2.0)
"""Standard deviations of the readings of pH and temperature."""


@dataclass(frozen=True, slots=True)
class Vessel:
    """What is in the vessel; the last two are not read."""

    ph: float = 7.0
    heat: float = 40.0
    reagent: float = 0.5
    made: float = 0.0


class Dosing:
    """The recipe as a system that runs, and says nothing else of itself."""

    horizon, n_actions = STEPS, 5

    def __init__(self, best_ph: float, best_heat: float, rate: float) -> None:
        self.best_ph, self.best_heat, self.rate = best_ph, best_heat, rate

    def after(self, vessel: Vessel, action: int) -> Vessel:
        """The vessel after a step."""
        ph = vessel.ph + {ACID: -1.0, BASE: 1.0}.get(action, 0.0)
        heat = vessel.heat + {HEAT: 10.0, COOL: -10.0}.get(action, 0.0)
        reagent = vessel.reagent + (0.5 if action == DOSE else 0.0)
        suited = np.exp(-((ph - self.best_ph) ** 2) / 2 - ((heat - self.best_heat) / 15) ** 2 / 2)
        lost = 0.1 * reagent * float(np.clip((heat - 60) / 20, 0, 1))
        turned = self.rate * float(suited) * (reagent - lost)
        return Vessel(ph, heat, reagent - lost - turned, vessel.made + turned)

    def course(self, actions: Actions) -> list[Vessel]:
        """The vessel before every step and after the last."""
        vessels = [Vessel()]
        for action in actions:
            vessels.append(self.after(vessels[-1], action))
        return vessels

    def expected_return(self, actions: Actions) -> float:
        """The yield: what was made, of the most that could be."""
        return self.course(actions)[STEPS].made / (0.5 * (1 + STEPS))

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        seen = readings(self.course(actions)[:STEPS])
        observations = seen + np.array(NOISE) * rng.standard_normal((n, *seen.shape))
        rewards = np.zeros((n, len(actions)))
        if len(actions) == STEPS:
            paid = self.expected_return(actions)
            width = min(0.05, paid, 1 - paid)  # of the scale on which the yield is weighed
            rewards[:, -1] = rng.uniform(paid - width, paid + width, size=n)
        return Episodes(actions, observations, rewards)


def readings(vessels: list[Vessel]) -> FloatArray:
    """What a probe without noise would read, [n, 2]."""
    return np.array([[vessel.ph, vessel.heat] for vessel in vessels])


def separation(recipe: Dosing) -> float:
    """The least total variation between readings of vessels with different contents."""
    nearest, level = np.inf, {Vessel()}
    for _ in range(STEPS - 1):
        level = {recipe.after(vessel, a) for vessel in level for a in range(recipe.n_actions)}
        nearest = min(nearest, float(pdist(readings(list(level)) / np.array(NOISE)).min()))
    return variation_of(nearest)


def dosing(rng: np.random.Generator) -> Case:
    recipe = Dosing(rng.uniform(5.0, 9.0), rng.uniform(45.0, 70.0), rng.uniform(0.3, 0.6))
    plans = product(range(recipe.n_actions), repeat=STEPS)
    best = max(recipe.expected_return(plan) for plan in plans)
    return Case(recipe, best, recipe.expected_return, separation(recipe))


FAMILIES = (Family("dosing recipe", dosing, 20_000, covered=False, runs=20),)

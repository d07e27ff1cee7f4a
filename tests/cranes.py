"""A system to try features on: three places, seen as coordinates or by a camera."""

from __future__ import annotations

from typing import Any

import numpy as np

import surepath
from surepath.prepare.features import resolve
from surepath.prepare.pilot import EPISODES, SEQUENCES, Pilot, draw_pilot
from surepath.prepare.resolved import Resolved
from surepath.run.runner import Runner

SCHEDULE = surepath.Schedule(ridge=0.05, threshold=1.0, feature_samples=500, reward_samples=500)
FEW = surepath.Schedule(ridge=0.05, threshold=1.0, feature_samples=64, reward_samples=500)
PILOT = SEQUENCES * EPISODES


class Crane:
    """Three hidden places in a ring, behind two noisy coordinates; only the third pays well."""

    horizon, n_actions = 4, 2
    places = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])  # around 0: centring loses nothing
    pays = np.array([[0.2, 0.1], [0.2, 0.1], [0.9, 0.1]])  # by place and action
    plan = (1, 1, 0, 0)

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        at = [sum(actions[:h]) % 3 for h in range(len(actions) + 1)]
        readings = [self.read(place, n, rng) for place in at[: self.horizon]]
        pays = [self.pays[at[h], action] for h, action in enumerate(actions)]
        rewards = (rng.random((n, len(actions))) < pays).astype(np.float64)
        return surepath.Episodes(actions, np.stack(readings, axis=1), rewards)

    def read(self, place: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.places[place] + rng.normal(0, 0.2, (n, 2))


class Camera(Crane):
    """The same, seen by a camera of 8x8 pixels."""

    shape = (8, 8)

    def read(self, place: int, n: int, rng: np.random.Generator) -> np.ndarray:
        rows, columns = np.mgrid[-1 : 1 : self.shape[0] * 1j, -1 : 1 : self.shape[1] * 1j]
        x, y = self.places[place]
        image = 200 * np.exp(-4 * ((columns - x) ** 2 + (rows - y) ** 2))
        noisy = image + rng.normal(20, 10, (n, *self.shape))
        return np.clip(noisy, 0, 255).astype(np.uint8)


def learn(features: Any, system: Any = None, **options: Any) -> surepath.Result:
    chosen = {"schedule": SCHEDULE, "seed": 3, **options}
    return surepath.learn(system or Crane(), features=features, **chosen)


def solves(features: Any, system: Any = None, **options: Any) -> surepath.Result:
    """The exact plan, from features that tell the places apart and know them again."""
    result = learn(features, system, **options)
    assert result.actions == (system or Crane()).plan
    assert max(result.usage.expansions) <= 3  # as many as there are places
    assert sum(result.usage.covered) > 0
    return result


def resolved(features: object, system: Any = None) -> Resolved:
    system = system or Crane()
    return resolve(features, system, lambda: draw_pilot(Runner(system), 4), 500)


def pilot() -> Pilot:
    return draw_pilot(Runner(Crane()), 4)

"""A system with a region that random sequences hardly ever reach, and that looks like no other."""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process.kernels import RBF

import surepath
from surepath.features.growing import Growing
from surepath.features.kernels import Nystroem
from surepath.prepare.resolved import flat_rows


class Cavern:
    """Two places a level around the origin, and behind five right actions a cavern far away.

    In the cavern too there are two places a level: `apart` from each other, which is several times
    the noise of a reading, and far `away` from everything outside.
    """

    horizon, n_actions = 8, 4
    depth = 6  # the level at which the cavern begins
    noise = 0.15

    def __init__(self, seed: int, apart: float = 1.0, away: float = 12.0) -> None:
        rng = np.random.default_rng((seed, 7))
        self.code = rng.integers(self.n_actions, size=self.depth - 1)  # keeps to the lane
        doors = rng.permutation(self.n_actions)[:2]
        self.doors = {int(action): room for room, action in enumerate(doors)}
        # States of a level: 0, 1 outside; 2 on the lane; 3, 4 in the cavern.
        self.follows = rng.integers(2, size=(self.horizon, 5, self.n_actions))
        self.follows[:, 3:] += 3
        turn = rng.uniform(0, 2 * np.pi, self.horizon)
        outside = [_around(turn + third) for third in (0, 2 * np.pi / 3, 4 * np.pi / 3)]
        across, middle = apart / 2 * _around(turn), away * _around(turn[:1])
        self.places = np.stack([*outside, middle + across, middle - across], axis=1)
        self.pays = rng.uniform(0.1, 0.4, (self.horizon, 5, self.n_actions))
        self.pays[:, 3:] = rng.uniform(0.1, 0.9, (self.horizon, 2, self.n_actions))
        # Which of the two places is the better one only shows at the end.
        self.pays[self.depth - 1, 2, doors] = 0.4
        self.pays[self.depth, 3:] = self.pays[self.depth, 3]

    def after(self, level: int, state: int, action: int) -> int:
        if state == 2 and level < self.depth - 1 and action == self.code[level]:
            return 2
        if state == 2 and level == self.depth - 1 and action in self.doors:
            return 3 + self.doors[action]
        return int(self.follows[level, state, action])

    def path(self, actions: tuple[int, ...]) -> list[int]:
        """The hidden states that the actions pass, one more than there are actions."""
        states = [2]
        for level, action in enumerate(actions):
            states.append(self.after(level, states[-1], action))
        return states

    def value(self, actions: tuple[int, ...]) -> float:
        states = self.path(actions)
        return float(sum(self.pays[h, states[h], action] for h, action in enumerate(actions)))

    def best(self) -> float:
        worth = np.zeros(5)
        for level in reversed(range(self.horizon)):
            after = [[self.after(level, s, a) for a in range(self.n_actions)] for s in range(5)]
            worth = (self.pays[level] + worth[after]).max(axis=1)
        return float(worth[2])

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        states = self.path(actions)
        steps = min(len(actions) + 1, self.horizon)
        seen = self.places[np.arange(steps), states[:steps]]
        observations = seen + rng.normal(0, self.noise, (n, *seen.shape))
        pays = [self.pays[h, states[h], action] for h, action in enumerate(actions)]
        rewards = (rng.random((n, len(actions))) < pays).astype(np.float64)
        return surepath.Episodes(actions, observations, rewards)


class Nook(Cavern):
    """A small one, behind a single right action."""

    horizon, n_actions, depth = 4, 3, 2


def outlook(landmarks: int = 16, **limits: int) -> Growing:
    """Features with landmarks outside only: all of a cavern is out of their sight."""
    outside = np.random.default_rng(0).uniform(-1.5, 1.5, (landmarks, 2))
    limits = {"components": landmarks, "most": 2 * landmarks, **limits}
    return Growing(Nystroem(RBF(1.5), outside), flat_rows, **limits)


def _around(angle: np.ndarray) -> np.ndarray:
    """Points of the unit circle, [n, 2]."""
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)

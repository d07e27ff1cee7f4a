"""A system of one's own: a valve with a sticky position and a noisy gauge.

Run it with `python examples/own_system.py`, or from this folder with
`surepath learn own_system:Valve --save run.json` and `surepath verify run.json`.
"""

from __future__ import annotations

import numpy as np

import surepath


class Valve:
    """Three positions; action 0 holds, 1 opens, 2 closes. Half open is what pays, most of the time.

    The gauge shows the true position in 80 % of the readings and one of the others in the rest.
    """

    horizon = 4
    n_actions = 3
    n_observations = 3  # tells surepath that observations are 0, 1 or 2

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        positions = [0]
        for action in actions:
            positions.append(int(np.clip(positions[-1] + (0, 1, -1)[action], 0, 2)))
        read = positions[: min(len(actions) + 1, self.horizon)]
        wrong = rng.random((n, len(read))) < 0.2
        shift = rng.integers(1, 3, size=(n, len(read)))
        observations = (np.array(read) + wrong * shift) % 3
        pays = np.array([(0.1, 0.9, 0.5)[position] for position in positions[1:]])
        rewards = (rng.random((n, len(actions))) < pays).astype(np.float64)
        return surepath.Episodes(actions, observations, rewards)


def main() -> None:
    result = surepath.learn(Valve())
    print("plan", result.actions, "value", round(result.value, 3), "episodes", result.episodes)
    print(result.certificate.claim)
    print(result.certificate.reason)


if __name__ == "__main__":
    main()

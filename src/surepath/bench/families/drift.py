"""Systems that change while they are tried: rewards fade, sensors age.

What is read early and what is read late are then not from one law, so no pooled reading means what
it seems to. A run has to notice, and to refuse or to warn.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from surepath.api import learn
from surepath.bench.families.case import Case, Family, case_of
from surepath.bench.families.machines import drawn, emissions
from surepath.bench.families.symbol_laws import some_law
from surepath.builtin_problems.finite import random_dynamics
from surepath.builtin_problems.tabular import Tabular
from surepath.system import Actions, Episodes, FloatArray

DRIFT = 0.3
"""Share of what is paid, or of what is read, that changes over a run."""


class Drifting:
    """A machine that changes evenly over so many episodes, and then stays as it is."""

    def __init__(
        self, machine: Tabular, episodes: int, *, paid: float = 0.0, read: FloatArray | None = None
    ) -> None:
        self.machine = machine
        self.horizon, self.n_actions = machine.horizon, machine.n_actions
        self.n_observations = machine.n_observations
        self.episodes, self.played = episodes, 0
        self.paid = paid  # share of all rewards that is lost in the end
        self.read = read  # law [O] that 30 % of the readings have in the end

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        still = self.machine.rollout(actions, n, rng)
        gone = np.minimum(1.0, (self.played + np.arange(n)) / self.episodes)[:, None]
        self.played += n
        rewards = np.where(rng.random(still.rewards.shape) < self.paid * gone, 0.0, still.rewards)
        observations = still.observations
        if self.read is not None:
            others = rng.choice(len(self.read), size=observations.shape, p=self.read)
            aged = rng.random(observations.shape) < DRIFT * gone
            observations = np.where(aged, others, observations)
        return Episodes(actions, observations, rewards)


def drifting(what: str, rng: np.random.Generator) -> Case:
    """A machine that changes over as many episodes as a run takes on it while it stands still."""
    horizon, states, actions = (
        drawn(3, 5, rng),
        drawn(2, 4, rng),
        drawn(2, 3, rng),
    )
    dynamics = random_dynamics(horizon, states, actions, 0.2, rng)
    laws = emissions(horizon, states, drawn(4, 8, rng), rng.uniform(0.4, 0.6), rng)
    still = Tabular(dynamics, laws)
    episodes = learn(still, seed=int(rng.integers(2**31)), budget=CAP).episodes
    if what == "rewards":
        return case_of(still, system=Drifting(still, episodes, paid=DRIFT))
    aged = some_law(laws.shape[2], rng)
    return case_of(still, system=Drifting(still, episodes, read=aged))


CAP = 20_000

FAMILIES = tuple(
    Family(f"drift of {what}", partial(drifting, what), CAP, covered=False, must_warn=True)
    for what in ("rewards", "readings")
)

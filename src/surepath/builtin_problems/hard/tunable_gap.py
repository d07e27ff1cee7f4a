"""A dial for the gap: everything stays the same but how much the right turn is worth.

Story. A path forks `horizon` times. Whoever takes all the right turns is paid with probability
1/2 + eps / 2 at the end, and each wrong turn lowers that by eps / horizon. Nothing is paid before.
Any path is within eps of the best, so nothing is lost by not knowing; but *which* path is best can
only be told from the last reward, and there a turn makes a difference of eps / horizon.

Theorem. Q*_h(b, a) is linear in (1, b, a), the turns so far as signs: with p the horizon and w the
right turns, V*_h(b) = 1/2 + eps (<b, w> + p - h) / (2 p). The gap is eps / p at every node. Turning
one bit of w moves the mean of every episode by eps / p, so exact identification with confidence
1 - delta takes at least kl(delta, 1 - delta) / (3 KL) episodes: KL is the largest divergence of two
neighbouring means, about 2 (eps / p)^2 for small eps, and an episode shows three draws, the reward
and one for each turn in the last reading. For small eps that is kl p^2 / (6 eps^2).

Source. Our own, for clean sweeps of the gap: the simplest member of the families behind the lower
bound for vanishing gaps of Uehara, Sekhari, Lee, Kallus and Sun, "Computationally Efficient PAC RL
in POMDPs with Latent Determinism and Conditional Embeddings". It has no constant loss.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surepath.builtin_problems.hard.lift import Lifted, lift
from surepath.builtin_problems.hard.process import LinearProcess
from surepath.builtin_problems.hard.secrets import bits_of
from surepath.system import Actions, FloatArray
from surepath.validate import between, whole


class Forks(LinearProcess):
    """The state is the turns taken; action 1 counts as +1, action 0 as -1."""

    n_actions = 2
    unique = True

    def __init__(self, secret: Actions, eps: float) -> None:
        self.horizon, self.n_features = len(secret), len(secret) + 1
        self.secret, self.eps = secret, eps
        self._signs = 2.0 * np.array(secret) - 1  # w

    @property
    def start(self) -> Actions:
        return ()

    def move(self, step: int, state: Actions, action: int) -> Actions:  # noqa: ARG002
        return (*state, action)

    def features(self, step: int, state: Actions) -> FloatArray:
        """(1, b, a, 0 .. 0), scaled to length at most 1."""
        rows = np.zeros((2, self.n_features))
        rows[:, 0] = 1.0
        rows[:, 1 : step + 1] = 2.0 * np.array(state) - 1
        rows[:, step + 1] = (-1.0, 1.0)
        return rows / np.sqrt(self.n_features)

    def weights(self, step: int) -> FloatArray:
        share = self.eps / (2 * self.horizon)
        constant = 0.5 + share * (self.horizon - step - 1)
        return np.sqrt(self.n_features) * np.concatenate([[constant], share * self._signs])

    def reward_means(self, step: int, state: Actions) -> FloatArray:
        if step < self.horizon - 1:
            return np.zeros(2)
        right = np.array([sum(np.equal((*state, action), self.secret)) for action in (0, 1)])
        return (1 - self.eps) / 2 + self.eps * right / self.horizon

    def gap(self) -> float:
        return self.eps / self.horizon


def tunable_gap(
    horizon: int = 4, eps: float = 0.5, secret: Sequence[int] | None = None, seed: int = 0
) -> Lifted:
    """Lower bound: a tree of two turns with gap eps / horizon, through the lift."""
    whole("horizon", horizon, least=1)
    between("eps", eps, 0, 1, closed=(False, True))
    rng = np.random.default_rng(whole("seed", seed, least=0))
    drawn = tuple(int(bit) for bit in rng.integers(2, size=horizon))
    return lift(Forks(drawn if secret is None else bits_of(secret, horizon), eps))

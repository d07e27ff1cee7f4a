"""A motorway with many exits of which one leads home, and signs that fade with the distance.

Story. At every junction there are k exits with names that sound much alike. One name, a*, is the
right one at every junction: it takes the driver home and pays. Any other leads on to the next
junction, without pay; a name taken a second time leads into a dead end. At the last junction every
exit pays something that depends on how much its name sounds like the right one, but that signal is
as small as (3/2)^-horizon. So the driver finds a* by trying all names, or by telling very small
differences at the end of the motorway apart.

Theorem. Q* is linear in known features, transitions are deterministic, and yet any planner needs
exp(Omega(min(d, horizon))) queries for a suboptimality of 9/128: Weisz, Amortila and Szepesvari,
"Exponential lower bounds for planning in MDPs with linearly-realizable optimal action-value
functions", 2021. The gap shrinks like (3/2)^-h, which is what the paper excludes.

Source. The construction as in the authors' public lecture notes on RL theory (lecture 10). It is
consistent with stages counted from 1 only, h = step + 1. With unit vectors u of coherence at most
1/4, H the horizon:

    c_H = (3/2)^-H / 2,  c_h = c_(h+1) + (5/8) (3/2)^-h
    sigma = 1 at the root, sigma_(sa,b) = 5/8 + (3/2) sigma_sa <u_a, u_b>, in [1/4, 1] for b != a
    phi_h(s, a) = (c_h, (3/2)^(1-h) sigma_sa u_a),  theta = (1, u_a*) / 3

and phi = 0 for names already taken and after leaving. Q* = <phi, theta>: below a name a != a* it
is V* of the next junction, (c_(h+1) + (3/2)^-h sigma_(sa,a*)) / 3 = <phi_h(s, a), theta>. Here phi
is divided and theta multiplied by sqrt(c_1^2 + 1), so that features have length at most 1. With few
names it can be used through the lift; with exp(d) of them the lift would need exp(d) dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from surepath.builtin_problems.finite import TIE
from surepath.builtin_problems.hard.lift import MOST_ACTIONS, Lifted, lift
from surepath.builtin_problems.hard.process import LinearProcess
from surepath.builtin_problems.hard.vectors import spread_vectors
from surepath.errors import InputError
from surepath.system import Actions, FloatArray
from surepath.validate import whole

COHERENCE = 0.25
"""Largest inner product of two actions' vectors that the construction allows."""

MOST_JUNCTIONS = 2**15
"""Nodes over which the exact gap is taken."""


class Junction(NamedTuple):
    """A place on the motorway; `None` stands for having left it."""

    taken: Actions  # different names, none of them a*
    strength: float  # sigma of the last of them


class ExitLane(LinearProcess):
    def __init__(self, horizon: int, names: FloatArray, secret: int) -> None:
        self.horizon, self.n_actions = horizon, len(names)
        self.n_features = names.shape[1] + 1
        self.names, self.secret = names, secret  # names [k, d' - 1]: u
        self.unique = horizon == 1  # after leaving nothing matters
        stages = np.arange(1, horizon)
        steps = 5 / 8 * 1.5 ** -stages.astype(np.float64)
        last = 0.5 * 1.5**-horizon
        self.constants = last + np.append(np.cumsum(steps[::-1])[::-1], 0.0)  # [H]: c_1 .. c_H
        self._length = float(np.hypot(self.constants[0], 1.0))
        self._similar = names @ names.T  # [k, k]

    @property
    def start(self) -> Junction | None:
        return Junction((), 1.0)

    def move(self, step: int, state: Junction | None, action: int) -> Junction | None:  # noqa: ARG002
        if state is None or action == self.secret or action in state.taken:
            return None
        return Junction((*state.taken, action), float(self.strengths(state)[action]))

    def strengths(self, state: Junction) -> FloatArray:
        """The sigma of every action, [k]; those of names already taken are not used."""
        if not state.taken:
            return np.ones(self.n_actions)
        return 5 / 8 + 1.5 * state.strength * self._similar[state.taken[-1]]

    def features(self, step: int, state: Junction | None) -> FloatArray:
        rows = np.zeros((self.n_actions, self.n_features))
        if state is not None:
            rows[:, 0] = self.constants[step]
            rows[:, 1:] = 1.5**-step * self.strengths(state)[:, None] * self.names
            rows[list(state.taken)] = 0.0
        return rows / self._length

    def weights(self, step: int) -> FloatArray:  # noqa: ARG002
        return self._length / 3 * np.append(1.0, self.names[self.secret])

    def reward_means(self, step: int, state: Junction | None) -> FloatArray:
        q = self.q_values(step, state)
        if step < self.horizon - 1:
            q[np.arange(self.n_actions) != self.secret] = 0.0
        return q

    def junctions(self) -> Iterator[tuple[int, Junction]]:
        """Every place that some sequence reaches, with its step."""
        level = [Junction((), 1.0)]
        for step in range(self.horizon):
            yield from ((step, junction) for junction in level)
            moved = (self.move(step, j, a) for j in level for a in range(self.n_actions))
            level = [junction for junction in moved if junction is not None]

    def check_size(self) -> None:
        """Refuse what is too large to be enumerated."""
        n_junctions = sum(math.perm(self.n_actions - 1, h) for h in range(self.horizon))
        if n_junctions > MOST_JUNCTIONS:
            raise InputError(
                f"the exact gap is taken over all junctions, of {MOST_JUNCTIONS} at most",
                got=f"{n_junctions} junctions",
                remedy="Lower actions or horizon.",
            )

    def gap(self) -> float:
        """By enumeration: it depends on all the vectors."""
        self.check_size()
        leads = (q.max() - q for q in (self.q_values(h, j) for h, j in self.junctions()))
        return min(float(lead[lead > TIE].min()) for lead in leads)


def exit_lane(
    horizon: int = 4,
    actions: int = 4,
    dimension: int | None = None,
    secret: int | None = None,
    seed: int = 0,
) -> Lifted:
    """Lower bound: linear values, many similar actions, gap shrinking like 1.5^-h; lifted.

    `dimension`: that of the vectors, as random signs; quadratic phases where it is left out.
    """
    whole("horizon", horizon, least=1)
    whole("actions", actions, least=2, most=MOST_ACTIONS)
    rng = np.random.default_rng(whole("seed", seed, least=0))
    names = spread_vectors(actions, COHERENCE, dimension, rng)
    hidden = int(rng.integers(actions))
    if secret is not None:
        hidden = whole("secret", secret, least=0, most=actions - 1)
    process = ExitLane(horizon, names, hidden)
    process.check_size()
    return lift(process)

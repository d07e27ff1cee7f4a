"""A boat in a swirling bay: the hidden state is a point in the plane, never the same twice.

Story. A small boat starts at the same buoy every time and has `actions` directions to push off in.
Between pushes the current turns it around the middle of the bay, by an angle that fades towards
the shore and changes with time, and the shore pushes back softly. Order matters, so every action
sequence ends in a place of its own: about actions^h hidden states, of which no two are equal but
many are close. Early on a lure pays a little wherever the boat is near it; what pays well is to be
near the goal at the end. Whoever follows the pay of the moment ends up elsewhere.

Nobody sees the position. A sensor reads noisy distances to four beacons ("range"), noisy
coordinates ("gps"), or a small camera image with noise in every pixel ("image"). Values are smooth
functions of the place up to the kinks where the best action changes, so a kernel on the readings
carries what was learned in one place to the places around it; linear features do not.

Source. Our own construction for the kernel setting of Uehara, Sekhari, Lee, Kallus and Sun,
"Computationally Efficient PAC RL in POMDPs with Latent Determinism and Conditional Embeddings"
(conditional mean embeddings, Q* in the kernel's space). The oracle is dynamic programming on the
whole tree of action sequences, all nodes of a level at once, so the tree has a largest size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from surepath.builtin_problems.base import Oracle, Problem
from surepath.builtin_problems.finite import TIE
from surepath.builtin_problems.laws import Bernoulli, Gaussian
from surepath.errors import InputError
from surepath.system import FloatArray, Moments
from surepath.validate import between, nearest, whole

LARGEST_TREE = 2**16
"""Most action sequences of full length that the oracle lists."""

PUSH = 0.35
"""How far an action moves the boat; the bay is the square from -1 to 1."""

WIDTH = 0.5
"""Standard deviation of the bumps around goal and lure."""

LURE = 0.25
"""Largest reward mean that the lure pays; the goal pays up to 1."""

BLOB = 0.4
"""Standard deviation of the boat's blob in an image."""

MOST_AGREEMENT = 0.75
"""Largest share of the places of a level (from the third on) in which one action is best."""

BEACONS = 1.5 * np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
"""Outside the bay, so distances to them are smooth everywhere."""

Sensor: TypeAlias = Callable[[FloatArray], FloatArray]
"""The mean reading, [n, ...], at the places [n, 2]."""


@dataclass(frozen=True, slots=True)
class Bay:
    """The parts of the problem that the seed decides, without the sensor."""

    start: FloatArray  # [2]
    spins: FloatArray  # [H] angle by which the current turns the middle of the bay at each step
    centres: FloatArray  # [2, 2]: goal, lure
    pay: FloatArray  # [H, 2] largest reward mean of each; rows sum to at most 1
    n_actions: int

    def after(self, step: int, places: FloatArray) -> FloatArray:
        """Where each action leads from each of the places [n, 2]: [n, A, 2]."""
        angles = self.spins[step] * np.exp(-(places**2).sum(axis=1))
        sine, cosine, (x, y) = np.sin(angles), np.cos(angles), places.T
        carried = np.stack([cosine * x - sine * y, sine * x + cosine * y], axis=1)
        headings = 2 * np.pi * np.arange(self.n_actions) / self.n_actions
        pushes = PUSH * np.stack([np.cos(headings), np.sin(headings)], axis=1)
        reached = carried[:, None] + pushes
        return reached / (1 + reached**4) ** 0.25  # nearly the identity inside, never beyond 1

    def rewards(self, step: int, reached: FloatArray) -> FloatArray:
        """Reward means for having reached the places [n, A, 2] at a step: [n, A]."""
        squares = ((reached[:, :, None] - self.centres) ** 2).sum(axis=3)
        return np.exp(-squares / (2 * WIDTH**2)) @ self.pay[step]


@dataclass(frozen=True, slots=True)
class Tree:
    """Everything below one place; node i of a level has the children A i .. A i + A - 1."""

    places: list[FloatArray]  # by level, [A^k, 2]
    rewards: list[FloatArray]  # by level, [A^k, A]
    q: list[FloatArray]  # by level, [A^k, A]

    def follow(self, scores: list[FloatArray]) -> list[tuple[int, int]]:
        """(node, action) of each level when the action of the best score is taken."""
        node, path = 0, list[tuple[int, int]]()
        for level in scores:
            action = int(level[node].argmax())
            path.append((node, action))
            node = node * level.shape[1] + action
        return path

    def lead(self) -> float:
        """Smallest lead of the best action over the second best along the optimal path."""
        pairs = (np.sort(q[node])[-2:] for (node, _), q in zip(self.best, self.q, strict=True))
        return min(float(best - second) for second, best in pairs)

    def temptation(self) -> float:
        """What is lost by always taking the action of the best immediate reward."""
        greedy = self.follow(self.rewards)
        earned = sum(float(r[at]) for at, r in zip(greedy, self.rewards, strict=True))
        return float(self.q[0].max()) - earned

    def agreement(self) -> float:
        """Largest share of the nodes of a level, from the third on, that one action is best in."""
        counts = (np.bincount(q.argmax(axis=1)).max() / len(q) for q in self.q[2:])
        return max(map(float, counts), default=0.0)

    @property
    def best(self) -> list[tuple[int, int]]:
        """(node, action) of each level on the optimal path."""
        return self.follow(self.q)


def grow(bay: Bay, step: int, place: FloatArray) -> Tree:
    """The tree of all action sequences from a place at a step on, solved backwards."""
    places, rewards = [place[None]], list[FloatArray]()
    for h in range(step, len(bay.spins)):
        reached = bay.after(h, places[-1])
        rewards.append(bay.rewards(h, reached))
        places.append(reached.reshape(-1, 2))
    q, following = list[FloatArray](), np.zeros(len(places[-1]))
    for reward in reversed(rewards):
        q.insert(0, reward + following.reshape(reward.shape))
        following = q[0].max(axis=1)
    return Tree(places[:-1], rewards, q)


class Image:
    """A camera image with independent Gaussian noise in every pixel; its statistic is flat."""

    def __init__(self, mean: FloatArray, noise: float) -> None:
        self.mean = mean  # [size, size]
        self.noise = noise
        self._flat = Gaussian(mean.ravel(), noise)

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self._flat.draw(n, rng).reshape(n, *self.mean.shape)

    def summary(self, n: int, rng: np.random.Generator) -> Moments:
        return self._flat.summary(n, rng)


class Continuous(Problem):
    """A point in the plane behind a noisy sensor; readings are vectors [d] or images [d, d]."""

    preferred_features = "rbf"

    def __init__(self, bay: Bay, sensor: Sensor, noise: float) -> None:
        self.bay = bay
        self.sensor = sensor
        self.horizon, self.n_actions = len(bay.spins), bay.n_actions
        self.dimension = sensor(bay.start[None]).size
        self.observation_noise = self._noise = noise

    @property
    def start(self) -> FloatArray:
        return self.bay.start

    def move(self, step: int, state: FloatArray, action: int) -> FloatArray:
        return self.bay.after(step, state[None])[0, action]

    def observation_law(self, step: int, state: FloatArray) -> Gaussian | Image:  # noqa: ARG002
        mean = self.sensor(state[None])[0]
        return Gaussian(mean, self._noise) if mean.ndim == 1 else Image(mean, self._noise)

    def reward_law(self, step: int, state: FloatArray, action: int) -> Bernoulli:
        reached = self.bay.after(step, state[None])
        return Bernoulli(float(self.bay.rewards(step, reached)[0, action]))

    def q_values(self, step: int, state: FloatArray) -> FloatArray:
        """Q*_step(state, .), exact, for any place: reachable or not."""
        return grow(self.bay, step, state).q[0][0]

    def norm_of(self, future: int) -> float:
        raise InputError(
            "a continuous problem does not know the norm of its Q*: it depends on the kernel, and "
            "the kinks of Q* may put it outside the kernel's space",
            got=f"no norm for embeddings of {future} observation{'s' * (future > 1)}",
            remedy="Give a norm, or a schedule (samples, ridge, threshold) of your own.",
        )

    @cached_property
    def tree(self) -> Tree:
        """Every action sequence from the start, by level."""
        return grow(self.bay, 0, self.start)

    def solve(self) -> Oracle:
        leads = np.concatenate([(q.max(axis=1, keepdims=True) - q).ravel() for q in self.tree.q])
        suboptimal = leads[leads > TIE]
        n_nodes = sum(len(q) for q in self.tree.q)
        return Oracle(
            actions=tuple(action for _, action in self.tree.best),
            value=float(self.tree.q[0].max()),
            gap=float(suboptimal.min()) if len(suboptimal) else np.inf,
            unique=len(leads) - len(suboptimal) == n_nodes,
            radius=max(self._radius(places) for places in self.tree.places),
        )

    def _radius(self, places: FloatArray) -> float:
        readings = self.sensor(places).reshape(len(places), -1)
        return float(np.linalg.norm(readings, axis=1).max())


def distances(places: FloatArray) -> FloatArray:
    """To each of the beacons, [n, 4]."""
    return np.linalg.norm(places[:, None] - BEACONS, axis=2)


def coordinates(places: FloatArray) -> FloatArray:
    """The places themselves, [n, 2]."""
    return places


def camera(size: int) -> Sensor:
    """A camera above the bay: the boat is a bright blob on a fixed pattern of waves."""
    line = np.linspace(-1.2, 1.2, size)  # row 0 looks at y = -1.2, column 0 at x = -1.2
    waves = 0.25 * (1 + np.outer(np.sin(4 * line), np.cos(3 * line)))

    def image(places: FloatArray) -> FloatArray:
        x, y = np.exp(-((line - places[:, :, None]) ** 2) / (2 * BLOB**2)).swapaxes(0, 1)
        return waves + y[:, :, None] * x[:, None, :]

    return image


def continuous(
    horizon: int = 5,
    actions: int = 4,
    sensor: str = "range",
    noise: float = 0.1,
    gap: float = 0.15,
    image_size: int = 16,
    seed: int = 0,
) -> Continuous:
    """Random bay with a continuous hidden place; `gap` is the lead along the optimal path only.

    At every place that the optimal sequence passes, the best action leads the second best by at
    least `gap`; for horizons above 1, always taking the action that pays most at once loses at
    least `gap`; from the third level on, no action is best in more than three quarters of the
    places. Elsewhere actions may be arbitrarily close: `oracle.gap` is the smallest positive lead
    over all action sequences and is usually far smaller.
    """
    whole("horizon", horizon, least=1)
    whole("actions", actions, least=2)
    if horizon * np.log2(actions) > np.log2(LARGEST_TREE):
        raise InputError(
            f"the oracle lists all action sequences, and no more than {LARGEST_TREE}",
            got=f"{actions}^{horizon} sequences",
            remedy="Lower horizon or actions.",
        )
    between("noise", noise, 0, np.inf)
    between("gap", gap, 0, 1)
    sensors = _sensors(whole("image_size", image_size, least=4))
    if sensor not in sensors:
        raise InputError(
            f"there is no sensor {sensor!r}",
            got=repr(sensor),
            remedy=nearest(str(sensor), sensors),
        )
    rng = np.random.default_rng(whole("seed", seed, least=0))
    return Continuous(_separated_bay(horizon, actions, gap, rng), sensors[sensor], noise)


def _sensors(image_size: int) -> Mapping[str, Sensor]:
    return {"range": distances, "gps": coordinates, "image": camera(image_size)}


def _separated_bay(horizon: int, actions: int, gap: float, rng: np.random.Generator) -> Bay:
    """The first of the random bays that keeps the promises of `continuous`."""
    attempts = min(1000, 2**22 // actions**horizon)  # a refusal takes seconds, not minutes
    for _ in range(attempts):
        bay = _random_bay(horizon, actions, rng)
        tree = grow(bay, 0, bay.start)
        if (
            tree.lead() >= gap
            and tree.agreement() <= MOST_AGREEMENT
            and (horizon == 1 or tree.temptation() >= gap)
        ):
            return bay
    raise InputError(
        "no bay was found in which the best action leads by that much on the optimal path and "
        "depends on the place",
        got=f"gap={gap} with {actions} actions and horizon {horizon}, {attempts} bays tried",
        remedy="Ask for a smaller gap, or fewer actions.",
    )


def _random_bay(horizon: int, actions: int, rng: np.random.Generator) -> Bay:
    """Goal where some full sequence ends, lure where some sequence of two actions does."""
    late = np.arange(horizon) >= horizon // 2
    angle = rng.uniform(0, 2 * np.pi)
    bay = Bay(
        start=0.4 * np.array([np.cos(angle), np.sin(angle)]),
        spins=rng.choice([-1, 1]) * rng.uniform(0.6, 1.4, size=horizon),
        centres=np.zeros((2, 2)),
        pay=np.where(late[:, None], [1.0, 0.0], [0.0, LURE]),
        n_actions=actions,
    )
    for bump, length in enumerate((horizon, min(2, horizon))):
        place = bay.start
        for step, action in enumerate(rng.integers(actions, size=length)):
            place = bay.after(step, place[None])[0, action]
        bay.centres[bump] = place
    return bay

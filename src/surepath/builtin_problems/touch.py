"""A robot hand that must feel an object from several sides before it can grasp it.

Story. A finger rests on an object with six faces around it. Rolling it forward or back by one face,
or squeezing, are the actions. Only one face makes a firm grip; squeezing there grasps the object
for good and pays at every later step, squeezing elsewhere makes it slip by two faces, which can be
a short cut. The touch sensor tells smooth from rough from edge, and is often wrong, so a single
touch fits several faces: only the pattern felt while rolling tells where the finger is.

Source. The example that Uehara, Sekhari, Lee, Kallus and Sun give for multi-step futures in
"Computationally Efficient PAC RL in POMDPs with Latent Determinism and Conditional Embeddings": a
hand with touch sensors that touches an object from several angles to localise it. The construction
is our own.
"""

from __future__ import annotations

import numpy as np

from surepath.builtin_problems.finite import Dynamics
from surepath.builtin_problems.tabular import Tabular
from surepath.validate import between, whole

FORWARD, BACK, SQUEEZE = 0, 1, 2
SMOOTH, ROUGH, EDGE = 0, 1, 2
PATTERN = (SMOOTH, ROUGH, SMOOTH, EDGE, ROUGH, EDGE)
"""What the six faces feel like: each kind twice, so no single touch tells where the finger is."""

GRIP = 3
"""The face that holds; every episode starts on the opposite one, face 0."""


def touch(horizon: int = 6, error: float = 0.2, seed: int = 0) -> Tabular:
    """Touch-sensing hand with six faces and three sensations; needs several touches in a row."""
    whole("horizon", horizon, least=2)
    between("error", error, 0, 0.5)
    faces = len(PATTERN)
    held = faces
    transitions = np.empty((faces + 1, 3), dtype=np.int64)
    rewards = np.zeros((horizon, faces + 1, 3))
    for face in range(faces):
        firm = face == GRIP
        transitions[face, FORWARD] = (face + 1) % faces
        transitions[face, BACK] = (face - 1) % faces
        transitions[face, SQUEEZE] = held if firm else (face + 2) % faces
        rewards[:, face, SQUEEZE] = 0.6 if firm else 0.0
    transitions[held] = held
    rewards[:, held] = 0.8
    return Tabular(
        Dynamics(np.broadcast_to(transitions, (horizon, faces + 1, 3)).copy(), rewards),
        np.broadcast_to(_sensations(error, seed), (horizon, faces + 1, 3)).copy(),
    )


def _sensations(error: float, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Sensor law of each face and of the held object, which feels like everything at once.

    Faces of a kind feel exactly the same; kinds are misread with laws drawn from the seed.
    """
    rng = np.random.default_rng(whole("seed", seed, least=0))
    kinds = (1 - error) * np.eye(3) + error * rng.dirichlet(np.ones(3), size=3)
    return np.vstack([kinds[list(PATTERN)], kinds.mean(axis=0, keepdims=True)])

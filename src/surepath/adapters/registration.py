"""Gymnasium out: the built-in problems as environments, `surepath/lock-v0` and so on.

Importing this module registers them, as Gymnasium expects of a package with environments:
`gymnasium.make("surepath.adapters.registration:surepath/lock-v0", horizon=8)`. Nothing else in
surepath imports it, so Gymnasium is only loaded by those who use it.
"""

# Gymnasium's environments are generic in types that do not matter here:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import gymnasium
import numpy as np
from gymnasium import spaces

from surepath.builtin_problems import Problem, make, problems
from surepath.errors import InputError


@runtime_checkable
class Chancy(Protocol):
    """A problem whose hidden state moves at random: an episode draws each of its moves."""

    def sample_move(self, step: int, state: Any, action: int, rng: np.random.Generator) -> Any: ...


class ProblemEnv(gymnasium.Env[Any, Any]):
    """A built-in problem, one step at a time; `problem` is the problem with its oracle.

    An episode ends after `problem.horizon` actions. What is shown then is one more reading of the
    last state. The seed of `reset` decides the noise; the machine itself is decided by the
    parameter `seed` of the problem and always starts in the same state.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium has it

    def __init__(self, name: str, **parameters: Any) -> None:
        self.problem: Problem = make(name, **parameters)
        self.action_space = spaces.Discrete(self.problem.n_actions)
        self.observation_space = _space(self.problem)
        self._step = 0
        self._state: Any = self.problem.start

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._step, self._state = 0, self.problem.start
        return self._read(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        step, problem = self._step, self.problem
        if step == problem.horizon or action not in range(problem.n_actions):
            raise InputError(
                f"an episode has {problem.horizon} actions, each 0 .. {problem.n_actions - 1}",
                got=f"action {action!r} at step {step}",
                remedy="Reset the environment, or correct the action.",
            )
        law = problem.reward_law(step, self._state, int(action))
        reward = float(law.draw(1, self.np_random)[0])
        ended = step == problem.horizon - 1
        if not ended:
            self._state = self._moved(int(action))
        self._step += 1
        return self._read(), reward, ended, False, {}

    def _moved(self, action: int) -> Any:
        if isinstance(self.problem, Chancy):
            return self.problem.sample_move(self._step, self._state, action, self.np_random)
        return self.problem.move(self._step, self._state, action)

    def _read(self) -> Any:
        level = min(self._step, self.problem.horizon - 1)
        return self.problem.observation_law(level, self._state).draw(1, self.np_random)[0]


def _space(problem: Problem) -> spaces.Space[Any]:
    if problem.n_observations is not None:
        return spaces.Discrete(problem.n_observations)
    reading = problem.observation_law(0, problem.start).draw(1, np.random.default_rng(0))[0]
    return spaces.Box(-np.inf, np.inf, np.shape(reading), dtype=np.float64)


def register() -> None:
    """Register every built-in problem; those that are known already are left as they are."""
    for name in problems():
        identifier = f"surepath/{name}-v0"
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier,
                entry_point="surepath.adapters.registration:ProblemEnv",
                kwargs={"name": name},
            )


register()

"""What an environment without noise does is computed once, however often it is asked for.

MountainCar holds an action for 20 steps, and a run takes some 80,000 episodes of 729 different
sequences: nearly all the time would go into computing the same steps again.
"""

# Gymnasium's environments are generic in types that do not matter here:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surepath.adapters.wrappers import Env, Noisy, Transition, Wrapper
from surepath.system import Actions


class Remembered(Wrapper):
    """An environment without noise and with one start: the same actions, the same transitions."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self._first: tuple[Any, dict[str, Any]] = env.reset()
        self._known: dict[Actions, Transition] = {}
        self._taken: Actions = ()  # since the last reset
        self._inner: Actions = ()  # those that the environment itself was stepped through

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        del seed, options  # nothing depends on them
        self._taken = ()
        return self._first

    def step(self, action: Any) -> Transition:
        before, self._taken = self._taken, (*self._taken, int(action))
        if self._taken not in self._known:
            self._walk_to(before)
            self._known[self._taken] = self.env.step(action)
            self._inner = self._taken
        return self._known[self._taken]

    def _walk_to(self, actions: Actions) -> None:
        if self._inner != actions:
            self.env.reset()
            for action in actions:
                self.env.step(action)


def remembered(make: Callable[[], Noisy]) -> Noisy:
    """The environment that `make` makes, a sensor on top; all below the sensor is remembered."""
    sensor = make()
    sensor.env = Remembered(sensor.env)
    return sensor

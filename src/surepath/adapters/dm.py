"""A dm_env environment as a Gymnasium one, from which `as_system` makes a system."""

# Neither Gymnasium's generics nor dm_env's specs say more to a type checker than Any:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces

from surepath.errors import InputError, MissingExtraError


class FromDmEnv(gymnasium.Env[Any, Any]):
    """Steps a dm_env.Environment.

    reseed: called with the environment and a seed before a reset that has one. dm_env does not say
    how an environment is seeded; without it the noise goes on by itself and runs cannot be
    repeated.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium has it

    def __init__(self, environment: Any, reseed: Callable[[Any, int], None] | None = None) -> None:
        self.environment = environment
        self._reseed = reseed
        self.action_space = _space(environment.action_spec())
        self.observation_space = _space(environment.observation_spec())

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        if seed is not None and self._reseed is not None:
            self._reseed(self.environment, seed)
        return self.environment.reset().observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        now = self.environment.step(action)
        # An end with discount 0 is final; any other only stops the clock.
        final = bool(now.last() and now.discount == 0)
        return now.observation, cast(float, now.reward), final, now.last() and not final, {}

    def close(self) -> None:
        self.environment.close()


def _space(spec: Any) -> spaces.Space[Any]:
    try:
        from dm_env import specs
    except ModuleNotFoundError as error:
        raise MissingExtraError("dm_env", "dm", "a dm_env environment") from error
    if isinstance(spec, specs.Array) and np.dtype(cast(Any, spec.dtype)).kind in "iuf":
        return _array(spec, bounded=isinstance(spec, specs.BoundedArray))
    if isinstance(spec, Mapping):
        return spaces.Dict({key: _space(part) for key, part in spec.items()})
    if isinstance(spec, list | tuple):
        return spaces.Tuple([_space(part) for part in cast(Any, spec)])
    raise InputError(
        "a dm_env spec must be an array of numbers, or a dict or list of such",
        got=repr(spec),
        remedy="Leave out what is not a number.",
    )


def _array(spec: Any, *, bounded: bool) -> spaces.Space[Any]:
    dtype: Any = np.dtype(spec.dtype)
    if bounded and dtype.kind in "iu" and spec.shape == ():
        return spaces.Discrete(int(spec.maximum - spec.minimum) + 1, start=int(spec.minimum))
    if bounded:
        ends = spec.minimum, spec.maximum
    else:
        info: Any = None if dtype.kind == "f" else np.iinfo(dtype)
        ends = (-np.inf, np.inf) if info is None else (info.min, info.max)
    low, high = (np.broadcast_to(end, spec.shape).astype(dtype) for end in ends)
    return spaces.Box(low, high, dtype=dtype)

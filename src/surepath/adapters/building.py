"""Where a Gymnasium environment comes from, so that every process can build its own."""

# Gymnasium's environments are generic in types that do not matter here, cloudpickle has none:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

import copy
import difflib
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from surepath.errors import InputError, MissingExtraError


class Provider(NamedTuple):
    """A package that registers its environments when it is imported."""

    prefix: str  # of its ids
    module: str
    extra: str  # that installs it


PROVIDERS = (
    Provider("MiniGrid-", "minigrid", "minigrid"),
    Provider("BabyAI-", "minigrid", "minigrid"),
    Provider("ALE/", "ale_py", "atari"),
    Provider("surepath/", "surepath.adapters.registration", ""),
)


class Recipe:
    """Builds the environment; can be sent to another process."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __call__(self) -> Any:
        import gymnasium

        env = self._make()
        if not isinstance(env, gymnasium.Env):
            raise InputError(
                "a factory must return a gymnasium.Env",
                got=type(env).__name__,
                remedy="Return the environment itself; one, not a vector of them.",
            )
        return env

    def __getstate__(self) -> bytes:
        import cloudpickle

        try:
            return cloudpickle.dumps(self._make)
        except Exception as error:  # whatever the parts of an environment raise
            raise InputError(
                "this environment cannot be copied to another process",
                got=f"{type(error).__name__}: {error}",
                remedy="Pass a factory instead: a function without arguments that builds it, such "
                "as `lambda: MyEnv()`; or an id that is registered with gymnasium.",
            ) from error

    def __setstate__(self, state: bytes) -> None:
        import cloudpickle

        self._make = cloudpickle.loads(state)


def recipe_of(env: object) -> Recipe:
    """How to build `env`: an environment, an id, an EnvSpec, or a function that returns one."""
    import gymnasium
    from gymnasium.envs.registration import EnvSpec

    if isinstance(env, str):
        return Recipe(partial(_make, _spec_of(env)))
    if isinstance(env, EnvSpec):
        return Recipe(partial(_make, env))
    if isinstance(env, gymnasium.Env):
        spec = env.spec
        if spec is not None and all(w.kwargs is not None for w in spec.additional_wrappers):
            return Recipe(partial(_make, spec))
        return Recipe(partial(_itself, env))
    if callable(env):
        return Recipe(env)
    raise InputError(
        "env must be a gymnasium.Env, an id, an EnvSpec, or a function that returns an environment",
        got=repr(env),
        remedy='Pass an environment such as gymnasium.make("CartPole-v1").',
    )


def _itself(env: Any) -> Any:
    return env


def _make(spec: Any) -> Any:
    """The environment of a spec, without Gymnasium's watchers: readings are checked here anyway,
    and every episode begins with a reset.
    """
    import gymnasium

    spec = copy.deepcopy(spec)
    spec.order_enforce = False
    try:
        return gymnasium.make(spec, disable_env_checker=True)
    except gymnasium.error.DependencyNotInstalled as error:
        raise InputError(
            f"the environment {spec.id!r} needs a package that is not installed",
            got=str(error),
            remedy="Install that package.",
        ) from error


def _spec_of(name: str) -> Any:
    """The spec of a registered id; `module:id` imports the module first, as in gymnasium.make.

    Looked up here and not in the workers, which do not know what was registered in this process.
    """
    import gymnasium

    module, _, plain = name.rpartition(":")
    if module:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise InputError(
                f"the module {module!r} of the environment {name!r} cannot be imported",
                got=str(error),
                remedy="Correct the part before the colon, or install the package.",
            ) from error
    if plain not in gymnasium.registry:
        _import_provider(plain)
    try:
        return gymnasium.spec(plain)
    except gymnasium.error.Error as error:
        close = difflib.get_close_matches(plain, gymnasium.registry, n=1, cutoff=0.5)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        raise InputError(
            f"there is no environment {plain!r}",
            got=str(error),
            remedy=f"{hint}gymnasium.pprint_registry() lists all that are known; import the "
            "package that registers yours first.",
        ) from error


def _import_provider(name: str) -> None:
    for provider in PROVIDERS:
        if name.startswith(provider.prefix):
            try:
                importlib.import_module(provider.module)
            except ModuleNotFoundError as error:
                raise MissingExtraError(
                    provider.module, provider.extra, f"the environment {name!r}"
                ) from error

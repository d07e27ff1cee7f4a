"""Whatever stands for a system: an object, a name, a Gymnasium id, a factory of the user's own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from surepath.adapters.gym import as_system, is_gym
from surepath.builtin_problems import make, problems
from surepath.errors import InputError
from surepath.journal.identity import identity_of
from surepath.system import System
from surepath.validate import whole


def system_of(env: object, horizon: int | None = None) -> System:
    """The system that was passed, or that a problem's name or anything of Gymnasium stands for."""
    if isinstance(env, str) and env in problems():
        env = make(env)
    if not isinstance(env, System) and is_gym(env):
        env = as_system(env, horizon)
    if isinstance(env, type) or not isinstance(env, System):
        called = f" Perhaps you meant {env.__name__}(...)." if isinstance(env, type) else ""
        raise InputError(
            "env must be a system: horizon, n_actions and rollout(actions, n, rng)",
            got=repr(env),
            remedy="Pass a problem from surepath.make(name), a Gymnasium environment, or an object "
            "with those members." + called,
        )
    whole("n_actions", env.n_actions, least=1)
    return env


def system_named(name: str, parameters: Mapping[str, Any], horizon: int | None = None) -> System:
    """A built-in problem, what `module:factory` returns, or a registered Gymnasium environment."""
    if ":" in name:
        return _from_factory(name, parameters, horizon)
    if name in problems() or ("-v" not in name and "/" not in name):
        return make(name, **parameters)
    return _environment(name, parameters, horizon)


def system_again(identity: Mapping[str, Any], horizon: int) -> System:
    """The system that says this of itself, made anew; an error where nobody can know how."""
    if "problem" in identity:
        parameters = {key: value for key, value in identity.items() if key != "problem"}
        return make(identity["problem"], **parameters)
    if "factory" in identity:
        return _from_factory(identity["factory"], identity["parameters"], horizon)
    if identity.get("kwargs") is not None:
        return _environment(identity["environment"], identity["kwargs"], horizon)
    raise InputError(
        "this run was begun from Python, with a system that has no name",
        got=str(dict(identity)),
        remedy="Continue it there: surepath.learn(the same system, ..., journal=path).",
    )


def _environment(name: str, parameters: Mapping[str, Any], horizon: int | None) -> System:
    if not parameters:
        return as_system(name, horizon)
    import gymnasium

    as_system(name, horizon or 1).close()  # says what is wrong with the name
    return as_system(gymnasium.make(name, **parameters), horizon)


def _from_factory(name: str, parameters: Mapping[str, Any], horizon: int | None) -> System:
    module_name, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))  # so that a file of the current folder can be named
    try:
        build = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"the system {name!r} cannot be loaded",
            got=str(error),
            remedy="Name it as module:factory, with the module on the Python path or in this "
            "folder.",
        ) from error
    finally:
        sys.path.pop(0)
    built = build
    if callable(build) or not isinstance(build, System):
        try:
            built = cast(Any, build)(**parameters)
        except TypeError as error:
            raise InputError(
                f"{name!r} cannot be called with these parameters",
                got=str(error),
                remedy="Name a factory and give its parameters as -p name=value.",
            ) from error
    system = cast(System, built) if not is_gym(built) else as_system(built, horizon)
    # So that the run can be continued by name; an object that takes no attributes goes without.
    with suppress(AttributeError):
        cast(Any, system).identity = {
            **identity_of(system),
            "factory": name,
            "parameters": dict(parameters),
        }
    return system

"""Whatever stands for a system: an object, a name, a Gymnasium id, a factory of the user's own."""

from __future__ import annotations

import importlib
import re
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


def system_again(identity: Mapping[str, Any], horizon: int, confirmed: str | None = None) -> System:
    """The system that says this of itself, made anew; an error where nobody can know how.

    What it says may come from a stranger. By itself it makes only built-in problems, and
    environments that installed packages have registered, with plain arguments. For anything else it
    would have to import what the file names: that has to be `confirmed` by whoever runs it, by the
    same name.
    """
    needed = _needs_import(identity)
    if confirmed != needed and not (needed is None and confirmed == _name_of(identity)):
        raise _not_confirmed(identity, needed, confirmed)
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


def _name_of(identity: Mapping[str, Any]) -> str | None:
    names = (identity.get(key) for key in ("problem", "factory", "environment"))
    return next((str(name) for name in names if name is not None), None)


def _needs_import(identity: Mapping[str, Any]) -> str | None:
    """The name of what would be imported, where that is not a part of installed packages."""
    name = _name_of(identity)
    if "problem" in identity or name is None:
        return None
    if "factory" in identity or ":" in name or not _harmless(identity.get("kwargs")):
        return name
    return None


def _harmless(arguments: object) -> bool:
    """Whether arguments of an environment are numbers and words, which name no module or file."""
    if isinstance(arguments, Mapping):
        return all(map(_harmless, cast(Mapping[Any, Any], arguments).values()))
    if isinstance(arguments, list | tuple):
        return all(map(_harmless, cast(list[Any], arguments)))
    plain_word = isinstance(arguments, str) and not re.search(r"[^\w .,+-]|\.\.", arguments)
    return plain_word or arguments is None or isinstance(arguments, int | float)


def _not_confirmed(
    identity: Mapping[str, Any], needed: str | None, confirmed: str | None
) -> InputError:
    if confirmed is None:
        return InputError(
            "going on with this run would import and call what the file names, which surepath does "
            "not do by itself",
            got=f"{needed} with {dict(identity)}",
            remedy="If you know it and trust it, name it yourself: surepath resume ... --system "
            f"{needed}",
        )
    return InputError(
        "the journal is of another system than the one that was named",
        got=f"{_name_of(identity)} in the journal, {confirmed} given",
        remedy="Look at what the journal names before you trust it.",
    )


def _environment(name: str, parameters: Mapping[str, Any], horizon: int | None) -> System:
    if not parameters:
        return as_system(name, horizon)
    import gymnasium

    as_system(name, horizon or 1).close()  # says what is wrong with the name
    return as_system(gymnasium.make(name, **parameters), horizon)


def _from_factory(name: str, parameters: Mapping[str, Any], horizon: int | None) -> System:
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)  # so that a file of the current folder can be named
    try:
        build = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"the system {name!r} cannot be loaded",
            got=str(error),
            remedy="Name it as module:factory (no path, no .py), with the module on the Python "
            "path or in this folder.",
        ) from error
    finally:
        sys.path.pop(0)
    if here not in sys.path:
        sys.path.append(here)  # workers import it too; what is installed goes before it
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

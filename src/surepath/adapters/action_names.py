"""What an environment calls its actions."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, cast


def names_of(env: Any) -> tuple[str, ...] | None:
    """The names of the actions 0 .. n - 1; None where the environment does not say.

    It says so by an attribute `action_names`, of its own or of a wrapper, by Atari's
    `get_action_meanings`, or by an enumeration of its `actions`, as MiniGrid. The last two name the
    actions of the innermost environment, and only count where no wrapper changes these.
    """
    if _changed(env):
        return None
    said = _attribute(env, "action_names")
    if said is None and env.action_space == env.unwrapped.action_space:
        said = _own_names(env.unwrapped)
    names = () if said is None else tuple(str(each) for each in cast(Iterable[object], said))
    return names if len(names) == getattr(env.action_space, "n", None) else None


def called(env: Any, actions: Iterable[Any]) -> list[str]:
    """These actions of an environment by their names; by themselves where they have none."""
    names, start = names_of(env), int(getattr(env.action_space, "start", 0))
    return [str(each) if names is None else names[int(each) - start] for each in actions]


def _attribute(env: Any, name: str) -> Any:
    try:
        return env.get_wrapper_attr(name)
    except AttributeError:
        return None


def _changed(env: Any) -> bool:
    """Whether a wrapper turns actions into others, and does not say which."""
    import gymnasium

    while env is not env.unwrapped:
        if isinstance(env, gymnasium.ActionWrapper):
            return True
        env = env.env
    return False


def _own_names(base: Any) -> Iterable[object] | None:
    if callable(meanings := getattr(base, "get_action_meanings", None)):
        return cast(Iterable[object], meanings())
    kinds = getattr(base, "actions", None)
    if isinstance(kinds, type) and issubclass(kinds, Enum):
        return [each.name for each in kinds]
    return None

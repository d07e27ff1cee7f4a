"""Built-in problems: systems that know their own optimum, gap and norm."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from surepath.builtin_problems.base import Oracle, Problem
from surepath.builtin_problems.continuous import continuous
from surepath.builtin_problems.gaussian import gaussian
from surepath.builtin_problems.hard import exit_lane, few_actions, leaking, tunable_gap
from surepath.builtin_problems.lock import lock
from surepath.builtin_problems.mixing import mixing
from surepath.builtin_problems.overcomplete import overcomplete
from surepath.builtin_problems.rkhs import rkhs
from surepath.builtin_problems.tabular import Tabular, tabular
from surepath.builtin_problems.touch import touch
from surepath.errors import InputError
from surepath.validate import nearest

_FACTORIES: Mapping[str, Callable[..., Problem]] = {
    "tabular": tabular,
    "gaussian": gaussian,
    "lock": lock,
    "mixing": mixing,
    "continuous": continuous,
    "rkhs": rkhs,
    "overcomplete": overcomplete,
    "touch": touch,
    "leaking": leaking,
    "exit_lane": exit_lane,
    "few_actions": few_actions,
    "tunable_gap": tunable_gap,
}

__all__ = ["Oracle", "Problem", "Tabular", "factory", "make", "problems"]


def problems() -> dict[str, str]:
    """The built-in problems: name and what each is, in a line."""
    return {name: (inspect.getdoc(make) or "").split("\n")[0] for name, make in _FACTORIES.items()}


def factory(name: str) -> Callable[..., Problem]:
    """The function that builds a problem."""
    if name not in _FACTORIES:
        raise InputError(
            f"there is no built-in problem {name!r}",
            got=repr(name),
            remedy=nearest(name, _FACTORIES),
        )
    return _FACTORIES[name]


def make(name: str, **parameters: Any) -> Problem:
    """Build a problem by name: `make("lock", horizon=20, actions=4, seed=0)`."""
    build = factory(name)
    known = inspect.signature(build).parameters
    for parameter, value in parameters.items():
        if parameter not in known:
            raise InputError(
                f"the problem {name!r} has no parameter {parameter!r}",
                got=f"{parameter}={value!r}",
                remedy=nearest(parameter, known),
            )
    problem = build(**parameters)
    defaults = {name: parameter.default for name, parameter in known.items()}
    problem.identity = {"problem": name, **defaults, **parameters}
    return problem

"""Environments nobody here wrote, as the examples set them up: run it from a clone."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from surepath.bench.harness.remembered import remembered
from surepath.errors import InputError, MissingExtraError
from surepath.system import Actions

EXAMPLES = Path(__file__).parents[4] / "examples"


@dataclass(frozen=True, slots=True)
class Case:
    """An environment of the examples."""

    title: str
    example: str
    name: str = ""  # of the environment, where the example has several

    def build(self) -> World:
        module = example(self.example)
        if self.example == "minigrid_key":
            shortest, best = module.shortest(self.name)
            return World(
                partial(module.camera, self.name),
                partial(module.returns, self.name),
                best,
                len(shortest) + 2,
                {"features": "linear"},
            )
        return World(
            partial(remembered, module.sensed),
            module.returns,
            module.best(),
            module.HORIZON,
            {"reward_range": (module.worst(), 0)},
        )


@dataclass(frozen=True, slots=True)
class World:
    noisy: Callable[[], Any]  # makes the environment
    returns: Callable[[Actions], float]  # of a plan, without noise
    best: float
    horizon: int
    options: Mapping[str, Any]  # for learn


def example(name: str, extra: str = "minigrid") -> ModuleType:
    """An example as a module; `extra` installs what it needs."""
    path = EXAMPLES / f"{name}.py"
    if not path.is_file():
        raise InputError(
            "the benchmark of real environments uses the examples of a clone",
            got=f"no file {path.name} beside the package",
            remedy="Run it from a clone of the repository, installed with pip install --editable.",
        )
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))  # some use what lies beside them
    spec = importlib.util.spec_from_file_location(f"surepath_examples_{name}", path)
    assert spec is not None  # the file is there
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), extra, "this benchmark") from error
    return module

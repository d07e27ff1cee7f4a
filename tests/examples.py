"""The examples of the project as modules."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType

from places import ROOT

EXAMPLES = ROOT / "examples"


@cache
def loaded(name: str) -> ModuleType:
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))  # some use what lies beside them
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

"""surepath: the exact best action sequence of a system that can be reset, with a certificate."""

from __future__ import annotations

from surepath.api import learn
from surepath.errors import InputError, MissingExtraError, NumericalError, SurepathError
from surepath.features import Custom
from surepath.learner import Learner
from surepath.problems import Problem, Tabular, make, problems
from surepath.resolve import KernelFeatures
from surepath.result import Result, load
from surepath.schedule import Schedule, Setting
from surepath.system import Episodes, System

__version__ = "0.1.0"

__all__ = [
    "Custom",
    "Episodes",
    "InputError",
    "KernelFeatures",
    "Learner",
    "MissingExtraError",
    "NumericalError",
    "Problem",
    "Result",
    "Schedule",
    "Setting",
    "SurepathError",
    "System",
    "Tabular",
    "learn",
    "load",
    "make",
    "problems",
]

"""surepath: the exact best action sequence of a system that can be reset, with a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surepath.api import learn, verify
from surepath.asktell import AskTell
from surepath.builtin_problems import Problem, Tabular, make, problems
from surepath.doctor.diagnose import diagnose
from surepath.doctor.finding import Diagnosis, Finding, Forecast, Verdict
from surepath.errors import (
    EpisodeError,
    InputError,
    JournalError,
    MissingExtraError,
    NumericalError,
    SurepathError,
)
from surepath.features import Custom, WindowFeatures
from surepath.learners.recursion import Learner
from surepath.prepare.kernel_features import KernelFeatures
from surepath.results.certificate import Certificate, Level, Status
from surepath.results.plot import plot_convergence, plot_where
from surepath.results.result import Result, load
from surepath.results.round import Round
from surepath.results.verify import Verification
from surepath.run.executors import Serial
from surepath.run.processes import Processes
from surepath.run.ray import RayCluster
from surepath.system import Episodes, Request, System
from surepath.theory.gain import GainRate
from surepath.theory.schedule import Schedule
from surepath.theory.setting import Setting

if TYPE_CHECKING:
    from surepath.adapters.gym import as_system
    from surepath.checks import check_features, check_system

__version__ = "0.1.0"

__all__ = [
    "AskTell",
    "Certificate",
    "Custom",
    "Diagnosis",
    "EpisodeError",
    "Episodes",
    "GainRate",
    "Finding",
    "Forecast",
    "InputError",
    "JournalError",
    "KernelFeatures",
    "Learner",
    "Level",
    "MissingExtraError",
    "NumericalError",
    "Problem",
    "Processes",
    "RayCluster",
    "Request",
    "Result",
    "Round",
    "Schedule",
    "Serial",
    "Setting",
    "Status",
    "SurepathError",
    "System",
    "Tabular",
    "Verdict",
    "Verification",
    "WindowFeatures",
    "as_system",
    "check_features",
    "check_system",
    "diagnose",
    "learn",
    "load",
    "make",
    "plot_convergence",
    "plot_where",
    "problems",
    "verify",
]

_LATER = {
    "as_system": "surepath.adapters.gym",
    "check_features": "surepath.checks",
    "check_system": "surepath.checks",
    "wrappers": "surepath.adapters.wrappers",
}
"""Names that are imported when they are first used: they bring Gymnasium with them."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module = importlib.import_module(_LATER[name])
    return getattr(module, name, module)  # the module itself, where that is what is named

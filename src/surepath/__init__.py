"""surepath: the exact best action sequence of a system that can be reset, with a certificate."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from surepath.errors import (
    EpisodeError,
    InputError,
    JournalError,
    MissingExtraError,
    NumericalError,
    SurepathError,
)

if TYPE_CHECKING:
    from surepath.adapters.gym import as_system
    from surepath.api import learn, verify
    from surepath.asktell import AskTell
    from surepath.builtin_problems import Problem, Tabular, make, problems
    from surepath.checks import check_features, check_system
    from surepath.doctor.diagnose import diagnose
    from surepath.doctor.finding import Diagnosis, Finding, Forecast, Verdict
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
    "surepath.adapters.wrappers": ("wrappers",),
    "surepath.adapters.gym": ("as_system",),
    "surepath.api": ("learn", "verify"),
    "surepath.asktell": ("AskTell",),
    "surepath.builtin_problems": ("Problem", "Tabular", "make", "problems"),
    "surepath.checks": ("check_features", "check_system"),
    "surepath.doctor.diagnose": ("diagnose",),
    "surepath.doctor.finding": ("Diagnosis", "Finding", "Forecast", "Verdict"),
    "surepath.features": ("Custom", "WindowFeatures"),
    "surepath.learners.recursion": ("Learner",),
    "surepath.prepare.kernel_features": ("KernelFeatures",),
    "surepath.results.certificate": ("Certificate", "Level", "Status"),
    "surepath.results.plot": ("plot_convergence", "plot_where"),
    "surepath.results.result": ("Result", "load"),
    "surepath.results.round": ("Round",),
    "surepath.results.verify": ("Verification",),
    "surepath.run.executors": ("Serial",),
    "surepath.run.processes": ("Processes",),
    "surepath.run.ray": ("RayCluster",),
    "surepath.system": ("Episodes", "Request", "System"),
    "surepath.theory.gain": ("GainRate",),
    "surepath.theory.schedule": ("Schedule",),
    "surepath.theory.setting": ("Setting",),
}
"""Names by where they are imported from when they are first used: all of them take a while."""

_PLACES = {name: place for place, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_PLACES[name])
    found = getattr(module, name, module)  # the module itself, where that is what is named
    globals()[name] = found  # the next time nobody asks
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})

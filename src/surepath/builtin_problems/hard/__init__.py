"""The hard families of the paper's two lower bounds: why each assumption is there."""

from surepath.builtin_problems.hard.exit_lane import ExitLane, exit_lane
from surepath.builtin_problems.hard.few_actions import FewActions, few_actions
from surepath.builtin_problems.hard.leaking import Leaking, leaking
from surepath.builtin_problems.hard.lift import Lifted, lift
from surepath.builtin_problems.hard.process import LinearProcess
from surepath.builtin_problems.hard.tunable_gap import Forks, tunable_gap

__all__ = [
    "ExitLane",
    "FewActions",
    "Forks",
    "Leaking",
    "Lifted",
    "LinearProcess",
    "exit_lane",
    "few_actions",
    "leaking",
    "lift",
    "tunable_gap",
]

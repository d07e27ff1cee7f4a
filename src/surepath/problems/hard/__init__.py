"""The hard families of the paper's two lower bounds: why each assumption is there."""

from surepath.problems.hard.exit_lane import ExitLane, exit_lane
from surepath.problems.hard.few_actions import FewActions, few_actions
from surepath.problems.hard.leaking import Leaking, leaking
from surepath.problems.hard.lift import Lifted, lift
from surepath.problems.hard.process import LinearProcess
from surepath.problems.hard.tunable_gap import Forks, tunable_gap

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

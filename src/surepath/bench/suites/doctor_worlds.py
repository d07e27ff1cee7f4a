"""What the doctor says of rooms of MiniGrid: layouts fixed or not, full and partial views."""

from __future__ import annotations

from dataclasses import dataclass

from surepath.adapters.wrappers import ActionList, FixedStart
from surepath.bench.harness.registered import Env, newest, register_minigrid
from surepath.bench.harness.report import Cell, Section
from surepath.bench.harness.runs import Crew
from surepath.bench.suites.certificates import TURN_OR_GO
from surepath.doctor.determinism import START
from surepath.doctor.diagnose import diagnose
from surepath.doctor.finding import Diagnosis
from surepath.doctor.looks import ALIAS


@dataclass(frozen=True, slots=True)
class Room:
    """A room of MiniGrid, how it is looked at, and what is wrong with it."""

    name: str
    full: bool = True  # the whole room is seen, not what lies ahead alone
    fixed: bool = True  # every episode begins with the same layout
    sick: str = ""  # the assumption that is broken
    horizon: int = 8

    @property
    def title(self) -> str:
        view, layout = "full" if self.full else "partial", "" if self.fixed else "un"
        return f"{self.name}, {view} view, {layout}fixed layout"

    def build(self) -> Env:
        import gymnasium

        register_minigrid()
        from minigrid.wrappers import FullyObsWrapper, ImgObsWrapper

        env: Env = gymnasium.make(newest(self.name), disable_env_checker=True)
        if self.fixed:
            env = FixedStart(env, 0)
        env = ImgObsWrapper(FullyObsWrapper(env) if self.full else env)
        return ActionList(env, TURN_OR_GO)


CROSSING, EMPTY = "MiniGrid-SimpleCrossingS9N1", "MiniGrid-Empty-8x8"
ROOMS = (
    Room(CROSSING),
    Room(CROSSING, fixed=False, sick=START),
    Room(EMPTY),
    Room(EMPTY, full=False, sick=ALIAS),
)

EPISODES = 400
"""Of a pilot: nothing is noisy here, and what differs differs at once."""


def examine(room: Room) -> Diagnosis:
    return diagnose(room.build(), room.horizon, episodes=EPISODES, forecast=False)


def worlds(crew: Crew) -> list[Section]:
    rows: list[tuple[Cell, ...]] = []
    for room, found in zip(ROOMS, crew.spread(examine, list(ROOMS), "rooms"), strict=True):
        wrong = [each for each in found.findings if not each.holds]
        right = bool(wrong) == bool(room.sick) and (not room.sick or found[room.sick] in wrong)
        named = "; ".join(f"{each.assumption}: {each.verdict}" for each in wrong) or "sound"
        future = found[ALIAS].data.get("future")
        rows.append((room.title, named, future or "-", "right" if right else "WRONG"))
    columns = ("room", "said", "future that helps", "verdict")
    return [Section(f"worlds: {EPISODES} pilot episodes each", columns, rows)]

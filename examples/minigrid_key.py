"""A robot in a small grid world that sees its surroundings through a noisy camera.

MiniGrid's DoorKey (https://minigrid.farama.org): fetch the key, open the door, reach the goal. The
layout is fixed; every cell of the view is replaced by a random one in 10 % of the readings. The
shortest solution is found apart, by breadth-first search on the world without noise, and the plan
may be two steps longer.

Run it with `python examples/minigrid_key.py` (about ten minutes), or `... MiniGrid-Empty-5x5-v0`
(half a minute). Needs the extra `minigrid`.
"""

from __future__ import annotations

import copy
import sys
from collections import deque
from functools import partial
from typing import Any

import gymnasium
import minigrid  # registers its environments
from minigrid.wrappers import ImgObsWrapper

import surepath
from surepath.adapters.wrappers import ActionList, FixedStart, PixelNoise

LAYOUT = 0
KINDS, COLOURS, STATES = range(11), range(6), range(3)
WALKING = (0, 1, 2)  # turn left, turn right, go forward
USEFUL = (*WALKING, 3, 5)  # and pick up, toggle; what is left out drops the key, or does nothing


def world(name: str, layout: int = LAYOUT) -> gymnasium.Env[Any, Any]:
    """The world itself: always the same layout, no noise."""
    assert minigrid
    return FixedStart(gymnasium.make(name, disable_env_checker=True), layout)


def camera(
    name: str, layout: int = LAYOUT, noise: float = 0.1, actions: tuple[int, ...] = tuple(range(7))
) -> gymnasium.Env[Any, Any]:
    """What the robot gets to see of it, and the actions it may take."""
    values = [list(values) for values in (KINDS, COLOURS, STATES)]
    seen = PixelNoise(ImgObsWrapper(world(name, layout)), noise, cells=True, values=values)
    return ActionList(seen, actions)


def shortest(name: str, layout: int = LAYOUT) -> tuple[tuple[int, ...], float]:
    """The shortest solution and what it pays, by breadth-first search."""
    env = world(name, layout)
    env.reset()
    start = copy.deepcopy(env.unwrapped)
    queue, seen = deque([(start, ())]), {_state(start)}
    while queue:
        here, actions = queue.popleft()
        for action in range(here.action_space.n):
            there = copy.deepcopy(here)
            _, reward, ended, _, _ = there.step(action)
            if ended and reward > 0:
                return (*actions, action), float(reward)
            if not ended and _state(there) not in seen:
                seen.add(_state(there))
                queue.append((there, (*actions, action)))
    raise ValueError(f"{name} has no solution")


def _state(env: Any) -> tuple[Any, ...]:
    held = env.carrying and (env.carrying.type, env.carrying.color)
    return (*env.agent_pos, env.agent_dir, held, env.grid.encode().tobytes())


def returns(name: str, actions: tuple[int, ...], layout: int = LAYOUT) -> float:
    """What the actions pay in the world without noise."""
    plain = ImgObsWrapper(world(name, layout))
    return sum(surepath.as_system(plain, len(actions)).play(actions, seed=0)[1])


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "MiniGrid-DoorKey-5x5-v0"
    actions, best = shortest(name)
    result = surepath.learn(
        partial(camera, name), horizon=len(actions) + 2, features="linear", progress=True
    )
    print("plan", result.actions, "pays", returns(name, result.actions))
    print("breadth-first", actions, "pays", best)
    print(result.certificate.claim, "|", result.steps, "steps")


if __name__ == "__main__":
    main()

"""The Atari game Asterix, played from readings of the console's memory that are often wrong.

Asterix runs between eight lanes and collects what comes along them, at 50 points apiece
(https://ale.farama.org/environments/asterix). Every action is held for 12 frames. What is read are
the 47 bytes of the console's memory that depend on the actions, each of them replaced by a random
one in 10 % of the readings. The best of all 4^5 sequences is found apart, by trying them all on the
game without noise.

Run it with `python examples/asterix.py` (about half a minute). Needs the extra `atari`.
"""

from __future__ import annotations

from typing import Any

import ale_py
import gymnasium
import numpy as np
from gymnasium.spaces import Box

import surepath
from surepath.adapters.wrappers import ActionList, PixelNoise

HORIZON, HOLD = 5, 12
MOVES = ("UP", "RIGHT", "LEFT", "DOWN")
PRIZE = 50
"""Points come in fifties; three of them are the most that can be had during one action."""
NOISE = 0.1
BYTES = [*range(9, 27), 28, *range(39, 50), 66, 68, *range(73, 81), 95, 96, 106, 108, 113, 118, 120]
"""Of the 128 in the memory. The others are the same whatever is done, for as long as we play."""


class Console(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Starts from a saved state of the console, and shows some bytes of its memory.

    The start does not depend on the seed anyway, but a reset with a seed loads the game from disk,
    and that takes a thousand times longer.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = Box(0, 255, (len(BYTES),), np.uint8)
        self.env.reset(seed=0)
        self._start = self.ale.cloneState()

    @property
    def ale(self) -> Any:
        return self.unwrapped.ale

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self.ale.restoreState(self._start)
        return self.ale.getRAM()[BYTES], {}

    def step(self, action: int) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        memory, *rest = self.env.step(action)
        return memory[BYTES], *rest


def game() -> Console:
    """The game itself: no sticky actions, so nothing in it is left to chance."""
    gymnasium.register_envs(ale_py)
    env = gymnasium.make(
        "ALE/Asterix-v5", obs_type="ram", frameskip=HOLD, repeat_action_probability=0.0
    )
    names = env.unwrapped.get_action_meanings()
    return Console(ActionList(env, [names.index(move) for move in MOVES]))


def misread() -> gymnasium.Env[Any, Any]:
    """What there is to go by."""
    return PixelNoise(game(), NOISE)


def returns(actions: tuple[int, ...]) -> float:
    """What the actions pay."""
    return sum(surepath.as_system(game, len(actions)).play(actions, seed=0)[1])


def best(horizon: int = HORIZON) -> float:
    """By trying everything; each beginning is played only once."""
    env = game()
    env.reset()
    return _most(env, horizon)


def _most(env: Console, left: int) -> float:
    """The most that can still be had with so many actions."""
    if not left:
        return 0.0
    here, totals = env.ale.cloneState(), []
    for move in range(len(MOVES)):
        env.ale.restoreState(here)
        _, reward, _, _, _ = env.step(move)
        totals.append(float(reward) + _most(env, left - 1))
    return max(totals)


def learn(seed: int = 0, horizon: int = HORIZON, **options: Any) -> surepath.Result:
    rewards = (0, 3 * PRIZE)
    return surepath.learn(misread, horizon, reward_range=rewards, gap=PRIZE, seed=seed, **options)


def main() -> None:
    result = learn(progress=True)
    moves = [MOVES[action].lower() for action in result.actions]
    print("plan", *moves, "pays", returns(result.actions), "| best", best())
    print(result.certificate.claim, "|", result.steps, "steps")


if __name__ == "__main__":
    main()

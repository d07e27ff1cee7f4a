"""What the examples find pays exactly what a search without noise says, at sizes that are quick."""

from __future__ import annotations

import ast
import random
import shutil
from functools import partial
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import surepath
from examples import EXAMPLES, loaded
from surepath.checks import check_system

COVERED = {"asterix", "cache_set", "cache_warming", "continuous", "json_lines", "llvm_passes",
           "minigrid_key", "mountain_car", "own_system", "pendulum", "stopwatch"}  # fmt: skip


def test_no_example_is_left_out() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == COVERED


# ---- the valve, in this process and in another


def valve_pays(actions: tuple[int, ...]) -> float:
    """On average: by the story both examples tell, not by their code."""
    position, total = 0, 0.0
    for action in actions:
        position = min(max(position + {0: 0, 1: 1, 2: -1}[action], 0), 2)
        total += {0: 0.1, 1: 0.9, 2: 0.5}[position]
    return total


BEST_OF_VALVE = max(valve_pays(actions) for actions in product(range(3), repeat=4))


def test_own_system() -> None:
    result = surepath.learn(loaded("own_system").Valve(), seed=1)
    assert result.certified
    assert valve_pays(result.actions) == BEST_OF_VALVE
    assert result.interval[0] <= BEST_OF_VALVE <= result.interval[1]


def test_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    loaded("json_lines").main()
    plan, claim = capsys.readouterr().out.splitlines()
    actions = ast.literal_eval(plan[plan.index("[") : plan.index("]") + 1])
    assert valve_pays(tuple(actions)) == BEST_OF_VALVE
    assert claim.startswith("these 4 actions are optimal with probability at least 0.95")


def test_both_valves_are_the_same() -> None:
    """The one that is asked through JSON pays and moves as the other one does."""
    run, noise = loaded("json_lines").run, random.Random(0)
    for actions in ((1, 1, 0, 2), (2, 0, 1, 0)):
        episodes = [run(actions, noise) for _ in range(2000)]
        there = loaded("own_system").Valve().rollout(actions, 2000, np.random.default_rng(0))
        paid = np.array([paid for _, paid in episodes])
        assert paid.mean(axis=0) == pytest.approx(there.rewards.mean(axis=0), abs=0.06)
        assert paid.sum(axis=1).mean() == pytest.approx(valve_pays(actions), abs=0.1)


# ---- the boat


def test_continuous(capsys: pytest.CaptureFixture[str]) -> None:
    """All four of its runs; the adaptive ones are certified."""
    loaded("continuous").main()
    optimum, *lines = capsys.readouterr().out.splitlines()
    best = optimum.removeprefix("optimum ")
    plans, reasons = lines[::2], lines[1::2]
    assert len(plans) == 4
    assert all(f"plan {best} episodes" in plan for plan in plans)
    certified = ["certified: True" in reason for reason in reasons]
    assert certified == ["adaptive" in plan for plan in plans]


# ---- a cache


def test_the_tree_of_a_cache_points_away_from_what_was_used() -> None:
    """By hand: after 0 the victim is in the other half, and there where its own bit points."""
    touch = loaded("cache_warming").touch
    cache, hit = touch(((0, 1, 2, 3), (0, 0, 0)), 0)
    assert (cache, hit) == (((0, 1, 2, 3), (1, 1, 0)), True)
    cache, hit = touch(cache, 4)
    assert (cache, hit) == (((0, 1, 4, 3), (0, 1, 1)), False)


def test_cache_warming() -> None:
    example = loaded("cache_warming")
    result = example.learn(seed=1)
    assert result.certified
    found = example.cycles(example.Warming().caches(result.actions)[-1])
    assert found == example.fewest() < example.cycles(example.START)
    assert not check_system(example.Warming()).warnings


# ---- Gymnasium


def held(name: str, plain: str, hold: int, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An example of three actions only, each held for so many steps."""
    example = loaded(name)
    monkeypatch.setattr(example, "HORIZON", 3)
    monkeypatch.setattr(example, "HOLD", hold)
    monkeypatch.setattr(example, "PLAIN", surepath.as_system(getattr(example, plain), 3))
    return example


def test_mountain_car(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sequence of 27 is the best, and it swings back first."""
    example = held("mountain_car", "car", 45, monkeypatch)
    result = example.learn(seed=1)
    assert result.certified
    assert example.returns(result.actions) == example.best() > -3 * 45
    assert result.actions[0] == 0


def test_pendulum(monkeypatch: pytest.MonkeyPatch) -> None:
    example = held("pendulum", "pendulum", 12, monkeypatch)
    result = example.learn(seed=1)
    assert result.certified
    assert example.returns(result.actions) == example.best()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mountain_car", "pendulum"])
def test_classic_control_at_full_size(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    loaded(name).main()
    assert_the_best(capsys.readouterr().out)


def test_minigrid() -> None:
    """An empty room, and no step to spare; the key and the door take minutes.

    Of its views, those that differ at all differ by four standard deviations of the camera's noise.
    """
    example, room = loaded("minigrid_key"), "MiniGrid-Empty-5x5-v0"
    shortest, best = example.shortest(room)
    camera = partial(example.camera, room, actions=example.WALKING)
    result = surepath.learn(
        camera, horizon=len(shortest), features="linear", separation=0.9, seed=1
    )
    assert result.certified
    assert example.returns(room, result.actions) == best == example.returns(room, shortest)


def test_asterix() -> None:
    example = loaded("asterix")
    result = example.learn(seed=1, horizon=3)
    assert result.certified
    assert example.returns(result.actions) == example.best(3) == 2 * example.PRIZE


def test_asterix_leaves_nothing_to_chance() -> None:
    """Same actions, same memory, whatever the seed; and the bytes that are shown tell as much."""
    example = loaded("asterix")
    env, memories, shown = example.game(), set[bytes](), set[bytes]()
    for actions in product(range(4), repeat=3):
        twice = set[bytes]()
        for seed in range(2):
            env.reset(seed=seed)
            read = [env.step(action)[0] for action in actions][-1]
            twice.add(env.ale.getRAM().tobytes())
        assert len(twice) == 1
        memories |= twice
        shown.add(read.tobytes())
    assert 1 < len(shown) == len(memories)
    fresh = env.env.reset(seed=7)[0]  # of the game itself, which is loaded anew
    assert (fresh[example.BYTES] == env.reset(seed=8)[0]).all()


def test_asterix_is_a_proper_system() -> None:
    assert not check_system(loaded("asterix").misread, horizon=2).warnings


@pytest.mark.slow
def test_asterix_at_full_size(capsys: pytest.CaptureFixture[str]) -> None:
    loaded("asterix").main()
    assert_the_best(capsys.readouterr().out)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_cache_gets_a_verdict(tmp_path: Path) -> None:
    """What it is depends on the computer, and on what else it does."""
    system = loaded("cache_set").CacheSet(tmp_path)
    taken = system.taken((0, 1, 0, 1), 50)
    assert taken.shape == (50, 4)
    assert (taken > 0).all()
    found = surepath.diagnose(system, episodes=256, forecast=False)
    assert len(found.findings) >= 8
    for finding in found.findings:
        assert finding.evidence
        assert finding.remedy or finding.verdict is surepath.Verdict.HOLDS


def assert_the_best(printed: str) -> None:
    """What `main` prints: "... pays X | best Y"."""
    (line,) = (line for line in printed.splitlines() if "pays" in line)
    pays, best = line.split("pays ")[1].split(" | best ")
    assert float(pays) == float(best)

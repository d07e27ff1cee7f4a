"""The proving learner: what it asks for, and what becomes of proposals that are wrong.

Whoever proposes may be wrong in any way. Here the learner is given a wrong proposal each time that
it makes one, with the worst guesses: it has to notice, in all but a share delta of the runs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import surepath
from playing import small
from proposals import machine as by_hand
from proposals import meeting, most, tree
from surepath.builtin_problems import Tabular
from surepath.inference.attempt import Attempt
from surepath.inference.fresh_block import Counted
from surepath.inference.proposal import Proposal, Role, Rules, Sums
from surepath.learners import proving
from surepath.learners.allocation import Allocation, likely
from surepath.learners.proving import MOST_ATTEMPTS, Proving
from surepath.prepare.call import Call
from surepath.prepare.start import start
from surepath.run.driver import drive
from surepath.run.runner import Runner
from surepath.system import Actions, Episodes

DELTA = 0.2
FEW, MANY = 16, 500
HARDLY = 1e-6  # what a plan loses that is not optimal, and cannot be told from one that is


def learner_of(system: Any, seed: int, **options: Any) -> Proving:
    found = start(Call.of(system, seed=seed, guarantee="proved", **options)).learner
    assert isinstance(found, Proving)
    return found


class Told:
    """Gives every proposal of a run away for another one."""

    def __init__(self, wrong: Any, hopes: dict[Actions, float]) -> None:
        """hopes: what each step of these sequences is taken to pay, after many readings."""
        self.wrong, self.hopes = wrong, hopes
        self.made = 0

    def __call__(self, judged: Any, rules: Rules) -> tuple[Proposal, Any]:
        proposal: Proposal = self.wrong(rules)
        known = Sums.none(proposal.first[-1])
        for actions, mean in self.hopes.items():
            for edge in proposal.walk(actions):
                if not known.count[edge]:
                    known.count[edge] = 500.0
                    known.total[edge] = known.squares[edge] = 500 * mean
        self.made += 1
        return replace(proposal, known=known), np.zeros(proposal.first[-1])


class Plain:
    """Reads what the hopes are about, each time as often: a block that takes no time to plan."""

    size, forecast = 16, 400

    def __init__(self, attempt: Attempt, noise: Any) -> None:
        self.proposal = attempt.proposal

    def requests(self, whole: int) -> Counted:
        return [(actions, self.size if mean else 3) for actions, mean in Plain.hopes.items()]

    hopes: ClassVar[dict[Actions, float]] = {}


def proves(
    system: Any,
    told: Told,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
    *,
    budget: int,
    plain: bool = True,
    **options: Any,
) -> bool:
    """Whether any attempt of a run succeeds that proposes nothing but what it is told.

    plain: whether its blocks are planned in no time.
    """
    monkeypatch.setattr(proving, "propose", told)
    if plain:
        monkeypatch.setattr(Plain, "hopes", told.hopes)
        monkeypatch.setattr(proving, "Allocation", Plain)
    monkeypatch.setattr(Proving, "_proposes", lambda self, judged: bool(judged.complete))
    learner = learner_of(system, seed, delta=DELTA, **options)
    drive(learner, Runner(system, seed), budget=budget)
    assert told.made > 0
    return learner.attempt is not None and learner.attempt.proved


# ---------------------------------------------------------------- wrong plans and false merges


def machine(rewards: list[list[list[float]]], laws: list[list[float]] | None = None) -> Tabular:
    """Two levels: the first action leads to state 1, the second to state 2."""
    emissions = laws or [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
    return Tabular.from_arrays([[1, 2], [1, 1], [2, 2]], emissions, rewards)


NOTHING = [0.0, 0.0]
SECOND = machine([[[0.5, 0.5], NOTHING, NOTHING], [NOTHING, [0.5, 0.2], [0.1, 0.55]]])
TIE = machine([[[0.5, 0.5], NOTHING, NOTHING], [NOTHING, [0.5, 0.2], [0.1, 0.5 + HARDLY]]])
APART = 0.4
TWO = machine(
    [[[0.8, 0.2], NOTHING, NOTHING], [NOTHING, [0.9, 0.1], [0.9, 0.1]]],
    [[0.5, 0.5, 0.0], [0.7, 0.3, 0.0], [0.3, 0.7, 0.0]],
)


def first_action_twice(rules: Rules) -> Proposal:
    return tree(rules, 2)


HOPES = {(0, 0): 0.6, (1, 1): 0.4, (0, 1): 0.2, (1, 0): 0.1}
WRONG: dict[str, tuple[Tabular, Any, dict[Actions, float], dict[str, Any]]] = {
    "the second-best plan": (SECOND, first_action_twice, HOPES, {"tolerance": HARDLY / 2}),
    "a tie": (TIE, first_action_twice, HOPES, {"tolerance": HARDLY / 2}),
    "a false merge": (
        TWO,
        meeting,
        {(0, 0): 0.85, (1, 1): 0.15},
        {"separation": APART, "future": 1},
    ),
}


def falsely_proved(
    name: str, runs: int, monkeypatch: pytest.MonkeyPatch, plain: bool = True
) -> int:
    system, wrong, hopes, options = WRONG[name]
    options = options | {"budget": 3000, "plain": plain}
    return sum(
        proves(system, Told(wrong, hopes), seed, monkeypatch, **options) for seed in range(runs)
    )


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_proposal_is_seldom_proved(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert falsely_proved(name, FEW, monkeypatch) <= most(DELTA, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("plain", [True, False], ids=["plain blocks", "planned blocks"])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_proposal_is_seldom_proved_in_many_runs(
    name: str, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = MANY if plain else MANY // 4  # planning takes most of the time
    assert falsely_proved(name, runs, monkeypatch, plain) <= most(DELTA, runs)


def test_a_right_proposal_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is seldom proved above is not just never proved."""
    better = machine([[[0.8, 0.2], NOTHING, NOTHING], [NOTHING, [0.9, 0.1], [0.9, 0.1]]])
    told = Told(first_action_twice, HOPES)
    assert proves(better, told, 0, monkeypatch, budget=3000, tolerance=HARDLY)
    assert told.made == 1


# ---------------------------------------------------------------- noise that an episode shares


class Lanes:
    """Two lanes that pay the same: in the first, all steps of an episode pay 1 or all pay 0.

    In the second, every step pays a little more than a half. Nothing is paid off the lanes. What is
    observed says on which lane one is, or that one is on none.
    """

    n_actions, n_observations, horizon = 2, 3, 6

    def __init__(self, shared: bool) -> None:
        self.shared_noise = shared

    def rollout(self, actions: Actions, n: int, rng: np.random.Generator) -> Episodes:
        kept = np.cumprod([action == actions[0] for action in actions])
        ups = np.repeat(rng.binomial(1, 0.5, size=(n, 1)), len(actions), axis=1)
        paid = ups if actions[0] == 0 else np.full((n, len(actions)), 0.5 + HARDLY)
        where = [0, *(actions[0] if on else 2 for on in kept)][: self.horizon]
        return Episodes(actions, np.tile(np.array(where), (n, 1)), paid * kept)


def lanes(rules: Rules) -> Proposal:
    """The machine as it is; the first lane is the plan."""
    horizon, founds, merges = Lanes.horizon, Role.FOUNDS, Role.MERGES
    edges = [(founds, 0), (founds, 1), (founds, 0), (founds, 2), (merges, 2), (founds, 1)]
    for _ in range(2, horizon - 1):
        edges += [(founds, 0), (merges, 2), (merges, 2), (founds, 1), (founds, 2), (merges, 2)]
    edges += [(Role.ENDS, -1)] * 6
    states = (1, 2, *(3 for _ in range(2, horizon)))
    return by_hand(rules, 2, edges, states, (0,) * horizon)


def hoped() -> dict[Actions, float]:
    horizon = Lanes.horizon
    found = {(0,) * horizon: 0.6, (1,) * horizon: 0.4}
    for on in range(1, horizon):
        found |= {(0,) * on + (1,) * (horizon - on): 0.0, (1,) * on + (0,) * (horizon - on): 0.0}
    return found


def lane_proved(shared: bool, runs: int, monkeypatch: pytest.MonkeyPatch) -> int:
    options = {"tolerance": HARDLY / 2, "separation": 0.9, "future": 1, "budget": 1500}
    return sum(
        proves(Lanes(shared), Told(lanes, hoped()), seed, monkeypatch, **options)
        for seed in range(runs)
    )


@pytest.mark.slow
def test_shared_noise_needs_its_correction_in_many_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lane_proved(True, MANY, monkeypatch) <= most(DELTA, MANY)
    assert lane_proved(False, MANY, monkeypatch) > most(DELTA, MANY)


def test_shared_noise_is_seldom_taken_for_a_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    few = 8
    assert lane_proved(True, few, monkeypatch) <= most(DELTA, few)


# ---------------------------------------------------------------- its rounds


def test_every_block_is_new_and_says_so() -> None:
    """Attempt and block of what is asked for; before the first proposal there are none."""
    problem = small(1)
    learner = learner_of(problem, 4, separation=0.3)
    said = list[tuple[int, int] | None]()
    asked = list[int]()

    def watch(each: Any) -> None:
        said.append(learner.fresh)
        asked.append(learner.usage.episodes)

    drive(learner, Runner(problem, 4), watch=watch)
    assert learner.attempt is not None
    assert learner.attempt.proved
    began = next(i for i, each in enumerate(said) if each is not None)
    assert said[:began] == [None] * began
    assert said[began] == (1, 1)
    blocks = len(learner.attempt.blocks)
    assert said[-1] == (len(learner.given_up) + 1, blocks)
    assert learner.attempt.episodes == asked[-1] - asked[-1 - blocks]
    assert not learner.ask()


def test_later_attempts_have_smaller_shares_and_come_to_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, shares = machine([[[0.2, 0.8], NOTHING, NOTHING], [NOTHING] * 3]), list[float]()
    told = Told(first_action_twice, HOPES)
    rounds = Told.__call__

    def noted(self: Told, judged: Any, rules: Rules) -> tuple[Proposal, Any]:
        shares.append(rules.share)
        return rounds(self, judged, rules)

    monkeypatch.setattr(Told, "__call__", noted)
    monkeypatch.setattr(
        Proving, "_proposes", lambda self, judged: len(self.given_up) < MOST_ATTEMPTS
    )
    monkeypatch.setattr(proving, "propose", told)
    monkeypatch.setattr(Plain, "hopes", told.hopes)
    monkeypatch.setattr(proving, "Allocation", Plain)
    learner = learner_of(problem, 1, delta=DELTA, tolerance=HARDLY)
    drive(learner, Runner(problem, 1), budget=20_000)
    assert len(shares) == MOST_ATTEMPTS
    assert shares == pytest.approx([0.8 * 0.2**j * DELTA for j in range(MOST_ATTEMPTS)])
    assert sum(shares) < DELTA
    assert learner.attempt is None
    assert set(learner.given_up) == {"another plan seemed better"}
    assert learner.notes()[0].startswith("proof: attempt 1 was given up, because another plan")


def test_how_far_it_is_can_be_read() -> None:
    problem = small(1)
    learner = learner_of(problem, 4, separation=0.3)
    assert learner.progress() == ""
    while learner.fresh is None or learner.fresh[1] < 2:
        drive_once(learner, problem)
    assert "needs" in learner.progress()
    assert "block 2" in learner.status()["proof"]


def test_what_it_will_take_is_said_before_the_first_block_is_read() -> None:
    """And after each block: what was read, and what the next one is planned to lead to."""
    problem, read = small(1), 0
    learner = learner_of(problem, 4, separation=0.3)
    while learner.fresh is None:
        drive_once(learner, problem)
    for _ in range(2):
        attempt = learner.attempt
        assert attempt is not None
        planned = Allocation(attempt, learner._noise)
        planned.requests(learner.forecast if read else 0)
        assert learner.forecast == planned.forecast or read
        assert learner.expected == read + likely(planned.forecast)
        said = f": {read} of about {learner.expected} episodes, evidence"
        assert said in learner.status()["proof"]
        assert len(learner.status()["proof"]) < 100
        assert f"about {learner.expected} fresh episodes are expected" in learner.progress()
        assert learner.progress().endswith(f"has taken {read}")  # not what is only asked for
        read += sum(request.count for request in learner.ask())
        drive_once(learner, problem)


def drive_once(learner: Proving, problem: Any) -> None:
    runner = Runner(problem, 4)
    learner.tell(runner.run(0, learner.ask(), summary=True, fresh=learner.fresh))


def test_a_large_request_is_asked_for_in_parts() -> None:
    learner = learner_of(small(1), 4, separation=0.3)
    learner._largest_batch = 5
    for _ in range(60):
        if learner.fresh:
            break
        drive_once(learner, small(1))
    assert learner.attempt is not None
    assert max(request.count for request in learner.ask()) <= 5
    assert [(r.actions, r.count) for r in learner.ask()] == learner.attempt.blocks[-1].requests
    assert surepath.learn(small(1), guarantee="proved", separation=0.3, seed=4).certified
    assert math.isfinite(learner.forecast)

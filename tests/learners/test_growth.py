"""Features of the adaptive learner that grow where they see nothing, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import surepath
from caverns import Nook, outlook
from machines import Raw
from playing import learner_for, play, small
from surepath.features.growing import Growing
from surepath.features.kernels import Nystroem
from surepath.inference.judgement import judge
from surepath.inference.tuning import TUNING
from surepath.learners.adaptive import Adaptive
from surepath.prepare.resolved import flat_rows
from surepath.readings.embedding import CloudEmbedding
from surepath.readings.record import record_of
from surepath.readings.trie import Node
from surepath.system import Counts, Episodes, Readings, Request, Summary


class Heard:
    """A learner that writes down what it is told, and how many landmarks it had after that."""

    def __init__(self, learner: Adaptive) -> None:
        self.learner, self.answers = learner, list[Readings]()
        self.landmarks = list[int]()
        self.embedding, self.ask = learner.embedding, learner.ask

    def tell(self, readings: list[Readings]) -> None:
        self.learner.tell(readings)
        self.answers += readings
        self.landmarks.append(self.growth.features.landmarks)

    @property
    def growth(self) -> Any:
        return self.learner.growth


def heard(system: Any = None, features: Any = None, seed: int = 0) -> Heard:
    system = system or Nook(1)
    learner = learner_for(system, features=features or outlook(), future=1)
    told = Heard(learner)
    play(told, system, seed)  # type: ignore[arg-type]
    return told


def fold(answers: list[Readings], embedding: CloudEmbedding, horizon: int) -> Node:
    """The trie of all answers, read with one embedding from the beginning."""
    root = Node()
    for answer in answers:
        node = root
        steps = range(min(len(answer.actions) + 1, horizon))
        digests = embedding.read(answer, steps)
        node.absorb(digests[0])
        for level, action in enumerate(answer.actions):
            node = node.child(action)
            node.rewards.add(answer.reward(level))
            if level + 1 < horizon:
                node.absorb(digests[level + 1])
    return root


def test_the_trie_is_the_one_that_the_grown_features_would_have_made() -> None:
    told = heard()
    learner, features = told.learner, told.growth.features
    assert features.landmarks > outlook().landmarks
    embedding = CloudEmbedding(features, 3)
    assert record_of(fold(told.answers, embedding, 4)) == record_of(learner.root)
    prefixes = {a.actions[: n + 1] for a in told.answers for n in range(len(a.actions))}
    assert learner.usage.nodes == len(prefixes)


def test_features_grow_when_a_place_is_read_that_they_do_not_see_and_at_no_other_time() -> None:
    system = Nook(1)
    told = heard(system)
    grew = np.flatnonzero(np.diff([outlook().landmarks, *told.landmarks]))
    assert len(grew)
    rounds = iter(told.answers)
    first = learner_for(system, features=outlook(), future=1)
    for i in range(grew[0] + 1):
        answers = [next(rounds) for _ in first.ask()]
        reaches = any(max(system.path(a.actions)[: system.horizon]) > 2 for a in answers)
        assert reaches == (i == grew[0])  # until the cavern is entered there is nothing to see
        first.tell(answers)


@pytest.mark.parametrize("features", ["linear", "onehot"])
def test_nothing_is_kept_where_features_cannot_grow(features: str) -> None:
    system = Raw(small(1)) if features == "onehot" else Nook(1)
    assert learner_for(system, features=features, future=1).growth is None


def test_features_that_see_everything_do_not_grow() -> None:
    system = Nook(1, away=0.0)
    told = heard(system)
    assert told.growth.features.landmarks == outlook().landmarks
    assert told.growth.notes() == ()


def test_what_is_told_may_be_overwritten_afterwards() -> None:
    class Reusing(Heard):
        def tell(self, readings: list[Readings]) -> None:
            copies = [
                Episodes(r.actions, r.observations.copy(), r.rewards.copy())
                for r in readings
                if isinstance(r, Episodes)
            ]
            self.learner.tell(copies)
            for copy in copies:
                copy.observations[:] = np.nan

    system = Nook(1)
    careless = Reusing(learner_for(system, features=outlook(), future=1))
    play(careless, system, 0)  # type: ignore[arg-type]
    assert record_of(careless.learner.root) == record_of(heard(system).learner.root)


def test_the_history_is_dropped_when_there_is_no_room_left() -> None:
    told = heard(features=outlook(16, most=18))
    assert told.growth.features.full
    assert told.growth._history == []


def test_places_that_stay_out_of_sight_are_a_doubt() -> None:
    told = heard(features=outlook(16, most=16), seed=1)
    learner = told.learner
    machine = judge(learner.root, learner.terms).machine
    (doubt,) = told.growth.doubts(machine)
    assert "far from all landmarks" in doubt
    seen = heard()
    assert seen.growth.doubts(judge(seen.learner.root, seen.learner.terms).machine) == ()


class Glitching(Nook):
    """One reading in twenty is anything at all."""

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        episodes = super().rollout(actions, n, rng)
        glitch = rng.random(episodes.observations.shape[:2]) < 0.05
        episodes.observations[glitch] = rng.uniform(-1e4, 1e4, (int(glitch.sum()), 2))
        return episodes


def test_glitches_of_a_sensor_are_not_places() -> None:
    for system in (Glitching(1, away=0.0), Glitching(1)):
        told = heard(system)
        landmarks = told.growth.features.nystroem.landmarks
        single = sum(answer.count == 1 for answer in told.answers)
        assert (np.abs(landmarks).max(axis=1) > 100).sum() <= single
        learner = told.learner
        assert told.growth.doubts(judge(learner.root, learner.terms).machine) == ()


class Symbols:
    """Whole numbers as observations, of which the landmarks know the first ones only."""

    horizon, n_actions, n_observations = 3, 2, 60

    def rollout(
        self, actions: tuple[int, ...], n: int, rng: np.random.Generator
    ) -> surepath.Episodes:
        steps = min(len(actions) + 1, self.horizon)
        base = [0, *(30 if action else 10 for action in actions)][:steps]
        observations = np.array(base) + 20 * rng.integers(2, size=(n, steps))
        rewards = (rng.random((n, len(actions))) < 0.3 + 0.4 * np.array(actions)).astype(float)
        return surepath.Episodes(actions, observations, rewards)


class Counted(Symbols):
    """The same, drawn as counts of the symbols."""

    statistic = Counts

    def summarise(self, request: Request, rng: np.random.Generator) -> Summary:
        episodes = self.rollout(request.actions, request.count, rng)
        counts = {
            step: Counts(np.bincount(episodes.observations[:, step], minlength=self.n_observations))
            for step in request.observations
        }
        rewards = {step: episodes.reward(step) for step in request.rewards}
        return Summary(request.actions, request.count, counts, rewards)


def test_symbols_are_seen_by_their_numbers_however_they_were_counted() -> None:
    one, other = (heard(system, _numbers()) for system in (Symbols(), Counted()))
    for told in (one, other):
        assert told.growth.added > 0
        assert told.learner.incumbent == (1, 1, 1)
    rows = _numbers().rows(np.arange(60))
    assert np.square(rows[[30, 50]]).sum() < 1e-9
    for told in (one, other):
        grown = told.growth.features.rows(np.arange(60))
        assert np.square(grown[[30, 50]]).sum(axis=1).min() > TUNING.least_seen


def _numbers() -> Growing:
    nystroem = Nystroem(RBF(2.0), np.arange(16.0)[:, None])
    return Growing(nystroem, flat_rows, components=16, most=32)

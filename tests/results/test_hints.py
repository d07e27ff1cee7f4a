"""What a run has seen that its caller could have said: named once it is clear, and not before."""

from __future__ import annotations

import surepath
from surepath.bench.families.sick import Maze, Passes, Single


def notes_of(system: object, **options: object) -> str:
    return "; ".join(surepath.learn(system, budget=3000, **options).certificate.notes)  # pyright: ignore


def test_readings_without_noise_are_named() -> None:
    assert 'separation="exact"' in notes_of(Maze())


def test_noisy_readings_are_not_called_exact() -> None:
    assert "none differs" not in notes_of(Single())


def test_nothing_is_named_that_was_said() -> None:
    assert "none differs" not in notes_of(Maze(), separation="exact")


def test_a_range_far_wider_than_what_is_paid_is_named() -> None:
    system = Passes(0, 3, (1, 3, 5, 6), 0.05)
    assert "reward_range" in notes_of(system, reward_range=(-50.0, 50.0))
    assert "reward_range" not in notes_of(system)


def test_a_run_that_has_read_nothing_has_nothing_to_say() -> None:
    asking = surepath.AskTell(horizon=3, n_actions=2, n_observations=4)
    assert "what was paid" not in "; ".join(asking.result().certificate.notes)

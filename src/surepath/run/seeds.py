"""Where the randomness of a run comes from. Every seed address is handed out here.

Each stream of random numbers is a function of the run's seed and of an *address*: a few whole
numbers that say what the stream is for. What is drawn therefore does not depend on who draws it,
when, or beside what.

    address                      what is drawn from it
    (batch, request)             the noise of a request, run at once or episode by episode
    (batch, request, attempt)    the same, after it failed SAME_NOISE times or more
    (PILOT, request)             the noise of the pilot, with its attempts as above
    (PILOT, requests)            the pilot's action sequences: one place after its last request
    (RANKS + n, request)         the noise of the n-th prefix whose ranks are compared, likewise
    (RANKS, requests)            which prefixes are compared: one place after the last request
    (GIVEN, request)             the noise of the doctor's pilot
    (GIVEN, 2**31)               the action sequences of that pilot: it has fewer requests
    (GIVEN, 2**31 + 1)           where a stand-in of the system goes that the pilot has not been
    (PILOT,)                     the actions that the adaptive learner draws where nobody has been

No address stands twice in this table: the batches of a learner count up from 0 and stay below
PILOT, the pilot is one batch, RANKS leaves room between them, and where one batch is used for two
things, the second number or the length tells them apart. `np.random.default_rng(seed)`, with which
problems and baselines draw what is theirs, has no address, and is none of these streams.

NumPy does not see addresses but 32-bit words, and writes a number with as many of them as it needs:
taken as they are, (2**32,) and (0, 1) would be one stream. An address is therefore written as its
length, followed by two words for every number, so that different addresses are different words.

Whoever changes a stream raises `ENGINE` in `journal/identity.py`: a journal can only be continued
with the streams that it was begun with.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from surepath.journal.rows import PILOT

__all__ = [
    "PILOT",
    "RANKS",
    "SAME_NOISE",
    "choices",
    "choices_beside",
    "episode_seeds",
    "generator",
    "noise",
]

RANKS = 2**33
"""The batch of the first prefix whose ranks are compared; each further prefix has the next one."""

SAME_NOISE = 2
"""Attempts at an episode with the same noise: most failures pass. After that other noise is drawn,
for systems that fail because of the noise."""


def generator(seed: int, *address: int) -> np.random.Generator:
    """The stream of random numbers at this address."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, address)))


def noise(seed: int, batch: int, request: int, attempt: int = 0) -> np.random.Generator:
    """The noise of a request whose episodes are all run at once."""
    return generator(seed, *_of_attempt(batch, request, attempt))


def episode_seeds(
    seed: int, batch: int, request: int, episodes: range, attempt: int = 0
) -> list[int]:
    """A seed for each of these episodes of a request, which are run one by one.

    The seed of an episode depends on its number in the request, not on which others are run.
    """
    drawn = _sequence(seed, _of_attempt(batch, request, attempt)).generate_state(episodes.stop)
    return cast(list[int], (drawn[episodes.start :] >> 1).tolist())  # many systems take 31 bits


def choices_beside(seed: int, batch: int, requests: int) -> np.random.Generator:
    """For drawing what a batch of so many requests asks for, apart from the noise of all of them.

    Only for a batch that is asked for once, such as the pilot: a learner's batches have as many
    requests as they need.
    """
    return generator(seed, batch, requests)


def choices(seed: int) -> np.random.Generator:
    """For what a learner draws itself: whoever builds the learner passes it in."""
    return generator(seed, PILOT)


def _of_attempt(batch: int, request: int, attempt: int) -> tuple[int, ...]:
    """The address of the noise of a request, when it is tried once more."""
    return (batch, request, attempt) if attempt >= SAME_NOISE else (batch, request)


def _sequence(seed: int, address: tuple[int, ...]) -> np.random.SeedSequence:
    halves = (half for number in address for half in divmod(number, 2**32))
    return np.random.SeedSequence(seed, spawn_key=(len(address), *halves))

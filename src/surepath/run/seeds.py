"""Where the randomness of a run comes from. Every seed address is handed out here.

Each stream of random numbers is a function of the run's seed and of an *address*: a few whole
numbers that say what the stream is for. What is drawn therefore does not depend on who draws it,
when, or beside what.

    address                      what is drawn from it
    (batch, request)             the noise of a request, run at once or episode by episode
    (batch, request, attempt)    the same, run at once, after it failed SAME_NOISE times or more
    (PILOT, request)             the noise of the pilot, with its attempts as above
    (PILOT, requests)            the pilot's action sequences: one place after its last request
    (RANKS + n, request)         the noise of the n-th prefix whose ranks are compared, likewise
    (RANKS, requests)            which prefixes are compared: one place after the last request
    (PILOT,)                     the actions that the adaptive learner draws where nobody has been

No address stands twice in this table: the batches of a learner count up from 0 and stay below
PILOT, the pilot is one batch, RANKS leaves room between them, and where one batch is used for two
things, the second number or the length tells them apart. `np.random.default_rng(seed)`, with which
problems and baselines draw what is theirs, has no address, and is none of these streams.

NumPy, however, does not see addresses but their 32-bit words, and a number from 2**32 on has two of
them: PILOT is 0 1, and RANKS + n is n 2. Written in words, three kinds of addresses are also those
of others:

    (PILOT,)                is  (0, 1)             the noise of request 1 in batch 0, run at once
    (PILOT, request)        is  (0, 1, attempt)    its later attempts; attempt = request
    (RANKS + n, request)    is  (n, 2, attempt)    those of request 2 in batch n; likewise

The streams are kept as they are because the journal of a run can only be continued with the
streams that it was begun with.
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
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=address)))


def noise(seed: int, batch: int, request: int, attempt: int = 0) -> np.random.Generator:
    """The noise of a request whose episodes are all run at once."""
    later = (attempt,) if attempt >= SAME_NOISE else ()
    return generator(seed, batch, request, *later)


def episode_seeds(
    seed: int, batch: int, request: int, episodes: range, attempt: int = 0
) -> list[int]:
    """A seed for each of these episodes of a request, which are run one by one.

    The seed of an episode depends on its number in the request, not on which others are run. Once
    it has failed SAME_NOISE times, each further attempt has another seed, made from that one.
    """
    address = (batch, request)
    words = np.random.SeedSequence(seed, spawn_key=address).generate_state(episodes.stop)
    chosen = words[episodes.start :]
    if attempt >= SAME_NOISE:
        later = [np.random.SeedSequence([int(w), attempt]).generate_state(1) for w in chosen]
        chosen = np.concatenate(later)
    return cast(list[int], (chosen >> 1).tolist())  # many systems take 31 bits


def choices_beside(seed: int, batch: int, requests: int) -> np.random.Generator:
    """For drawing what a batch of so many requests asks for, apart from the noise of all of them.

    Only for a batch that is asked for once, such as the pilot: a learner's batches have as many
    requests as they need.
    """
    return generator(seed, batch, requests)


def choices(seed: int) -> np.random.Generator:
    """For what a learner draws itself: whoever builds the learner passes it in."""
    return generator(seed, PILOT)

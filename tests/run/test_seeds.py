"""Every stream of random numbers has its address, and no two addresses have one stream."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath.prepare.future import GROUPS
from surepath.prepare.pilot import SEQUENCES
from surepath.run import seeds
from surepath.run.seeds import PILOT, RANKS, SAME_NOISE
from surepath.run.work import Unit
from surepath.system import Request

SETTINGS = settings(max_examples=50)


def unit(count: int, batch: int = 0, index: int = 0, *, seed: int = 0, attempt: int = 0) -> Unit:
    asked = Request((1, 0), count, range(3), range(2))
    return Unit(asked, batch, index, 0, count, seed, single=True, attempt=attempt)


def sequence(seed: int, *address: int) -> np.random.SeedSequence:
    """An address in NumPy's own terms: its length, then every number as two words."""
    words = [len(address)]
    for number in address:
        words += [number >> 32, number & (2**32 - 1)]
    return np.random.SeedSequence(seed, spawn_key=words)


def by_address(seed: int, *address: int) -> np.random.Generator:
    return np.random.default_rng(sequence(seed, *address))


def same(mine: np.random.Generator, theirs: np.random.Generator) -> bool:
    return mine.bit_generator.state == theirs.bit_generator.state


# ---------------------------------------------------------------- the numbers of each address


@given(seed=st.integers(0, 2**70), batch=st.integers(0, 2**34), request=st.integers(0, 99))
@SETTINGS
def test_noise_is_the_stream_at_the_place_and_from_the_third_attempt_another(
    seed: int, batch: int, request: int
) -> None:
    for attempt in (0, 1):
        assert same(seeds.noise(seed, batch, request, attempt), by_address(seed, batch, request))
    for attempt in (2, 3, 7):
        mine = seeds.noise(seed, batch, request, attempt)
        assert same(mine, by_address(seed, batch, request, attempt))
        assert same(mine, unit(3, batch, request, seed=seed, attempt=attempt).noise())


@given(
    seed=st.integers(0, 2**70),
    batch=st.integers(0, 2**34),
    request=st.integers(0, 99),
    ends=st.tuples(st.integers(0, 30), st.integers(0, 30)),
    attempt=st.integers(0, 5),
)
@SETTINGS
def test_the_seed_of_an_episode_is_its_word_of_the_request(
    seed: int, batch: int, request: int, ends: tuple[int, int], attempt: int
) -> None:
    episodes = range(min(ends), max(ends) + 1)
    later = (attempt,) if attempt >= SAME_NOISE else ()
    words = sequence(seed, batch, request, *later).generate_state(40)
    found = seeds.episode_seeds(seed, batch, request, episodes, attempt)
    assert found == [int(word) >> 1 for word in words[episodes.start : episodes.stop]]


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_what_is_drawn_beside_the_noise_has_streams_of_its_own(seed: int) -> None:
    assert same(seeds.choices(seed), by_address(seed, 2**32))
    assert same(seeds.choices_beside(seed, PILOT, SEQUENCES), by_address(seed, 2**32, 64))
    assert same(seeds.choices_beside(seed, RANKS, GROUPS), by_address(seed, 2**33, 8))
    assert same(seeds.generator(seed, 4, 2), by_address(seed, 4, 2))


def test_some_numbers_as_they_are_drawn() -> None:
    """Written down, so that a change of NumPy shows as well."""
    assert seeds.choices(3).integers(1000, size=4).tolist() == [449, 962, 729, 759]
    assert seeds.noise(3, 1, 2).integers(1000, size=4).tolist() == [505, 285, 924, 308]
    assert seeds.episode_seeds(3, 1, 2, range(2, 5)) == [458579511, 179079032, 1553920588]
    later = seeds.episode_seeds(3, 1, 2, range(2, 5), attempt=2)
    assert later == [1109227805, 215752781, 137767241]


# ---------------------------------------------------------------- parts and attempts


@given(cuts=st.sets(st.integers(1, 29)), attempt=st.integers(0, 4))
@SETTINGS
def test_the_seeds_of_parts_are_those_of_the_whole(cuts: set[int], attempt: int) -> None:
    whole = unit(30, 3, 1, seed=7, attempt=attempt)
    edges = [0, *sorted(cuts), 30]
    parts = [whole.part(a, b) for a, b in pairwise(edges)]
    assert [seed for part in parts for seed in part.episode_seeds()] == whole.episode_seeds()


def test_seeds_differ_by_place_and_from_the_third_attempt() -> None:
    def drawn_at(batch: int, index: int, attempt: int) -> list[int]:
        return unit(5, batch, index, attempt=attempt).episode_seeds()

    assert drawn_at(0, 0, 0) == drawn_at(0, 0, 1)
    drawn = [drawn_at(0, 0, 0), drawn_at(1, 0, 0), drawn_at(0, 1, 0)]
    drawn += [drawn_at(0, 0, attempt) for attempt in (2, 3, 4)]
    assert len({seed for each in drawn for seed in each}) == 30
    assert all(0 <= seed < 2**31 for each in drawn for seed in each)


# ---------------------------------------------------------------- no address twice

Addresses = list[tuple[int, ...]]

ATTEMPTS = [(), *((attempt,) for attempt in range(SAME_NOISE, 9))]
LEARNER: Addresses = [(b, r, *a) for b in range(9) for r in range(9) for a in ATTEMPTS]
PILOTS: Addresses = [(PILOT, r, *a) for r in range(SEQUENCES) for a in ATTEMPTS]
RANKED: Addresses = [(RANKS + n, r, *a) for n in range(9) for r in range(GROUPS) for a in ATTEMPTS]
BESIDE: Addresses = [(PILOT, SEQUENCES), (RANKS, GROUPS)]
CHOICES_OF_THE_LEARNER: Addresses = [(PILOT,)]


EVERYTHING = [*LEARNER, *PILOTS, *RANKED, *BESIDE, *CHOICES_OF_THE_LEARNER]


def words(address: Sequence[int]) -> tuple[int, ...]:
    """The first numbers of the stream at an address."""
    return tuple(seeds.generator(0, *address).integers(2**63, size=4).tolist())


def test_no_address_is_handed_out_twice() -> None:
    assert len(set(EVERYTHING)) == len(EVERYTHING)


def test_every_address_has_a_stream_of_its_own() -> None:
    assert len({words(address) for address in EVERYTHING}) == len(EVERYTHING)


@given(st.lists(st.lists(st.integers(0, 2**64 - 1)), max_size=4, unique_by=tuple))
@SETTINGS
def test_different_addresses_are_different_streams(addresses: list[list[int]]) -> None:
    assert len({words(address) for address in addresses}) == len(addresses)


@pytest.mark.parametrize(
    ("one", "other"),
    [((PILOT,), (0, 1)), ((PILOT, 7), (0, 1, 7)), ((RANKS + 3, 5), (3, 2, 5)), ((), (0,))],
)
def test_addresses_that_need_the_same_words_are_told_apart(
    one: tuple[int, ...], other: tuple[int, ...]
) -> None:
    assert words(one) != words(other)

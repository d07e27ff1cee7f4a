"""The test that settles a merge: how often it errs, however often one looks, and what it is."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import special, stats

from samples import cloud, vectors
from surepath.inference.comparison import Apart, Comparison
from surepath.inference.separation import (
    BISECTIONS,
    MOST_GROWTH,
    Merges,
    Separation,
    as_total_variation,
    in_noise_units,
    settle_merges,
    ways_through,
)
from surepath.inference.symbols import SHARE, Symbols
from surepath.inference.tuning import TUNING
from surepath.inference.vector_samples import vector_samples
from surepath.inference.vectors import NOISELESS
from surepath.system import FloatArray

DELTA = 0.05
SEPARATION = 0.3
STREAMS = 1000
SURE = 1e-6  # probability with which a statistical threshold below may be missed by a sound law
ONE_NODE = np.zeros((1, 1), dtype=np.int64)  # the only way through a window of one node
DECLARED = Separation(SEPARATION, math.log(1 / DELTA))


def ever_passed(evidence: FloatArray) -> int:
    """Streams [streams, looks] in which the separation is excluded at some look."""
    return int((evidence >= math.log(1 / DELTA)).any(axis=1).sum())


MOST = stats.binom.isf(SURE, STREAMS, DELTA)  # errors of a sound test in so many streams
FEW = stats.binom.isf(SURE, STREAMS, 0.01)

# ---------------------------------------------------------------- symbols


def pair_of_laws(
    rng: np.random.Generator, n_symbols: int, sharpness: float, distance: float
) -> tuple[FloatArray, FloatArray]:
    """Two random laws whose total variation is the distance; the sharper, the fewer symbols."""
    half = n_symbols // 2
    common = rng.dirichlet(np.full(n_symbols, 1 / sharpness))
    one, other = np.zeros(n_symbols), np.zeros(n_symbols)
    one[:half] = rng.dirichlet(np.full(half, 1 / sharpness))
    other[half:] = rng.dirichlet(np.full(n_symbols - half, 1 / sharpness))
    laws = tuple((1 - distance) * common + distance * own for own in (one, other))
    assert np.abs(laws[0] - laws[1]).sum() / 2 == pytest.approx(distance)
    return laws


def growing_counts(rng: np.random.Generator, law: FloatArray, block: int, looks: int) -> FloatArray:
    """[streams, looks, 1, symbols], after one block more at each look."""
    blocks = rng.multinomial(block, law, size=(STREAMS, looks))
    return blocks.cumsum(axis=1)[:, :, None].astype(float)


def symbol_evidence(one: FloatArray, other: FloatArray, size: float = SEPARATION) -> FloatArray:
    apart = Symbols().apart(one, other, ONE_NODE)
    return Symbols().log_evidence(apart, size)[..., 0]


SIZES = list(product((4, 12), (0.1, 1.0, 5.0)))


def apart_of(distance: FloatArray, variance: FloatArray, freedom: FloatArray) -> Apart:
    """Two samples so far apart, whatever the direction, with nothing too rare to be seen."""
    return Apart(distance, variance, distance**2 / variance, freedom, np.zeros_like(distance))


@pytest.mark.parametrize("blocks", [(4, 4), (2, 20)], ids=["equal", "unequal"])
@pytest.mark.parametrize(("n_symbols", "sharpness"), SIZES)
def test_symbols_at_the_separation_seldom_pass(
    n_symbols: int, sharpness: float, blocks: tuple[int, int]
) -> None:
    """However often one looks: with probability delta at most."""
    rng = np.random.default_rng([1, n_symbols, int(10 * sharpness), blocks[0]])
    laws = pair_of_laws(rng, n_symbols, sharpness, SEPARATION)
    one, other = (growing_counts(rng, *pair, 100) for pair in zip(laws, blocks, strict=True))
    assert ever_passed(symbol_evidence(one, other)) <= MOST


@pytest.mark.parametrize("n_symbols", [2, 4])
def test_symbols_at_the_separation_seldom_pass_beside_a_pool_that_was_read_before(
    n_symbols: int,
) -> None:
    """Laws of which one set of symbols shows all: there the test is least conservative."""
    rng = np.random.default_rng([2, n_symbols])
    shift = np.repeat([SEPARATION, -SEPARATION], n_symbols // 2) / n_symbols
    laws = 1 / n_symbols + shift, 1 / n_symbols - shift
    assert np.abs(laws[0] - laws[1]).sum() / 2 == pytest.approx(SEPARATION)
    one = growing_counts(rng, laws[0], 2, 200)
    for read in (40, 400):
        pool = growing_counts(rng, laws[1], read, 1)
        passed = ever_passed(symbol_evidence(one, pool))
        assert passed <= MOST
    assert ever_passed(symbol_evidence(one, growing_counts(rng, laws[1], 2, 200))) <= MOST
    # And if they were half as far apart, far more would: the test can fail.
    near = growing_counts(rng, (laws[0] + laws[1]) / 2, 2, 200)
    assert ever_passed(symbol_evidence(one, near)) > MOST


@pytest.mark.parametrize(("n_symbols", "sharpness"), SIZES)
def test_symbols_of_one_law_pass_with_enough_readings(n_symbols: int, sharpness: float) -> None:
    """As many as it takes with the distance that samples of one law have: sqrt(D / n) at most."""
    rng = np.random.default_rng([3, n_symbols, int(10 * sharpness)])
    law = pair_of_laws(rng, n_symbols, sharpness, SEPARATION)[0]
    # E passes when bet / v (separation - distance - bet / 2) >= ln(1 / delta), v = 1 / (2 n).
    n = 100 * n_symbols
    samples = rng.multinomial(n, law, size=(2, STREAMS, 1)).astype(float)
    assert STREAMS - ever_passed(symbol_evidence(*samples)[:, None]) <= FEW


def test_the_evidence_of_symbols_against_its_formula() -> None:
    rng = np.random.default_rng(4)
    one, other = rng.integers(1, 50, size=(2, 20, 1, 5)).astype(float)
    n, m = one.sum(axis=(1, 2)), other.sum(axis=(1, 2))
    distance = np.abs(one[:, 0] / n[:, None] - other[:, 0] / m[:, None]).sum(axis=1) / 2
    variance = (1 / n + 1 / m) / 4
    squared = np.array([chi_square_of(*pair) for pair in zip(one[:, 0], other[:, 0], strict=True)])
    for size in (0.1, 0.3, 0.9):
        bet = SHARE * size / variance
        by_set = bet * (size - distance) - bet**2 * variance / 2
        shift = size**2 / variance
        by_square = stats.chi2.logpdf(squared, 4) - stats.ncx2.logpdf(squared, 4, shift)
        expected = np.maximum(by_set, by_square)
        assert symbol_evidence(one, other, size) == pytest.approx(expected, rel=1e-6)


def chi_square_of(one: FloatArray, other: FloatArray) -> float:
    """Pearson's statistic of the table of both."""
    return float(stats.chi2_contingency(np.array([one, other]), correction=False).statistic)


def test_symbols_that_are_rare_count_as_one_and_may_hide_a_difference() -> None:
    """Two are expected less than once in the smaller sample; what both show of them is left out."""
    one, other = np.array([30.0, 9.0, 0.0, 1.0]), np.array([300.0, 96.0, 3.0, 1.0])
    apart = Symbols().apart(one[None], other[None], ONE_NODE)
    together = chi_square_of(np.array([30.0, 9.0, 1.0]), np.array([300.0, 96.0, 4.0]))
    assert apart.squared == pytest.approx([together])
    assert apart.freedom.tolist() == [2]
    assert apart.rare == pytest.approx([4 / 400])
    hidden = apart._replace(rare=np.array([0.3]), distance=np.array([0.3]))
    assert Symbols().log_evidence(hidden, 0.3)[0] <= 0


def test_readings_are_foreseen_that_settle_a_merge() -> None:
    """Of samples that are as far apart as noise makes them, and of those farther apart: never."""
    law, separation = (0.5, 0.3, 0.2), Separation(0.3, math.log(20))
    one, other = (np.array([law]) * n for n in (20, 2000))
    one[0] += [2.0, -1.0, -1.0]
    apart = Symbols().apart(one, other, ONE_NODE)
    assert separation.log_evidence(Symbols(), apart)[0] < separation.evidence
    times = separation.growth(Symbols(), apart)
    assert 1 < times[0] < MOST_GROWTH
    then, less = apart.with_readings(times), apart.with_readings(times * 0.98)
    assert separation.log_evidence(Symbols(), then)[0] >= separation.evidence
    assert separation.log_evidence(Symbols(), less)[0] < separation.evidence
    unread = apart._replace(variance=np.array([np.inf]))
    assert separation.growth(Symbols(), unread)[0] == pytest.approx(MOST_GROWTH, rel=1e-3)


# ---------------------------------------------------------------- vectors

NOISES = {"known": (1.0, 1.0), "unequal": (1.0, 2.0)}  # standard deviations of one reading


def growing_sums(
    rng: np.random.Generator, mean: FloatArray, noise: float, block: int, looks: int
) -> FloatArray:
    """[streams, looks, 1, 2 + 2 d] in units in which the noise that all places share is 1."""
    d = len(mean)
    size = (STREAMS, looks, d)
    sums = rng.normal(scale=noise * math.sqrt(block), size=size) + block * mean
    # Scatter within a block, and what the mean of the block adds to it.
    within = noise**2 * (rng.chisquare(block - 1, size=size) if block > 1 else np.zeros(size))
    squares = within + sums**2 / block
    counts = np.full((STREAMS, looks, 1), float(block))
    return np.concatenate([counts, sums, squares, counts], axis=2).cumsum(axis=1)[:, :, None]


def with_known_noise(samples: FloatArray) -> FloatArray:
    """The same counts and sums; squares as if every place had shown exactly the shared noise."""
    d = samples.shape[-1] // 2 - 1
    count, sums = samples[..., :1], samples[..., 1 : 1 + d]
    return np.concatenate([count, sums, sums**2 / count + count - 1, count], axis=-1)


def vector_evidence(
    one: FloatArray, other: FloatArray, d: int, size: float | None = None
) -> FloatArray:
    size = in_noise_units(SEPARATION) if size is None else size
    compare = vectors(d)
    return compare.log_evidence(compare.apart(one, other, ONE_NODE), size)[..., 0]


@pytest.mark.parametrize("blocks", [(4, 4), (3, 12)], ids=["equal", "unequal"])
@pytest.mark.parametrize("d", [1, 3, 20])
def test_vectors_at_the_separation_seldom_pass(d: int, blocks: tuple[int, int]) -> None:
    rng = np.random.default_rng([5, d, blocks[0]])
    apart = rng.normal(size=d)
    apart *= in_noise_units(SEPARATION) / np.linalg.norm(apart)
    one = with_known_noise(growing_sums(rng, np.zeros(d), 1.0, blocks[0], 100))
    other = with_known_noise(growing_sums(rng, apart, 1.0, blocks[1], 100))
    assert ever_passed(vector_evidence(one, other, d)) <= MOST
    near = with_known_noise(growing_sums(rng, apart / 2, 1.0, blocks[1], 100))
    assert ever_passed(vector_evidence(one, near, d)) > MOST


@pytest.mark.parametrize("noises", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("d", [1, 3, 20])
def test_vectors_whose_noise_is_estimated_seldom_pass(d: int, noises: tuple[float, float]) -> None:
    """Each place has its own noise: the separation is in units of what both show together."""
    rng = np.random.default_rng([6, d, int(noises[1])])
    unit = math.sqrt((noises[0] ** 2 + noises[1] ** 2) / 2)
    apart = np.zeros(d)
    apart[0] = unit * in_noise_units(SEPARATION)
    # Units of the noise that all places of the level share: here of these two.
    one = growing_sums(rng, np.zeros(d), noises[0] / unit, 4, 100)
    other = growing_sums(rng, apart / unit, noises[1] / unit, 4, 100)
    assert ever_passed(vector_evidence(one, other, d)) <= MOST


@pytest.mark.parametrize("noises", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("d", [1, 3, 20])
def test_vectors_of_one_law_pass_with_enough_readings(d: int, noises: tuple[float, float]) -> None:
    rng = np.random.default_rng([7, d, int(noises[1])])
    one, other = (growing_sums(rng, np.zeros(d), noise, 250 + 20 * d, 1) for noise in noises)
    assert STREAMS - ever_passed(vector_evidence(one, other, d)) <= FEW


def test_features_that_move_together_seldom_pass() -> None:
    """Landmarks of a kernel around one number: many features, few directions that have noise.

    Two states at the separation, of which one is also read at another place.
    """
    rng, streams = np.random.default_rng(11), 200
    marks = np.linspace(-3, 4, 32)
    separation = Separation(in_noise_units(SEPARATION), math.log(1 / DELTA))
    evidence = np.zeros((streams, 12))
    for stream in range(streams):
        readings = rng.normal(size=(3, 600)) + np.array([[0.0], [separation.size], [0.0]])
        features = np.exp(-((readings[..., None] - marks) ** 2) / 2)
        for look in range(12):
            seen = [[cloud(rows[: 50 * (look + 1)])] for rows in features]
            samples, compare = vector_samples(seen, len(marks))
            apart = compare.apart(samples[0], samples[1:], ONE_NODE)
            evidence[stream, look], same = separation.log_evidence(compare, apart)[:, 0]
        assert same > separation.evidence
    assert ever_passed(evidence) <= stats.binom.isf(SURE, streams, DELTA)


def test_the_evidence_of_vectors_has_mean_one_at_the_separation() -> None:
    """A ratio of likelihoods: its mean is 1 at every number of readings, not only below it."""
    rng, n, size = np.random.default_rng(8), 10, 0.5
    for d in (1, 3):
        x = rng.normal(size=(40_000, d)) * math.sqrt(2 / n)
        x[:, 0] += size
        distance = np.linalg.norm(x, axis=1)
        apart = apart_of(distance, np.full(len(x), 2 / n), np.full(len(x), d))
        ratios = np.exp(vectors(d).log_evidence(apart, size))
        error = stats.norm.isf(SURE) * ratios.std() / math.sqrt(len(x))
        assert abs(ratios.mean() - 1) < error < 0.1


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("d", [1, 2, 3, 20, 64])
def test_the_evidence_of_vectors_against_chi_square_laws(d: int, length: int) -> None:
    """Central over noncentral density of the squared distance, in units of its noise."""
    freedom = d * length
    for shift, q in product((0.01, 1.0, 5.0, 60.0), (1e-9, 0.1, 1.0, 10.0, 100.0)):
        variance = 0.02
        apart = apart_of(*(np.array([x]) for x in (math.sqrt(q * variance), variance, freedom)))
        found = vectors(d).log_evidence(apart, math.sqrt(shift * variance))[0]
        series = special.hyp0f1(freedom / 2, shift * q / 4)
        assert found == pytest.approx(shift / 2 - math.log(series), rel=1e-9, abs=1e-9)
        densities = stats.chi2.logpdf(q, freedom), stats.ncx2.logpdf(q, freedom, shift)
        if np.isfinite(densities).all():
            assert found == pytest.approx(densities[0] - densities[1], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("d", [1, 2, 7, 64, 500, 2000])
def test_the_evidence_of_vectors_falls_with_the_distance_whatever_its_size(d: int) -> None:
    """No overflow, and no step where another formula takes over."""
    for shift in (1e-8, 1e-3, 1.0, 1e3, 1e6):
        variance = 1e-3
        distance = np.sqrt(np.geomspace(1e-12, 1e7, 4000) * variance)
        apart = apart_of(distance, np.full_like(distance, variance), np.full_like(distance, d))
        found = vectors(d).log_evidence(apart, math.sqrt(shift * variance))
        assert np.isfinite(found).all()
        assert found[0] == pytest.approx(shift / 2, rel=1e-6, abs=1e-12)
        steps = np.diff(found)
        assert (steps <= 1e-9 * np.maximum(1.0, np.abs(found[1:]))).all()
        # By the exact law its slope in q is that of -ln 0F1: never more than shift / (2 d) of q.
        q = distance**2 / variance
        assert (-steps <= np.diff(q) * shift / (2 * d) * 1.001 + 1e-9 * np.abs(found[1:])).all()


# ---------------------------------------------------------------- units


@pytest.mark.parametrize("separation", [0.01, 0.3, 0.9, 0.999])
def test_noise_units_are_the_distance_of_gaussians_of_that_total_variation(
    separation: float,
) -> None:
    distance = in_noise_units(separation)
    assert as_total_variation(distance) == pytest.approx(separation)
    points = np.linspace(-12, 12 + distance, 200_001)
    gap = np.abs(stats.norm.pdf(points) - stats.norm.pdf(points, distance))
    assert gap.sum() * (points[1] - points[0]) / 2 == pytest.approx(separation, abs=1e-4)


# ---------------------------------------------------------------- which separation is excluded


@pytest.mark.parametrize(("comparison", "size"), [(Symbols(), 0.3), (vectors(3), 0.77)])
def test_the_smallest_separation_that_is_excluded(comparison: Comparison, size: float) -> None:
    separation = Separation(size, math.log(20))
    distance, variance = np.array([0.0, 0.02, 0.05, 0.1]), np.array([1e-4, 1e-4, 1e-3, 1e-3])
    apart = apart_of(distance, variance, np.full(4, 3.0))
    found = separation.excluded(comparison, apart)
    assert (comparison.log_evidence(apart, found) >= separation.evidence).all()
    less = found - size / 2**BISECTIONS
    assert (comparison.log_evidence(apart, less) < separation.evidence).all()
    assert (np.diff(found) > 0).all()


def test_of_many_merges_the_one_that_excludes_least_counts() -> None:
    separation = Separation(0.3, math.log(20))
    distance, variance = np.array([0.0, 0.02, 0.0, 0.3]), np.array([1e-4, 1e-3, np.inf, 1e-3])
    apart = apart_of(distance, variance, np.zeros(4))
    evidence = np.array([*Symbols().log_evidence(apart, 0.3)[:2], np.inf, 0.0])
    way, read = np.zeros(4, dtype=np.int64), np.array([100.0, 100.0, np.inf, 100.0])
    merges = Merges(evidence, apart, way, read, read, np.zeros(4, dtype=bool))
    each = separation.excluded(Symbols(), apart)
    # The third founds its state, and the last is not settled: they exclude nothing.
    assert merges.tested.tolist() == [True, True, False, True]
    assert merges.excluded(Symbols(), separation) == max(each[:2])
    assert Merges.none(3).excluded(Symbols(), separation) == 0


# ---------------------------------------------------------------- the merges of a state


def counts_of(*laws: tuple[float, ...], n: int) -> FloatArray:
    """Samples that show their laws exactly, [G, 1, D]."""
    return np.array(laws)[:, None] * n


def settled(samples: FloatArray, labels: list[int], separation: Separation = DECLARED) -> Merges:
    order = list(range(len(samples)))
    return settle_merges(samples, np.array(labels), order, Symbols(), ONE_NODE, separation)


def test_two_laws_in_one_state_do_not_pass_two_against_two() -> None:
    """Held against all the rest, each would be compared with a mixture that is near it."""
    one, other = (0.65, 0.35), (0.35, 0.65)
    samples = counts_of(one, one, other, other, n=3000)
    merges = settled(samples, [0, 0, 0, 0])
    passed = merges.evidence >= DECLARED.evidence
    assert passed.tolist() == [True, True, False, False]
    assert np.isinf(merges.evidence[0])
    # The others were compared with both samples that had passed.
    assert merges.rest.tolist()[2:] == [6000, 6000]
    assert merges.apart.distance[2:] == pytest.approx([0.3, 0.3])
    rest = samples.sum(axis=0) - samples
    assert (symbol_evidence(samples, rest) >= DECLARED.evidence).all()


def test_what_passes_first_helps_the_others() -> None:
    """A sample too small to pass beside the founder passes beside all that passed before."""
    law = (0.5, 0.5)
    samples = counts_of(law, law, law, n=1) * np.array([60.0, 58.0, 21.0])[:, None, None]
    assert symbol_evidence(samples[0], samples[2]) < DECLARED.evidence
    merges = settled(samples, [0, 0, 0], Separation(0.3, math.log(20)))
    assert merges.evidence[2] == pytest.approx(
        float(symbol_evidence(samples[0] + samples[1], samples[2]))
    )


def test_states_do_not_touch_each_other() -> None:
    one, other = (0.65, 0.35), (0.35, 0.65)
    samples = counts_of(one, other, one, other, n=3000)
    merges = settled(samples, [0, 1, 0, 1])
    assert np.isinf(merges.evidence).tolist() == [True, True, False, False]
    assert (merges.evidence >= DECLARED.evidence).all()
    assert merges.apart.distance[2:] == pytest.approx([0, 0])


def test_the_first_in_the_order_founds_its_state() -> None:
    samples = counts_of((0.5, 0.5), (0.5, 0.5), (0.5, 0.5), n=100)
    merges = settle_merges(
        samples, np.zeros(3, dtype=np.int64), [2, 0, 1], Symbols(), ONE_NODE, DECLARED
    )
    assert np.isinf(merges.evidence).tolist() == [False, False, True]


# ---------------------------------------------------------------- windows of several nodes


@pytest.mark.parametrize(("n_actions", "length"), [(1, 1), (3, 1), (2, 2), (2, 3), (3, 3), (1, 4)])
def test_ways_pass_the_nodes_of_their_actions(n_actions: int, length: int) -> None:
    def window(prefix: tuple[int, ...], depth: int) -> list[tuple[int, ...]]:
        below = [window((*prefix, a), depth - 1) for a in range(n_actions)] if depth > 1 else []
        return [prefix, *(place for part in below for place in part)]

    places = window((), length)
    actions, nodes = ways_through(n_actions, length)
    assert actions == list(product(range(n_actions), repeat=length - 1))
    assert nodes.shape == (n_actions ** (length - 1), length)
    for taken, passed in zip(actions, nodes, strict=True):
        assert [places[i] for i in passed] == [taken[:step] for step in range(length)]


def window_samples() -> FloatArray:
    """Two samples of a node and what two actions lead to: alike here, and not after action 1."""
    alike, other = (0.5, 0.5), (0.8, 0.2)
    return np.array(
        [
            np.array([alike, alike, alike]) * [[3000], [1000], [1000]],
            np.array([alike, alike, other]) * [[2000], [1500], [500]],
        ]
    )


def test_every_way_through_a_window_has_to_pass() -> None:
    ways = ways_through(2, 2)[1]
    samples = window_samples()
    order, labels = [0, 1], np.zeros(2, dtype=np.int64)
    merges = settle_merges(samples, labels, order, Symbols(), ways, DECLARED)
    assert merges.way[1] == 1
    assert merges.apart.distance[1] == pytest.approx(0.3)
    variance = (1 / 3000 + 1 / 2000 + 1 / 1000 + 1 / 500) / 4
    assert merges.apart.variance[1] == pytest.approx(variance)
    assert merges.evidence[1] < DECLARED.evidence
    assert (merges.own[1], merges.rest[1]) == (500, 1000)
    # With what is read after action 1 alike, it passes.
    samples[1, 2] = (250, 250)
    passed = settle_merges(samples, labels, order, Symbols(), ways, DECLARED)
    assert passed.evidence[1] >= DECLARED.evidence


def test_a_way_that_was_not_read_excludes_nothing() -> None:
    ways = ways_through(2, 2)[1]
    samples = window_samples()
    samples[1, 2] = 0
    labels = np.zeros(2, dtype=np.int64)
    for separation in (DECLARED, Separation(math.inf, math.log(20))):
        merges = settle_merges(samples, labels, [0, 1], Symbols(), ways, separation)
        assert merges.evidence[1] == 0
        assert merges.way[1] == 1
        assert merges.own[1] == 0


@pytest.mark.parametrize("halves", [(0.15, 0.15), (0.3, 0.0)])
def test_windows_at_the_separation_seldom_pass(halves: tuple[float, float]) -> None:
    """The distance may lie in one step, or be made up of both."""
    rng = np.random.default_rng([9, int(100 * halves[0])])
    nodes = list[tuple[FloatArray, FloatArray]]()
    for distance in halves:
        laws = (0.5 + distance / 2, 0.5 - distance / 2), (0.5 - distance / 2, 0.5 + distance / 2)
        one, other = (growing_counts(rng, np.array(law), 4, 150) for law in laws)
        nodes.append((one, other))
    one, other = (np.concatenate(side, axis=2) for side in zip(*nodes, strict=True))
    apart = Symbols().apart(one, other, np.array([[0, 1]]))
    assert ever_passed(Symbols().log_evidence(apart, SEPARATION)[..., 0]) <= MOST


@pytest.mark.parametrize("shares", [(0.5, 0.5), (1.0, 0.0)])
def test_windows_of_vectors_at_the_separation_seldom_pass(shares: tuple[float, float]) -> None:
    rng, d = np.random.default_rng([10, int(2 * shares[0])]), 2
    nodes = list[tuple[FloatArray, FloatArray]]()
    for share in shares:
        mean = np.array([in_noise_units(SEPARATION) * math.sqrt(share), 0.0])
        pair = (growing_sums(rng, place, 1.0, 4, 100) for place in (np.zeros(d), mean))
        one, other = (with_known_noise(sums) for sums in pair)
        nodes.append((one, other))
    one, other = (np.concatenate(side, axis=2) for side in zip(*nodes, strict=True))
    compare = vectors(d, 2)
    apart = compare.apart(one, other, np.array([[0, 1]]))
    evidence = compare.log_evidence(apart, in_noise_units(SEPARATION))[..., 0]
    assert ever_passed(evidence) <= MOST


# ---------------------------------------------------------------- readings without noise


def test_exact_readings_say_with_one_reading_which_state_it_is() -> None:
    exact = Separation(math.inf, math.log(20))
    samples = np.zeros((3, 1, 2))
    samples[:2, 0, 0] = 1  # one reading each; the third was never read
    for comparison, values in ((Symbols(), samples), (vectors(2), np.zeros((3, 1, 5)))):
        if comparison.counts(values).max() == 0:
            values[:2, 0, 0] = 1
        apart = comparison.apart(values[0], values[1:], ONE_NODE)
        assert exact.log_evidence(comparison, apart)[:, 0].tolist() == [math.inf, 0.0]


def test_the_shared_noise_counts_as_readings() -> None:
    """So that a handful of readings that happen to agree is not taken for a place without noise."""
    few = np.array([[3.0, 0.0, 0.0]])  # three readings of exactly 0
    apart = vectors(1).apart(few, np.array([[1000.0, 0.0, 999.0]]), ONE_NODE)
    noise = TUNING.shared_noise / (2 + TUNING.shared_noise)
    assert noise > 0.5
    assert apart.distance[0] == 0
    assert apart.variance[0] == pytest.approx(1 / 3 + 1 / 1000)


def test_noise_that_rounding_took_away_is_the_least_there_is() -> None:
    """Exact readings, whose scatter comes out just as far below zero as is added for rounding."""
    plain = vectors(2)
    size = 2 + 2 * 2
    read, exact = np.zeros((1, size + 4)), np.zeros((1, size + 4))
    for sample in (read, exact):
        sample[0, 0] = 2
        sample[0, 5] = 2
    exact[0, [3, size]] = -2 * NOISELESS  # the square of the first feature, and its product
    read[0, [4, size + 3]] = 2.0
    exact[0, 2] = 4.0  # the second features differ by two standard deviations, the first ones not
    exact[0, [4, size + 3]] = 8.0
    found = plain.apart(read, exact, ONE_NODE)
    assert np.isfinite(found.distance).all()
    assert 0 < float(found.distance[0]) < 10
    further = exact.copy()
    further[0, 1] = 1e-3  # nothing beside the noise of the second, but the first has none
    further[0, [3, size]] += 2 * (0.5e-3) ** 2
    assert float(plain.apart(read, further, ONE_NODE).distance[0]) > 3

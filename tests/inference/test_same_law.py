"""Same law or not: the odds against direct integration, and how they grow with the readings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from samples import cloud, vectors
from surepath.inference.symbols import Symbols, seen_symbols
from surepath.inference.tuning import TUNING
from surepath.inference.vector_samples import vector_samples
from surepath.readings.digests import Cloud

SEEDS = st.integers(0, 2**32 - 1)
COUNTS = st.lists(st.integers(0, 500), min_size=3, max_size=3)
ONE_NODE = np.zeros((1, 1), dtype=np.int64)  # the only way through a window of one node
SURE = 1e-6  # probability with which a statistical threshold below may be missed by a sound law


def odds(one: list[float] | np.ndarray, other: list[float] | np.ndarray) -> float:
    """Of two samples of counts read at one node."""
    return float(Symbols().log_odds(np.array([one], dtype=float), np.array([other], dtype=float)))


def compared(groups: list[np.ndarray], one: int = 0, other: int = 1) -> float:
    """Log-odds of two groups of readings, with the noise that all of them show."""
    samples, compare = vector_samples([[cloud(rows)] for rows in groups], groups[0].shape[1])
    return float(compare.log_odds(samples[one], samples[other]))


def place(count: int, mean: float | list[float] | np.ndarray, noise: float = 1.0) -> np.ndarray:
    """A sample of one node whose own noise is estimated to be exactly this, in every feature.

    The estimate counts the shared noise, which is 1, as so many readings more.
    """
    means = np.atleast_1d(np.array(mean, dtype=float))
    shared = TUNING.shared_noise
    scatter = noise * (count - 1 + shared) - shared
    squares = count * means**2 + scatter
    return np.concatenate([[count], count * means, squares, [count]])[None]


# ---------------------------------------------------------------- discrete observations


def beta_mean(heads: int, tails: int) -> float:
    """Integral of p^heads (1 - p)^tails against Beta(1/2, 1/2); p = sin^2(t) removes its poles."""
    return integrate.quad(
        lambda t: 2 / math.pi * math.sin(t) ** (2 * heads) * math.cos(t) ** (2 * tails),
        0,
        math.pi / 2,
        epsabs=0,
        epsrel=1e-10,
        limit=200,
    )[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [((0, 1), (1, 0)), ((3, 1), (2, 5)), ((10, 0), (0, 10)), ((7, 7), (8, 6)), ((40, 2), (35, 4))],
)
def test_two_symbols_against_integration(one: tuple[int, int], other: tuple[int, int]) -> None:
    same = beta_mean(one[0] + other[0], one[1] + other[1])
    different = beta_mean(*one) * beta_mean(*other)
    assert odds(list(one), list(other)) == pytest.approx(math.log(same / different), abs=1e-8)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(one=COUNTS, other=COUNTS, third=COUNTS)
def test_laws_of_the_odds(one: list[int], other: list[int], third: list[int]) -> None:
    a, b, c = np.array(one), np.array(other), np.array(third)
    assert odds(a, b) == pytest.approx(odds(b, a), abs=1e-9)
    assert odds(a, np.zeros(3)) == pytest.approx(0, abs=1e-9)
    # Pooling in any order says the same: the three together against the three apart.
    assert odds(a, b) + odds(a + b, c) == pytest.approx(odds(b, c) + odds(a, b + c), abs=1e-8)
    # Names of symbols do not matter.
    assert odds(a[::-1], b[::-1]) == pytest.approx(odds(a, b), abs=1e-9)


def test_positions_of_a_window_add_up() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(30, size=(2, 4, 3)).astype(float)
    parts = [odds(x, y) for x, y in zip(one, other, strict=True)]
    assert Symbols().log_odds(one, other) == pytest.approx(sum(parts))
    many = rng.integers(30, size=(5, 4, 3)).astype(float)
    assert Symbols().log_odds(many, other).tolist() == [
        pytest.approx(float(Symbols().log_odds(row, other))) for row in many
    ]


def expected_lean(n: int, dimension: int) -> float:
    """What two samples of n from one law give on average, to first order.

    Laplace's method with the Jeffreys prior: a log marginal is the largest log likelihood, minus
    (D - 1)/2 ln(n / 2 pi), plus ln(Gamma(D/2) / pi^(D/2)); twice the loss of likelihood by one law
    for both is chi-square with D - 1 degrees of freedom.
    """
    freedom = dimension - 1
    constant = dimension / 2 * math.log(math.pi) - special.gammaln(dimension / 2)
    return freedom / 2 * (math.log(n / 2 / (2 * math.pi)) - 1) + constant


@pytest.mark.parametrize("law", [(0.3, 0.7), (0.2, 0.5, 0.3), (0.1, 0.2, 0.3, 0.4)])
def test_equal_laws_are_believed_more_and_more(law: tuple[float, ...]) -> None:
    rng, streams = np.random.default_rng(1), 1000
    means = []
    for n in (10**3, 10**5, 10**7):
        pairs = rng.multinomial(n, law, size=(2, streams, 1)).astype(float)
        found = Symbols().log_odds(*pairs)
        # chi-square / 2 has variance (D - 1) / 2.
        error = stats.norm.isf(SURE) * math.sqrt((len(law) - 1) / 2 / streams)
        assert abs(found.mean() - expected_lean(n, len(law))) < error + 10 / n
        means.append(found.mean())
    assert 0 < means[0] < means[1] < means[2]


def test_noise_seldom_speaks_for_a_new_state() -> None:
    """Odds below 0 take a chi-square beyond twice the lean: its exact tail bounds their number."""
    rng, n, streams = np.random.default_rng(2), 10_000, 4000
    pairs = rng.multinomial(n, [0.4, 0.35, 0.25], size=(2, streams, 1)).astype(float)
    wrong = int((Symbols().log_odds(*pairs) < 0).sum())
    tail = stats.chi2.sf(2 * (expected_lean(n, 3) + 1), df=2)
    assert tail < 0.001
    assert wrong <= stats.binom.isf(SURE, streams, 1.1 * tail)


@pytest.mark.parametrize(("p", "q"), [([0.3, 0.7], [0.4, 0.6]), ([0.2, 0.5, 0.3], [0.4, 0.3, 0.3])])
def test_different_laws_are_refuted_in_proportion(
    p: tuple[float, ...], q: tuple[float, ...]
) -> None:
    """Per reading the odds tend to minus twice the Jensen-Shannon divergence."""
    rng = np.random.default_rng(3)
    a, b = np.array(p), np.array(q)
    middle = (a + b) / 2
    rate = float((a * np.log(a / middle) + b * np.log(b / middle)).sum())
    scores = [np.log(a / middle), np.log(b / middle)]
    spread = math.sqrt(sum(law @ s**2 - (law @ s) ** 2 for law, s in zip((a, b), scores)))  # noqa: B905
    for n in (10**3, 10**4, 10**5, 10**6):
        one, other = (rng.multinomial(n, law).astype(float) for law in (a, b))
        error = stats.norm.isf(SURE) * spread / math.sqrt(n) + (len(p) * math.log(n) + 20) / n
        assert abs(odds(one, other) / n + rate) < error
    assert odds(one, other) < -1000


# ---------------------------------------------------------------- real features


def normal(x: float, variance: float) -> float:
    return math.exp(-(x**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def integrated(x: float, n: int, y: float, m: int, noises: tuple[float, float]) -> float:
    """Log-odds by integrating over both means: one of them anywhere, their difference by scales.

    noises: variances of one reading of each, in units of the noise that all places share.
    """
    a, b = noises[0] / n, noises[1] / m

    def likelihood(difference: float) -> float:
        # The common mean, anywhere with the same density, integrated out numerically.
        reach = 12 * math.sqrt(max(a, b)) + abs(x - y) + abs(difference)
        return integrate.quad(
            lambda mu: normal(x - mu, a) * normal(y - mu - difference, b),
            x - reach,
            x + reach,
            points=[x, y - difference],
            epsabs=0,
            epsrel=1e-9,
            limit=200,
        )[0]

    # Given the difference, x - y is normal around it: the second integral in its own scale.
    width = math.sqrt(a + b)
    different = sum(
        integrate.quad(
            lambda d, scale=scale: normal(d, scale) * likelihood(d),
            y - x - 10 * width,
            y - x + 10 * width,
            epsabs=0,
            epsrel=1e-7,
            limit=200,
        )[0]
        for scale in TUNING.difference_scales
    ) / len(TUNING.difference_scales)
    return math.log(likelihood(0.0) / different)


@pytest.mark.parametrize(
    ("x", "n", "y", "m", "noises"),
    [
        (0.2, 3, 0.4, 5, (1.0, 1.0)),
        (0.0, 10, 1.5, 4, (1.0, 1.0)),
        (5.0, 40, 5.1, 60, (1.0, 1.0)),
        (-1.0, 1, 1.0, 1, (1.0, 1.0)),
        (5.0, 40, 5.1, 60, (2.0, 0.5)),
        (0.0, 10, 1.5, 4, (0.8, 3.0)),
    ],
)
def test_one_dimension_against_integration(
    x: float, n: int, y: float, m: int, noises: tuple[float, float]
) -> None:
    """Also where one place has more noise than the other: each is compared with its own."""
    found = vectors(1).log_odds(place(n, x, noises[0]), place(m, y, noises[1]))
    assert float(found) == pytest.approx(integrated(x, n, y, m, noises), abs=1e-5)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(seed=SEEDS, d=st.integers(1, 4), n=st.integers(1, 1000), m=st.integers(1, 1000))
def test_laws_of_the_odds_of_vectors(seed: int, d: int, n: int, m: int) -> None:
    rng, compare = np.random.default_rng(seed), vectors(d, 2)
    means = rng.normal(size=(2, 2, d))
    one, other, equal = (
        np.concatenate([place(k, mean) for mean in rows])
        for k, rows in ((n, means[0]), (m, means[1]), (m, means[0]))
    )
    forth, back = compare.log_odds(one, other), compare.log_odds(other, one)
    assert float(forth) == pytest.approx(float(back), rel=1e-9, abs=1e-9)
    assert float(compare.log_odds(one, np.zeros_like(one))) == pytest.approx(0, abs=1e-12)
    assert float(compare.log_odds(one, equal)) >= 0
    assert float(compare.log_odds(one, equal)) >= float(forth)


def test_the_noise_of_a_place_is_its_own_once_it_was_read() -> None:
    """As in Welch's test: the variance of a mean is that place's scatter by its count.

    Until then it is the noise that all places share, which counts as so many readings.
    """
    rng, d = np.random.default_rng(0), 2
    wide = [rng.normal(size=(n, d)) * s for n, s in ((5000, 1.0), (5000, 1.0), (50, 5.0))]
    samples, _ = vector_samples([[cloud(rows)] for rows in wide], d)
    few = samples[2, 0]
    own = (few[3:5] - few[1:3] ** 2 / 50) / 49  # in units of the shared noise
    share = TUNING.shared_noise
    noise = own ** (49 / (49 + share))
    assert (noise > 10).all()  # about 25 times that of most readings, which is shared
    apart = vectors(d).apart(samples[0], samples[2], ONE_NODE)
    first = samples[0, 0]
    known = (first[3:5] - first[1:3] ** 2 / 5000) / 4999
    variance = known ** (4999 / (4999 + share)) / 5000 + noise / 50
    squared = ((first[1:3] / 5000 - few[1:3] / 50) ** 2 / variance).sum()
    assert apart.distance[0] ** 2 / apart.variance[0] == pytest.approx(squared)
    assert apart.variance[0] == pytest.approx(1 / 5000 + 1 / 50)


def rows_of(rng: np.random.Generator, d: int, n: int) -> list[np.ndarray]:
    """Readings of three places that share a noise which is not round."""
    mix = rng.normal(size=(d, d)) + 2 * np.eye(d)
    return [rng.normal(size=d) + rng.normal(size=(n, d)) @ mix.T for _ in range(3)]


def mahalanobis(groups: list[np.ndarray]) -> float:
    """Squared distance of the first two means, in units of the noise that all groups share."""
    d = groups[0].shape[1]
    samples, _ = vector_samples([[cloud(rows)] for rows in groups], d)
    means = samples[:, 0, 1 : 1 + d] / samples[:, 0, :1]
    return float(((means[0] - means[1]) ** 2).sum())


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_estimated_noise_is_whitened(d: int) -> None:
    """Units of single features never matter; turning them matters less, the more is read."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        few = rows_of(rng, d, 12)
        units = 10 ** rng.uniform(-1, 1, size=d)
        # Down to a billionth of the largest variance, which counts as none.
        assert compared([rows * units for rows in few]) == pytest.approx(compared(few), rel=1e-4)
        many = rows_of(rng, d, 20_000)
        turn = rng.normal(size=(d, d)) + 2 * np.eye(d)
        # The diagonal counts as d more readings: off by d of 60 000, times its condition.
        tolerance = 10 * d / 60_000 * np.linalg.cond(turn) ** 2
        turned = [rows @ turn.T for rows in many]
        assert mahalanobis(turned) == pytest.approx(mahalanobis(many), rel=tolerance)
        # Along other axes the noise of a place is another estimate, off by sqrt(2 / n) of it.
        tolerance += stats.norm.isf(SURE) * math.sqrt(2 / 20_000)
        assert compared(turned) == pytest.approx(compared(many), rel=tolerance)


def test_units_never_matter_however_different() -> None:
    """A feature in nanometres beside one in metres counts like any other."""
    few = rows_of(np.random.default_rng(0), 2, 12)
    assert compared([rows * [1.0, 1e-9] for rows in few]) == pytest.approx(compared(few), rel=1e-6)


@pytest.mark.parametrize("quiet", [1e-2, 1e-4])
def test_a_quiet_direction_is_seen_once_there_are_more_readings_than_dimensions(
    quiet: float,
) -> None:
    """Two features that move together: what they differ in has next to no noise."""
    rng, d, n = np.random.default_rng(3), 2, 2000
    turn = np.array([[1.0, 1.0], [quiet, -quiet]])
    means = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    groups = [(rng.normal(size=(n, d)) + mean) @ turn for mean in means]
    samples, compare = vector_samples([[cloud(rows)] for rows in groups], d)
    assert compare.shares == pytest.approx(1, abs=0.01)
    found = compare.apart(samples[0], samples[1:], ONE_NODE)
    assert found.freedom == pytest.approx(d, abs=0.02)
    # The noise of the distance is sqrt(2 / n) in each direction.
    assert found.distance[:, 0] == pytest.approx([0.0, 1.0], abs=5 * math.sqrt(2 / n))


def test_directions_without_noise_are_not_counted() -> None:
    """Sixty-four features of one number have few directions in which they move at all."""
    rng = np.random.default_rng(4)
    marks = np.linspace(-3, 3, 64)
    groups = [np.exp(-((rng.normal(size=(500, 1)) - marks) ** 2) / 2) for _ in range(4)]
    samples, compare = vector_samples([[cloud(rows)] for rows in groups], 64)
    found = compare.apart(samples[0], samples[1:], ONE_NODE)
    assert 5 < found.freedom[0, 0] < 25
    squares = found.distance**2 / found.variance
    assert (np.abs(squares - found.freedom) < 5 * np.sqrt(2 * found.freedom)).all()


@pytest.mark.parametrize("offset", [1.0, 1e3, 1e5])
def test_where_the_origin_lies_does_not_matter(offset: float) -> None:
    for seed in range(10):
        groups = rows_of(np.random.default_rng(seed), 3, 200)
        moved = compared([rows + offset for rows in groups])
        assert moved == pytest.approx(compared(groups), rel=1e-3)


def test_equal_means_are_believed_more_and_more_and_different_ones_refuted() -> None:
    """The odds of one scale s lean by d/2 ln(1 + s n/2), less at most half a chi-square."""
    rng, d, streams = np.random.default_rng(5), 3, 1000
    compare, means = vectors(d), []
    for n in (10**2, 10**4, 10**6):
        means_of = rng.normal(size=(2, streams, d)) / math.sqrt(n)
        pairs = [np.stack([place(n, x) for x in rows]) for rows in means_of]
        found = compare.log_odds(*pairs)
        lean = [d / 2 * math.log(1 + scale * n / 2) for scale in TUNING.difference_scales]
        # "Different" is a mixture: its density lies between its largest part and their mean.
        error = stats.norm.isf(SURE) * math.sqrt(d / 2 / streams)
        assert (
            min(lean) - d / 2 - error
            <= found.mean()
            <= min(lean) + math.log(len(TUNING.difference_scales)) + error
        )
        means.append(found.mean())
    assert 0 < means[0] < means[1] < means[2]
    for n in (10**2, 10**4, 10**6):
        one, other = place(n, np.zeros(d)), place(n, [1.0, 0.0, 0.0])
        # Exact means one noise apart: n/2 of them, halved, less what scales and lean give back.
        assert -n / 4 <= float(compare.log_odds(one, other)) <= -n / 4 + 2 * d * math.log(n) + 20


def test_readings_without_noise_are_told_apart() -> None:
    """A sensor that always shows the same: what is equal is the same, all else is not."""
    places = [np.tile(x, (8, 1)) for x in ([0.25, 0.5], [0.75, -0.25], [0.25, 0.5])]
    assert compared(places, 0, 2) > 0
    assert compared(places, 0, 1) < -100
    zeros = [np.zeros((8, 2)), np.ones((8, 2)), np.zeros((8, 2))]
    assert compared(zeros, 0, 2) > 0
    assert compared(zeros, 0, 1) < -100
    assert compared([zeros[0]] * 2) > 0


def test_a_position_nobody_read_says_nothing() -> None:
    """Windows of several looks are read by and by: what was read counts, what was not does not."""
    groups = rows_of(np.random.default_rng(0), 2, 50)
    clouds = [cloud(rows) for rows in groups]
    for windows in (
        [[c, None] for c in clouds],
        [[clouds[0], None], [clouds[1], clouds[2]], [clouds[2], None]],
    ):
        samples, compare = vector_samples(windows, 2)
        found = float(compare.log_odds(samples[0], samples[1]))
        assert found == pytest.approx(compared(groups))
    counts = [np.array([3.0, 4.0]), np.array([5.0, 1.0])]
    pair = seen_symbols(np.array([[counts[0], [0, 0]], [counts[1], counts[0]]]))
    assert float(Symbols().log_odds(*pair)) == pytest.approx(odds(*counts))


def test_rounding_of_features_without_noise_tells_nothing_apart() -> None:
    """Of two features without noise one differs in its last digit, the other does differ."""
    means = [np.array([0.1, 0.0]), np.array([np.nextafter(0.1, 1), 1.0])]
    windows = [[Cloud(4, 4 * mean, 4 * np.outer(mean, mean))] for mean in means]
    apart = np.ptp(vector_samples(windows, 2)[0][:, 0, 1:3], axis=0)
    assert apart.min() < 1e-6
    assert apart.max() > 1e3


# ---------------------------------------------------------------- so much difference by chance


def below(chances: np.ndarray, level: float) -> int:
    return int((chances < level).sum())


@pytest.mark.parametrize("n", [50, 2000])
def test_the_chance_of_a_difference_is_uniform_under_one_law(n: int) -> None:
    """Of symbols in the limit of the likelihood-ratio test, of vectors with noise as estimated."""
    rng, streams = np.random.default_rng(6), 4000
    pairs = rng.multinomial(n, [0.4, 0.35, 0.25], size=(2, streams, 1)).astype(float)
    chances = Symbols().chance(*pairs)
    sums = rng.normal(size=(2, streams, 3)) / math.sqrt(n)
    means = [np.stack([place(n, x) for x in rows]) for rows in sums]
    of_vectors = vectors(3).chance(*means)
    for level in (0.5, 0.1, 0.01):
        low, high = stats.binom.isf([1 - SURE, SURE], streams, level)
        assert low <= below(of_vectors, level) <= high
        # The limit is approached: at n readings it is off by about 1 / n.
        low, high = stats.binom.isf([1 - SURE, SURE], streams, level * np.array([0.9, 1.1]))
        assert low <= below(chances, level) <= high


def test_the_chance_against_its_test() -> None:
    one, other = np.array([30.0, 50.0, 20.0, 0.0]), np.array([45.0, 30.0, 25.0, 0.0])
    found = stats.chi2_contingency(
        np.stack([one, other])[:, :3], correction=False, lambda_="log-likelihood"
    )
    assert Symbols().chance(one[None], other[None]) == pytest.approx(found.pvalue)
    # A node that one of them never read, or symbols that nobody saw, say nothing.
    unread = np.stack([one, np.zeros(4)]), np.stack([other, other])
    assert Symbols().chance(*unread) == pytest.approx(found.pvalue)
    assert Symbols().chance(np.zeros((1, 4)), other[None]) == 1
    x, y = [0.1, -0.2], [0.4, 0.3]
    squares = ((np.array(x) - y) ** 2).sum() / (1 / 40 + 1 / 60)
    assert vectors(2).chance(place(40, x), place(60, y)) == pytest.approx(stats.chi2.sf(squares, 2))
    assert vectors(2).chance(place(40, x), np.zeros((1, 6))) == 1


# ---------------------------------------------------------------- how far apart


WAYS = np.array([[0, 1], [0, 2]])  # through a window of a node and its two children


def test_distances_of_symbols_are_total_variations_that_add_up() -> None:
    rng = np.random.default_rng(7)
    one, other = rng.integers(1, 30, size=(2, 3, 4)).astype(float)
    apart = Symbols().apart(one, other, WAYS)
    n, m = one.sum(axis=1), other.sum(axis=1)
    assert (Symbols().counts(one) == n).all()
    each = np.abs(one / n[:, None] - other / m[:, None]).sum(axis=1) / 2
    noise = (1 / n + 1 / m) / 4
    assert apart.distance == pytest.approx([each[0] + each[1], each[0] + each[2]])
    assert apart.variance == pytest.approx([noise[0] + noise[1], noise[0] + noise[2]])
    one[2] = 0  # what was not read is not known to be near
    assert np.isinf(Symbols().apart(one, other, WAYS).variance).tolist() == [False, True]


def test_distances_of_vectors_are_those_of_one_long_vector() -> None:
    rng = np.random.default_rng(8)
    means = rng.normal(size=(2, 3, 2))
    one = np.concatenate([place(n, x) for n, x in zip((20, 30, 40), means[0], strict=True)])
    other = np.concatenate([place(50, x) for x in means[1]])
    apart = vectors(2, 3).apart(one, other, WAYS)
    assert vectors(2, 3).counts(one).tolist() == [20, 30, 40]
    noise = 1 / np.array([20, 30, 40]) + 1 / 50
    squared = ((means[0] - means[1]) ** 2).sum(axis=1) / noise
    for way, nodes in enumerate(WAYS):
        # The node read least says how noisy it is: each is as far away, in units of its own noise.
        assert apart.variance[way] == pytest.approx(noise[nodes].max())
        expected = squared[nodes].sum() * noise[nodes].max()
        assert apart.distance[way] ** 2 == pytest.approx(expected)
    one[1] = 0
    unread = vectors(2, 3).apart(one, other, WAYS)
    assert np.isinf(unread.variance).tolist() == [True, False]
    assert np.isfinite(unread.distance).all()


# ---------------------------------------------------------------- what moves as one


def moving_as_one(rng: np.random.Generator, d: int, n: int) -> list[np.ndarray]:
    """Two places of one law whose features all move together, among others whose do not."""
    others = [rng.normal(size=(400, d)) for _ in range(4)]
    return [rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, d)) for _ in range(2)] + others


def test_features_that_move_as_one_are_evidence_once() -> None:
    """Of 20 features that are one, chance differences are 20 times as large as of 20 apart."""
    rng, d, runs = np.random.default_rng(0), 20, 300
    found = np.array([compared(moving_as_one(rng, d, 100)) for _ in range(runs)])
    # Odds of e to 1 against one law are as rare as they say, up to the noise of the estimates.
    assert (found < -math.log(100)).sum() <= stats.binom.isf(SURE, runs, 0.01)


@pytest.mark.parametrize("d", [1, 3, 20])
def test_features_that_move_apart_all_count(d: int) -> None:
    """How much moves together is 1 where every place has the noise that all share."""
    rng = np.random.default_rng(1)
    groups = [rng.normal(size=(200, d)) for _ in range(3)]
    samples, _ = vector_samples([[cloud(rows)] for rows in groups], d)
    repeats = samples[:, 0, -1] / samples[:, 0, 0]
    assert (repeats >= 1).all()
    assert repeats.max() < 1.1


def test_what_rounding_leaves_is_no_difference() -> None:
    """A feature far off that hardly varies: squares less the square of the mean leave rounding."""
    rng = np.random.default_rng(2)
    far = [
        np.column_stack([rng.normal(size=4000), 1e6 + 1e-3 * rng.normal(size=4000)])
        for _ in range(2)
    ]
    samples, compare = vector_samples([[cloud(rows)] for rows in far], 2)
    apart = compare.apart(samples[0], samples[1], ONE_NODE)
    squared = float(apart.distance[0] ** 2 / apart.variance[0])
    assert squared < stats.chi2.isf(SURE, 2)


# ---------------------------------------------------------------- noise in directions of its own


def oblique(rng: np.random.Generator, n: int, off: float = 0.0) -> np.ndarray:
    """Readings [n, 8] that are quiet along the diagonal (0.01), and so much of it off there."""
    d = 8
    along = np.ones(d) / math.sqrt(d)
    rows = rng.normal(size=(n, d))
    return rows - 0.99 * (rows @ along)[:, None] * along + 0.01 * off * along


def hotelling(groups: list[np.ndarray]) -> tuple[float, float]:
    """Squared distance of the first two, over that of its noise, and directions."""
    d = groups[0].shape[1]
    samples, compare = vector_samples([[cloud(rows)] for rows in groups], d, products=True)
    apart = compare.apart(samples[0], samples[1], ONE_NODE)
    return float(apart.distance[0] ** 2 / apart.variance[0]), float(apart.freedom[0])


def test_a_pair_is_measured_in_its_own_noise_whatever_that_of_others() -> None:
    """Beside places that are loud in all directions, a quiet difference is as far as it was."""
    rng, n = np.random.default_rng(3), 4000
    loud = [rng.normal(40, 1, (n, 8)) * rng.uniform(1, 4, 8) for _ in range(2)]
    pair = [oblique(rng, n), oblique(rng, n, off=0.78)]
    alone, among = hotelling(pair)[0], hotelling(pair + loud)[0]
    assert among == pytest.approx(alone, rel=1e-3)
    assert among == pytest.approx(0.78**2 * n / 2, rel=0.15)


def test_squared_distances_are_those_of_hotelling() -> None:
    """Of one law: as large as directions there are, as seldom larger as chi-square says."""
    rng, runs, d = np.random.default_rng(4), 400, 5
    found = np.array([hotelling([rng.normal(size=(n, d)) for n in (60, 300)]) for _ in range(runs)])
    np.testing.assert_allclose(found[:, 1], d, atol=1e-3)
    assert stats.kstest(found[:, 0], stats.chi2(d).cdf).pvalue > SURE


def test_directions_in_which_a_pair_has_no_noise_are_not_counted() -> None:
    """Two of five features follow from the others where the pair is, and not elsewhere."""
    rng, n = np.random.default_rng(5), 500

    def there() -> np.ndarray:
        rows = rng.normal(size=(n, 3))
        return np.column_stack([rows, rows[:, 0] + rows[:, 1], rows[:, 2]])

    elsewhere = rng.normal(size=(n, 5))
    squared, freedom = hotelling([there(), there(), elsewhere])
    assert freedom == pytest.approx(3, abs=1e-2)
    assert squared < stats.chi2.isf(SURE, 3)


def test_the_noise_of_a_pair_is_known_after_twice_as_many_readings_as_directions() -> None:
    rng, d = np.random.default_rng(6), 10
    for n, known in ((8, False), (12, True)):
        groups = [rng.normal(size=(count, d)) for count in (n, n, 500)]
        samples, compare = vector_samples([[cloud(rows)] for rows in groups], d, products=True)
        apart = compare.apart(samples[0], samples[1], ONE_NODE)
        assert np.isfinite(apart.variance[0]) == known


def test_what_differs_beyond_chance_is_said_to() -> None:
    rng, n = np.random.default_rng(7), 2000
    for off, differs in ((0.0, False), (0.78, True)):
        groups = [oblique(rng, n), oblique(rng, n, off), rng.normal(40, 2, (n, 8))]
        samples, compare = vector_samples([[cloud(rows)] for rows in groups], 8, products=True)
        assert float(compare.log_odds(samples[0], samples[1])) > 0  # sorting does not see it
        apart = compare.apart(samples[0], samples[1], ONE_NODE)
        assert compare.differ(apart, 1e-6)[0] == differs

"""Each law against its textbook distribution, from one episode to more than anyone could run."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from surepath.builtin_problems.laws import (
    Bernoulli,
    Categorical,
    Gaussian,
    Normal,
    standard_wishart,
)

ALARM = 1e-3 / 200
"""False-alarm level of one test: fewer than 200 are made below, 1e-3 for all together."""

REPLICATIONS = 2000
HUGE = [10**10, 10**15]
SIZES = [2, 3, 5, 40, *HUGE]

OBSERVED = np.array([0.6, 0.3, 0.1])
SIGNATURE, NOISE = np.array([0.5, -2.0, 1.0, 3.0]), 0.7
D = len(SIGNATURE)


def follows(values: np.ndarray, law: stats.rv_continuous, *parameters: float) -> bool:
    """Whether values came from a continuous law (Kolmogorov-Smirnov)."""
    return stats.kstest(values, law.cdf, args=parameters).pvalue > ALARM


def follows_table(values: list[tuple[int, ...]], table: dict[tuple[int, ...], float]) -> bool:
    """Whether values came from a discrete law given by its probabilities (chi-square)."""
    assert set(values) <= set(table), "a value of probability zero"
    expected = np.array([len(values) * p for p in table.values()])
    assert expected.min() >= 5, "too few replications for the chi-square approximation"
    seen = np.array([values.count(value) for value in table])
    return stats.chisquare(seen, expected).pvalue > ALARM


def standardised(values: np.ndarray, mean: float, deviation: float) -> np.ndarray:
    return (values - mean) / deviation


# ---- discrete observations and rewards


@pytest.mark.parametrize("n", [1, 2])
def test_counts_of_few_observations_are_multinomial(n: int) -> None:
    rng = np.random.default_rng(n)
    law = Categorical(OBSERVED)
    tables = [t for t in itertools.product(range(n + 1), repeat=3) if sum(t) == n]
    table = {t: float(stats.multinomial.pmf(t, n, OBSERVED)) for t in tables}
    summaries = [tuple(map(int, law.summary(n, rng).counts)) for _ in range(REPLICATIONS)]
    singles = [
        tuple(map(int, np.bincount(law.draw(n, rng), minlength=3))) for _ in range(REPLICATIONS)
    ]
    assert follows_table(summaries, table)
    assert follows_table(singles, table)


@pytest.mark.parametrize("n", [1, 4])
def test_few_rewards_are_binomial(n: int) -> None:
    rng = np.random.default_rng(10 + n)
    law = Bernoulli(0.4)
    table = {(k,): float(stats.binom.pmf(k, n, 0.4)) for k in range(n + 1)}
    summaries = [law.summary(n, rng) for _ in range(REPLICATIONS)]
    assert follows_table([(round(n * s.mean),) for s in summaries], table)
    assert follows_table([(int(law.draw(n, rng).sum()),) for _ in range(REPLICATIONS)], table)
    for s in summaries:  # of zeros and ones, the scatter is a function of the mean
        assert s.scatter == pytest.approx(n * s.mean * (1 - s.mean), abs=1e-12)


@pytest.mark.parametrize("n", HUGE)
def test_huge_counts_add_up_and_vary_as_they_should(n: int) -> None:
    rng = np.random.default_rng(n % 97)
    law = Categorical(OBSERVED)
    counts = np.array([law.summary(n, rng).counts for _ in range(REPLICATIONS)])
    assert counts.dtype == np.int64
    assert (counts.sum(axis=1) == n).all()
    z = (counts - n * OBSERVED) / np.sqrt(n * OBSERVED * (1 - OBSERVED))
    assert np.abs(z).max() < 6
    assert all(follows(z[:, symbol], stats.norm) for symbol in range(3))
    # Counts compete: corr(i, j) = -sqrt(p_i p_j / ((1 - p_i) (1 - p_j))).
    odds = np.sqrt(OBSERVED / (1 - OBSERVED))
    expected = -np.outer(odds, odds) + np.diag(1 + odds**2)
    np.testing.assert_allclose(np.corrcoef(z.T), expected, atol=6 / np.sqrt(REPLICATIONS))


@pytest.mark.parametrize("mean", [1e-4, 0.4, 0.9])
@pytest.mark.parametrize("n", HUGE)
def test_huge_numbers_of_rewards_vary_as_they_should(n: int, mean: float) -> None:
    rng = np.random.default_rng(n % 89)
    law = Bernoulli(mean)
    drawn = [law.summary(n, rng) for _ in range(REPLICATIONS)]
    z = standardised(np.array([s.mean for s in drawn]), mean, np.sqrt(mean * (1 - mean) / n))
    assert np.abs(z).max() < 6
    assert follows(z, stats.norm)
    for s in drawn[:50]:
        assert s.count == n
        assert s.scatter / n == pytest.approx(s.mean * (1 - s.mean), rel=1e-12)


@pytest.mark.parametrize("n", [1, 7, 10**10])
def test_certain_outcomes_are_certain(n: int) -> None:
    rng = np.random.default_rng(0)
    for mean in (0.0, 1.0):
        summary = Bernoulli(mean).summary(n, rng)
        assert (summary.count, summary.mean, summary.scatter) == (n, mean, 0.0)
        assert set(Bernoulli(mean).draw(7, rng)) == {mean}
    assert Categorical(np.array([0.0, 1.0, 0.0])).summary(n, rng).counts.tolist() == [0, n, 0]
    assert set(Categorical(np.array([0.0, 1.0, 0.0])).draw(7, rng)) == {1}


# ---- Gaussian observations and rewards


@pytest.mark.parametrize("n", SIZES)
def test_mean_and_scatter_of_readings_follow_their_laws(n: int) -> None:
    rng = np.random.default_rng(n % 83)
    law = Gaussian(SIGNATURE, NOISE)
    drawn = [law.summary(n, rng) for _ in range(REPLICATIONS)]
    z = (np.array([s.mean for s in drawn]) - SIGNATURE) / (NOISE / np.sqrt(n))
    scatter = np.array([s.scatter for s in drawn]) / NOISE**2
    np.testing.assert_array_equal(scatter, scatter.swapaxes(1, 2))
    for i in range(D):
        assert follows(z[:, i], stats.norm)
        assert follows(scatter[:, i, i], stats.chi2, n - 1)
        # Given channel i, another one regressed on it has a standard normal score.
        other = (i + 1) % D
        assert follows(scatter[:, i, other] / np.sqrt(scatter[:, i, i]), stats.norm)
    np.testing.assert_allclose(np.corrcoef(z.T), np.eye(D), atol=6 / np.sqrt(REPLICATIONS))


@pytest.mark.parametrize("n", range(1, D + 4))
def test_scatter_has_the_rank_of_that_many_readings(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(50):
        summary = Gaussian(SIGNATURE, NOISE).summary(n, rng)
        assert summary.count == n
        values = np.linalg.eigvalsh(summary.scatter)[::-1]
        rank = min(n - 1, D)
        assert (values[:rank] > 1e-9).all()
        np.testing.assert_allclose(values[rank:], 0, atol=1e-12)


@pytest.mark.parametrize("freedom", [1, D - 1, D, D + 1, 30])
def test_wishart_second_moments(freedom: int) -> None:
    """Cov(W_ij, W_kl) = freedom (I_ik I_jl + I_il I_jk), for every pair of entries."""
    rng = np.random.default_rng(freedom)
    draws = np.array([standard_wishart(D, freedom, rng) for _ in range(10 * REPLICATIONS)])
    centred = (draws - freedom * np.eye(D)).reshape(len(draws), -1)
    unit = np.eye(D)
    expected = freedom * (
        np.einsum("ik,jl->ijkl", unit, unit) + np.einsum("il,jk->ijkl", unit, unit)
    ).reshape(D * D, D * D)
    products = centred[:, :, None] * centred[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(draws))
    pairs = (D * (D + 1) // 2) * (D * (D + 1) // 2 + 1) // 2
    threshold = stats.norm.isf(ALARM / (2 * pairs))
    assert (np.abs(products.mean(axis=0) - expected) < threshold * error).all()


@pytest.mark.parametrize("n", SIZES)
def test_gaussian_rewards_follow_their_laws(n: int) -> None:
    rng = np.random.default_rng(n % 79)
    law = Normal(0.3, 0.2)
    drawn = [law.summary(n, rng) for _ in range(REPLICATIONS)]
    means, scatters = (np.array([getattr(s, k) for s in drawn]) for k in ("mean", "scatter"))
    assert follows(standardised(means, 0.3, 0.2 / np.sqrt(n)), stats.norm)
    assert follows(scatters / 0.2**2, stats.chi2, n - 1)
    independent = stats.spearmanr(means, scatters)
    assert independent.pvalue > ALARM


def test_one_gaussian_reward_has_no_scatter() -> None:
    rng = np.random.default_rng(1)
    drawn = [Normal(0.3, 0.2).summary(1, rng) for _ in range(REPLICATIONS)]
    assert {s.scatter for s in drawn} == {0.0}
    assert follows(standardised(np.array([s.mean for s in drawn]), 0.3, 0.2), stats.norm)


def test_single_readings_follow_the_law() -> None:
    rng = np.random.default_rng(2)
    z = standardised(Gaussian(SIGNATURE, NOISE).draw(REPLICATIONS, rng), SIGNATURE, NOISE)
    assert all(follows(z[:, i], stats.norm) for i in range(D))
    np.testing.assert_allclose(np.corrcoef(z.T), np.eye(D), atol=6 / np.sqrt(REPLICATIONS))
    assert follows(standardised(Normal(0.3, 0.2).draw(REPLICATIONS, rng), 0.3, 0.2), stats.norm)


# ---- the checks above can fail


def test_a_scaled_law_is_refused() -> None:
    rng = np.random.default_rng(3)
    z = rng.standard_normal(REPLICATIONS)
    assert follows(z, stats.norm)
    assert not follows(1.25 * z, stats.norm)
    assert not follows(z + 0.15, stats.norm)
    assert not follows(rng.chisquare(3, REPLICATIONS), stats.chi2, 2)
    table = {(k,): float(stats.binom.pmf(k, 4, 0.4)) for k in range(5)}
    wide = [(int(rng.binomial(4, rng.beta(4, 6))),) for _ in range(REPLICATIONS)]
    assert not follows_table(wide, table)

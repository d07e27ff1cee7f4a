"""Ours against state merging."""

from __future__ import annotations

from surepath.bench.suites import merging


def test_the_search_finds_the_fewest_samples_that_do() -> None:
    one = merging.SIZES[0].numbered(0)
    samples = merging.fewest_samples(merging.SampleSearch((one,), 20))

    def exact(samples: int) -> int:
        runs = (merging.MergingRun(one, samples, merging.TUNING + run) for run in range(20))
        return sum(merging.merge(run).optimal for run in runs)

    assert exact(samples) >= 19
    assert exact(samples // 2) < 19

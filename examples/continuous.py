"""A boat in a bay with a current: continuous hidden state, kernels, a schedule of one's own.

The hidden place is a point in the plane, so no two action sequences end in the same state, and Q*
is not linear in anything finite: a kernel is called for. Its norm is not known, so neither fixed
schedule applies and the sample sizes are ours to choose. What they have to achieve:

* feature_samples = 300: the mean embedding of a place is then known to about 1/sqrt(300) = 0.06,
  while places a stroke apart differ by several times that under the median length scale;
* reward_samples = 500: a return of five steps is known to about sqrt(5/4/500) = 0.05, a third of
  the lead of 0.15 that this problem guarantees along its optimal path;
* ridge = 0.01, a little above the squared noise of an embedding (1/300), so that noise does not
  look like a new direction; threshold = 1, the theory's choice.

`make test-slow` checks that the optimum is found in at least 48 of 50 seeds with either kernel and
every sensor, but nothing is proved: the result says "not certified".
Run with `python examples/continuous.py [range|gps|image]`.
"""

from __future__ import annotations

import sys

import surepath

SCHEDULE = surepath.Schedule(ridge=0.01, threshold=1.0, feature_samples=300, reward_samples=500)


def main(sensor: str = "range") -> None:
    problem = surepath.make("continuous", sensor=sensor, seed=1)
    for features in ("rbf", "matern"):
        result = surepath.learn(problem, features=features, schedule=SCHEDULE)
        print(features, "plan", result.actions, "optimum", problem.optimum[0])
        print("  episodes", result.episodes, "expansions", result.usage.expansions)
        print(" ", *result.certificate.notes)


if __name__ == "__main__":
    main(*sys.argv[1:2])

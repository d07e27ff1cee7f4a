"""What a run is held to: when a question is settled, what may be lost, what has to be excluded."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from surepath.inference.guarantee_widths import Calibrated
from surepath.inference.proposal import Route
from surepath.inference.states import Shape
from surepath.inference.terms import EXACT, SEPARATION, Terms
from surepath.inference.tuning import TUNING

TWO_LEVELS = Shape(2, 2, 2, symbols=True)


def terms_of(shape: Shape = TWO_LEVELS, **options: Any) -> Terms:
    fields = {
        "guarantee": "calibrated",
        "delta": 0.05,
        "gap": None,
        "tolerance": None,
        "reward_range": (0.0, 1.0),
    }
    return Terms(shape, **{**fields, **options})


# ---------------------------------------------------------------- when a question is settled

GRID = list(product(np.linspace(-0.3, 0.5, 17), np.linspace(0.0, 0.6, 13)))


def test_with_a_gap_the_loss_has_to_stay_below_it() -> None:
    terms = terms_of(gap=0.2)
    for margin, width in GRID:
        settled = terms.excess(np.array(margin), np.array(width), tolerance=0.3) < 0
        assert settled == (width - margin < 0.2)


def test_without_a_gap_a_lead_is_certain_or_known_to_the_tolerance() -> None:
    terms = terms_of()
    for margin, width in GRID:
        settled = terms.excess(np.array(margin), np.array(width), tolerance=0.17) < 0
        leads, known = margin > width, width < min(0.17, 0.17 + margin)
        assert settled == (leads or known)
        if settled:  # and then no more than the tolerance can be lost
            assert width - margin < 0.17


@pytest.mark.parametrize("gap", [None, 0.2])
def test_an_excess_is_by_how_much_the_width_has_to_shrink(gap: float | None) -> None:
    terms = terms_of(gap=gap)
    for margin, width in GRID:
        excess = float(terms.excess(np.array(margin), np.array(width), 0.1))
        if excess >= 0 and width > excess:
            narrower = np.array(width - excess)
            assert terms.excess(np.array(margin), narrower, 0.1) == pytest.approx(0, abs=1e-12)


def test_terms_name_their_widths() -> None:
    shape = Shape(5, 3, 2, symbols=True)
    terms = terms_of(shape, delta=0.2, reward_range=(-1.0, 3.0), reward_noise=2.0)
    assert Calibrated.under(terms) == Calibrated(0.2, (-1.0, 3.0), 2.0, ways=10)


def test_a_prediction_is_never_taken_for_a_tie() -> None:
    """Its width is at least the tolerance, so that only a lead beyond that settles it."""
    terms, spreads = terms_of(), np.array([0.0, 1e-12, 0.04, math.inf])
    widths = np.sqrt(terms.beyond_ties(spreads, 0.17))
    assert widths[0] == 0  # was read, not predicted
    assert (widths[1:] >= 0.17).all()
    assert not (terms.excess(np.zeros(3), widths[1:], 0.17) < 0).any()
    assert np.array_equal(terms_of(gap=0.2).beyond_ties(spreads, 0.17), spreads)


# ---------------------------------------------------------------- what may be lost


def test_without_a_tolerance_it_follows_what_is_paid() -> None:
    """A share of what a step of the plan pays; of the range only where nothing was ever paid."""
    for high in (1.0, 50.0):
        terms = terms_of(reward_range=(0.0, high), reward_noise=high / 2)
        assert terms.allowed_loss(value=7.0, paid=0.4) == pytest.approx(TUNING.tolerance * 0.4)
        assert terms.allowed_loss(value=0.0, paid=0.0) == pytest.approx(TUNING.tolerance * high)


@pytest.mark.parametrize("value", [-4.0, 0.0, 2.5])
def test_a_tolerance_is_what_it_is_given_as(value: float) -> None:
    assert terms_of(tolerance=0.3).allowed_loss(value, paid=0.4) == 0.3
    share = terms_of(tolerance_share=0.02)
    assert share.allowed_loss(value, paid=0.4) == pytest.approx(0.02 * abs(value))


# ---------------------------------------------------------------- what has to be excluded


@pytest.mark.parametrize("delta", [0.01, 0.2])
@pytest.mark.parametrize("separation", [0.1, 0.3])
def test_the_separation_is_tested_in_the_units_of_what_is_read(
    separation: float, delta: float
) -> None:
    """Symbols as a total variation; real features by the Gaussians that are so far apart."""
    options = {"separation": separation, "delta": delta}
    test = terms_of(**options).merge_test
    assert test is not None
    assert test.size == separation
    assert (
        test.evidence
        == pytest.approx(math.log(1 + 1 / (2 * delta)))
        == Calibrated.under(terms_of(**options)).evidence
    )
    real = terms_of(Shape(2, 2, 2, symbols=False), **options).merge_test
    assert real is not None
    assert 2 * stats.norm.cdf(real.size / 2) - 1 == pytest.approx(separation)


def test_exact_readings_exclude_every_separation_and_without_one_nothing_is_tested() -> None:
    test = terms_of(separation=EXACT).merge_test
    assert test is not None
    assert math.isinf(test.size)
    assert terms_of(guarantee="proved", separation=None).merge_test is None


def test_of_exact_readings_many_ends_are_told_apart() -> None:
    assert terms_of(separation=EXACT).most_labels == TUNING.most_exact_labels > 500
    assert terms_of().most_labels == TUNING.most_labels


# ---------------------------------------------------------------- what a proof rests on


@pytest.mark.parametrize(
    ("options", "route"),
    [
        ({"separation": None}, Route.TREE),
        ({"separation": 0.2}, Route.SEPARATION),
        ({"separation": EXACT}, Route.SEPARATION),
        ({"separation": None, "norm": 1.0}, Route.NORM),
    ],
)
def test_a_proof_rests_on_what_was_given(options: dict[str, Any], route: Route) -> None:
    """And what is to be proved is proposed by a calibrated run, which merges as far as it may."""
    terms = terms_of(guarantee="proved", **options)
    assert terms.route is route
    proposing = terms.proposing()
    assert (proposing.guarantee, proposing.predict) == ("calibrated", False)
    assert proposing.separation == (options["separation"] or SEPARATION)
    assert proposing.merge_test is not None
    merges = proposing.shape.future <= proposing.shape.horizon
    assert merges == (route is not Route.TREE)

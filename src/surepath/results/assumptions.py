"""What a certificate assumes, in words: every sentence stands here once."""

from __future__ import annotations

import math
from typing import NamedTuple

from surepath.inference.proposal import Route, Rules
from surepath.inference.separation import in_noise_units
from surepath.inference.terms import EXACT, Terms
from surepath.results.certificate import Audit
from surepath.theory.schedule import Count
from surepath.theory.setting import Setting

DETERMINISTIC = "every episode starts in the same hidden state, which moves deterministically"
STATIONARY = "nothing drifts: what is read and paid has the same law in every episode"
INDEPENDENT = (
    "given the actions, the noise of observations and rewards is independent between episodes, "
    "between steps and of each other"
)
SHARED = (
    "given the actions, the noise of observations and rewards is independent between episodes; "
    "steps of one episode may depend on each other, and no plan that reacts to readings is meant"
)
ESTIMATED_VARIANCES = "calibrated, not proved: intervals use estimated variances"


def exactly(number: float) -> str:
    """The number with all its digits: what is assumed must not be more than what is said."""
    return repr(float(number)).removesuffix(".0")


def sure_of(delta: float) -> str:
    """1 - delta in twelve digits, and never 1."""
    plain = f"{1 - delta:.12g}"
    return f"1 - {exactly(delta)}" if plain == "1" else plain


class Sources(NamedTuple):
    """Where the quantities that were assumed come from."""

    gap: str
    norm: str


def of_fixed(setting: Setting, sources: Sources, counted: Count = Count.OWN) -> tuple[str, ...]:
    """What the proof of a fixed schedule rests on, by how its expansions were counted."""
    ties = "one optimal action in every state" if setting.unique else "ties are allowed"
    return (
        DETERMINISTIC,
        f"{_linear(setting.future, setting.norm)} ({sources.norm})",
        f"suboptimal actions fall short by at least {setting.gap:g} ({sources.gap}); {ties}",
        _sized(setting, counted),
        *([setting.gain] if counted is Count.GAIN and setting.gain else []),
        _rewards(setting.reward_noise),
        STATIONARY,
        INDEPENDENT,
    )


def _sized(setting: Setting, counted: Count) -> str:
    """Of the features, what the count of expansions needs."""
    counts = counted is not Count.OWN
    around = f" around embeddings of length at most {setting.radius:g}" if counts else ""
    features = _features(setting.radius, setting.feature_noise, around)
    if setting.diameter is not None and setting.feature_noise is None:
        features += f" and no farther apart than {setting.diameter:.6g}"
    if counted is Count.LATENT:
        return f"{features}; the embeddings of a level span {setting.latent_dimension} dimensions"
    if counted is Count.DIMENSION:
        return f"{features} in {setting.dimension} dimensions"
    return features


def of_adaptive(terms: Terms, audit: Audit | None = None) -> tuple[str, ...]:
    """What the certificate of an adaptive run rests on; with predictions, their audit."""
    low, high = terms.reward_range
    bounded = math.isfinite(terms.reward_span)
    common = (
        DETERMINISTIC,
        STATIONARY,
        INDEPENDENT,
        f"rewards between {low:g} and {high:g}" if bounded else _rewards(terms.reward_noise),
    )
    gap = () if terms.gap is None else (f"a suboptimal plan loses at least {terms.gap:g}",)
    linear = () if audit is None else (_predictable(audit),)
    apart = (_told_apart(terms),) if terms.shape.merges else ()
    return (*common, *apart, *linear, *gap, ESTIMATED_VARIANCES)


def of_proved(terms: Terms, rules: Rules | None) -> tuple[str, ...]:
    """What a proof rests on; `rules` are those of the attempt that succeeded."""
    low, high = terms.reward_range
    bounded = math.isfinite(terms.reward_span)
    gap = () if terms.gap is None else (f"a suboptimal plan loses at least {exactly(terms.gap)}",)
    return (
        DETERMINISTIC,
        STATIONARY,
        SHARED if terms.shared_noise else INDEPENDENT,
        f"rewards between {exactly(low)} and {exactly(high)}"
        if bounded
        else _rewards(terms.reward_noise),
        *_of_route(terms, rules),
        *gap,
    )


def _of_route(terms: Terms, rules: Rules | None) -> tuple[str, ...]:
    if terms.route is Route.TREE:
        return ()
    if terms.route is Route.NORM:
        assert terms.norm is not None  # of this route
        return (_linear(terms.shape.future, terms.norm), _compared(terms, rules))
    observed = None if rules is None else rules.observed
    if terms.separation == EXACT or terms.shape.symbols or observed is None:
        return (_told_apart(terms),)
    assert rules is not None  # it has what is observed
    assert rules.separation is not None  # of this route
    over = "" if rules.future == 1 else f", summed over {_seen(rules.future)} of some way on,"
    return (
        "hidden states of a level are one (they look, move and pay alike), or the means of their "
        f"features{over} differ by at least {exactly(rules.separation)}",
        _compared(terms, rules),
    )


def _compared(terms: Terms, rules: Rules | None) -> str:
    """The features by which ends of edges are compared."""
    observed = None if rules is None else rules.observed
    said = "" if observed is None else f": {observed.map}"
    if terms.feature_noise is None:
        return f"features no farther apart than {exactly(2 * terms.radius)}{said}"
    parameter = exactly(terms.feature_noise)
    return f"features in every direction sub-Gaussian with parameter {parameter}{said}"


def _seen(future: int) -> str:
    return "the observation" if future == 1 else f"the next {future} observations"


def _told_apart(terms: Terms) -> str:
    seen = _seen(terms.shape.future)
    assert terms.separation is not None  # something was merged by it
    if terms.separation == EXACT:
        return (
            f"hidden states of a level are one if {seen} are equal: readings have no noise, and "
            "neither has what is paid at a level where it was read often and was the same each time"
        )
    alike = "hidden states of a level are one (they look, move and pay alike), or "
    if terms.shape.symbols:
        return (
            f"{alike}the laws of {seen} differ by a total variation of at least "
            f"{terms.separation:g}; states that differ by less may have been taken for one"
        )
    return (
        f"{alike}the mean features of {seen} differ by at least "
        f"{in_noise_units(terms.separation):.3g} standard deviations of one reading's noise (a "
        f"total variation of {terms.separation:g}); states that differ by less may have been taken "
        "for one"
    )


def _predictable(audit: Audit) -> str:
    return (
        f"Q* is linear in the features at the {audit.predicted} states that were only predicted, "
        f"as it was at {audit.states} of them drawn at random and tried (largest miss "
        f"{audit.worst_miss:.3g}); nothing shows that none of the others is an exception"
    )


def _linear(future: int, norm: float) -> str:
    return (
        f"Q* of every level and action is linear in the embedding of {_seen(future)}, with weights "
        f"of norm at most {norm:g}"
    )


def _features(radius: float, noise: float | None, around: str = "") -> str:
    if noise is None:
        return f"features bounded by {radius:g}"
    return f"features sub-Gaussian with parameter {noise:g}{around}"


def _rewards(noise: float) -> str:
    return f"rewards sub-Gaussian with parameter {noise:g}"

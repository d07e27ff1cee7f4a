"""What a certificate claims, what takes the claim away, and what it says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from surepath.results.assumptions import Sources
from surepath.results.certificate import Certificate, Level
from surepath.results.fixed_claim import certify
from surepath.results.usage import Usage
from surepath.theory.own_counts import Stage, allowance
from surepath.theory.schedule import Count, Schedule, bounds, failure_bound, paper, tight
from surepath.theory.setting import Setting

SETTING = Setting(horizon=3, n_actions=2, dimension=4, gap=0.5, norm=2.0, delta=0.05)
SCHEDULE = tight(SETTING)
SOURCES = Sources("measured", "given by the caller")
IDLE = Usage(n_actions=2, expansions=[1, 1, 1], covered=[0, 0, 0])


def decision(level: int, lead: float = 0.6, *, coverage: float = 0.3, action: int = 1) -> Level:
    """Estimates in which action 1 leads by `lead`."""
    return Level.decided(
        level=level,
        action=action,
        estimates=(0.2, 0.2 + lead),
        coverage=coverage,
        samples=SCHEDULE.feature_samples,
        source="regression",
    )


def certified(
    decisions: Sequence[Level],
    setting: Setting = SETTING,
    schedule: Schedule = SCHEDULE,
    usage: Usage = IDLE,
) -> Certificate:
    return certify(Stage(schedule, None, setting.delta), setting, decisions, usage, sources=SOURCES)


def plan(*leads: float) -> list[Level]:
    return [decision(level, lead) for level, lead in enumerate(leads)]


def width(coverage: float, source: str = "regression") -> float:
    """t at a node whose actions were tried; the regression adds its two terms."""
    proved = bounds(SCHEDULE, SETTING)
    if source == "expansion":
        return proved.tolerance
    bias = math.sqrt(SCHEDULE.ridge) * SETTING.norm
    return proved.tolerance + coverage * (
        bias + 2 * proved.tolerance * math.sqrt(proved.expansions)
    )


# ---------------------------------------------------------------- certified


def test_consistent_decisions_are_certified() -> None:
    certificate = certified(plan(0.6, 0.5, 0.7))
    assert certificate.certified
    assert certificate.delta == 0.05
    assert certificate.failure == failure_bound(SCHEDULE, SETTING) <= 0.05
    assert certificate.claim == "these 3 actions are optimal with probability at least 0.95"
    assert f"{certificate.failure:.3g}" in certificate.reason
    assert certificate.bounds == bounds(SCHEDULE, SETTING)
    assert certificate.schedule == SCHEDULE


def test_the_evidence_is_that_of_the_decisions() -> None:
    decisions = plan(0.6, 0.5, 0.7)
    decisions[1] = replace(decisions[1], coverage=0.9)
    decisions[2] = replace(decisions[2], source="expansion", coverage=1.5)
    certificate = certified(decisions)
    for given, level in zip(decisions, certificate.levels, strict=True):
        assert (level.level, level.action) == (given.level, given.action)
        assert level.estimates == given.estimates
        assert level.margin == pytest.approx(given.estimates[1] - given.estimates[0])
        assert (level.coverage, level.samples) == (given.coverage, given.samples)
        assert level.source == given.source
        assert level.width == pytest.approx(width(given.coverage, given.source), rel=1e-9)
    assert certificate.certified


def test_the_width_at_the_threshold_is_below_half_the_gap() -> None:
    """This is the inequality the whole proof rests on."""
    for schedule in (SCHEDULE, paper(SETTING), tight(SETTING, 1.98)):
        edge = decision(0, coverage=schedule.threshold)
        level = certified([edge], schedule=schedule).levels[0]
        assert 0.4 * SETTING.gap < level.width < 0.5 * SETTING.gap


@pytest.mark.parametrize("schedule", [SCHEDULE, paper(SETTING)], ids=["tight", "paper"])
def test_both_schedules_certify(schedule: Schedule) -> None:
    decisions = [replace(d, coverage=0.3 * schedule.threshold) for d in plan(0.6, 0.6, 0.6)]
    decisions = [replace(d, samples=schedule.feature_samples) for d in decisions]
    assert certified(decisions, schedule=schedule).certified


def test_a_single_action_needs_no_lead() -> None:
    setting = replace(SETTING, n_actions=1, horizon=1)
    schedule = tight(setting)
    only = Level.decided(0, 0, (0.4,), 0.3, schedule.feature_samples, "regression")
    certificate = certified([only], setting, schedule)
    assert certificate.certified
    assert certificate.levels[0].margin == math.inf


# ---------------------------------------------------------------- contradictions


def test_a_lead_between_tie_and_gap_takes_the_certificate_away() -> None:
    """At most two widths is a tie; at least the gap less two widths is a gap."""
    w = width(0.3)
    low, high = 2 * w, SETTING.gap - 2 * w
    assert low < high
    for lead in (low + 1e-9, (low + high) / 2, high - 1e-9):
        certificate = certified(plan(0.6, lead, 0.6))
        assert not certificate.certified
        assert "level 1" in certificate.reason
        assert f"{lead:.4g}" in certificate.reason
        assert f"gap of {SETTING.gap:g}" in certificate.reason
        assert certificate.failure <= SETTING.delta  # the schedule is not at fault
    for lead in (low - 1e-9, 0.0, high + 1e-9):
        assert certified(plan(0.6, lead, 0.6)).certified


def test_the_first_contradiction_is_named() -> None:
    middle = SETTING.gap / 2
    assert "level 0" in certified(plan(middle, 0.6, middle)).reason
    assert "level 2" in certified(plan(0.6, 0.6, middle)).reason


def test_a_unique_optimum_leaves_no_room_for_ties() -> None:
    setting = replace(SETTING, unique=True)
    schedule = tight(setting)
    assert certified(plan(0.6, 0.6, 0.6), setting, schedule).certified
    for lead in (0.0, 0.01, SETTING.gap / 4):
        certificate = certified(plan(0.6, 0.6, lead), setting, schedule)
        assert not certificate.certified
        assert "level 2" in certificate.reason


def test_what_was_tried_is_judged_by_its_own_width() -> None:
    """A lead that the regression cannot tell from a tie contradicts once every action was tried."""
    lead = 0.5 * SETTING.gap
    covered = decision(1, lead, coverage=0.9)
    tried = replace(covered, source="expansion")
    assert certified([decision(0), covered, decision(2)]).certified
    certificate = certified([decision(0), tried, decision(2)])
    assert not certificate.certified
    assert "level 1" in certificate.reason


# ---------------------------------------------------------------- nothing to claim


FEW = replace(
    SCHEDULE,
    feature_samples=SCHEDULE.feature_samples // 4,
    reward_samples=SCHEDULE.reward_samples // 4,
)


def test_too_few_samples_are_refused_with_their_failure_bound() -> None:
    failure = failure_bound(FEW, SETTING)
    assert SETTING.delta < failure < 1
    many = replace(IDLE, expansions=[1, bounds(FEW, SETTING).expansions, 1])
    certificate = certified(plan(0.6, 0.6, 0.6), schedule=FEW, usage=many)
    assert not certificate.certified
    assert certificate.failure == failure
    assert f"{failure:.3g}" in certificate.reason
    assert f"delta = {SETTING.delta:g}" in certificate.reason
    lenient = replace(SETTING, delta=(1 + failure) / 2)
    assert certified(plan(0.6, 0.6, 0.6), lenient, FEW, many).certified


@pytest.mark.parametrize("count", ["expansions", "feature_batches", "reward_batches"])
def test_a_run_is_held_to_what_its_schedule_can_afford(count: str) -> None:
    """Too few samples for all that might have been, enough for what was."""
    allowed = allowance(FEW, SETTING, SETTING.delta)
    assert allowed is not None
    assert 1 < allowed.expansions < bounds(FEW, SETTING).expansions
    most = getattr(allowed, count)
    for excess in (0, 1):
        value = [1, most + excess, 1] if count == "expansions" else most + excess
        usage = replace(IDLE, **{count: value})
        certificate = certified(plan(0.6, 0.6, 0.6), schedule=FEW, usage=usage)
        assert certificate.certified == (not excess)
        assert certificate.bounds is not None
        assert (certificate.bounds.counted is Count.OWN) == (not excess)
        assert (certificate.failure <= SETTING.delta) == (not excess)


def test_own_counts_need_no_dimension() -> None:
    """Of a kernel on real readings nothing is known beforehand; the pilot is not believed."""
    kernel = replace(SETTING, dimension=None)
    certificate = certified(plan(0.6, 0.6, 0.6), kernel)
    assert certificate.certified
    assert not any("dimensions" in text or "gain" in text for text in certificate.assumptions)
    many = replace(IDLE, expansions=[1, 10**6, 1])
    assert not certified(plan(0.6, 0.6, 0.6), kernel, usage=many).certified


def test_a_stage_spends_its_own_share() -> None:
    """What the other stages may fail by is part of what is claimed."""
    share = SETTING.delta / 2
    stage = Stage(FEW, None, share)
    certificate = certify(stage, SETTING, plan(0.6, 0.6, 0.6), IDLE, sources=SOURCES)
    own = allowance(FEW, SETTING, share)
    assert own is not None
    assert certificate.bounds == own
    assert certificate.failure == pytest.approx(own.failure + SETTING.delta - share)
    assert certificate.failure <= SETTING.delta


@pytest.mark.parametrize("samples", [1, 1000])
def test_hopelessly_few_samples(samples: int) -> None:
    certificate = certified(plan(0.6, 0.6, 0.6), schedule=replace(SCHEDULE, reward_samples=samples))
    assert not certificate.certified
    assert certificate.failure == 1
    assert "only by 1," in certificate.reason
    assert "can afford 0" in certificate.reason


def test_a_ridge_that_proves_nothing() -> None:
    coarse = replace(SCHEDULE, ridge=9 * SCHEDULE.ridge)
    certificate = certified(plan(0.6, 0.6, 0.6), schedule=coarse)
    assert not certificate.certified
    assert certificate.failure == 1
    assert "proves nothing" in certificate.reason
    assert all(level.width == math.inf for level in certificate.levels)


UNFOUNDED: dict[str, list[Level]] = {
    "no decisions": [],
    "a level is missing": plan(0.6, 0.6),
    "a level comes twice": [decision(0), decision(1), decision(1)],
    "not covered": [decision(0), decision(1, coverage=1.01), decision(2)],
    "the chosen action trails": [decision(0), decision(1, action=0), decision(2)],
    "estimates are no numbers": [decision(0), decision(1, math.nan), decision(2)],
    "coverage is no number": [decision(0), decision(1, coverage=math.nan), decision(2)],
    "too few readings": [decision(0), replace(decision(1), samples=3), decision(2)],
}


@pytest.mark.parametrize("name", UNFOUNDED)
def test_decisions_that_no_finished_run_gives_are_not_certified(name: str) -> None:
    """The proof is about a run that followed its schedule to the end."""
    assert not certified(UNFOUNDED[name]).certified


# ---------------------------------------------------------------- assumptions


def test_assumptions_name_gap_norm_and_sources() -> None:
    setting = replace(SETTING, gap=0.4321, norm=7.654, reward_noise=0.123)
    text = certified(plan(0.6, 0.6, 0.6), setting).assumptions
    gap = [line for line in text if "0.4321" in line]
    norm = [line for line in text if "7.654" in line]
    assert len(gap) == len(norm) == 1
    assert SOURCES.gap in gap[0]
    assert SOURCES.norm in norm[0]
    assert any("0.123" in line and "reward" in line for line in text)
    assert any("4 dimensions" in line for line in text)
    assert any("deterministic" in line for line in text)


def test_assumptions_follow_the_setting() -> None:
    def text(setting: Setting) -> str:
        return "\n".join(certified(plan(0.6, 0.6, 0.6), setting).assumptions)

    assert "ties are allowed" in text(SETTING)
    assert "one optimal action in every state" in text(replace(SETTING, unique=True))
    assert "bounded by 3.5" in text(replace(SETTING, radius=3.5))
    noisy = text(replace(SETTING, radius=3.5, feature_noise=0.25))
    assert "sub-Gaussian with parameter 0.25" in noisy
    assert "at most 3.5" in noisy
    assert "bounded by" not in noisy


def test_as_data() -> None:
    certificate = certified(plan(0.6, 0.5, 0.7))
    data = certificate.to_dict()
    assert data["certified"] is True
    assert data["failure"] == certificate.failure
    assert data["schedule"]["ridge"] == SCHEDULE.ridge
    assert data["bounds"]["expansions"] == bounds(SCHEDULE, SETTING).expansions
    assert [level["action"] for level in data["levels"]] == [1, 1, 1]
    assert data["schema"] == certificate.schema


# ---------------------------------------------------------------- counts


@pytest.mark.parametrize("count", ["expansions", "feature_batches", "reward_batches"])
def test_a_run_that_left_its_bounds_contradicts_its_assumptions(count: str) -> None:
    most = getattr(bounds(SCHEDULE, SETTING), count)
    for excess in (0, 1):
        value = [0, most + excess, 0] if count == "expansions" else most + excess
        certificate = certified(plan(0.6, 0.6, 0.6), usage=replace(IDLE, **{count: value}))
        assert certificate.certified == (not excess)
    assert f"{most + 1} " in certificate.reason
    assert f"they allow {most}" in certificate.reason

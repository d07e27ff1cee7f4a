"""What a notebook shows, whatever texts are in it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

import surepath
from flaky import Walk
from reports import HOSTILE
from surepath.doctor.finding import Diagnosis, Finding, Forecast


def shown(thing: Any) -> str:
    return thing._repr_html_()


def test_a_result_and_its_certificate_show_their_claim() -> None:
    result = surepath.learn(Walk())
    for thing in (result, result.certificate):
        assert result.certificate.claim[1:] in shown(thing)
        for each in result.certificate.assumptions:
            assert each in shown(thing)
    assert "Plan: </b>" + " ".join(map(str, result.actions)) in shown(result)


def test_a_problem_shows_its_optimum() -> None:
    problem = surepath.make("lock", horizon=4)
    assert " ".join(map(str, problem.optimum[0])) in shown(problem)
    assert "<th>problem</th><td>lock</td>" in shown(problem)


def test_a_diagnosis_shows_its_findings() -> None:
    found = Diagnosis(
        (Finding("no drift", HOSTILE, remedy=HOSTILE), Finding(HOSTILE, "b", chance=0.5)),
        (Forecast("calibrated", 120.0, 60.0, float("inf"), 360.0, 1.0),),
        100,
        300,
        0.01,
    )
    page = shown(found)
    assert "no drift" in page
    assert "no bound" in page
    check_harmless(page)


def check_harmless(page: str) -> None:
    assert "<script" not in page
    assert "<img" not in page
    assert page.isprintable()


def test_hostile_texts_stay_text() -> None:
    result = surepath.learn(Walk(), budget=60)
    changed = replace(result.certificate, reason=HOSTILE, notes=(HOSTILE,), warnings=(HOSTILE,))
    for thing in (replace(result, certificate=changed), changed):
        check_harmless(shown(thing))
    problem = surepath.make("lock", horizon=2)
    problem.identity = {HOSTILE: HOSTILE}
    check_harmless(shown(problem))


def test_a_log_says_how_far_a_run_is(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="surepath"):
        surepath.learn(Walk(), budget=200)
    assert len(caplog.records) > 3
    assert caplog.records[0].name == "surepath"
    assert "'episodes'" in caplog.records[-1].getMessage()

"""What a notebook shows of a result or a certificate: the claim, and the plan step by step."""

from __future__ import annotations

from surepath.results.certificate import Certificate
from surepath.results.report import claim, plan
from surepath.results.report.html import Html, element, items, together
from surepath.results.result import Result


def of_result(result: Result) -> Html:
    """The claim and its figures; the plan is folded."""
    return element(
        "div",
        claim.badge(result.certificate, running=False),
        claim.statement(result.certificate),
        element("p", element("b", "Plan: "), " ".join(map(str, result.actions))),
        _rows(result),
        element("details", element("summary", "Step by step"), plan.steps(result, None, str)),
        element(
            "details", element("summary", "What it assumes"), items(result.certificate.assumptions)
        ),
    )


def of_certificate(certificate: Certificate) -> Html:
    return together(
        claim.badge(certificate, running=False),
        claim.statement(certificate),
        claim.grounds(certificate),
    )


def _rows(result: Result) -> Html:
    """The figures as a table: a notebook has no style for anything else."""
    left = "text-align:left;font-weight:normal"
    rows = [
        element(
            "tr", element("th", name, scope="row", style=left), element("td", value, style=left)
        )
        for name, value in claim.asked_first(result)
    ]
    return element("table", element("tbody", *rows))

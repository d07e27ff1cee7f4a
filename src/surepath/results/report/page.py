"""The page itself: its parts in order, with all it needs inside."""

from __future__ import annotations

import base64
import hashlib
import json
import platform
from importlib import metadata
from typing import Any

from surepath.errors import visible
from surepath.journal.course import Purpose
from surepath.journal.identity import ENGINE
from surepath.results.certificate import SCHEMA
from surepath.results.report import charts, claim, doctor, plan
from surepath.results.report.html import (
    EMPTY,
    Child,
    Html,
    asset,
    element,
    facts,
    folded,
    section,
    table,
    together,
)
from surepath.results.report.sheet import Sheet
from surepath.results.report.states import machine_data
from surepath.results.result import Result
from surepath.results.words import number
from surepath.validate import plain, without_infinities

PACKAGES = ("surepath", "numpy", "scipy", "scikit-learn", "gymnasium")


def page_of(sheet: Sheet, *, reload_seconds: float | None = None) -> str:
    """The page as a text. reload_seconds: how often a page that is being rewritten loads anew."""
    style, script = asset("drawing.css", "page.css"), asset("page.js")
    title = f"{sheet.title} - surepath"
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; "
        f"script-src '{_hash(script)}'; form-action 'none'; base-uri 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Html('<link rel="icon" href="data:,">'),
        element("style", Html(style)),
    )
    seconds = None if reload_seconds is None else f"{reload_seconds:g}"
    body = element(
        "body",
        element("a", "Skip to the claim", href="#claim", cls="skip"),
        _header(sheet),
        element("main", *_sections(sheet)),
        _footer(sheet),
        element("script", Html(_data(sheet)), id="run", type="application/json"),
        element("script", Html(script)),
        data_every=seconds,
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _hash(content: str) -> str:
    """What a browser compares an inline script or style with before it uses it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


# ---------------------------------------------------------------- parts


def _header(sheet: Sheet) -> Html:
    parts = (
        ("claim", "Claim"),
        ("convergence", "Gap"),
        ("plan", "Plan"),
        ("states", "States"),
        ("where", "Episodes"),
        ("drift", "Drift"),
        ("doctor", "Doctor"),
        ("run-settings", "Settings"),
    )
    early = ("claim", "convergence", "run-settings")  # all that there is before there is a result
    shown = [part for part in parts if sheet.result is not None or part[0] in early]
    links = [element("a", words, href=f"#{key}") for key, words in shown]
    name = sheet.title
    return element(
        "header",
        element("p", "surepath", cls="brand"),
        element("h1", name),
        element("nav", *links, aria_label="Parts of this page"),
    )


def _sections(sheet: Sheet) -> list[Html]:
    result = sheet.result
    if result is None:
        early = element(
            "p",
            "The run has not come far enough to say anything of a plan; or it goes on, and its "
            "file alone does not tell, because features of your own are not in it.",
        )
        return [
            section("The claim", "claim", early),
            section("How the gap closed", "convergence", charts.convergence(sheet.course)),
            _settings(sheet),
        ]
    return [
        section(
            "The claim",
            "claim",
            claim.badge(result.certificate, running=sheet.running),
            claim.statement(result.certificate),
            claim.figures(result),
            claim.grounds(result.certificate),
        ),
        section("How the gap closed", "convergence", _convergence(sheet)),
        section(
            "The plan",
            "plan",
            plan.strip(result, sheet.named),
            plan.steps(result, sheet.judged, sheet.named),
        ),
        section("The states", "states", _states(sheet)),
        section("Where episodes went", "where", _where(sheet, result)),
        section("Drift", "drift", _drift(sheet, result)),
        section("The doctor's findings", "doctor", doctor.diagnosed(sheet.diagnosis)),
        _settings(sheet),
    ]


def _convergence(sheet: Sheet) -> Html:
    if sheet.course:
        return charts.convergence(sheet.course)
    return element(
        "p",
        "This file does not say how the run went on. A journal does: learn(..., journal=path). "
        "Journals that older versions wrote do not.",
    )


def _states(sheet: Sheet) -> Html:
    if sheet.judged is None:
        return element(
            "p",
            "This file has no readings from which the states could be shown: runs of fixed "
            "schedules keep none, and those of older versions were judged by other rules.",
        )
    hint = element(
        "p",
        "Each dot is a hidden state: the prefixes that were taken for one. Levels go from left to "
        "right; the plan is the line at the top. Click a state, or move with the arrow keys; zoom "
        "with the wheel or with + and -, drag to move, 0 shows all.",
        cls="hint",
        id="states-hint",
    )
    search = element(
        "div",
        element("label", "Search a prefix (0 1 2) or a state (s12)", for_="search"),
        element("input", id="search", type="search", autocomplete="off", spellcheck="false"),
        element("div", id="found", role="status"),
        cls="search",
    )
    buttons = element(
        "div",
        *(
            element("button", words, type="button", data_zoom=key, aria_label=label)
            for key, words, label in (
                ("in", "+", "Zoom in"),
                ("out", "\u2212", "Zoom out"),
                ("all", "All", "Show all states"),
            )
        ),
        cls="zoom",
    )
    canvas = element(
        "canvas",
        id="graph",
        tabindex="0",
        role="application",
        aria_label="Graph of states",
        aria_describedby="states-hint",
    )
    opened = element(
        "div", element("p", "No state is open.", cls="hint"), id="state", aria_live="polite"
    )
    return together(hint, search, element("div", canvas, buttons, cls="graph"), opened)


def _where(sheet: Sheet, result: Result) -> Html:
    usage = result.usage
    spent = [
        sum(point["spent"][place] for point in sheet.course if place < len(point["spent"]))
        for place in range(len(Purpose))
    ]
    rest = max(0, usage.episodes - usage.pilot_episodes - sum(spent))
    parts = [
        ("pilot", usage.pilot_episodes, "before the first request: features and their scales"),
        *zip(Purpose, spent, charts.PURPOSES.values(), strict=True),
        ("given", usage.given_episodes, "from before; not paid for by this run"),
        ("not recorded", rest, "asked for by the run; this file does not say what for"),
    ]
    shown = [part for part in parts if part[1] or (part[0] in set(Purpose) and sum(spent))]
    levels: list[list[Child]] = [
        [str(level), number(expanded), number(covered)]
        for level, (expanded, covered) in enumerate(
            zip(usage.expansions, usage.covered, strict=True)
        )
    ]
    head = ["level", "states with every action tried", "ends that needed none"]
    by_level = folded("By level", table(head, levels, "Expansions by level"))
    mishaps = facts(
        [
            ("Attempts that failed", number(sheet.failed) if sheet.failed else None),
            ("Rounds", number(usage.rounds)),
        ]
    )
    return together(charts.spending(shown), mishaps, by_level)


def _drift(sheet: Sheet, result: Result) -> Html:
    said = (*result.certificate.doubts, *result.certificate.warnings)
    verdict = (
        "The certificate has doubts or warnings: see the claim."
        if said
        else "The run's own tests found no sign that the system changed while it went on."
    )
    if not sheet.windows:
        none = "This file does not have the episodes in their order, or too few of them."
        return together(element("p", verdict), element("p", none, cls="hint"))
    hint = (
        "For each part of the run: how far rewards were above or below what the same actions paid "
        f"over the whole run. In a steady system nearly all parts lie within {charts.LIMIT:g} "
        "standard errors."
    )
    return together(
        element("p", verdict), element("p", hint, cls="hint"), charts.steadiness(sheet.windows)
    )


def _settings(sheet: Sheet) -> Html:
    rows: list[list[Child]] = [
        [name, element("code", _said(value))] for name, value in sorted(sheet.call.items())
    ]
    versions = facts(
        [
            ("Engine of the run", str(sheet.call.get("engine", "not recorded"))),
            ("Engine of this version", str(ENGINE)),
            ("Schema of results", str(SCHEMA)),
            ("Python", platform.python_version()),
            *((name, _version(name)) for name in PACKAGES),
        ]
    )
    called = table(["argument", "value"], rows, "What the run was called with") if rows else EMPTY
    return section(
        "Settings and versions",
        "run-settings",
        called,
        element("h3", "Versions that made this page"),
        versions,
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _footer(sheet: Sheet) -> Html:
    words = (
        f"Made from {sheet.name}. The page shows what the file says; surepath verify derives its "
        "certificate again from the readings."
    )
    return element("footer", element("p", words))


# ---------------------------------------------------------------- data


def _said(value: Any) -> str:
    if value is None:
        return "not given"
    return value if isinstance(value, str) else json.dumps(plain(value, repr))


def _data(sheet: Sheet) -> str:
    """What the script draws. Nothing in it can end the element that holds it."""
    judged, result = sheet.judged, sheet.result
    data: dict[str, Any] = {"course": [], "machine": None}
    data["course"] = [
        [point["episodes"], point["value"], point["bound"]]
        for point in charts.thinned(sheet.course)
    ]
    if judged is not None and result is not None and result.certificate.terms is not None:
        data["machine"] = machine_data(judged, symbols=result.certificate.terms.shape.symbols)
        actions = range(judged.machine.n_actions)
        data["actions"] = [visible(sheet.named(each)) for each in actions]
    written = json.dumps(without_infinities(data), separators=(",", ":"))
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return written

"""What a run claims, in words: the claim, how sure it is, what it assumes and what it cost."""

from __future__ import annotations

from surepath.errors import visible
from surepath.inference.separation import in_noise_units
from surepath.inference.terms import Terms
from surepath.results.certificate import Certificate, Status
from surepath.results.report.html import (
    EMPTY,
    Html,
    element,
    facts,
    folded,
    items,
    together,
)
from surepath.results.result import Result
from surepath.results.usage import Usage
from surepath.results.words import number

WORDS = {
    Status.OPTIMAL: "Certified: optimal",
    Status.WITHIN: "Certified: close to optimal",
    Status.OPEN: "Not certified: not settled yet",
    Status.REFUSED: "Not certified: the readings speak against it",
    Status.UNPROVED: "Not certified: not proved",
}

GUARANTEES = {
    "calibrated": "calibrated: validated on many systems, not proved",
    "proved": "proved on fresh readings, for every system that satisfies the assumptions",
    "schedule": "proved beforehand, for a fixed schedule",
}

RESTS_ON = {
    "merging": "prefixes that read alike are taken for one hidden state",
    "prediction": "some states were predicted and not tried",
}


def badge(certificate: Certificate, *, running: bool) -> Html:
    """The status in a word or two."""
    if running:
        return element("p", "Still running: best so far", cls="badge open")
    kind = "sure" if certificate.certified else certificate.status
    return element("p", WORDS[certificate.status], cls=f"badge {kind}")


def statement(certificate: Certificate) -> Html:
    """The claim as a sentence, or why there is none."""
    words = visible(certificate.claim) if certificate.certified else "nothing is claimed"
    sentence = element("p", f"{words[:1].upper()}{words[1:]}.", cls="claim")
    return together(sentence, element("p", f"Because {visible(certificate.reason)}."))


def figures(result: Result) -> Html:
    """The numbers that a person asks for first."""
    return facts([*asked_first(result)])


def asked_first(result: Result) -> list[tuple[str, str]]:
    """These numbers, each with its name."""
    certificate, usage = result.certificate, result.usage
    low, high = result.interval
    return [
        ("Value of the plan", number(result.value)),
        ("Best possible value lies in", f"{number(low)} to {number(high)}"),
        *_claimed(certificate),
        ("delta, as asked for", number(certificate.delta)),
        ("Guarantee", GUARANTEES.get(certificate.guarantee, certificate.guarantee)),
        *_separation(certificate),
        ("Episodes", _episodes(usage)),
        ("Steps", number(usage.steps)),
        ("Prefixes tried", number(usage.nodes)),
    ]


def _claimed(certificate: Certificate) -> list[tuple[str, str]]:
    """How wrong the claim may be; nothing where nothing is claimed."""
    if not certificate.certified:
        return []
    lost = number(certificate.tolerance) if certificate.tolerance else "nothing"
    return [
        ("May be wrong with probability", f"at most {number(certificate.failure)}"),
        ("May fall short of the best by", lost),
    ]


def _episodes(usage: Usage) -> str:
    given = f" and {number(usage.given_episodes)} given" if usage.given_episodes else ""
    return f"{number(usage.episodes)}{given}"


def _separation(certificate: Certificate) -> list[tuple[str, str]]:
    terms = certificate.terms
    if terms is None or terms.separation is None:
        return []
    found = [("Separation, declared", _declared(terms))]
    if certificate.excluded_separation is not None:
        excluded = number(certificate.excluded_separation, 2)
        found.append(("Separation, excluded by readings", f"from {excluded} on"))
    return found


def _declared(terms: Terms) -> str:
    if not isinstance(terms.separation, float):
        return "exact: readings have no noise"
    if terms.shape.symbols:
        return f"a total variation of {number(terms.separation)}"
    units = in_noise_units(terms.separation)
    return f"{number(terms.separation)} ({units:.2g} standard deviations of a reading)"


def grounds(certificate: Certificate) -> Html:
    """What the claim assumes and rests on, and what speaks against it."""
    sure = certificate.certified
    rests = [f"{each}: {RESTS_ON.get(each, '')}" for each in certificate.rests_on]
    audit = certificate.audit
    if audit is not None:
        rests.append(
            f"{audit.states} predicted states were drawn and tried: the largest miss was "
            f"{number(audit.worst_miss, 3)}; {audit.predicted} are only predicted"
        )
    return together(
        _listed("Doubts", certificate.doubts, "doubts"),
        _listed("Warnings", certificate.warnings, "warnings"),
        _listed("It holds if" if sure else "A claim would hold if", certificate.assumptions),
        _listed("It rests on" if sure else "It would rest on", tuple(rests)),
        folded("Chosen for this run", items(certificate.notes)) if certificate.notes else EMPTY,
    )


def _listed(title: str, texts: tuple[str, ...], cls: str | None = None) -> Html:
    return together(element("h3", title), items(texts, cls)) if texts else EMPTY

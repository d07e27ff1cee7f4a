"""Results of older schemas, as data of this one: what they did not say is the weaker claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from surepath.results.certificate import Status


def upgraded(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same result as this schema has it. Nothing is checked here, and nothing hidden.

    An old result that was read and saved again says all that this schema says already.
    """
    certificate = data.get("certificate")
    if not isinstance(certificate, dict) or data["schema"] >= 5:
        return data
    said = cast(dict[str, Any], certificate)
    if isinstance(said.get("terms"), dict):
        # Before a run could say that it has shared noise, none had.
        said = {**said, "terms": {"shared_noise": False, **said["terms"]}}
    if data["schema"] == 4:
        return {**data, "certificate": said}
    if isinstance(said.get("terms"), dict) and "resolution" in said["terms"]:
        said = {**said, "terms": _terms(said["terms"])}
    if "status" not in said and data["schema"] < 3:
        said = {**said, **_status(said)}
    return {**data, "certificate": said}


def _terms(terms: Mapping[str, Any]) -> dict[str, Any]:
    """What is a tolerance now was a resolution in schemas 2 and 3.

    They excluded no separation: whatever is closer than the largest may have been merged.
    """
    others = {name: each for name, each in terms.items() if name != "resolution"}
    return {**others, "tolerance": terms["resolution"], "separation": 1.0}


def _status(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Status and tolerance where a file has none.

    A certified plan loses at most the tolerance of its terms; where it is optimal for certain, an
    old file said so in words only, and this says less.
    """
    terms = certificate.get("terms")
    if not certificate.get("certified"):
        open_or_refused = Status.REFUSED if certificate.get("doubts") else Status.OPEN
        status = open_or_refused if isinstance(terms, dict) else Status.UNPROVED
        return {"status": status.value, "tolerance": None}
    if isinstance(terms, dict) and cast(dict[str, Any], terms).get("gap") is None:
        tolerance = cast(dict[str, Any], terms).get("tolerance")
        return {"status": Status.WITHIN.value, "tolerance": tolerance}
    return {"status": Status.OPTIMAL.value, "tolerance": 0.0}

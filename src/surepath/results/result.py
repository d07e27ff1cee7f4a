"""What a run returns: the plan, how sure it is, and what it cost."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surepath.errors import InputError, MissingExtraError
from surepath.inference.states import Shape
from surepath.inference.terms import Terms
from surepath.journal.output_files import replaced
from surepath.results.certificate import SCHEMA, Audit, Certificate, Level, Status
from surepath.results.usage import MISHAPS, Usage
from surepath.system import Actions
from surepath.theory.schedule import Bounds, Schedule
from surepath.validate import plain, without_infinities

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Result:
    """What a run found: the plan, its value, how sure that is, and what it cost."""

    actions: Actions  # the plan, one action a level
    value: float  # estimate of its expected return; NaN before there is an estimate
    interval: tuple[float, float]  # holds the optimal value, as surely as the claim holds
    certificate: Certificate
    usage: Usage
    record: list[dict[str, Any]] | None = field(default=None, compare=False, repr=False)
    # the readings by prefix, of adaptive runs: what `verify` checks the certificate against
    call: dict[str, Any] | None = field(default=None, compare=False, repr=False)
    # what the run was called with: what the terms of the certificate have to follow from

    @property
    def certified(self) -> bool:
        return self.certificate.certified

    @property
    def episodes(self) -> int:
        return self.usage.episodes

    @property
    def steps(self) -> int:
        return self.usage.steps

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": self.certificate.schema,
            "actions": list(self.actions),
            "value": self.value,
            "interval": list(self.interval),
            "certified": self.certified,
            "episodes": self.episodes,
            "steps": self.steps,
            "usage": plain(self.usage),
            "certificate": self.certificate.to_dict(),
        }

    def to_json(self, indent: int | None = None) -> str:
        """Strict JSON: numbers that JSON does not have (NaN, infinity) are written as null."""
        return json.dumps(without_infinities(self.to_dict()), indent=indent, allow_nan=False)

    def saved(self) -> dict[str, Any]:
        """The result with its readings and its call, as strict JSON has it.

        What went wrong on the way is left out: no reading shows it, so nobody could check it.
        """
        usage = {name: n for name, n in plain(self.usage).items() if name not in MISHAPS}
        call = {} if self.call is None else {"call": self.call}
        return without_infinities({**self.to_dict(), "usage": usage, "record": self.record, **call})

    def save(self, path: str | Path) -> None:
        """Write the result with its readings as JSON; `surepath.load` reads it back.

        An older file is replaced when all of the new one is there; a journal is never written over.
        """
        text = json.dumps(self.saved(), indent=1, allow_nan=False)
        with replaced(Path(path)) as place:
            place.write_text(text + "\n", encoding="utf-8")

    def to_dataframe(self) -> pd.DataFrame:
        """One row a level: action, estimates, width, margin, coverage, samples, expansions."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("pandas", "table", "to_dataframe") from error
        rows = [
            {
                "level": level.level,
                "action": level.action,
                **{f"q{a}": q for a, q in enumerate(level.estimates)},
                "width": level.width,
                "margin": level.margin,
                "coverage": level.coverage,
                "samples": level.samples,
                "expansions": self.usage.expansions[level.level],
            }
            for level in self.certificate.levels
        ]
        return pandas.DataFrame(rows)

    def plot(self) -> Figure:
        """A figure by level: estimates of all actions, the width of the chosen one, expansions."""
        from surepath.results.plot import plot_result

        return plot_result(self.certificate, self.usage)


def load(path: str | Path) -> Result:
    """A result that `Result.save` wrote."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        data = json.loads(text, parse_constant=_no_constant)
    except (UnicodeDecodeError, ValueError) as error:
        raise InputError(
            f"{path} is not a saved result",
            got=str(error),
            remedy="Give a file that result.save(path) wrote.",
        ) from error
    if not isinstance(data, dict) or data.get("schema") not in range(1, SCHEMA + 1):  # pyright: ignore[reportUnknownMemberType]  # JSON is untyped
        raise InputError(
            f"{path} does not hold a result of schema {SCHEMA} or older",
            got=f"schema {data.get('schema')!r}" if isinstance(data, dict) else type(data).__name__,  # pyright: ignore[reportUnknownMemberType]  # JSON is untyped
            remedy="Give a file that result.save(path) of this version wrote.",
        )
    return restored(data)  # pyright: ignore[reportUnknownArgumentType]  # JSON is untyped


def _no_constant(name: str) -> None:
    """NaN and infinity are not JSON, and never written."""
    raise ValueError(f"{name} is not a number")


def restored(data: dict[str, Any]) -> Result:
    """The result from the data that `Result.saved` gave, of this schema or an older one."""
    certificate: dict[str, Any] = {**data["certificate"], "schema": data["schema"]}
    certified = certificate.pop("certified")
    for name in ("assumptions", "notes", "warnings", "doubts", "rests_on"):
        certificate[name] = tuple(certificate.get(name, ()))
    if certificate["schedule"] is not None:
        certificate["schedule"] = Schedule(**certificate["schedule"])
    if certificate.get("terms") is not None:  # schema 1 had fixed schedules only
        certificate["terms"] = _terms(certificate["terms"])
    if certificate["bounds"] is not None:
        certificate["bounds"] = Bounds(**certificate["bounds"])
    if certificate.get("audit") is not None:
        certificate["audit"] = Audit(**certificate["audit"])
    certificate["levels"] = tuple(_level(level) for level in certificate["levels"])
    if certificate["schema"] < 3:
        certificate.update(_status_of_old(certificate, certified=certified))
    certificate["status"] = Status(certificate["status"])
    if not certified == data["certified"] == certificate["status"].certified:
        raise InputError(
            "whether a result is certified must follow from its status",
            got=f"certified={certified} and {data['certified']}, {certificate['status']}",
            remedy="Use the file as it was saved.",
        )
    low, high = data["interval"]
    return Result(
        actions=tuple(data["actions"]),
        value=math.nan if data["value"] is None else data["value"],
        interval=(-math.inf if low is None else low, math.inf if high is None else high),
        certificate=Certificate(**certificate),
        usage=Usage(**data["usage"]),
        record=data.get("record"),
        call=data.get("call"),
    )


def _status_of_old(certificate: Mapping[str, Any], *, certified: bool) -> dict[str, Any]:
    """Status and tolerance where a file has none.

    A certified plan loses at most the tolerance of its terms; where it is optimal for certain, an
    old file said so in words only, and this says less.
    """
    terms: Terms | None = certificate.get("terms")
    if not certified:
        open_or_refused = Status.REFUSED if certificate["doubts"] else Status.OPEN
        return {
            "status": Status.UNPROVED if terms is None else open_or_refused,
            "tolerance": None,
        }
    if terms is None or terms.gap is not None:
        return {"status": Status.OPTIMAL, "tolerance": 0.0}
    return {"status": Status.WITHIN, "tolerance": terms.tolerance}


def _terms(data: dict[str, Any]) -> Terms:
    if "resolution" in data:  # of schemas 2 and 3: what is a tolerance now
        # They excluded no separation: whatever is closer than the largest may have been merged.
        data = {**data, "tolerance": data["resolution"], "separation": 1.0}
        del data["resolution"]
    low, high = data["reward_range"]
    bounds = (-math.inf if low is None else low, math.inf if high is None else high)
    fields: dict[str, Any] = {**data, "shape": Shape(**data["shape"]), "reward_range": bounds}
    return Terms(**fields)


def _level(data: dict[str, Any]) -> Level:
    infinite = {name: math.inf for name in ("width", "margin") if data[name] is None}
    fields: dict[str, Any] = {**data, **infinite, "estimates": tuple(data["estimates"])}
    return Level(**fields)

"""What a run returns: the plan, how sure it is, and what it cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from surepath.decoding.kinds import Bottomless, Unbounded, Unknown
from surepath.decoding.text import json_of
from surepath.decoding.typed import decoded, shortened
from surepath.errors import InputError, MissingExtraError
from surepath.journal.output_files import replaced
from surepath.readings.record import Entry
from surepath.results.certificate import SCHEMA, Certificate
from surepath.results.coherent import check_coherent
from surepath.results.older import upgraded
from surepath.results.usage import MISHAPS, Usage
from surepath.results.words import number
from surepath.system import Actions
from surepath.validate import plain, without_infinities

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Result:
    """What a run found: the plan, its value, how sure that is, and what it cost."""

    actions: Actions  # the plan, one action a level
    value: Unknown  # estimate of its expected return; NaN before there is an estimate
    interval: tuple[Bottomless, Unbounded]  # holds the optimal value, as surely as the claim holds
    certificate: Certificate
    usage: Usage
    record: list[Entry] | None = field(default=None, compare=False, repr=False)
    # the readings by prefix, of adaptive runs: what `verify` checks the certificate against
    call: dict[str, Any] | None = field(default=None, compare=False, repr=False)
    # what the run was called with: what the terms of the certificate have to follow from
    proof: list[str] | None = field(default=None, compare=False, repr=False)
    # of a proved certificate: its witness, in the lines of docs/proof.md

    derived: ClassVar = ("schema", "certified", "episodes", "steps")  # written beside the fields

    @property
    def schema(self) -> int:
        return self.certificate.schema

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
            "schema": self.schema,
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
        proof = {} if self.proof is None else {"proof": self.proof}
        record = plain(self.record)
        return without_infinities(
            {**self.to_dict(), "usage": usage, "record": record, **call, **proof}
        )

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

    def plot(self, axes: Axes | None = None) -> Axes:
        """What every action is worth by step, the chosen one with its width; as matplotlib's Axes.

        axes: to draw into; without them a figure is made, which is their `figure`.
        """
        from surepath.results.plot import plot_result

        return plot_result(self, axes)

    def plot_states(self, axes: Axes | None = None) -> Axes:
        """The states that were told apart, and where actions lead."""
        from surepath.results.plot import plot_states

        return plot_states(self, axes)

    def __str__(self) -> str:
        """What a person asks first; `certificate` has what it assumes."""
        low, high = self.interval
        return "\n".join(
            [
                f"plan {' '.join(map(str, self.actions))}",
                f"value {number(self.value)}, the best possible is in "
                f"[{number(low)}, {number(high)}]",
                self.certificate.sentence,
                f"{number(self.episodes)} episodes, {number(self.steps)} steps",
            ]
        )

    def _repr_html_(self) -> str:
        from surepath.results.report.notebook import of_result

        return of_result(self)


def load(path: str | Path) -> Result:
    """A result that `Result.save` wrote."""
    return restored(data_in(path), str(path))


def data_in(path: str | Path) -> Any:
    """What a file of JSON holds, whatever that is."""
    try:
        with Path(path).open("rb") as file:
            return json_of(file, str(path))
    except OSError as error:
        raise InputError(
            f"{path} cannot be read", got=str(error), remedy="Give the path of a saved result."
        ) from error


def restored(data: Any, what: str = "the result") -> Result:
    """The result from the data that `Result.saved` gave, of this schema or an older one."""
    fields = cast(dict[str, Any], data if isinstance(data, dict) else {})
    schema = fields.get("schema")
    if type(schema) is not int or schema not in range(1, SCHEMA + 1):
        raise InputError(
            f"{what} does not hold a result of schema {SCHEMA} or older",
            got=f"schema {shortened(schema)}" if fields else shortened(cast(object, data)),
            remedy="Give a file that result.save(path) of this version wrote.",
        )
    result = decoded(Result, upgraded(fields), what)
    check_coherent(result.actions, result.certificate, result.usage, result.record, what)
    return result

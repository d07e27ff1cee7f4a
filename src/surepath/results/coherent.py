"""Whether the parts of a result fit together: what no single field shows.

Whoever reads a result relies on it: there is an estimate for every action, and a level for every
number of expansions. It also bounds, by what is really in a file, what deriving the certificate
again takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from surepath.decoding import limits
from surepath.errors import InputError
from surepath.inference.guarantee_widths import known_guarantee
from surepath.inference.states import Shape
from surepath.inference.terms import Terms
from surepath.readings.record import Entry
from surepath.results.certificate import Certificate
from surepath.results.usage import Usage
from surepath.system import Actions


def check_coherent(
    actions: Actions,
    certificate: Certificate,
    usage: Usage,
    record: Sequence[Entry] | None,
    what: str,
) -> None:
    """Refuse a result whose parts contradict each other; `what` it is called is in the error."""
    terms = certificate.terms
    parts = chain(
        _levels(actions, certificate, usage),
        () if terms is None else _terms(actions, terms, usage),
    )
    for part, fits, got in parts:
        if not fits:
            raise _misfit(f"{what}: {part}", got)
    if terms is not None:
        known_guarantee(terms.guarantee)
        _record(record or (), terms.shape, what)


def _levels(
    actions: Actions, certificate: Certificate, usage: Usage
) -> Iterator[tuple[str, bool, object]]:
    levels, terms = len(actions), certificate.terms
    yield "a plan has an action for each level", 1 <= levels <= limits.HORIZON, levels
    yield "actions are those of the system", max(actions) < usage.n_actions, max(actions)
    for name, counts in (("expansions", usage.expansions), ("covered", usage.covered)):
        yield f"usage has {name} for each level", len(counts) == levels, len(counts)
    for place, level in enumerate(certificate.levels):
        where = f"certificate.levels[{place}]"
        yield f"{where} is one of the plan", level.level == place < levels, level.level
        estimates = len(level.estimates)
        wanted = usage.n_actions if terms is None else terms.shape.actions_at(place)
        yield f"{where} has an estimate for each action", estimates == wanted, estimates
        yield f"{where} has an action of the system", level.action < estimates, level.action


def _terms(actions: Actions, terms: Terms, usage: Usage) -> Iterator[tuple[str, bool, object]]:
    shape = terms.shape
    same = (shape.horizon, shape.n_actions) == (len(actions), usage.n_actions)
    yield "certificate.terms has the sizes of the plan", same, shape
    low, high = terms.reward_range
    yield "certificate.terms has a range of rewards", low < high, terms.reward_range


def _record(record: Sequence[Entry], shape: Shape, what: str) -> None:
    rows = shape.horizon + len(record)
    if rows * shape.n_actions > limits.CELLS:
        raise _misfit(
            f"{what}: tables of prefixes and actions have at most {limits.CELLS} cells",
            f"{rows} prefixes and levels, {shape.n_actions} actions",
        )
    size = [shape.dimension]
    shapes = [entry["observations"][2]["shape"] for entry in record if entry["observations"]]
    kept = 2 * size if 2 * size in shapes else size  # all products of features, or none
    for place, entry in enumerate(record):
        where = f"{what}: record[{place}]"
        prefix = entry["prefix"]
        if len(prefix) > shape.horizon or max(prefix, default=0) >= shape.n_actions:
            raise _misfit(f"{where}.prefix is a sequence of the system's actions", prefix)
        if entry["observations"] is not None:
            _, total, squares = entry["observations"]
            if total["shape"] != size or squares["shape"] != kept:
                raise _misfit(
                    f"{where}.observations are features of {shape.dimension} numbers",
                    f"arrays of {total['shape']} and {squares['shape']}",
                )


def _misfit(what: str, got: object) -> InputError:
    shown = str(got)[: limits.SHOWN]
    return InputError(what, got=shown, remedy="Use the file as it was saved.")

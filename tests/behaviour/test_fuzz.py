"""A short run of `make fuzz`: whatever a file or a line is, it is read or refused."""

from __future__ import annotations

import pytest

from fuzz.campaign import campaign


@pytest.mark.parametrize(
    ("kind", "cases"), [("results", 2000), ("journals", 300), ("proofs", 1000), ("lines", 500)]
)
def test_mutated_input_is_read_or_refused(kind: str, cases: int) -> None:
    found = campaign(kind, seed=1, cases=cases)
    assert found.tracebacks == []
    assert found.cases >= cases
    assert found.read > 0
    assert found.refused > found.read

"""One run that proves what it finds: what it came to, and what the checker says of its proof."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from surepath.api import learn
from surepath.bench.harness.runs import Outcome, outcome
from surepath.results.check_proof import check
from surepath.system import Actions


@dataclass(frozen=True, slots=True)
class Proved(Outcome):
    valid: bool  # whether there is a proof that the checker accepts
    seconds: float  # of this process


def proved(
    env: object,
    best: float,
    value: Callable[[Actions], float],
    horizon: int | None = None,
    **told: Any,
) -> Proved:
    """best: what the best plan is worth. value: what any plan is."""
    started = time.process_time()
    result = learn(env, horizon, guarantee="proved", **told)
    seconds = time.process_time() - started
    valid = result.proof is not None and check(result.proof).valid
    found = outcome(result, best - value(result.actions))
    return Proved(**asdict(found), valid=valid, seconds=seconds)

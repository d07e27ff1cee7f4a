"""More hidden states than symbols: one look is not enough, a few looks in a row are.

Story. The finite machine of `tabular`, but its dial has fewer symbols than the machine has states.
Some states look alike however often one looks; what happens after the next button or two tells them
apart. An embedding has to look `future` observations ahead, along every continuation.

Source. The overcomplete tabular POMDP of Uehara, Sekhari, Lee, Kallus and Sun, "Computationally
Efficient PAC RL in POMDPs with Latent Determinism and Conditional Embeddings", section on
multi-step futures.
"""

from __future__ import annotations

import numpy as np

from surepath.builtin_problems.finite import random_dynamics
from surepath.builtin_problems.tabular import Tabular
from surepath.errors import InputError
from surepath.validate import between, whole

TRIES = 2000
"""Random machines that are drawn in search of one that needs exactly the future asked for."""


def overcomplete(
    horizon: int = 5,
    states: int = 6,
    actions: int = 2,
    observations: int = 3,
    future: int = 2,
    gap: float = 0.1,
    singular_value: float = 0.02,
    seed: int = 0,
) -> Tabular:
    """Finite machine with more states than symbols, told apart by exactly `future` looks ahead."""
    whole("horizon", horizon, least=2)
    whole("actions", actions, least=1)
    whole("observations", observations, least=2)
    if whole("states", states, least=1) <= observations:
        raise InputError(
            "an overcomplete problem has more states than observations",
            got=f"states={states}, observations={observations}",
            remedy="Raise states or lower observations; or use the problem 'tabular'.",
        )
    whole("future", future, least=2, most=horizon)
    between("gap", gap, 0, 1)
    between("singular_value", singular_value, 0, 1)
    rng = np.random.default_rng(whole("seed", seed, least=0))
    for _ in range(TRIES):
        dynamics = random_dynamics(horizon, states, actions, gap, rng)
        emissions = rng.dirichlet(np.full(observations, 0.5), size=(horizon, states))
        problem = Tabular(dynamics, emissions)
        if needed_future(problem, singular_value) == future:
            return problem
    raise InputError(
        f"no machine was found whose states take exactly {future} looks to tell apart",
        got=f"horizon={horizon}, states={states}, actions={actions}, observations={observations}, "
        f"singular_value={singular_value}",
        remedy="Lower singular_value, or change the sizes or the future.",
    )


def needed_future(problem: Tabular, singular_value: float) -> int | None:
    """The smallest future whose embeddings are independent enough at every level it covers.

    A shorter one must fail outright: some level has dependent embeddings.
    """
    for future in range(1, problem.horizon + 1):
        levels = range(problem.horizon - future + 1)
        smallest = min(problem.smallest_singular_value(h, future) for h in levels)
        if smallest >= singular_value:
            return future
        if smallest > 1e-9:
            return None  # neither clear nor impossible
    return None

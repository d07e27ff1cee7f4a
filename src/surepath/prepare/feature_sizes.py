"""How large features are: what every proof starts from."""

from __future__ import annotations

from surepath.errors import InputError
from surepath.features import Linear, WindowFeatures
from surepath.prepare.resolved import Resolved
from surepath.readings.embedding import KernelMap
from surepath.system import Declared, System


def size_of(system: System, psi: Resolved, future: int) -> tuple[float, float | None, int | None]:
    """Of windows: radius of the features, their noise (None: they are bounded), their dimension.

    A kernel's features have length 1 and no dimension.
    """
    features = psi.features
    if isinstance(features, KernelMap):
        return 1.0, None, None
    if features.radius is not None:
        power = 1 if isinstance(features, WindowFeatures) else future
        return features.radius**power, None, features.dimension**power
    # What the system says of its observations holds for features that are the observations.
    plain = isinstance(features, Linear) and future == 1
    said = Declared(system if plain else None)
    if said.observation_noise is None or said.radius is None:
        raise InputError(
            "a proof needs a bound on the features; or linear ones of a future of 1, and the noise "
            "of the observations",
            got=f"{psi.note}, future={future}",
            remedy="Use bounded features, such as Custom(function, dimension, radius=1.0), "
            "or give the system the attributes observation_noise and radius.",
        )
    return said.radius, said.observation_noise, features.dimension

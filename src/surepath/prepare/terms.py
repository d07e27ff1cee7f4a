"""The terms of an adaptive run: what it is held to, and what it may assume."""

from __future__ import annotations

from dataclasses import replace

from surepath.errors import InputError
from surepath.features import Features, OneHot, WindowFeatures
from surepath.features.growing import Growing
from surepath.features.kernels import never_negative
from surepath.inference.proposal import Route
from surepath.inference.states import Shape
from surepath.inference.terms import ONE_HOT, Terms
from surepath.inference.tuning import TUNING
from surepath.prepare.call import PROVED, Call
from surepath.prepare.feature_sizes import size_of
from surepath.prepare.resolved import Resolved
from surepath.readings.embedding import KernelMap
from surepath.system import Declared


def finite_features(psi: Resolved) -> Features:
    """The features; a kernel that is used exactly is refused: states are told apart by vectors."""
    if isinstance(psi.features, KernelMap):
        raise InputError(
            "the adaptive schedule takes kernels through landmarks",
            got=psi.note,
            remedy='Use KernelFeatures(kernel, "nystroem"), or a fixed schedule.',
        )
    if isinstance(psi.features, WindowFeatures):
        raise InputError(
            "features of whole windows are for fixed schedules",
            got=psi.note,
            remedy='Use schedule="tight", "paper" or a Schedule; or features of one observation.',
        )
    return psi.features


def terms_of(call: Call, psi: Resolved, features: Features, future: int) -> Terms:
    """The terms of the run; an error where rewards or the guarantee lack what they need."""
    noise = call.reward_noise
    symbols = isinstance(features, OneHot)
    shape = Shape(
        call.horizon,
        call.system.n_actions,
        features.dimension,
        symbols,
        future,
        # A proof takes all actions for different.
        call.last_actions if call.guarantee != PROVED else None,
    )
    _check_future(shape)
    terms = Terms(
        shape=shape,
        guarantee=call.guarantee,
        delta=call.delta,
        gap=call.gap,
        tolerance=None if isinstance(call.tolerance, str) else call.tolerance,
        tolerance_share=call.tolerance_share,
        reward_range=call.rewards,
        separation=call.declared_separation,
        predict=call.predict,
        reward_noise=noise,
        returns=call.return_range,
    )
    return _proved(terms, call, psi) if call.guarantee == PROVED else terms


def _check_future(shape: Shape) -> None:
    if shape.continuations > TUNING.most_continuations:
        raise InputError(
            f"a future has at most {TUNING.most_continuations} ways to go on: each of them is read "
            "wherever prefixes are taken for one state",
            got=f"{shape.n_actions} actions, future={shape.future}",
            remedy="Use a smaller future, or none: it then grows where it has to.",
        )


def _proved(terms: Terms, call: Call, psi: Resolved) -> Terms:
    """What a proof rests on beside the terms of every adaptive run."""
    said = Declared(call.system)
    terms = replace(terms, norm=call.norm, shared_noise=bool(said.shared_noise))
    if terms.route is Route.TREE:
        return terms
    if terms.shape.symbols:
        return replace(terms, radius=ONE_HOT)
    if isinstance(psi.features, Growing):  # of which a proof takes the kernel alone
        apart = never_negative(psi.features.nystroem.kernel)
        return replace(terms, radius=ONE_HOT if apart else 1.0)
    radius, noise, _ = size_of(call.system, psi, 1)
    if noise is not None:  # how long their means are does not matter
        return replace(terms, feature_noise=noise)
    return replace(terms, radius=radius)

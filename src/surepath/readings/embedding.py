"""What is regressed on: the only thing in which the settings of the paper differ.

An embedding turns readings into a *point* for each node, and says which regression takes such
points. Finite-dimensional features, kernels and futures of several steps are all embeddings; the
recursion is the same for all of them.

A future of K steps is a window: the observations along each of the A^(K-1) continuations of a node,
stacked. Given the actions the steps of an episode are independent, so the expected tensor product
of a window is the tensor product of its nodes' means:

    z_K(node) = x(node) (x) stack over actions a of z_(K-1)(node a),      z_1(node) = x(node),
    <z_K(u), z_K(v)> = k(u, v) * sum over a of <z_(K-1)(u a), z_(K-1)(v a)>.

Windows of node means (the default) use each reading in every window it belongs to; joint windows
average the tensor product over episodes, as the paper does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError
from surepath.features import Features, OneHot, WindowFeatures
from surepath.features.kernels import Bag, mean_gram_row
from surepath.readings.digests import COVARIANCE_LIMIT, Average, Cloud, Digest
from surepath.readings.ridge import DualRidge, Regression, Ridge
from surepath.readings.trie import Node
from surepath.system import (
    Counts,
    Episodes,
    FloatArray,
    Moments,
    Readings,
    Sample,
    WindowCounts,
)
from surepath.theory.kernel_matrix import Kernel
from surepath.theory.setting import Windows
from surepath.validate import whole

PRIMAL_LIMIT = 2000
"""Dimensions up to which a point is one vector, at d^2 an update; longer windows are regressed
through their Gram matrix, and joint windows, which have none, are refused."""

MOST_COMPARED = 1024
"""Real features up to which a learner asks what is the same: it turns them to the axes of their
noise, at d^3 a level and round."""


@dataclass(frozen=True, slots=True)
class Window:
    """A node's digest with the windows of its children: the embedding of a future, unmultiplied."""

    digest: Digest
    children: tuple[Window, ...] = ()


class Embedding(ABC):
    """From readings to the points of the regression."""

    statistics: tuple[type, ...] = ()  # sufficient statistics it can be computed from
    joint = False  # whether it has to know what was read together
    pairs = False  # whether readings are kept one by one and compared pair by pair

    def __init__(self, n_actions: int, future: int) -> None:
        self.n_actions = n_actions
        self.future = whole("future", future, least=1)  # K

    def steps(self, level: int) -> range:
        """The time steps an episode that ends at this level is read at."""
        return range(max(0, level - self.future + 1), level + 1)

    @abstractmethod
    def read(self, answer: Readings, steps: range) -> dict[int, Digest]:
        """Digests of the readings, by the level of the node each belongs to."""

    def point(self, node: Node) -> Any:
        """The embedding of the node's future, from the digests of its window as first used."""
        return self._window(node, self.future)

    def _window(self, node: Node, length: int) -> Window:
        children = range(self.n_actions) if length > 1 else ()
        return Window(
            node.settle(), tuple(self._window(node.child(a), length - 1) for a in children)
        )

    @abstractmethod
    def regression(self, ridge: float) -> Regression:
        """An empty regression for the points of one level."""


class VectorEmbedding(Embedding):
    """Finite-dimensional features (Algorithms 1 and 2), and windows of their means."""

    def __init__(self, features: Features, n_actions: int, future: int = 1) -> None:
        super().__init__(n_actions, future)
        self.features = features
        self.statistics = features.statistics
        self.dimension = features.dimension**future * n_actions ** (future - 1)

    def digest(self, sample: Sample) -> Average | Cloud:
        return Average.of(_size(sample), self.features.mean(sample))

    def read(self, answer: Readings, steps: range) -> dict[int, Digest]:
        digests: dict[int, Digest] = {}
        for step in steps:
            digest = self.digest(answer.observation(step))
            _check_mean(digest.value, self.features.dimension, answer, step)
            digests[step] = digest
        return digests

    def point(self, node: Node) -> Any:
        return self.vector(node) if self.dimension <= PRIMAL_LIMIT else super().point(node)

    def vector(self, node: Node) -> FloatArray:
        """The point as one vector, however long."""
        return flatten(self._window(node, self.future))

    def regression(self, ridge: float) -> Regression:
        if self.dimension <= PRIMAL_LIMIT:
            return Ridge(self.dimension, self.n_actions, ridge)
        return DualRidge(window_gram(_inner_products), self.n_actions, ridge)


class CloudEmbedding(VectorEmbedding):
    """Finite-dimensional features with their noise: for learners that ask what is the same."""

    def __init__(self, features: Features, n_actions: int, future: int = 1) -> None:
        super().__init__(features, n_actions, future)
        self._symbols = features if isinstance(features, OneHot) else None
        if self._symbols is None and features.dimension > MOST_COMPARED:
            raise InputError(
                f"states are told apart by at most {MOST_COMPARED} real features: the noise that "
                "these share is a matrix",
                got=f"{features.dimension} features",
                remedy='Use features="rbf", which sees the principal components of an image, a '
                "transformer such as sklearn.decomposition.PCA(12), or a function of your own.",
            )

    def digest(self, sample: Sample) -> Cloud:
        if self._symbols is not None:
            return Cloud(_size(sample), self._symbols.counts(sample), None)
        if isinstance(sample, Moments):
            mean = self.features.mean(sample)
            squares = sample.scatter + sample.count * np.outer(mean, mean)
            return Cloud(sample.count, sample.count * mean, self._kept(squares))
        if isinstance(sample, Counts):
            rows = self.features.rows(np.arange(len(sample.counts)))
            return self._cloud(sample.count, rows, sample.counts[:, None] * rows)
        return self.pooled(self.features.rows(sample))

    def pooled(self, rows: FloatArray) -> Cloud:
        """The digest of observations whose features are known, [n, d]."""
        return self._cloud(len(rows), rows, rows)

    def _cloud(self, count: int, rows: FloatArray, weighted: FloatArray) -> Cloud:
        """Rows [n, d], and the same, each as often as it was read."""
        whole = rows.shape[1] <= COVARIANCE_LIMIT
        squares = rows.T @ weighted if whole else np.einsum("ij,ij->j", rows, weighted)
        return Cloud(count, weighted.sum(axis=0), squares)

    @staticmethod
    def _kept(squares: FloatArray) -> FloatArray:
        return squares if len(squares) <= COVARIANCE_LIMIT else np.diag(squares).copy()


class JointEmbedding(Embedding):
    """The paper's windows, averaged over episodes: features of K observations, or the tensor
    product of K features of one.
    """

    joint = True

    def __init__(self, features: Features | WindowFeatures, n_actions: int, future: int) -> None:
        super().__init__(n_actions, future)
        self.features = features
        whole_windows = isinstance(features, WindowFeatures)
        if whole_windows and features.future != future:
            raise InputError(
                f"these features are of {features.future} observations",
                got=f"future={future}",
                remedy=f"Use future={features.future}, or leave it out.",
            )
        one = features.dimension if whole_windows else features.dimension**future
        self.dimension = one * n_actions ** (future - 1)
        whole("the dimension of joint windows", self.dimension, least=1, most=PRIMAL_LIMIT)
        if whole_windows or Counts in features.statistics:
            self.statistics = (WindowCounts,)
        self._tables: dict[tuple[int, ...], FloatArray] = {}

    def read(self, answer: Readings, steps: range) -> dict[int, Digest]:
        """The window that ends with the episode, where it has its full length."""
        if len(steps) < self.future:
            return {}
        last = steps[-1]
        if isinstance(answer, Episodes):
            total = self._rows(answer.observations[:, steps[0] : last + 1]).sum(axis=0)
            return {last: Average(answer.count, total)}
        if last not in answer.windows:
            raise InputError(
                "joint windows need single episodes, or counts of windows",
                got="a statistic of single steps",
                remedy='Use windows="product", or a system that draws either.',
            )
        window = answer.windows[last]
        return {last: Average(window.count, window.counts.ravel() @ self._table(window))}

    def _rows(self, windows: NDArray[Any]) -> FloatArray:
        """Features of windows [n, K, ...], as [n, d]."""
        if isinstance(self.features, WindowFeatures):
            return self.features.rows(windows)
        factors = [self.features.rows(windows[:, step]) for step in range(self.future)]
        return reduce(_row_products, factors)

    def _table(self, window: WindowCounts) -> FloatArray:
        """Features of all windows of symbols, in the order of the counts."""
        shape = window.counts.shape
        if shape not in self._tables:
            self._tables[shape] = self._rows(np.indices(shape).reshape(len(shape), -1).T)
        return self._tables[shape]

    def point(self, node: Node) -> FloatArray:
        ends = node.window(self.future - 1, self.n_actions)[-1]
        return np.concatenate([end.settle().value for end in ends])

    def regression(self, ridge: float) -> Regression:
        return Ridge(self.dimension, self.n_actions, ridge)


@dataclass(frozen=True, slots=True)
class KernelMap:
    """A kernel, and how observations are turned into the vectors it takes."""

    kernel: Kernel
    view: Callable[[NDArray[Any]], FloatArray]  # observations [n, ...] to vectors [n, p]


Averaged: TypeAlias = Features | WindowFeatures | KernelMap
"""What a run may average: features of one observation or of several, or a kernel."""


class KernelEmbedding(Embedding):
    """Kernel mean embeddings (Algorithms 3 and 4); products of them for longer futures."""

    pairs = True

    def __init__(self, kernel: KernelMap, n_actions: int, future: int = 1) -> None:
        super().__init__(n_actions, future)
        self.kernel = kernel.kernel
        self.view = kernel.view
        self.statistics = (Counts,)

    def read(self, answer: Readings, steps: range) -> dict[int, Digest]:
        return {step: self.digest(answer.observation(step)) for step in steps}

    def digest(self, sample: Sample) -> Bag:
        if isinstance(sample, np.ndarray):
            return Bag.of(self.view(sample))
        bag = Bag.of(sample)
        return replace(bag, values=self.view(bag.values))

    def regression(self, ridge: float) -> Regression:
        def rows(bag: Any, others: Sequence[Any]) -> FloatArray:
            return mean_gram_row(self.kernel, bag, others)

        return DualRidge(window_gram(rows), self.n_actions, ridge)


def embed(features: Averaged, n_actions: int, future: int, windows: Windows) -> Embedding:
    """The embedding for these features and this future."""
    if isinstance(features, WindowFeatures):
        return JointEmbedding(features, n_actions, future)
    joint = windows == "joint" and future > 1
    if isinstance(features, KernelMap):
        if joint:
            raise InputError(
                "kernels take windows as products of mean embeddings",
                got='windows="joint"',
                remedy='Use windows="product", or finite-dimensional features.',
            )
        return KernelEmbedding(features, n_actions, future)
    if joint:
        return JointEmbedding(features, n_actions, future)
    return VectorEmbedding(features, n_actions, future)


class GramRow(Protocol):
    def __call__(self, digest: Digest, others: Sequence[Digest], /) -> FloatArray: ...


class WindowGram(Protocol):
    def __call__(self, point: Window, others: Sequence[Window], /) -> FloatArray: ...


def window_gram(rows: GramRow) -> WindowGram:
    """Inner products of windows, by the product rule."""

    def gram(point: Window, others: Sequence[Window]) -> FloatArray:
        base = rows(point.digest, [other.digest for other in others])
        if not point.children:
            return base
        below = [
            gram(child, [other.children[a] for other in others])
            for a, child in enumerate(point.children)
        ]
        return base * np.sum(below, axis=0)

    return gram


def flatten(window: Window) -> FloatArray:
    """The stacked tensor product as one vector."""
    own = cast(Average, window.digest).value
    if not window.children:
        return own
    return np.outer(own, np.concatenate([flatten(child) for child in window.children])).ravel()


def _inner_products(digest: Any, others: Sequence[Any]) -> FloatArray:
    return np.array([other.value for other in others]) @ digest.value


def _row_products(left: FloatArray, right: FloatArray) -> FloatArray:
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def _size(sample: Sample) -> int:
    return len(sample) if isinstance(sample, np.ndarray) else sample.count


def _check_mean(mean: FloatArray, dimension: int, answer: Readings, step: int) -> None:
    if mean.shape != (dimension,) or not np.isfinite(mean).all():
        raise InputError(
            f"the mean feature must be {dimension} finite numbers",
            got=f"{mean} at step {step} of {answer.actions}",
            remedy="Check the observations that the system returns.",
        )

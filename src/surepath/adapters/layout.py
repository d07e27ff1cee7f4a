"""What a Gymnasium environment shows, as arrays with a place for "the episode has ended".

An episode that ended goes on in an absorbing state that looks like nothing else: a symbol of its
own, or a flag beside numbers that are all zero. So what comes after an end is data like any other.
"""

# Gymnasium's spaces are generic in element types that do not matter here:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from surepath.errors import InputError
from surepath.system import IntArray
from surepath.validate import finite_observations

Path: TypeAlias = tuple[Any, ...]
"""Keys and positions that lead to a part of a Dict or Tuple observation."""

NUMERIC = "biuf"
"""Kinds of arrays that are numbers: bool, whole, whole without sign, real."""


class Column(NamedTuple):
    """One number of an observation."""

    size: int = 0  # of the symbols start .. start + size - 1; 0 for a number of any value
    start: int = 0
    hot: bool = False  # one-hot where it stands beside numbers


class Odd(NamedTuple):
    """A copy of an observation that is not an array of the space."""

    value: NDArray[Any]


class Layout:
    """How the observations of a space lie in an array.

    Discrete: symbols, the last of them "ended". Discrete parts only: those parts and a flag.
    Anything with numbers: one flat vector, as gymnasium.spaces.flatten has it, and a flag.
    """

    def __init__(self, space: Any) -> None:
        from gymnasium import spaces

        parts = list(_parts(space))
        self._paths = [path for path, _ in parts]
        self._columns = [column for _, part in parts for column in _columns(part)]
        self._nested = isinstance(space, spaces.Dict | spaces.Tuple)
        self._shape = (len(self._columns),) if self._nested else tuple(space.shape)
        self._single = isinstance(space, spaces.Discrete)
        self._discrete = all(column.size for column in self._columns)
        self._dtype = space.dtype
        self.space = _with_end(space, self._columns)
        self.n_observations = self._columns[0].size + 1 if self._single else None
        image = isinstance(space, spaces.Box) and len(space.shape) >= 2
        self.image_shape = self._shape if image else None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "keep"}

    @cached_property
    def keep(self) -> Callable[[Any], Any]:
        """Takes an observation as it is, whatever the environment does to its own array later.

        What does not fit is found when the readings are put together.
        """
        if self._single:
            return _same  # a number needs no copy
        return self._row if self._nested else _packer(self._dtype, self._shape)

    def _row(self, observation: Any) -> Any:
        try:
            return np.concatenate([np.ravel(_at(observation, path)) for path in self._paths])
        except (LookupError, TypeError, ValueError):
            return observation

    def _unpacked(self, kept: Sequence[Any]) -> NDArray[Any]:
        if self._single or self._nested:
            return np.array(kept)
        try:
            packed = b"".join(kept)
        except TypeError:  # there are odd ones
            return np.array([self._array(value) for value in kept])
        return np.frombuffer(packed, self._dtype).reshape(len(kept), *self._shape)

    def _array(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return np.frombuffer(value, self._dtype).reshape(self._shape)
        return value.value if isinstance(value, Odd) else value

    def fill(self, there: NDArray[np.bool_], kept: Sequence[Any]) -> NDArray[Any]:
        """Observations [n, T, ...]: those kept where `there`, [n, T], says so, in that order."""
        steps = np.nonzero(there)[1]
        values = self._encode(self._rows(kept, steps), steps)
        if self._single:
            ended = self._columns[0].size
            symbols = np.full(there.shape, ended, dtype=np.int64)
            symbols[there] = values[:, 0]
            return symbols
        filled = np.zeros((*there.shape, values.shape[1] + 1), dtype=self.space.dtype)
        filled[there, :-1] = values
        filled[~there, -1] = 1
        return filled

    def _rows(self, kept: Sequence[Any], steps: IntArray) -> NDArray[Any]:
        """One row of numbers for every observation, as the environment counts them."""
        try:
            values = self._unpacked(kept)
        except ValueError:  # no common shape
            values = np.empty(0, dtype=object)
        if values.shape != (len(kept), *self._shape) or values.dtype.kind not in NUMERIC:
            raise self._unfit(kept, steps)
        rows = values.reshape(len(kept), len(self._columns))
        finite_observations(rows, lambda place: f"at step {steps[place[0]]}")
        return rows

    def _encode(self, rows: NDArray[Any], steps: IntArray) -> NDArray[Any]:
        """Symbols counted from 0, or one-hot where they stand beside numbers."""
        if not self._discrete and not self._nested:
            return self._cast(rows, steps)
        symbols = self._symbols(rows, steps)
        if self._discrete:
            return symbols
        blocks = [
            np.eye(column.size)[symbols[:, i]] if column.hot else rows[:, i : i + 1]
            for i, column in enumerate(self._columns)
        ]
        return self._cast(np.concatenate(blocks, axis=1), steps)

    def _symbols(self, rows: NDArray[Any], steps: IntArray) -> IntArray:
        """The discrete columns counted from 0; zeros in the others."""
        symbols = np.zeros(rows.shape, dtype=np.int64)
        for i, (size, start, _) in enumerate(self._columns):
            if not size:
                continue
            symbols[:, i] = rows[:, i] - start
            wrong = (symbols[:, i] + start != rows[:, i]) | (symbols[:, i] % size != symbols[:, i])
            if wrong.any():
                row = int(np.argmax(wrong))
                raise InputError(
                    f"discrete observations of this space are {start} .. {start + size - 1}",
                    got=f"{rows[row, i]:g} at step {steps[row]}",
                    remedy="Correct the observation space of the environment.",
                )
        return symbols

    def _cast(self, values: NDArray[Any], steps: IntArray) -> NDArray[Any]:
        """Numbers in the type of the space; whole numbers must not change by it."""
        dtype: np.dtype[Any] = self.space.dtype
        cast_values = values.astype(dtype, copy=False)
        if dtype.kind in "iu" and (different := cast_values != values).any():
            row, column = np.argwhere(different)[0]
            raise InputError(
                f"observations of this space are of type {dtype}",
                got=f"{values[row, column]} at step {steps[row]}",
                remedy="Correct the observation space, or round the observations.",
            )
        return cast_values

    def _unfit(self, kept: Sequence[Any], steps: IntArray) -> InputError:
        """What to say of the first observation that does not have the shape of the space."""
        wanted = f"{len(self._columns)} numbers" if self._nested else f"shape {self._shape}"
        kept = [self._array(value) for value in kept]
        first = next((i for i, value in enumerate(kept) if not self._fits(value)), 0)
        return InputError(
            f"observations of this space are numbers, with {wanted}",
            got=f"{_short(kept[first])} at step {steps[first]}",
            remedy="Correct the observation space, or the observations of the environment.",
        )

    def _fits(self, observation: Any) -> bool:
        try:
            value = np.asarray(observation)
        except ValueError:  # a list of lists of different lengths
            return False
        return value.shape == self._shape and value.dtype.kind in NUMERIC


def _parts(space: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The parts of a space that are not made of others, with the way to each."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict | spaces.Tuple):
        inner: Any = space.spaces
        for key, part in inner.items() if isinstance(space, spaces.Dict) else enumerate(inner):
            try:
                yield from _parts(part, (*path, key))
            except InputError as error:
                if path or not isinstance(space, spaces.Dict):
                    raise
                others = [other for other in space.spaces if other != key]
                raise InputError(
                    error.what,
                    got=error.got,
                    remedy=f"Leave that part out: gymnasium.wrappers.FilterObservation(env, "
                    f"{others}), or for MiniGrid minigrid.wrappers.ImgObsWrapper(env).",
                ) from error
    elif isinstance(
        space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary | spaces.Box
    ):
        yield path, space
    else:
        where = "".join(f"[{key!r}]" for key in path)
        raise InputError(
            "observations must be numbers or symbols: Discrete, MultiDiscrete, MultiBinary or Box, "
            "also inside Dict and Tuple",
            got=f"a {type(space).__name__} space" + (f" at observation{where}" if where else ""),
            remedy="Wrap the environment so that it shows numbers: "
            "gymnasium.wrappers.TransformObservation(env, function, space).",
        )


def _columns(part: Any) -> list[Column]:
    from gymnasium import spaces

    if isinstance(part, spaces.Discrete):
        return [Column(int(part.n), int(part.start), hot=True)]
    if isinstance(part, spaces.MultiDiscrete):
        ends = zip(np.ravel(part.nvec), np.ravel(part.start), strict=True)
        return [Column(int(size), int(start), hot=True) for size, start in ends]
    binary = isinstance(part, spaces.MultiBinary)
    return [Column(2 if binary else 0)] * int(np.prod(part.shape))


def _with_end(space: Any, columns: Sequence[Column]) -> Any:
    """The space of what is shown, the end included."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return spaces.Discrete(columns[0].size + 1)
    if all(column.size for column in columns):
        return spaces.MultiDiscrete([*(column.size for column in columns), 2])
    flat = cast(Any, spaces.flatten_space(space))
    # After the end all numbers are zero, so the space has to allow that.
    low = np.append(np.minimum(flat.low, 0), 0).astype(flat.dtype)
    high = np.append(np.maximum(flat.high, 0), 1).astype(flat.dtype)
    return spaces.Box(low, high, dtype=flat.dtype)


def _same(observation: Any) -> Any:
    return observation


def _packer(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Callable[[Any], Any]:
    """Arrays of the space as bytes, which are put together fast; a copy of anything else."""

    def packed(observation: Any) -> Any:
        fits = (
            type(observation) is np.ndarray
            and observation.dtype is dtype
            and observation.shape == shape
        )
        return observation.tobytes() if fits else Odd(np.array(observation))

    return packed


def _at(observation: Any, path: Path) -> Any:
    for key in path:
        observation = observation[key]
    return observation


def _short(value: Any) -> str:
    text = np.array2string(value, threshold=8) if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."

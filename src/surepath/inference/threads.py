"""One thread for the linear algebra of a learner.

Its matrices are small and many. Several threads on each are slower than one on an idle machine, and
where other processes use the cores they wait for one another: a hundred times slower.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs]


@contextmanager
def one_thread() -> Generator[None]:
    """Within it NumPy and SciPy compute on one thread; systems are run outside of it."""
    with _libraries().limit(limits=1, user_api="blas"):  # pyright: ignore[reportUnknownMemberType]  # untyped keywords
        yield


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # looks for the loaded libraries, which takes milliseconds

"""The course of a run in TensorBoard; tensorboardX is an extra and imported here only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surepath.errors import MissingExtraError
from surepath.results.round import Round, measured


class TensorBoard:
    """A callback that writes value, bound, gap, states and open questions against episodes.

    `with TensorBoard("runs/lock") as board: learn(system, callback=board)`, then
    `tensorboard --logdir runs`.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            from tensorboardX import SummaryWriter  # pyright: ignore[reportMissingTypeStubs]
        except ImportError as error:
            raise MissingExtraError("tensorboardX", "tensorboard", "TensorBoard") from error
        self._writer: Any = SummaryWriter(str(folder))

    def __call__(self, found: Round) -> None:
        for name, value in measured(found).items():
            self._writer.add_scalar(f"surepath/{name}", value, found.episodes)
        self._writer.flush()

    def __enter__(self) -> TensorBoard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._writer.close()

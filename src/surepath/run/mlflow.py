"""The course of a run in MLflow, which is an extra and imported here only."""

from __future__ import annotations

from typing import Any

from surepath.errors import MissingExtraError
from surepath.results.round import Round, measured


class MLflow:
    """A callback that logs value, bound, gap, states and open questions against episodes.

    They go to the run that is active, or else to a new one, as with all that MLflow is told:
    `with mlflow.start_run(): learn(system, callback=MLflow())`.
    """

    def __init__(self) -> None:
        try:
            import mlflow
        except ImportError as error:
            raise MissingExtraError("mlflow-skinny", "mlflow", "MLflow") from error
        self._mlflow: Any = mlflow

    def __call__(self, found: Round) -> None:
        self._mlflow.log_metrics(measured(found), step=found.episodes)

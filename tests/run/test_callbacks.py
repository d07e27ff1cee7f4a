"""Callbacks for TensorBoard and MLflow, with these packages."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

import surepath
from surepath.results.round import measured

EXTRAS = {
    "tensorboardX": ("surepath.run.tensorboard", "TensorBoard", ("folder",)),
    "mlflow": ("surepath.run.mlflow", "MLflow", ()),
}


def test_only_what_is_known_becomes_a_number() -> None:
    early = surepath.Round(episodes=3, steps=12, actions=(1,))
    assert measured(early) == {"steps": 12.0}
    late = surepath.Round(9, 36, (1, 0), value=0.5, bound=0.75, open_questions=2, states=4)
    assert measured(late) == {
        "steps": 36.0, "value": 0.5, "bound": 0.75, "gap": 0.25, "states": 4.0,
        "open_questions": 2.0,
    }  # fmt: skip
    assert not any(math.isinf(each) for each in measured(early).values())


def watched(callback: object) -> list[surepath.Round]:
    """A run with a callback; what another one saw of it."""
    rounds = list[surepath.Round]()

    def both(found: surepath.Round) -> None:
        rounds.append(found)
        assert callable(callback)
        assert callback(found) is None  # which does not stop the run

    surepath.learn(surepath.make("lock", horizon=3, actions=3), callback=both)
    return rounds


def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    from surepath.run.tensorboard import TensorBoard

    with TensorBoard(tmp_path / "runs") as board:
        rounds = watched(board)
    (file,) = (tmp_path / "runs").iterdir()
    written = dict[str, list[tuple[int, float]]]()
    content, at = file.read_bytes(), 0
    while at < len(content):  # length, its checksum, an event, its checksum
        length = int.from_bytes(content[at : at + 8], "little")
        event = Event.FromString(content[at + 12 : at + 12 + length])
        at += 16 + length
        for value in event.summary.value:
            written.setdefault(value.tag, []).append((event.step, value.simple_value))
    assert written["surepath/steps"] == [(each.episodes, each.steps) for each in rounds]
    assert written["surepath/gap"][-1] == (rounds[-1].episodes, pytest.approx(rounds[-1].gap))


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow = pytest.importorskip("mlflow")
    from surepath.run.mlflow import MLflow

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    try:
        with mlflow.start_run() as run:
            rounds = watched(MLflow())
        history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "steps")
    finally:
        mlflow.set_tracking_uri(before)
    assert {(each.step, each.value) for each in history} == {
        (each.episodes, each.steps) for each in rounds
    }


@pytest.mark.parametrize("package", EXTRAS)
def test_an_extra_that_is_missing_is_named(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    module, name, arguments = EXTRAS[package]
    make = getattr(__import__(module, fromlist=[name]), name)
    with pytest.raises(surepath.MissingExtraError, match=r"pip install 'surepath\["):
        make(*(tmp_path for _ in arguments))

"""Calling the command line inside a test."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from surepath.cli import app


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))

"""The command line."""

from surepath.cli.app import app

__all__ = ["app"]

"""Where things are, for tests in whatever folder."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
ASSETS = TESTS / "assets"

"""The published schema is that of the types, and the files fit it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

import surepath
from flaky import Walk
from places import ROOT
from surepath.decoding.json_schema import json_schema
from surepath.results.result import Result

PAGE = ROOT / "docs" / "result.schema.json"


def schema() -> dict[str, Any]:
    return json_schema(Result, "A result that surepath saved")


def write_page() -> None:
    """How it was made: `python -c "import test_json_schema as t; t.write_page()"`."""
    PAGE.write_text(json.dumps(schema(), indent=1) + "\n")


def test_the_page_is_the_schema_of_the_types() -> None:
    assert json.loads(PAGE.read_text()) == schema()


def test_what_is_saved_fits() -> None:
    for result in (
        surepath.learn(Walk(), budget=60),
        surepath.learn(Walk()),
        surepath.learn(Walk(), guarantee="proved", budget=3000),
        surepath.learn("lock", schedule="tight"),
    ):
        saved = json.loads(json.dumps(result.saved()))
        jsonschema.validate(saved, schema())
        saved["certificate"]["levels"] = [{}]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(saved, schema())

# `make demo` and `make test` do all their own set-up: Python 3.11 or newer and make are enough.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install --constraint constraints.txt

.PHONY: demo test test-slow format clean

demo: .venv/core
	$(BIN)/surepath learn lock -p horizon=20 -p actions=4

test: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/pytest -m "not slow"

test-slow: .venv/dev
	$(BIN)/pytest -m slow

format: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv

.venv/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable ".[plot]"
	touch $@

.venv/dev: .venv/core
	$(PIP) --editable ".[dev]"
	touch $@

# `make demo` and `make test` do all their own set-up: Python 3.11 or newer and make are enough.
PYTHON ?= python3
BIN := .venv/bin
SUITES := lower-bounds table1 peers scaling
INSTALL := -m pip --quiet --disable-pip-version-check install
PIP := $(BIN)/python $(INSTALL) --constraint constraints.txt
OLDEST_PYTHON ?= python3.11
OLDEST := .venv-oldest

.PHONY: demo docs fuzz test test-slow test-oldest bench bench-quick bench-report format clean pictures

demo: .venv/core
	$(BIN)/surepath learn lock -p horizon=20 -p actions=4

test: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/pytest -m "not slow" -rs  # with the reasons of what was skipped

test-slow: .venv/dev
	$(BIN)/pytest -m slow

# Mutated results, journals and lines of `serve`; `make fuzz MINUTES=30 SEED=1` for longer.
MINUTES ?= 5
SEED ?= 0
fuzz: .venv/dev
	cd tests && OMP_NUM_THREADS=1 ../$(BIN)/python -W error -m fuzz --minutes $(MINUTES) --seed $(SEED)

# With the lowest versions that pyproject.toml allows. Old packages leave files open and call what newer
# ones deprecate; whether we do is seen by `make test`.
test-oldest: $(OLDEST)/test
	$(OLDEST)/bin/pytest -m "not slow" -W ignore::ResourceWarning -W ignore::DeprecationWarning

# Less than ten minutes; tables, figures and all runs go to bench-results/quick.
bench-quick: .venv/dev
	for suite in $(SUITES); do $(BIN)/surepath bench $$suite --quick --out bench-results/quick || exit; done

# About two hours on two cores, and goes on where it was stopped; then the page of the docs is made of it.
bench: .venv/dev
	$(PIP) --editable ".[rivals]"
	for suite in $(SUITES); do $(BIN)/surepath bench $$suite --out bench-results || exit; done
	$(BIN)/python -m surepath.bench.harness.page bench-results docs/compare.md

# How quickly a page with twenty thousand prefixes answers in this machine's browser.
bench-report: .venv/dev
	cd tests && ../$(BIN)/python -m browser.answers

# The site of the docs; the same build is a test.
docs: .venv/dev
	$(BIN)/sphinx-build -W --keep-going -n -b html docs docs/_build

# The pictures of the docs, made by the tool itself.
pictures: .venv/dev
	$(BIN)/python docs/pictures.py

format: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv $(OLDEST)

.venv/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable ".[plot]"
	touch $@

.venv/dev: .venv/core
	$(PIP) --editable ".[dev]"
	touch $@

$(OLDEST)/test: pyproject.toml constraints-oldest.txt
	$(OLDEST_PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python $(INSTALL) --constraint constraints-oldest.txt --editable ".[test]"
	touch $@

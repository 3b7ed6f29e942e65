# Every target sets up what it needs in .venv: the demo what the demo needs, the others what developing needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.installed-demo
DEV := $(VENV)/.installed-dev
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt
# One process a core, each with one thread: faster than one process with all threads for many small tests.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-full lint format wheel-check browser docs bench hooks clean

help:  ## Show what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

setup: $(DEV)  ## Install everything into .venv

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "kinfolk needs Python 3.11 or newer: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed; on Debian: apt-get install python3-venv"; exit 1; }

$(DEMO): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing what the demo needs into $(VENV) (a minute or two) ..."
	@$(PIP) -e '.[train,report]'
	@touch $@

$(DEV): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing everything into $(VENV) (a minute or two) ..."
	@$(PIP) -e '.[train,report,parquet,hdf5,pyg,networkx,pandas,infomap,leiden,dev,docs,bench]'
	@touch $(DEMO) $@

demo: $(DEMO)  ## Run the main job on data that is already here, and write a report
	@$(BIN)/kinfolk demo

test: lint  ## Lint, types, layers, tests and doctests without the slow ones (a few minutes on 2 cores)
	@$(PYTEST) -m "not slow"

test-full: lint wheel-check browser  ## Everything: also full real sets, every estimator check, browser, docs, and the wheel without torch
	@$(PYTEST)

lint: $(DEV)  ## ruff, ruff format --check, mypy, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q . || { echo "run: make format"; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(DEV)  ## Put the code into shape
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format -q .

wheel-check: | $(BIN)/python  ## Build the wheel, install it without torch into a new environment, use it there
	@$(BIN)/python tools/check_wheel.py

browser:  ## Install Debian's chromium, which the browser tests drive
	@command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium > /dev/null; } \
		|| echo "chromium could not be installed: the browser tests will be skipped"

docs: $(DEV)  ## Build the documentation into site/
	@$(BIN)/python tools/make_cli_reference.py && $(BIN)/python tools/make_api_reference.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict && echo "site/index.html"

bench: $(DEV)  ## Speed and memory, side by side in one run; writes docs/benchmarks.md (about half an hour)
	@$(BIN)/python -m benchmarks

hooks: $(DEV)  ## Check every commit of yours: ruff, mypy, import-linter
	@$(BIN)/pre-commit install

clean:  ## Remove what the other targets made
	rm -rf $(VENV) site build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis kinfolk-demo* .bench
	find src -name __pycache__ -prune -exec rm -rf {} +

# Every target sets up what it needs: a virtual environment in .venv and, where a step needs one, a Debian package.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format bench docs clean

help:  ## Show what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(STAMP)  ## Install everything into .venv

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "kinfolk needs Python 3.11 or newer: make PYTHON=python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed; on Debian: apt-get install python3-venv"; exit 1; }
	@echo "Installing into $(VENV) (a minute or two) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev,docs,bench,parquet,pyg,networkx,igraph,infomap,leiden]'
	@touch $@

demo: $(STAMP)  ## Run the main job on data that is already here, and write a report
	@$(BIN)/kinfolk demo

test: lint  ## Lint, types, tests, doctests
	@$(BIN)/python -m pytest

lint: $(STAMP)  ## ruff, ruff format --check, mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q . || { echo "run: make format"; exit 1; }
	@$(BIN)/mypy

format: $(STAMP)  ## Put the code into shape
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format -q .

bench: $(STAMP)  ## Speed and memory, side by side in one run; writes docs/benchmarks.md (about half an hour)
	@$(BIN)/python -m benchmarks

docs: $(STAMP)  ## Build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q && echo "site/index.html"

clean:  ## Remove what the other targets made
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache .hypothesis kinfolk-demo* .bench

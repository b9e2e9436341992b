PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# More arguments for the program behind a target, e.g. make test ARGS="tests/dag -x"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup test check format rooms demo bench fuzz faults wheel matrix docs clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv and install dvae with its development tools

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "dvae needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | head -n 1);" \
	        "name another one, e.g. make setup PYTHON=python3.12" >&2; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv $(VENV)
	@echo "Installing dvae and its development tools (a few minutes the first time, most of it torch) ..."
	@# -qq: errors are shown; pip's warnings about package locations it does not find are not.
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(STAMP)
	@echo "Ready: $(BIN)/dvae --help"

test: setup ## run the tests on two processes
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 $(ARGS)

check: setup ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup ## put the code into its format and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

rooms: setup ## write the graph of imports into docs/architecture.md
	$(BIN)/python tests/room_graph.py

demo: setup ## train a small model and search with it, in a few minutes on two cores
	OMP_NUM_THREADS=2 $(BIN)/dvae demo $(ARGS)

bench: setup ## measure graphs per second on the CPU
	OMP_NUM_THREADS=2 $(BIN)/python benchmarks/throughput.py --device cpu $(ARGS)

fuzz: setup ## read 20,000 files changed at random; a million: make fuzz ARGS="--inputs 1000000 --seed 1"
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz/campaign.py $(ARGS)

faults: setup ## fail and kill commands at every write, and at random; more: make faults ARGS="--kills 500 --pairs 20"
	OMP_NUM_THREADS=1 $(BIN)/python tests/faults/campaign.py $(ARGS)

docs: $(VENV)/.docs ## build the documentation site (build/site/index.html) and follow all its links
	OMP_NUM_THREADS=1 $(BIN)/python docs/site/build.py $(ARGS)

$(VENV)/.docs: $(STAMP)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[docs]"
	@touch $(VENV)/.docs

wheel: setup ## build dist/dvae_dags-VERSION.whl
	rm -rf build/lib build/bdist.* # what an older build left would go into the wheel
	$(BIN)/python -m pip wheel -qq --no-deps --no-build-isolation -w dist .
	@ls dist/*.whl

matrix: setup ## use the wheel in clean environments; one: make matrix ARGS="3.12:newest" (see .ci/matrix)
	$(BIN)/python .ci/matrix $(ARGS)

clean: ## remove .venv, caches and build outputs (runs/ stays)
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Everything that a contributor types; `make` alone lists it.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

# Debian's own interpreter: only there are python3-systemd and python3-bpfcc seen.
PYTHON ?= /usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= 2

DISTRIBUTIONS := product_core $(wildcard plugins/*)
EDITABLE := $(foreach each,$(DISTRIBUTIONS),--editable ./$(each))
INPUTS := constraints.txt $(wildcard $(foreach each,$(DISTRIBUTIONS),$(each)/pyproject.toml \
	$(each)/setup.py $(each)/*/wrapper/*))
SOURCES := product_core/redlane $(wildcard plugins/*/*.py)

.PHONY: help setup run test test-slow check format bench lock clean

help: ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: $(READY) ## make .venv with every distribution of the repository

$(READY): $(INPUTS)
	@packaging/system-packages.sh
	@test -x $(BIN)/python || $(PYTHON) -m venv --system-site-packages $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-deps --require-hashes --requirement constraints.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-deps --no-build-isolation $(EDITABLE)
	@touch $@

run: $(READY) ## a guarded shell on the starter policies; CMD='…' runs one command
	@$(if $(value CMD),$(BIN)/redlane try -c "$$CMD",$(BIN)/redlane try)

ifdef CMD
export CMD
endif

test: $(READY) ## the test suite
	@$(BIN)/python -m pytest -n $(JOBS) -m "not slow" $(TESTS)

test-slow: $(READY) ## the whole suite, with the matrices that take minutes
	@$(BIN)/python -m pytest -n $(JOBS) $(TESTS)

check: $(READY) ## lint, format, types and layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy $(SOURCES)
	@$(BIN)/lint-imports --no-cache

format: $(READY) ## let ruff decide the layout
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

bench: $(READY) ## the figures, as ratios measured in one run
	@for each in benchmarks/bench_*.py; do echo "== $$each"; $(BIN)/python $$each || exit 1; done

lock: $(READY) ## pin every dependency again, with hashes
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --upgrade --output-file constraints.txt requirements.in

clean: ## remove what was made
	@rm -rf $(VENV) .run .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist

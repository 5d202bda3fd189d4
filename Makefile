# Everything that a contributor types; `make` alone lists it.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh
# Whoever starts Python thousands of times wants it compiled once.
unexport PYTHONDONTWRITEBYTECODE

# Debian's own interpreter: only there is python3-systemd seen.
PYTHON ?= /usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
UV := $(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python --compile-bytecode
PINNED := --no-deps --require-hashes --requirement constraints.txt
LOCKED := $(VENV)/.locked
READY := $(VENV)/.ready
QUICK ?= not slow
# Twice as many as cores: half of the tests wait for something.
JOBS ?= 4
# What fails is tried once more, alone: red means that something is broken.
PYTEST = $(BIN)/python tests/contained.py $(BIN)/python -m pytest -n $(JOBS) --second-try $(STAGES:%=--stages=%)

DISTRIBUTIONS := $(patsubst %/pyproject.toml,%,$(wildcard */pyproject.toml plugins/*/pyproject.toml))
EDITABLE := $(foreach each,$(DISTRIBUTIONS),--editable ./$(each))
OURS := --no-deps --no-build-isolation --config-settings editable_mode=compat $(EDITABLE)
# What an editable installation does not follow by itself: metadata and compiled programs.
INPUTS := $(foreach each,$(DISTRIBUTIONS),$(wildcard $(each)/pyproject.toml $(each)/setup.py)) \
	$(wildcard product_core/redlane/wrapper/*.[ch] plugins/*/native/*.[ch]) product_core/redlane/contexts/shell/running/compiling.py
SOURCES := product_core/redlane hub/redlane_hub $(wildcard plugins/*/redlane_*)
BENCHMARKS := $(shell grep -l __main__ benchmarks/*.py 2>/dev/null)

.PHONY: help setup run test test-all soak steady test-on corpus boot-test wheels deb check format bench lock clean

help: ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

setup: $(READY) ## make .venv with every distribution of the repository

$(LOCKED): constraints.txt packaging/system-packages.sh packaging/environment.sh
	@packaging/system-packages.sh
	@packaging/environment.sh $(PYTHON) $(VENV)
	@echo "redlane: installing what constraints.txt pins" >&2
	@$(UV) $(PINNED) || $(PIP) install $(PINNED)
	@touch $@

# Warnings off: setuptools lectures on editable installations, once for each. Compatible
# ones are a line of sys.path; others are a program that each start of Python runs.
$(READY): $(LOCKED) $(INPUTS)
	@echo "redlane: installing the distributions of the repository" >&2
	@PYTHONWARNINGS=ignore $(UV) --reinstall $(OURS) || PYTHONWARNINGS=ignore $(PIP) install $(OURS)
	@touch $@

# The command as it was typed: make would take the dollars out of it.
override CMD := $(value CMD)
export CMD

run: $(READY) ## a guarded shell on the starter policies; CMD='…' runs one command
	@set -- "$$CMD"; \
	unset CMD MAKEFLAGS MAKELEVEL MAKEOVERRIDES MFLAGS MAKE_TERMERR MAKE_TERMOUT; \
	exec $(BIN)/redlane try $${1:+-c "$$1"}

test: $(READY) ## the quick tests; TESTS='…' picks some, JOBS=N runs N side by side
	@$(PYTEST) -m "$(QUICK)" $(TESTS)

test-all: $(READY) ## all tests, with the matrices that take minutes and what boots
	@$(PYTEST) -m "not soak" --tb=short --hypothesis-profile=thorough $(TESTS)

soak: $(READY) ## the statistics: the same so often that what is rare would show
	@$(PYTEST) -m soak --tb=short --hypothesis-profile=thorough $(TESTS)

steady: $(READY) ## TESTS='…' twenty times beside two busy processes
	@tests/steady.sh $(TESTS)

test-on: ## the quick tests on the Python of another Debian: SUITE=trixie; wants root
	@packaging/on-debian.sh $(SUITE) make test

corpus: $(READY) ## fetch the scripts of real packages, which slow tests judge
	@PYTHONPATH=tests $(BIN)/python -m scripts.corpus

boot-test: $(READY) ## what `make deb` built, in booted Debians; wants root
	@packaging/boot-packages.sh
	@$(PYTEST) -m boot tests/boot $(TESTS)

wheels: $(READY) ## the wheels, into dist/wheels; MACHINES='x86_64 aarch64': for those
	@packaging/build-wheels.sh $(BIN)/python dist/wheels $(MACHINES)

deb: ## the Debian packages, into dist/deb; SUITE=trixie: those of another release
	@packaging/build-deb.sh $(SUITE)

check: $(READY) ## lint, format, types and layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy $(SOURCES)
	@MYPYPATH=packaging:training $(BIN)/mypy packaging/*.py packaging/manual training/inbound
	@$(BIN)/lint-imports --no-cache

format: $(READY) ## let ruff decide the layout
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

bench: $(READY) ## the figures, as ratios measured in one run
	@for each in $(BENCHMARKS); do echo "== $$each"; $(BIN)/python $$each || exit 1; done

lock: $(READY) ## pin every dependency again, with hashes
	@$(BIN)/uv pip compile --quiet --system-certs --universal --python-version 3.11 --generate-hashes \
		--no-header --upgrade --output-file constraints.txt requirements.in

clean: ## remove what was made
	@rm -rf $(VENV) .run .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist

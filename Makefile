# One command for each thing a contributor does. Every target sets itself up: python3 (3.11 or newer) and make are enough.
#   make test ARGS="-k patches"      passes ARGS on to the command behind demo, test, bench and docs
#   make test WORKERS=4              runs the tests in four processes instead of two
#   make test PYTHON=python3.12      makes .venv with another Python

PYTHON ?= python3
ARGS   ?=
WORKERS ?= 2
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# Nothing reads or writes the home folder or opens a window, so an empty home and a bare terminal will do.
export MPLBACKEND ?= Agg
export MPLCONFIGDIR ?= $(CURDIR)/$(VENV)/matplotlib

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test nightly lint bench docs gallery clean

help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(STAMP) ## see it ask, answer and explain
	@$(BIN)/infopursuit demo $(ARGS)

test: $(STAMP) ## run the tests, in random order
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

nightly: $(STAMP) ## let hypothesis explore: new random examples, and many of them
	@HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

lint: $(STAMP) ## check style, layout and types
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

bench: $(STAMP) ## measure speed
	@$(BIN)/python -m benchmarks.bench $(ARGS)

docs: $(STAMP) ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir site $(ARGS)
	@echo "open site/index.html"

gallery: $(STAMP) ## draw the pictures of the documentation anew
	@for script in examples/gallery/*.py; do \
		picture=docs/images/gallery/$$(basename $$script .py).png; \
		echo $$picture; $(BIN)/python $$script $$picture >/dev/null || exit 1; \
	done

clean: ## remove .venv, site and all caches
	rm -rf $(VENV) site build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests docs benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Done once, and again when one of the two files changes. An environment that no longer runs is made anew.
$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null 2>&1 \
		|| { echo "error: $(PYTHON) was not found; install Python 3.11 or newer, or say make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "error: Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) -V 2>&1); say make PYTHON=/path/to/a/newer/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "error: $(PYTHON) cannot make virtual environments; install its venv module (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@echo "installing into $(VENV), a minute or two the first time ..."
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install -qq --no-input --disable-pip-version-check --progress-bar off -c constraints.txt -e '.[dev]' \
		|| { echo "error: the installation failed, see above; the same command tries again" >&2; exit 1; }
	@touch $@

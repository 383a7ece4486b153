# From bare Python 3.11 and make: `make setup`, then anything else here.

PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3)
WORKERS ?= 2
SEED ?= 0

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup test test-long check bench train play constraints clean

help: ## List these targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv and install Tabia with everything pinned in constraints.txt.

# The build tools come first and the build is not isolated, so that they are pinned too.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tabia needs Python 3.11 or later: make setup PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || { echo "Making $(VENV) with $(PYTHON) ..."; $(PYTHON) -m venv $(VENV); }
	@echo "Installing $$(grep -c == constraints.txt) pinned packages (the first time takes a few minutes) ..."
	@$(BIN)/$(PIP) install --quiet -c constraints.txt hatchling editables
	@$(BIN)/$(PIP) install --quiet -c constraints.txt --no-build-isolation --editable '.[dev]'
	@touch $@
	@echo "Ready. Try: source $(BIN)/activate && tabia play connect4"

test: setup ## Run all tests but the long ones.
	$(BIN)/pytest -m 'not long' -n $(WORKERS) --dist loadfile

test-long: setup ## Run only the long tests.
	$(BIN)/pytest -m long -n $(WORKERS) --dist loadfile

check: setup ## Lint, formatting, types and import direction.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup ## Speed of games, search and training beside pgx and mctx (most of an hour).
	$(BIN)/tabia bench games
	$(BIN)/tabia bench search
	$(BIN)/tabia bench training

train: setup ## Train tic-tac-toe from nothing, then prove that the result cannot lose (two minutes).
	rm -rf runs/make-train
	$(BIN)/tabia train tictactoe --out runs/make-train --seed $(SEED)
	$(BIN)/tabia prove tictactoe network:runs/make-train

play: setup ## Open the page: play, review, train and explain in a browser.
	$(BIN)/tabia play connect4

constraints: ## Renew constraints.txt with the newest versions allowed.
	rm -rf $(VENV)-fresh
	$(PYTHON) -m venv $(VENV)-fresh
	$(VENV)-fresh/bin/$(PIP) install --quiet --editable '.[dev]'
	{ grep '^#' constraints.txt; $(VENV)-fresh/bin/$(PIP) freeze --exclude-editable | grep '=='; } > constraints.new
	mv constraints.new constraints.txt
	rm -rf $(VENV)-fresh

clean: ## Remove .venv and all caches.
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

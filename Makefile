# Needs Python 3.11 or later and make. Every target sets up .venv first.

PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3)
WORKERS ?= 2
SEED ?= 0

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
PIP := python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup serve load play test test-long check train bench docs wheel constraints clean

help: ## List these targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Create .venv and install Tabia with the versions pinned in constraints.txt.

# The build tools are installed first and the build is not isolated, so that they are pinned too.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tabia needs Python 3.11 or later: make setup PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || { echo "Creating $(VENV) with $(PYTHON) ..."; $(PYTHON) -m venv $(VENV); }
	@echo "Installing Tabia and its pinned dependencies (the first time takes a few minutes) ..."
	@$(BIN)/$(PIP) install --quiet -c constraints.txt hatchling editables
	@$(BIN)/$(PIP) install --quiet -c constraints.txt --no-build-isolation --editable '.[dev]'
	@touch $@
	@echo "Ready. Try: source $(BIN)/activate && tabia play connect4"

serve: setup ## Serve games to several people, on this computer only.
	$(BIN)/tabia serve

load: setup ## Ten minutes of 200 games against a server on this computer.
	$(BIN)/python tools/load.py

play: setup ## Open the page: play, review, train and explain in a browser.
	$(BIN)/tabia play connect4

# Programs that tests need: root installs Debian's packages, others are asked to. $(1): packages, $(2): the tests.
define install
	@if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		echo "Installing $(1) for the tests of $(2) ..."; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1) > /dev/null; \
	else echo "The tests of $(2) need $(1): install your system's packages." >&2; exit 1; fi
endef

# The browser without a window takes a quarter of the time of the whole one, which does as well where it is installed.
CHROMIUM := $(if $(shell command -v chromium-headless-shell || command -v chromium || command -v chromium-browser),,chromium)
POSTGRESQL := $(if $(wildcard /usr/lib/postgresql/*/bin/initdb),,postgresql) # Debian keeps its programs out of the path.
SHELLCHECK := $(if $(shell command -v shellcheck),,shellcheck)
ENGINES := $(if $(and $(wildcard /usr/games/gtp-rhino),$(wildcard /usr/games/gnugo),$(wildcard /usr/games/fairy-stockfish),$(wildcard /usr/games/gnubg)),,engines)

.PHONY: chromium postgresql shellcheck engines
chromium:
	$(call install,chromium-headless-shell,the page)

postgresql:
	$(call install,postgresql,the server)

shellcheck:
	$(call install,shellcheck,deploy/)

engines:
	$(call install,grhino gnugo fairy-stockfish gnubg,engines)

# Tests call most programs only a few times, so optimizing them would take longer than it saves. XLA's older emitters
# compile twice as fast as those that fuse through MLIR, with which gradients of maxima are NaN at level 0; and programs
# that are not split for several threads compile with less work in all.
QUICK_COMPILATION := --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true \
	--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1

# Saving programs to the cache takes longer than the few of them save that a run compiles twice (the processes that tests
# start do use it), and programs need no lines of Python for error messages.
QUICK_LOWERING := JAX_ENABLE_COMPILATION_CACHE=false JAX_TRACEBACK_IN_LOCATIONS_LIMIT=0

test: setup $(CHROMIUM) $(POSTGRESQL) $(SHELLCHECK) $(ENGINES) ## Run all tests except the long ones.
	$(QUICK_LOWERING) XLA_FLAGS='$(QUICK_COMPILATION)' $(BIN)/pytest -m 'not long' -n $(WORKERS) --dist loadfile

test-long: setup $(CHROMIUM) $(POSTGRESQL) $(ENGINES) ## Run only the long tests.
	$(BIN)/pytest -m long -n $(WORKERS) --dist loadfile

check: setup ## Lint, formatting, types and import direction.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

train: setup ## Train tic-tac-toe from scratch, then prove that it cannot be beaten (under two minutes).
	rm -rf runs/make-train
	$(BIN)/tabia train tictactoe --out runs/make-train --seed $(SEED)
	$(BIN)/tabia prove tictactoe network:runs/make-train

bench: setup ## Compare the speed of games, search and training with pgx and mctx (most of an hour).
	$(BIN)/tabia bench games
	$(BIN)/tabia bench search
	$(BIN)/tabia bench training

$(DOCS_READY): $(READY)
	@$(BIN)/$(PIP) install --quiet -c constraints.txt --no-build-isolation --editable '.[dev,docs]'
	@touch $@

docs: $(DOCS_READY) ## Build the documentation site into docs/_build; warnings are errors.
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build
	$(BIN)/python docs/_ext/offline.py docs/_build
	@echo "Open docs/_build/index.html"

wheel: setup ## Build the wheel into dist/.
	rm -rf dist
	$(BIN)/$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@ls -l dist

constraints: ## Update constraints.txt to the newest versions that pyproject.toml allows.
	rm -rf $(VENV)-fresh
	$(PYTHON) -m venv $(VENV)-fresh
	$(VENV)-fresh/bin/$(PIP) install --quiet --editable '.[dev,docs]'
	{ grep '^#' constraints.txt; $(VENV)-fresh/bin/$(PIP) freeze --exclude-editable | grep '=='; } > constraints.new
	mv constraints.new constraints.txt
	rm -rf $(VENV)-fresh

clean: ## Remove .venv, caches and build results.
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist docs/_build
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

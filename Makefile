# `make` alone lists what there is. Every target works from a fresh checkout; PYTHON=... picks the
# interpreter that .venv is made from.

PYTHON ?=
UV ?= uv
LOCK_FLAGS ?=
PYTEST_FLAGS ?= -n 6 --dist loadgroup
AGENT_FLAGS ?= -v -rP
AGENT_SENDS ?= 50
SOAK_SENDS ?= 1000
SOAK_RACES ?= 50
SOAK_FLAGS ?=
SOAK_PROCESSES ?= 50
SOAK_MESSAGES ?= 10000
SOAK_SEED ?= 1
BENCH_FLAGS ?=
RECORD_FLAGS ?=

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
COMPILE := $(UV) pip compile pyproject.toml --quiet --universal --generate-hashes \
	--python-version 3.11 --custom-compile-command 'make lock'

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help .venv tmux chromium demo test test-all test-agents record-screens soak soak-loops \
	soak-messages soak-deliveries \
	bench check generate verify format format-check lint types imports sql-lint wheel-smoke lock clean

help: ## list these targets
	@awk 'BEGIN { FS = ":.*## " } /^[.a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' Makefile

demo: .venv tmux ## a whole fleet of scripted agents on a tmux server of its own, in under a minute
	@$(BIN)/python demo/run.py

test: .venv tmux chromium ## the tests but the slow ones, against the real SQLite and a real tmux
	@$(BIN)/python -m pytest -m 'not slow' $(PYTEST_FLAGS)

test-all: .venv tmux chromium ## all tests, with fuzz, a kill at every step and soaks
	@$(BIN)/python -m pytest $(PYTEST_FLAGS)

test-agents: .venv tmux ## install the real agents from npm into .agents and test against them
	@tools/install-agents
	@AGENT_SENDS=$(AGENT_SENDS) $(BIN)/python -m pytest -m agents $(AGENT_FLAGS)

record-screens: .venv tmux ## record the real agents' screens anew (RECORD_FLAGS='--agent codex --scene rest-fresh')
	@tools/install-agents
	@$(BIN)/python -m tests.agents.recording.run $(RECORD_FLAGS)

soak: soak-loops soak-messages soak-deliveries ## all soaks

soak-loops: .venv tmux ## SOAK_RACES races of two loops of one fleet
	@$(BIN)/python -m tests.faults.loop_race --rounds $(SOAK_RACES)

soak-messages: .venv tmux ## SOAK_PROCESSES send SOAK_MESSAGES, others read; they and couriers killed
	@$(BIN)/python -m tests.faults.message_soak --processes $(SOAK_PROCESSES) \
	    --messages $(SOAK_MESSAGES) --seed $(SOAK_SEED)

soak-deliveries: .venv tmux ## SOAK_SENDS messages to each kind of simulated agent, couriers killed
	@$(BIN)/python -m tests.faults.delivery_soak --sends $(SOAK_SENDS) --seed $(SOAK_SEED) $(SOAK_FLAGS)

bench: .venv tmux ## measure every budget, print a table and write docs/performance.md
	@$(BIN)/python -m tests.bench.run $(BENCH_FLAGS)

check: format-check lint types imports sql-lint verify wheel-smoke test-all ## all that CI checks

generate: .venv ## write cafleet/store/queries.py and sql/schema.sql from the files in sql/
	@$(BIN)/python -m cafleet.store.codegen

verify: .venv ## fail when a generated file is stale
	@$(BIN)/python -m cafleet.store.codegen --check

format: .venv ## rewrite the Python files in the one style
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .

format-check: .venv ## fail when `make format` would change something
	@$(BIN)/ruff format --check .

lint: .venv ## ruff
	@$(BIN)/ruff check .

types: .venv ## mypy, strict
	@$(BIN)/mypy

imports: .venv ## the direction of imports between the layers
	@$(BIN)/lint-imports --no-logo

sql-lint: .venv ## sqlfluff on everything in sql/, and on what reads another program's database
	@$(BIN)/sqlfluff lint sql cafleet/agents/sessions

wheel-smoke: .venv ## build the wheel and use it in a clean environment outside the checkout
	@tools/wheel-smoke $(BIN)/python

.venv: .venv/.installed ## the environment for developing, made anew when requirements/dev.txt changes

# --clear: what the lock no longer names must not linger.
.venv/.locked: requirements/dev.txt
	@python=$$(tools/find-python $(PYTHON)) && echo "Making .venv with $$python" && \
	    "$$python" -m venv --clear .venv
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

.venv/.installed: .venv/.locked pyproject.toml
	@$(PIP) install --no-index --no-deps --no-build-isolation --editable .
	@$(PIP) check
# What pip does for packages, but not for an editable one; each command would compile it anew where
# the environment forbids byte code to be written.
	@$(BIN)/python -m compileall -q cafleet
	@touch $@

tmux: ## make sure that tmux is there; as root on Debian, install it
	@tools/need-tmux

chromium: ## see that chromium is there; as root on Debian, install it
	@tools/need-chromium

lock: ## resolve requirements/ anew with uv (LOCK_FLAGS=--upgrade moves the pins)
	@command -v $(UV) >/dev/null || { echo 'make lock needs uv: pip install uv' >&2; exit 1; }
	@$(COMPILE) $(LOCK_FLAGS) --group dev --extra web --output-file requirements/dev.txt
	@$(COMPILE) $(LOCK_FLAGS) --constraints requirements/dev.txt --output-file requirements/runtime.txt
	@$(COMPILE) $(LOCK_FLAGS) --constraints requirements/dev.txt --extra web --output-file requirements/web.txt

clean: ## remove the environment, the agents and every cache
	@rm -rf .venv .agents build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

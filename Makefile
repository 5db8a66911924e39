# Two commands carry a newcomer: `make demo` and `make test`. Both make .venv first.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test test-deep simulate lint guards pictures bench-pages locks clean
help:
	@echo "make demo       everything on this machine, with sample data: prints the addresses"
	@echo "make test       the whole suite, on a PostgreSQL of its own"
	@echo "make lint       style, types, import order, SQL"
	@echo "make guards     takes each guard out in turn; a test must notice"
	@echo "make test-deep  what takes long"
	@echo "make bench-pages  how long each page takes to answer with a million redemptions"
	@echo "make simulate   SEEDS=1000 FIRST=1: stories of faults, drawn by seeds; the shortest one that breaks something"

# The run-time packages, hashes checked. A stamp file, so that nothing is asked of the network twice.
.venv/run.stamp: requirements/run.txt pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing the packages of requirements/run.txt"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev.stamp: requirements/dev.txt .venv/run.stamp
	@echo "installing the packages of requirements/dev.txt"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

demo: .venv/run.stamp
	@$(BIN)/counterfoil demo $(ARGS)

# Each worker has a PostgreSQL, a simulator and a browser of its own; as many as there are cores. ARGS="-n 0" for one.
test: .venv/dev.stamp
	@tools/browser
	$(BIN)/python -m pytest -n auto -m "not deep" $(ARGS)

test-deep: .venv/dev.stamp
	@tools/browser
	$(BIN)/python -m pytest -n auto $(ARGS)

simulate: .venv/dev.stamp
	$(BIN)/python -m tests.simulation --seeds $(or $(SEEDS),1000) --first $(or $(FIRST),1) $(ARGS)

lint: .venv/dev.stamp
	$(BIN)/ruff format --check src tests tools benchmarks
	$(BIN)/ruff check src tests tools benchmarks
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/squawk src/counterfoil/sql/tables/*.sql src/counterfoil/sql/functions/*.sql

# Each '-- guard: name' and '# guard: name' is taken out in turn; a test must notice.
guards: .venv/dev.stamp
	$(BIN)/python tools/guards.py $(ARGS)

# The docs' pictures, from the browser tests that walk the pages.
pictures: .venv/dev.stamp
	@tools/browser
	COUNTERFOIL_PICTURES=docs/pictures $(BIN)/python -m pytest tests/pages

# How long each page takes to answer with a million redemptions.
bench-pages: .venv/dev.stamp
	$(BIN)/python -m benchmarks.pages $(ARGS)

# Locks that name no host: versions and hashes only. Needs uv.
locks:
	uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --extra oidc --group dev pyproject.toml -o requirements/dev.txt
	uv pip compile -q --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --extra service --group build pyproject.toml -c requirements/dev.txt -o requirements/run.txt

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

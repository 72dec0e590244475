# Every target sets itself up: a fresh clone needs Python >= 3.11 and make, nothing else.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help setup reproduce study examples test slow lint bench site clean

help:
	@echo "make reproduce  run the paper's experiments, draw its figures and check its claims into out/ (QUICK=1: a taste)"
	@echo "make study      Bayes regret on thousands of MDPs, wrong priors, what knowledge buys: into out/ (QUICK=1: a taste)"
	@echo "make examples   run the examples, one after the other"
	@echo "make test       run the tests"
	@echo "make slow       run the statistical and crash tests, which take longer"
	@echo "make lint       check style and types"
	@echo "make bench      measure speed (prints the table of docs/evidence/performance.md)"
	@echo "make site       turn docs/ into a site, out/site/index.html"
	@echo "make setup      only build .venv"
	@echo "make clean      remove .venv, out and caches"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "klearning needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	@echo "setting up .venv (once; a minute or so)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

reproduce: $(READY)
	$(BIN)/klearning reproduce $(if $(QUICK),--quick)

study: $(READY)
	$(BIN)/klearning reproduce study misspecification knowledge $(if $(QUICK),--quick)

examples: $(READY)
	@for file in examples/[0-9]*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

test: $(READY)
	$(BIN)/python -m pytest -n 2 -m "not slow"

slow: $(READY)
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m bench

site: $(READY)
	$(BIN)/python -m tools.site out/site

clean:
	rm -rf .venv out build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Every target sets itself up: a fresh clone needs Python >= 3.11 and make, nothing else.
PYTHON ?= python3
BIN := .venv/bin
# set-ups: what running needs; on top of it what tests, checks and measurements need; on top of that Ray, 240 MB
RUN := .venv/.run
DEV := .venv/.dev
RAY := .venv/.ray
# tests start hundreds of processes: each imports a third faster if the first keeps its bytecode
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup lock reproduce study examples test slow bounds ray mutants lint dist bench pages site clean

help:
	@echo "make reproduce  run the paper's experiments, draw its figures and check its claims into out/ (QUICK=1: a taste;"
	@echo "                SEEDS=30: with intervals, docs/evidence/protocols.md)"
	@echo "make study      Bayes regret on thousands of MDPs, wrong priors, what knowledge buys: into out/ (QUICK=1: a taste)"
	@echo "make examples   run the examples, one after the other"
	@echo "make test       run the tests"
	@echo "make slow       run the statistical and crash tests, which take longer"
	@echo "make bounds     run what kernels compute with every index checked"
	@echo "make ray        run sweeps on a Ray cluster of two nodes, and kill one (sets Ray up first)"
	@echo "make mutants    make one line wrong at a time and see whether the tests notice: docs/evidence/reliability.md"
	@echo "make lint       check style and types"
	@echo "make dist       build wheel and sdist, check them, and use the wheel in an empty environment: dist/ (PYTHONS=...: more)"
	@echo "make bench      measure speed, into docs/evidence/data"
	@echo "make pages      fill the tables of the pages from docs/evidence/data"
	@echo "make site       turn docs/ into a site, out/site/index.html"
	@echo "make setup      only build .venv"
	@echo "make lock       find the newest versions that fit together, with their hashes: locks/*.txt"
	@echo "make clean      remove .venv, out and caches"

setup: $(DEV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "klearning needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv .venv

# everything by name, version and hash, then the package itself, without asking for anything more
define install
	@echo "setting up .venv to $(1) (once; a minute or so)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement locks/$(1).txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
endef

$(RUN): pyproject.toml locks/run.txt | $(BIN)/python
	$(call install,run)

$(DEV): pyproject.toml locks/dev.txt | $(BIN)/python
	$(call install,dev)

$(RAY): locks/ray.txt $(DEV)
	$(call install,ray)

reproduce: $(RUN)
	$(BIN)/klearning reproduce $(if $(QUICK),--quick) $(if $(SEEDS),--seeds $(SEEDS))

study: $(RUN)
	$(BIN)/klearning reproduce study misspecification knowledge $(if $(QUICK),--quick)

examples: $(RUN)
	@for file in examples/[0-9]*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

# XLA optimises for longer than tests of networks run
test: $(DEV)
	$(BIN)/klearning warm-up
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not networks"
	JAX_DISABLE_MOST_OPTIMIZATIONS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "networks and not slow"

# one worker runs all tests of a file: what they share is made once; in order, the short files come last
slow: $(DEV)
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "slow and not networks" \
		--ignore tests/lab/experiments/test_ray.py
	JAX_DISABLE_MOST_OPTIMIZATIONS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "slow and networks"

# kernels with checked indices are other kernels: each of two processes compiles those of its half of the agents
bounds: $(DEV)
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" \
		tests/contract/test_agents_contract.py::test_contract \
		tests/contract/test_agents_contract.py::test_check_agent_passes_them \
		tests/contract/test_trusted_arrays.py tests/tabular/trials/test_trial.py tests/simulators/test_crafted.py

ray: $(RAY)
	$(BIN)/python -m pytest tests/lab/experiments/test_ray.py

mutants: $(DEV)
	$(BIN)/python -m tools.mutants

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

dist: $(DEV)
	$(BIN)/python -m tools.dist $(PYTHONS)

bench: $(DEV)
	$(BIN)/python -m bench

pages: $(DEV)
	$(BIN)/python -m tools.pages

site: $(DEV)
	@rm -rf out/site
	$(BIN)/python -m sphinx --quiet --fresh-env --fail-on-warning --keep-going -c docs -d out/doctrees . out/site
	@echo "open out/site/index.html"

lock:
	@$(PYTHON) -m venv .venv/lock && .venv/lock/bin/pip install --quiet uv
	@for set in run:figures dev:dev ray:ray; do .venv/lock/bin/uv pip compile --quiet --upgrade --generate-hashes --no-header \
		--no-annotate --python-version 3.11 --extra $${set#*:} pyproject.toml locks/build.in --output-file locks/$${set%:*}.txt \
		$$(test $$set != ray:ray || echo --constraint locks/dev.txt); done

clean:
	rm -rf .venv out build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

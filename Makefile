# make demo | test | lint | bench | paper | docs | clean
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DONE := $(VENV)/.installed
# What the tests of networks are run with; `make NETWORKS= test` leaves them out.
NETWORKS ?= torch==2.13.0 transformers
# Tables and annotations of others, which their tests read and write; `make EXCHANGE= test` leaves them out.
EXCHANGE ?= datasets pandas polars pyarrow spacy
# What `sapo serve` and its tests need; `make SERVE= test` leaves them out.
SERVE ?= httptools msgspec schemathesis uvicorn
# Tests of what is compiled: run in three modes, each by one process, so that nothing is compiled twice.
KERNEL_TESTS := tests/kernels tests/search tests/learn

.PHONY: demo test lint bench paper docs clean compiled checked interpreted

demo: $(VENV)/.demo
	@$(BIN)/sapo demo

# The demo needs the package alone; the rest needs the tools of development too.
$(VENV)/.demo: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing sapo into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(DONE): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing sapo and its development tools into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' $(NETWORKS) $(EXCHANGE) $(SERVE)
	@touch $@ $(VENV)/.demo

test: $(DONE)
	@$(MAKE) --no-print-directory --output-sync -j2 lint compiled
	$(BIN)/pytest -n auto $(KERNEL_TESTS:%=--ignore=%)
	@$(MAKE) --no-print-directory --output-sync -j2 checked interpreted

compiled checked interpreted: $(DONE)
	SAPO_TEST_KERNELS=$@ $(BIN)/pytest $(KERNEL_TESTS)

lint: $(DONE)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DONE)
	@test -n "$(SAPO_DATA)" || { echo "set SAPO_DATA to the directory of the corpora"; exit 2; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python benchmarks/run.py

# An hour of work or more: stopped with Ctrl-C, the same command goes on.
paper: $(DONE)
	$(BIN)/python -m laboratory experiment all theory
	$(BIN)/python -m laboratory report runs -o report

docs: $(DONE)
	$(BIN)/pdoc -o site -d google sapo sapo.corpus sapo.encode.template sapo.encode.words sapo.tags sapo.search sapo.learn \
	  sapo.evaluate sapo.model sapo.tagger sapo.training sapo.pipeline sapo.sklearn sapo.estimator sapo.compat sapo.errors
	@echo "the reference is in site/index.html"

clean:
	rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

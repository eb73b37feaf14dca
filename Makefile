# make demo | quick | test | lint | docs | docs-serve | wheel | release | lower-bounds | fuzz | faults | bench | paper | clean
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DONE := $(VENV)/.installed
# What the tests of networks are run with; `make NETWORKS= test` leaves them out.
NETWORKS ?= torch==2.13.0 transformers
# Tables and annotations of others, which their tests read and write; `make EXCHANGE= test` leaves them out.
EXCHANGE ?= datasets huggingface_hub pandas polars pyarrow python-crfsuite spacy usaddress
# What `sapo serve` and `teach` and their tests need; `make SERVE= test` leaves them out.
SERVE ?= dkpro-cassis httptools msgspec schemathesis uvicorn
# What drives Chromium in the tests of the page of `sapo teach`; `make BROWSER= test` leaves it out.
BROWSER ?= axe-playwright-python playwright
# What `--ray` and its tests need; `make CLUSTER= test` leaves them out.
CLUSTER ?= fsspec ray[tune]
# Tests of what is compiled: run in three modes, each by one process, so that nothing is compiled twice.
KERNEL_TESTS := tests/jit tests/search tests/learn

.PHONY: demo quick changed test lint docs docs-serve wheel release lower-bounds fuzz faults bench paper clean browser cluster test-clients test-label-studio test-spark compiled checked interpreted

demo: $(VENV)/.demo
	@$(BIN)/sapo demo
	@echo "To use sapo in this shell: . $(BIN)/activate. Then follow docs/tutorial.md."

# The demo needs the package alone; the rest needs the tools of development too.
$(VENV)/.demo: pyproject.toml
	@echo "installing sapo into $(VENV)"
	@$(PYTHON) tools/install.py $(VENV) -e .
	@touch $@

$(DONE): pyproject.toml
	@echo "installing sapo and its development tools into $(VENV)"
	@$(PYTHON) tools/install.py $(VENV) -e '.[dev]' $(NETWORKS) $(EXCHANGE) $(SERVE) $(BROWSER) $(CLUSTER)
	@touch $@ $(VENV)/.demo

# For the time between two edits: lint, and the tests of what differs from main, in at most 90 seconds.
quick: $(DONE)
	@$(MAKE) --no-print-directory --output-sync -j2 lint changed

changed: $(DONE)
	@$(BIN)/python tools/quick.py

# First what has one process each, the longest first except for lint: together they keep two cores busy to the end.
test: $(DONE)
	@$(MAKE) --no-print-directory --output-sync -j2 lint compiled checked interpreted cluster browser docs wheel
	$(BIN)/pytest -n auto $(KERNEL_TESTS:%=--ignore=%) --ignore=tests/apps/ray --ignore=tests/apps/teach/browser

compiled checked interpreted: $(DONE)
	SAPO_TEST_KERNELS=$@ $(BIN)/pytest $(KERNEL_TESTS)

# In one process, since its tests share a cluster.
cluster: $(DONE)
	$(BIN)/pytest tests/apps/ray

# In one process, since its tests share a browser. Where there is none, they are skipped.
browser: $(DONE)
	@$(BIN)/python tests/shared/browser.py
	$(BIN)/pytest tests/apps/teach/browser

lint: $(DONE)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Hostile inputs for all readers: see fuzz/README.md. `make fuzz ENGINE=atheris` lets coverage choose them.
SECONDS ?= 60
ENGINE ?= own
fuzz: $(DONE)
	@test $(ENGINE) = own || $(PYTHON) tools/install.py $(VENV) atheris
	PYTHONPATH=. $(BIN)/python -m fuzz.run --engine $(ENGINE) --seconds $(SECONDS)

# Kills, full disks and more, for all commands that write.
KILLS ?= 20
faults: $(DONE)
	PYTHONPATH=. $(BIN)/python -m fuzz.faults --kills $(KILLS)

# The function of docs/how-to/cluster.md with real Spark, which needs Java: pyspark is 400 MB, and takes a while to install.
test-spark: $(DONE)
	$(PYTHON) tools/install.py $(VENV) pyspark
	$(BIN)/pytest tests/apps/ray/test_spark.py

# The real Label Studio, installed from its package beside .venv: it takes some minutes.
test-label-studio: $(DONE)
	$(BIN)/python tools/label_studio.py

# Programs that use CRFsuite, and the tests of its Python packages, with sapo in its place: it takes some minutes.
test-clients: $(DONE)
	$(BIN)/python tools/clients.py

bench: $(DONE)
	@test -n "$(SAPO_DATA)" || { echo "set SAPO_DATA to the directory of the corpora"; exit 2; }
	@$(PYTHON) tools/install.py $(VENV) -e '.[bench]'
	$(BIN)/python benchmarks/run.py

# An hour of work or more: stopped with Ctrl-C, the same command goes on. `make paper RAY=local` runs it by Ray.
paper: $(DONE)
	$(BIN)/python -m laboratory experiment all theory $(if $(RAY),--ray $(RAY))
	$(BIN)/python -m laboratory report runs -o report

# The site: every page and every link, and nothing that is loaded from other servers.
docs: $(DONE)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "the site is in site/index.html"

# The site while you edit it, at http://127.0.0.1:8000; what you save appears at once.
docs-serve: $(DONE)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

# The wheel: built, and used without compiling.
wheel: $(DONE)
	@$(BIN)/python tools/release.py --quick

# Everything that must hold before a release: all tests, the site, and the wheel in a clean environment.
release: test
	@test -z "$$(git status --porcelain)" || { echo "there are changes that are not committed"; exit 2; }
	@$(BIN)/python tools/release.py

# Tests with the oldest dependencies that pyproject.toml allows, in .venv-lower.
lower-bounds:
	$(PYTHON) tools/lower_bounds.py

clean:
	rm -rf $(VENV) .venv-clients .venv-lower site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

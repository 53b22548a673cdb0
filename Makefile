# Every target does its own set-up in .venv: Python 3.11+, make and access to pip's packages are all it takes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Of the paper's experiments: where the data sets are, and where forecasts and results are kept.
DATA ?= ../shared/data
CACHE ?= paper/cache

.PHONY: demo test coverage lint bench paper docs clean

demo: $(READY)  ## run the whole job on the embedded data and write the results to demo/
	$(BIN)/calibrant demo --output demo --force

test: $(READY)  ## run the test suite, file by file on all processors
	$(BIN)/python -m pytest --numprocesses=logical --maxprocesses=4 --dist=loadfile

coverage: $(READY)  ## the same, and which lines and branches it ran
	$(BIN)/python -m pytest --cov --cov-report=term

lint: $(READY)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench:  ## compare with other libraries, side by side, in an environment of its own
	$(PYTHON) -m venv .bench-venv
	.bench-venv/bin/python -m pip install --quiet --requirement benchmarks/requirements.txt --editable ".[all]"
	# It declares Python 3.12, but runs on 3.11 too.
	.bench-venv/bin/python -m pip install --quiet --no-deps --ignore-requires-python dirichletcal==0.5.3
	.bench-venv/bin/python benchmarks/run.py

paper:  ## the paper's experiments from raw data to docs/paper.md, in an environment of its own
	$(PYTHON) -m venv paper/.venv
	# First PyTorch without CUDA, which is a tenth of the size.
	paper/.venv/bin/python -m pip install --quiet --no-deps --index-url https://download.pytorch.org/whl/cpu "torch>=2.4"
	paper/.venv/bin/python -m pip install --quiet --editable ".[paper]"
	paper/.venv/bin/python -m paper.train --data $(DATA) --cache $(CACHE)
	paper/.venv/bin/python -m paper.run --forecasts $(CACHE)/forecasts --results $(CACHE)/results.parquet
	paper/.venv/bin/python -m paper.figures --results $(CACHE)/results.parquet

docs: $(READY)  ## build the documentation into site/
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	$(BIN)/mkdocs build --strict

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "calibrant needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[test,lint]"
	@touch $(READY)

clean:
	rm -rf $(VENV) .bench-venv paper/.venv demo site .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache

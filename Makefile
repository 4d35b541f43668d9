# Each target does its own set-up in .venv; nothing is installed outside this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
MODEL ?= local/qwen2.5-coder-1.5b

.PHONY: demo test browser live lint pictures bench clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[local]" --group dev
	touch $(READY)

demo: $(READY)  ## fix a failing test in a real repository with a real model: MODEL=provider/model to choose it
	$(BIN)/python demos/run.py --model $(MODEL)

test: $(READY) lint  ## style, types, layers, tests
	$(BIN)/pytest -n 2 --dist loadfile --max-worker-restart 0  # a crash is told instead of waited for

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

browser: $(READY)  ## the interface in headless Chromium, which has to be installed
	$(BIN)/pytest -m browser tests/journeys

live: $(READY)  ## the tests that need a real local model
	$(BIN)/pytest -m live

pictures: $(READY)  ## the README's pictures, drawn by the interface itself
	$(BIN)/python -m tests.support.screenshots docs

clean:
	rm -rf $(VENV) dist build .pytest_cache .ruff_cache .hypothesis

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help setup demo test test-slow test-all check campaign docs build clean

help: ## Show these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-10s %s\n", $$1, $$2 }'

setup: $(VENV)/ready ## Make .venv and install nmt with exact versions of its dependencies

$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Python 3.11 or later is needed: make PYTHON=python3.11 ...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: setup ## Train a Transformer on the built-in corpus, evaluate it, translate a few sentences
	$(BIN)/nmt train experiment=demo run=outputs/demo resume=true
	$(BIN)/nmt evaluate run=outputs/demo
	@printf '%s\n' 'Der kleine Hund schläft.' 'Gestern hat die Lehrerin einen Brief geschrieben.' \
		'Ich glaube, dass der Mann das alte Auto nicht kauft.' > outputs/demo/in.de
	@cat outputs/demo/in.de
	$(BIN)/nmt translate run=outputs/demo input=outputs/demo/in.de

test: setup ## Run the tests (about twenty minutes on two cores)
	$(BIN)/python -m pytest -q -n auto -m 'not slow'

test-slow: setup ## Run the tests that make test leaves out: trainings that must learn something
	$(BIN)/python -m pytest -q -n auto -m slow

test-all: setup ## Run all tests, trainings that must learn something among them
	$(BIN)/python -m pytest -q -n auto

check: setup ## Check style and types, then run the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy scripts
	$(MAKE) test

campaign: setup ## Kill, crowd and exhaust trainings (an hour and a half)
	$(BIN)/python scripts/fault_campaign.py --kills 100
	$(BIN)/python scripts/parallel_runs.py --runs 20 --at-once 4
	$(BIN)/python scripts/soak.py --minutes 30

docs: setup ## Build the site into build/site; a link that leads nowhere is an error
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

build: setup ## Build the wheel into dist/
	$(BIN)/python -m build --wheel

clean: ## Remove what the other targets made, except outputs/
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

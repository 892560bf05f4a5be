# `make run` and `make test` are all the set-up there is: each makes its environment first.
PYTHON ?= python3
GRAPH ?= datasets/examples/torch.hf.convnextv2.train.json.gz
RUN_ENV := .venv
TEST_ENV := .venv-test
PIP_FLAGS := --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run test lint bench clean

run: $(RUN_ENV)/installed
	mkdir -p out
	$(RUN_ENV)/bin/regal optimize $(GRAPH) --devices 2 --output out/plan.json --plot out/plan.html
	$(RUN_ENV)/bin/regal verify $(GRAPH) out/plan.json
	@echo "plan: out/plan.json, picture: out/plan.html"

test: lint
	$(TEST_ENV)/bin/python -m pytest

lint: $(TEST_ENV)/installed
	$(TEST_ENV)/bin/ruff format --check .
	$(TEST_ENV)/bin/ruff check .
	$(TEST_ENV)/bin/mypy

bench: $(TEST_ENV)/installed
	$(TEST_ENV)/bin/python -m tests.benchmarks

$(RUN_ENV)/installed: setup.cfg constraints.txt
	$(PYTHON) -m venv $(RUN_ENV)
	$(RUN_ENV)/bin/pip install $(PIP_FLAGS) --editable .
	touch $@

# The test environment holds every extra that shares one environment; torch comes first, so that nothing replaces it.
$(TEST_ENV)/installed: setup.cfg constraints.txt
	$(PYTHON) -m venv $(TEST_ENV)
	$(TEST_ENV)/bin/pip install $(PIP_FLAGS) torch
	$(TEST_ENV)/bin/pip install $(PIP_FLAGS) --editable ".[all,dev]"
	touch $@

clean:
	rm -rf $(RUN_ENV) $(TEST_ENV) build out *.egg-info

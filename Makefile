# Both commands need nothing but Python 3.11+ and make; everything goes into .venv, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV ?= uv
PIP := $(BIN)/python -m pip --disable-pip-version-check
SOURCES := src papers tests benchmarks docs/conf.py tools

.PHONY: help demo test test-all test-lowest test-web lint format catalogues docs bench papers mutants wheel recipes lock sbom clean

help:
	@echo "make demo   see it: a finished survey, and one to answer yourself"
	@echo "make test   check it: linters, types, tests; CONTRIBUTING.md says what test-all adds"
	@echo "make test-all  every test this machine can run, with more examples each"
	@echo "make test-lowest  the library's tests with the oldest packages that pyproject.toml allows (needs uv)"
	@echo "make docs   build the documentation into docs/_build/html"
	@echo "make catalogues  write what the app says anew from locale/, after a change of its texts"
	@echo "make bench  measure it: every benchmark, small; BENCH=full as the documentation quotes them"
	@echo "make papers run it: every table and figure of the five papers, small; PAPERS=full as printed"
	@echo "make mutants  break critical lines one at a time, and see that a test notices each"
	@echo "make wheel  build dist/*.whl twice, compare the bytes, and try it in a clean environment"
	@echo "make recipes  run the steps of the container image and of the conda package, without an engine for either"
	@echo "make lock   write requirements/*.txt anew: every version and hash (needs uv); LOCKED=1 installs these"
	@echo "make sbom   write dist/*.cdx.json: what requirements/*.txt lock, as bills of materials (CycloneDX)"
	@echo "make format put the code into the house's form"
	@echo "make clean  remove .venv and everything built"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name it with: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	  { echo "This Python cannot make virtual environments (on Debian: apt-get install python3-venv)."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Not compiled while installing: only what is imported needs it, and that happens by itself.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --no-compile --editable '.[server,parties]'
	@touch $@

# With LOCKED=1 what is installed is what requirements/test.txt and build.txt have the hashes of.
$(VENV)/.test: pyproject.toml | $(BIN)/python
ifdef LOCKED
	$(PIP) install --quiet --no-compile --require-hashes -r requirements/build.txt -r requirements/test.txt
	$(PIP) install --quiet --no-compile --no-deps --no-build-isolation --editable .
else
	$(PIP) install --quiet --no-compile --editable '.[test,docs]'
endif
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/masquerade demo

# Some images forbid Python to keep bytecode. Tests start a hundred processes, and each would then
# compile whatever it imports anew.
test test-all test-lowest: export PYTHONDONTWRITEBYTECODE :=

# Tests have processes of their own. Sums in numpy that take threads of their own besides wait
# for one another: a convolution then takes up to ten times as long.
test test-all test-lowest: export OPENBLAS_NUM_THREADS := 1

# One process more than there are processors: tests in a browser wait half of their time.
PROCESSES = $(shell $(PYTHON) -c 'import os; print(min((os.cpu_count() or 1) + 1, 4))')
PYTEST = $(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal

# Types and the browser's modules take one processor: they are checked while the tests run. What is
# found in seconds comes first. All of it is run, whatever fails.
ALONGSIDE := $(MAKE) --no-print-directory --jobs=2 --keep-going

test: $(VENV)/.test
	@$(MAKE) --no-print-directory form
	+@$(ALONGSIDE) beside quick-tests

test-all: $(VENV)/.test
	@$(MAKE) --no-print-directory form
	+@$(ALONGSIDE) beside all-tests

.PHONY: form types beside quick-tests all-tests

# Once, by one process: else each of the processes that test compiles all modules for itself. What
# cannot be collected is told when the tests run.
$(VENV)/.compiled: $(VENV)/.test
	@$(BIN)/python -m pytest --collect-only --quiet --quiet >/dev/null 2>&1 || true
	@touch $@

quick-tests: $(VENV)/.compiled
	$(PYTEST) -m "not exhaustive"

all-tests: $(VENV)/.compiled
	$(PYTEST) --hypothesis-profile=exhaustive

beside:
	@$(MAKE) --no-print-directory --output-sync=recurse types test-web

# Apart from .venv, for its packages are older. The server and the browser are tested with new ones.
LOWEST := .venv-lowest
LIBRARY := $(addprefix tests/,exact accounting aggregate analysis answers estimation mechanisms preference release results \
  selection surveys truth cli test_exports.py test_errors.py test_simulate.py)
test-lowest:
	$(UV) venv --quiet --clear --python $(PYTHON) $(LOWEST)
	$(UV) pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[test]'
	$(LOWEST)/bin/python -m pytest -n auto --maxprocesses 4 -m "not exhaustive and not browser" $(LIBRARY)

test-web:
	@if command -v node >/dev/null; then node --test tests/web/*.test.mjs; \
	elif [ -n "$$MASQUERADE_REQUIRE" ]; then echo "node is required here and missing"; exit 1; \
	else echo "skipped: the browser modules' own tests need Node.js 20 or newer"; fi

lint: form types

form: $(VENV)/.test
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check --quiet $(SOURCES)

types: $(VENV)/.test
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

# Breaks forty critical lines, one at a time; each must make the test beside it fail.
mutants: $(VENV)/.test
	$(BIN)/python tools/mutants.py

# The modules are checked in, so that nothing is built to install or run.
catalogues: $(VENV)/.test
	$(BIN)/python tools/catalogues.py
	$(BIN)/python -m tools.page_words

docs: $(VENV)/.test
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Peers are compared with where they are installed; BENCH_PEER=PYTHON names a Python with crowd-kit.
bench: $(VENV)/.test
	BENCH="$(BENCH)" BENCH_PEER="$(BENCH_PEER)" $(BIN)/python benchmarks/everything.py

# What was measured is taken up by the next run.
papers: $(VENV)/.test
	$(BIN)/python -m masquerade_papers all $(if $(filter full,$(PAPERS)),,--quick) --out papers/results

wheel:
	$(PYTHON) tools/wheel.py dist

# In new folders and environments, from the last commit.
recipes: $(VENV)/.test
	$(BIN)/python -m tools.recipes

# For every platform and Python from the lowest on, from whatever index uv is set to; none is named.
COMPILE := $(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url \
  --no-emit-find-links --custom-compile-command "make lock" --python-version 3.11
lock:
	@printf 'hatchling>=1.24\neditables\n' | $(COMPILE) - --output-file requirements/build.txt
	@$(COMPILE) pyproject.toml --extra server --extra postgres --extra passkeys --extra parties --extra sso --output-file requirements/server.txt
	@$(COMPILE) pyproject.toml --extra test --extra docs --output-file requirements/test.txt

# Apart from .venv: a release needs it, and neither the library nor its tests do. Two runs write the
# same bytes.
SBOM := .venv-sbom
sbom:
	$(PYTHON) -m venv --clear $(SBOM)
	$(SBOM)/bin/python -m pip --disable-pip-version-check install --quiet --no-compile 'cyclonedx-bom==7.5.0'
	@mkdir -p dist
	for list in $(basename $(notdir $(wildcard requirements/*.txt))); do \
	  $(SBOM)/bin/python -W ignore -m cyclonedx_py requirements --pyproject pyproject.toml --output-reproducible \
	    --output-file dist/$$list.cdx.json requirements/$$list.txt || exit 1; done

clean:
	rm -rf $(VENV) $(LOWEST) $(SBOM) docs/_build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

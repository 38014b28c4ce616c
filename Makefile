# One command each for what .ci/run checks. `make PYTHON=python3.12 test` takes another Python than .venv's.
PYTHON ?= .venv/bin/python
export PATH := $(dir $(abspath $(PYTHON))):$(PATH)

.PHONY: help develop lint workflows types stubs pages programs warnings test test-quick test-all mutants check fuzz failures soak forks coverage analyze sanitize aarch64 free-threaded export opencl site links

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

develop:  ## make .venv with an editable install that compiles what has changed when it is imported
	python3 -m venv .venv
	.venv/bin/python -m pip install --quiet --upgrade "pip>=25.1" meson-python meson ninja numpy ml_dtypes
	PATH="$(CURDIR)/.venv/bin:$(PATH)" .venv/bin/python -m pip install --quiet --no-build-isolation -e '.[test]' --group lint
	$(MAKE) stubs

lint:  ## style and format
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

workflows:  ## the workflows under zizmor (pip install zizmor), which knows what attackers use
	$(if $(findstring /,$(PYTHON)),$(dir $(PYTHON)))zizmor --offline .github

types: stubs  ## types of the package itself
	$(PYTHON) -m mypy

stubs:  ## write the stubs that editors and type checkers read: src/ogive/__init__.pyi and that of ogive.directml
	$(PYTHON) -m tools.stubs

pages:  ## write the lists of operators and names in docs/operators and docs/tables
	$(PYTHON) -m tools.pages

programs:  ## write tests/programs.txt, after a change of what formulas are lowered to: 50 s; `make programs NAME=gelu` does one operator
	$(PYTHON) -m tools.programs --write $(if $(NAME),'*/$(NAME) *')

warnings:  ## the native extension compiles without a warning (needs meson and ninja)
	rm -rf build/warnings
	meson setup --werror -Dstubs=false build/warnings
	ninja -C build/warnings
	rm -rf build/warnings

test:  ## the README's tests; `make test TESTS=tests/cpu/test_rows.py` for some
	$(PYTHON) -m pytest -q $(or $(TESTS),-n auto tests --pyargs ogive)

# Tests that take milliseconds each, and an eighth of the texts of all programs: the first look before a commit.
QUICK = tests/free tests/messages tests/numerics/test_machine.py tests/engine/test_schedule.py tests/engine/test_fusion.py \
	tests/directml/test_binding.py tests/directml/test_tensor.py tests/webnn/test_checks.py \
	tests/golden/test_near_zero.py tests/cpu/test_ties.py

test-quick:  ## the tests that take a minute together, before a commit
	$(PYTHON) -m pytest -q -n auto $(QUICK)

mutants:  ## which tests notice that code is wrong at one place; nothing else may run in this checkout meanwhile
	$(PYTHON) -m tools.mutants

test-all:  ## these, the slow tests, and every type and target of each operator
	$(PYTHON) -m pytest -q -n auto --matrices=whole tests --pyargs ogive

# Harnesses of tests/hostile. `make fuzz SECONDS=600 TARGETS=onnx`, `make soak SECONDS=660`, `make failures POINTS=60`.
TARGETS ?= onnx dxdispatch webnn results cache packs pickles

fuzz: $(addprefix fuzz-,$(TARGETS))  ## damaged input for every reader, a minute each (needs atheris); `make -j 2 fuzz` two at once

fuzz-%:
	$(PYTHON) -m tests.hostile.fuzz $* --seconds $(or $(SECONDS),60)

failures:  ## every allocation of many calls fails once, and so do the cache's files (Linux, glibc, GCC)
	$(PYTHON) -m tests.hostile.failures --points $(or $(POINTS),50)

soak:  ## ten threads with forks and signals, results bit by bit, a minute or as long as asked
	$(PYTHON) -m tests.hostile.soak --seconds $(or $(SECONDS),60)

forks:  ## a fork inside of each first long call: no element is left unwritten (Linux)
	$(PYTHON) -m tests.hostile.forks --children $(or $(CHILDREN),100)

coverage:  ## which lines of the native extension the tests about C never run (Linux, GCC)
	$(PYTHON) -m tools.native_coverage $(TESTS)

analyze:  ## the C code under GCC's and Clang's analyzers, and the model of the thread pool under spin, where they are there
	.ci/analyze

check:  ## everything that CI does, from a fresh .venv
	.ci/run

sanitize:  ## the native extension and exported code under sanitizers (Linux, GCC)
	.ci/sanitize

aarch64:  ## kernels, linker and native extension of AArch64, under an emulator (Debian; needs qemu-user and gcc-aarch64-linux-gnu)
	.ci/aarch64

free-threaded:  ## threads in a Python without its lock, built from Debian's sources
	.ci/free-threaded

export:  ## every exported function on every architecture that can be run here
	OGIVE_EXPORT_ALL=1 $(PYTHON) -m pytest -q --matrices=whole tests/exporting

opencl:  ## every kernel on an OpenCL device (needs pyopencl, and pocl-opencl-icd where there is no other)
	OGIVE_OPENCL_ALL=1 $(PYTHON) -m pytest -q -n auto --matrices=whole tests/devices

site:  ## the documentation site, in build/site/html, with its links checked (needs the dependency group `site`)
	$(PYTHON) -m website build/site
	$(PYTHON) -m website.links build/site/html

links:  ## check the links of the site that `make site` has built
	$(PYTHON) -m website.links build/site/html

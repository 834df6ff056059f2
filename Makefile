# Two commands: `make demo` runs the laboratory, `make test` tests it. Both start from nothing but
# python3, and both may be repeated: what is installed or computed already is not done again.

python := .venv/bin/python

.PHONY: demo test slow clean

demo: .venv/installed
	.venv/bin/recombine reproduce
	.venv/bin/recombine report --out report
	@echo "Open $(CURDIR)/report/index.html in a browser."

test: .venv/installed-dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(python) -m pytest -n 2 -m "not slow"

slow: .venv/installed-dev
	$(python) -m pytest -m slow || [ $$? -eq 5 ]  # 5: no test is that slow

.venv/installed: pyproject.toml constraints.txt
	python3 -m venv .venv
	$(python) -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(python) -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv report

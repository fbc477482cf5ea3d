# make run   the server on http://127.0.0.1:20128/ (HOST, PORT, DATA_DIR change where it listens and stores)
# make worker  Celery workers that do background jobs, make beat  their schedule; both need REDIS_URL
# make test  the tests, one process a core
# make lint  style, types, import contracts, templates, missing migrations

PY := .venv/bin/python
LINTED := core embeddings qdrant_admin memory gateway studio omniroute

.PHONY: run worker beat test lint

# `exec`, so that Ctrl-C and `kill` reach the server itself, which then ends with 0.
run: .venv/core.stamp
	@exec $(PY) manage.py serve

worker: .venv/core.stamp
	@exec $(PY) manage.py worker

beat: .venv/core.stamp
	@exec $(PY) manage.py beat

test: .venv/dev.stamp
	@$(PY) -m pytest -n auto --dist loadfile

# Django's checks open a database: not the one that `make run` serves.
lint: export DATA_DIR := .venv/lint-data
lint: .venv/dev.stamp
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy $(LINTED)
	.venv/bin/lint-imports
	$(PY) -m djlint $(wildcard templates) $(LINTED) --lint --check
	$(PY) manage.py check --fail-level WARNING
	$(PY) manage.py makemigrations --check --dry-run

.venv/core.stamp: requirements-core.txt
	@sh scripts/install.sh requirements-core.txt $@

.venv/dev.stamp: requirements-dev.txt requirements-core.txt
	@sh scripts/install.sh requirements-dev.txt $@

# Every target is one command of the launcher, or of tests; `python3 supabase/stack --help` says the same.
# The first one makes .venv from requirements.lock, which CONTRIBUTING.md says how to renew.
PYTHON ?= python3
STACK = $(PYTHON) supabase/stack
TESTS = $(STACK) run tests

.DEFAULT_GOAL := help
.PHONY: up down status restart logs test test-long check mutations coverage generate migration bench audit audit-log-check backup restore restore-drill postgres-upgrade postgres-back help

up: ## Install what is missing, build, migrate, seed the demo, start; prints where everything is
	@$(STACK) up

down: ## Stop everything; the data stays
	@$(STACK) down

status: ## What runs, and whether it is healthy
	@$(STACK) status

restart: ## Restart one service: make restart SERVICE=edge
	@$(STACK) restart

logs: ## Follow the logs
	@$(STACK) logs

check: ## Every rule that a machine can judge, on throw-away databases
	@$(TESTS) check

test: ## Checks and tests on a throw-away stack, with one summary at the end; ten minutes (ONLY="tests/db -k deposits")
	@$(TESTS) test

test-long: ## What takes longer: long histories, restore drills, upgrades, thousands of races
	@$(TESTS) test-long

mutations: ## Remove every guard of database, services and gateway, one at a time: each must turn a test red (ONLY=words, FIND=1)
	@$(TESTS) mutations

coverage: ## Which statements of the database's functions its tests run
	@$(TESTS) coverage

generate: ## Write the files that are made from the database
	@$(TESTS) generate

migration: ## Write what sql/schema has and the migrations lack as the next one: make migration NAME=what_changes
	@$(TESTS) migration

bench: ## What is promised about time and memory, measured
	@$(TESTS) bench

audit: ## An SBOM, and what the registries know against the locked packages
	@$(TESTS) audit

audit-log-check: ## Whether the audit log has all that a log names: make audit-log-check LOG=.stack/logs/edge.log
	@$(STACK) audit-log-check

backup: ## Back up the running stack now; a schedule does so once BACKUP_REPOSITORY is set
	@$(STACK) backup

restore: ## Restore any second into a new stack: make restore FROM=/mnt/backups KEY=backup.key STATE=.stack-new TO='a time'
	@$(STACK) restore

restore-drill: ## Prove the backups: restore the newest, run the ledger checks, remove it
	@$(STACK) restore-drill

postgres-upgrade: ## Take the database to a newer PostgreSQL: make postgres-upgrade PG_BIN=/usr/lib/postgresql/17/bin
	@$(STACK) postgres-upgrade

postgres-back: ## Take that back, without what was written since
	@$(STACK) postgres-back

help: ## This list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-16s %s\n' "$$name" "$$text"; done

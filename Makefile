# Every target is one command of the launcher; `python3 supabase/stack --help` says the same.
PYTHON ?= python3
STACK = $(PYTHON) supabase/stack
export STATE DEMO STACK_PROFILE

.DEFAULT_GOAL := help
.PHONY: up down status logs test check generate bench backup restore help

up: ## Install what is missing, build, migrate, seed the demo, start; prints where everything is
	@$(STACK) up

down: ## Stop everything; the data stays
	@$(STACK) down

status: ## What runs, and whether it is healthy
	@$(STACK) status

logs: ## Follow the logs
	@$(STACK) logs

help: ## This list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done

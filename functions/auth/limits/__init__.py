"""Limits of attempts, requests and mail; docs/architecture.md lists them all."""

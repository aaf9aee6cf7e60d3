"""Shared by the services: application factory, settings, database, tokens, errors, e-mail, logs."""

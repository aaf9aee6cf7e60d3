"""Sends the e-mails of the outbox and runs the jobs that are due: ledger checks, purges, roll-ups."""

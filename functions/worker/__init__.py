"""Sends what the outbox holds and runs what is due: mail, checks of the books, clean-up."""

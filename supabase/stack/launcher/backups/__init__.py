"""Backups: when they are made, where they lie, how they come back."""

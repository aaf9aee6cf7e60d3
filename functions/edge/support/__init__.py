"""Shared by the endpoints: the principal, the rules for bodies and errors, encryption, the other services."""

"""The processes of a stack: what runs, whether it serves, and replacing it."""

"""The machine: programs, the system user, processes' environments."""

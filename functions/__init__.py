"""The Python services: each subpackage but `core` is a process of its own."""

"""The launcher behind `make`: starts, stops and backs up a stack, and makes throw-away ones for tests."""

"""The launcher behind `make`: brings a stack up, tests it, backs it up, and judges the sources."""

"""Harnesses that hold Ogive to its word with hostile input, failing machines, and signals and forks for minutes.

They are commands (`make fuzz`, `make failures`, `make soak`), not tests that pytest collects: tests/README.md.
"""

"""The documentation site: pages from docs/, and the operator reference, which is made from the catalogue."""

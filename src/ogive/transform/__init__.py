"""Passes: graph in, graph out. In the order in which they run: fold, lower (which uses wide, interval)."""

"""Kernels that tests have made anew."""

from ogive.engine import computation


def forget_kernels() -> None:
    """Have kernels made anew. Both tables go: with one alone, a ufunc and `kernel_of` would get different kernels of a formula."""
    computation._kept.cache_clear()
    computation._kernels.clear()

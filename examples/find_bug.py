"""Find a bug in somebody's kernel: `ogive.judge` measures a function and says where its errors come from.

    pip install ".[exact]"
    python examples/find_bug.py

The first softplus is the formula of the textbook. It overflows for large numbers, and far below zero 1 + exp(x) rounds to 1.
The second one is the same function without these steps. Errors up to 4 ULP are accepted.
"""

from __future__ import annotations

import numpy as np

from ogive.judge import Budget, Judgement, judge


def textbook(x: np.ndarray) -> np.ndarray:
    """``log(1 + exp(x))``, as it is written down."""
    with np.errstate(all="ignore"):
        return np.log(np.float32(1) + np.exp(x))


def repaired(x: np.ndarray) -> np.ndarray:
    """The larger of x and 0, and a logarithm that is accurate near 1."""
    with np.errstate(all="ignore"):
        return np.maximum(x, np.float32(0)) + np.log1p(np.exp(-np.abs(x)))


def described(name: str, found: Judgement) -> str:
    """The main numbers of a judgement, and its causes."""
    lines = [f"{name}: largest error {found.worst_ulp:.3g} ULP", *(f"  {line}" for line in found.beyond)]
    return "\n".join([*lines, *(f"  cause: {cause.text}" for cause in found.causes)])


def main() -> None:
    """Judge both."""
    for function in (textbook, repaired):
        print(described(function.__name__, judge(function, "softplus", "float32", budget=Budget(max_ulp=4))))


if __name__ == "__main__":
    main()

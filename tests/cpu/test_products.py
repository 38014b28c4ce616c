"""Products of up to four factors, some of them used twice: judged in every type, by the code of every level.

``square(40 * x)`` was 1600 x in float32: both factors are there twice, and only one was squared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from ogive.backends.target import runnable_targets
from tests import compositions
from tests.compositions import Tree

TARGETS = [name for name in runnable_targets() if name.startswith(("x86-64", "aarch64"))]

#: A constant of one digit and one of many, the operands.
FACTORS: dict[str, Tree] = {"c": ("constant", -40.0), "d": ("constant", 0.3), "x": ("x0",), "y": ("x1",)}

NAMES = ["".join(names) for size in (2, 3, 4) for names in product("cxy", repeat=size) if "x" in names]
NAMES += [name.replace("c", "d") for name in NAMES if "c" in name]


def groupings(factors: list[Tree]) -> Iterator[Tree]:
    """Every order in which these factors are multiplied."""
    if len(factors) == 1:
        yield factors[0]
    for i in range(1, len(factors)):
        for left in groupings(factors[:i]):
            for right in groupings(factors[i:]):
                yield ("*", left, right)


@pytest.mark.matrix(share=24)
@pytest.mark.parametrize("kind", compositions.FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_products(name: str, kind: str) -> None:
    leaves, counts = 2 if "y" in name else 1, Counter[str]()
    for tree in groupings([FACTORS[letter] for letter in name]):
        with np.errstate(all="ignore"):
            wrong = compositions.judged(tree, leaves, len(name), [kind], TARGETS, 16, counts, level=0)
            assert [*wrong] == []
    assert counts["results"] > 0


@pytest.mark.parametrize("kind", compositions.FORMATS)
@pytest.mark.parametrize(
    "tree",
    [
        ("square", ("*", ("constant", -40.0), ("x0",))),
        ("*", ("square", ("*", ("constant", 0.3), ("x0",))), ("x0",)),
        ("square", ("*", ("x0",), ("square", ("x0",)))),
        ("-", ("square", ("*", ("constant", 40.0), ("tanh", ("x0",)))), ("*", ("constant", 40.0), ("tanh", ("x0",)))),
        ("gelu", ("square", ("*", ("constant", 0.1), ("x0",)))),
        ("square", ("*", ("sigmoid", ("x0",)), ("exp", ("x0",)))),
    ],
    ids=compositions.text,
)
def test_squares(tree: Tree, kind: str) -> None:
    counts = Counter[str]()
    for gradient in (False, True):
        with np.errstate(all="ignore"):
            wrong = compositions.judged(tree, 1, 7, [kind], TARGETS, 16, counts, gradient=gradient, level=0)
            assert [*wrong] == []
    assert counts["results"] > 0

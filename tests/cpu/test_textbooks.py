"""Formulas of textbooks, plain and guarded, are correctly rounded: judged by balls of Arb, apart from Ogive's oracle.

    python -m tests.textbooks

judges more of each, in all guards.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES
from tests.cpu.test_guards import GUARDS
from tests.textbooks import TEXTBOOKS, judged, operands, right

DTYPES = ("float16", "bfloat16", "float32")


def test_there_are_formulas_enough() -> None:
    assert len(TEXTBOOKS) >= 70


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("place", range(len(TEXTBOOKS)), ids=list(TEXTBOOKS))
def test_textbooks_are_right(place: int) -> None:
    """Each in one type, and every other one in a guard."""
    name, guards = list(TEXTBOOKS)[place], list(GUARDS.values())
    dtype, domains = DTYPES[place % 3], TEXTBOOKS[name].domains
    formula = TEXTBOOKS[name].formula

    def computed(*numbers: Any) -> Any:
        found = formula(f, *numbers)
        return guards[place // 6 % len(guards)](found) if place // 3 % 2 else found

    compute = ogive.operator((lambda x: computed(x)) if len(domains) == 1 else (lambda x, y: computed(x, y)))
    found = judged(name, dtype, compute, operands(name, ELEMENT_TYPES[dtype].numpy, 25))
    assert found.wrong == []
    assert found.right > 10


def test_the_judge_sees_what_is_wrong() -> None:
    """float32's own arithmetic is wrong in most results of a formula whose terms cancel; rounding is IEEE's."""
    arrays = operands("third term of the exponential", np.float32, 50)
    naive = judged(
        "third term of the exponential",
        "float32",
        lambda x: TEXTBOOKS["third term of the exponential"].formula(np, x),
        arrays,
    )
    assert len(naive.wrong) > 25
    assert right("decibels", (10.0,), "float16") == 20.0
    assert right("hypotenuse", (3e38, 3e38), "float32") == math.inf
    assert right("hypotenuse", (2.0**-149, 0.0), "float32") == 2.0**-149

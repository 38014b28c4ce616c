"""The formats of machines: which numbers they hold."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive.graph.expression import Format
from ogive.lowering.numerics.machine import Machine

NUMBERS = st.floats() | st.floats(width=32) | st.integers(-(2**60), 2**60)


@pytest.mark.matrix(share=16, pool="slow")
@given(NUMBERS, st.integers(-160, 0), st.integers(0, 30))
def test_a_format_holds_what_rounding_leaves_as_it_is(number, power, bit):
    value = number * 2.0**power * (1 + 2.0**-bit)
    single = Machine(Format.F32)
    with np.errstate(all="ignore"):
        assert single.holds(value) == (math.isnan(value) or float(np.float32(value)) == value)
    assert Machine(Format.F64).holds(value)


@pytest.mark.parametrize("form", [Format.F32, Format.F64])
@pytest.mark.parametrize(
    "value", [2**24 + 1, 2**53 + 1, 2**60, 2.0**-149, 2.0**-150, 2.0**-1074, 3.4028234663852886e38, 3.5e38, -0.0]
)
def test_numbers_at_the_ends(form, value):
    machine = Machine(form)
    assert machine.holds(value) == (machine.rounded(Fraction(value)) == value)

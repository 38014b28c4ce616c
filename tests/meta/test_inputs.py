"""Tests of our own comparators and input generators."""

import numpy as np
import pytest

from ogive.common.dtypes import ELEMENT_TYPES
from tests.inputs import CASES, assert_same_bits, operands, random_values, same_bits, special_values


def test_there_are_cases():
    assert len(CASES) > 50


def test_same_bits_tells_zeros_apart_and_nan_equal():
    assert same_bits(np.float32([np.nan]), np.float32([np.nan]))
    assert not same_bits(np.float32([0.0]), np.float32([-0.0]))
    assert not same_bits(np.float32([1.0]), np.float64([1.0]))
    assert not same_bits(np.float32([1.0]), np.float32([[1.0]]))


def test_assert_same_bits_names_the_element():
    with pytest.raises(AssertionError, match=r"1 of 2 elements differ; first at 1: .*0\.0.*-0\.0.*for \[.*5\.0"):
        assert_same_bits(np.float32([1, 0.0]), np.float32([1, -0.0]), np.float32([4, 5]))


@pytest.mark.parametrize("kind", ELEMENT_TYPES.values(), ids=str)
def test_special_values_hold_the_ends(kind):
    values = special_values(kind)
    assert values.dtype == kind.numpy
    if kind.is_float:
        with np.errstate(invalid="ignore"):  # signalling NaN is among them
            as_double = values.astype(np.float64)
        assert np.isnan(as_double).any()
        assert np.isposinf(as_double).any()
        assert np.isneginf(as_double).any()
        assert (np.signbit(as_double) & (as_double == 0)).any()
        smallest = np.min(as_double[as_double > 0])
        assert 0 < smallest < 2.0**-20
    else:
        assert kind.maximum in values.tolist()
        assert kind.minimum in values.tolist()


@pytest.mark.parametrize("kind", ELEMENT_TYPES.values(), ids=str)
def test_random_values_are_reproducible(kind):
    assert same_bits(random_values(kind, 100, 3), random_values(kind, 100, 3))
    assert len(np.unique(random_values(kind, 1000, 3).view(f"u{kind.itemsize}"))) >= 2


def test_operands_differ_between_inputs():
    signature = next(s for _, s in CASES if len(s.inputs) == 2 and s.inputs[0].name == "float32")
    a, b = operands(signature, 100)
    assert a.shape == b.shape
    assert not same_bits(a, b)

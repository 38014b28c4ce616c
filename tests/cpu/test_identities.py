"""Formulas are computed in forms in which nothing cancels, with the bits that they have by themselves."""

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive.enclosures import enclosure
from ogive.lowering.identities import without_cancellation

FORMULAS = {
    "1 + erf(x)": lambda x: 1 + ogive.erf(x),
    "erf(x) + 1": lambda x: ogive.erf(x) + 1,
    "1 - erf(x)": lambda x: 1 - ogive.erf(x),
    "1 + -erf(x)": lambda x: 1 + -ogive.erf(x),
    "1 + tanh(x)": lambda x: 1 + np.tanh(x),
    "1 - tanh(x)": lambda x: 1 - np.tanh(x),
    "1 - tanh(x)**2": lambda x: 1 - np.tanh(x) ** 2,
    "1 - tanh(x) tanh(x)": lambda x: 1 - np.tanh(x) * np.tanh(x),
    "1 - sigmoid(x)": lambda x: 1 - ogive.sigmoid(x),
    "1 - cos(x)": lambda x: 1 - np.cos(x),
    "cosh(x) - 1": lambda x: np.cosh(x) - 1,
    "log(1 + exp(x))": lambda x: np.log(1 + np.exp(x)),
    "log(exp(x) + 1)": lambda x: np.log(np.exp(x) + 1),
    "log(cosh(x))": lambda x: np.log(np.cosh(x)),
    "exp(x) - 1": lambda x: np.exp(x) - 1,
    "1 - exp(x)": lambda x: 1 - np.exp(x),
    "log1p(exp(x))": lambda x: np.log1p(np.exp(x)),
    "log(1 + 3 x)": lambda x: np.log(1 + 3 * x),
    "log2(x + 1)": lambda x: np.log2(x + 1),
    "log10(1 - x)": lambda x: np.log10(1 - x),
    "log((1 + x) / (1 - x))": lambda x: np.log((1 + x) / (1 - x)),
    "softclip": lambda x: np.log((1 + np.exp(2 * x)) / (1 + np.exp(2 * (x - 1)))) / 2,
    "exp(x) / (1 + exp(x))": lambda x: np.exp(x) / (1 + np.exp(x)),
    "exp(-x) / (1 + exp(-x))**2": lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2,
    "0.25 - 0.25 cos(x)": lambda x: 0.25 - 0.25 * np.cos(x),
    "0.5 + 0.5 tanh(x)": lambda x: 0.5 + 0.5 * np.tanh(x),
    "exp(x) / (exp(x) - 1)": lambda x: np.exp(x) / (np.exp(x) - 1),
    "x**2 exp(x) / (exp(x) - 1)**2": lambda x: x**2 * np.exp(x) / (np.exp(x) - 1) ** 2,
    "exp(x) / expm1(x)": lambda x: np.exp(x) / np.expm1(x),
    "x / expm1(x) exp(x)": lambda x: x / np.expm1(x) * np.exp(x),
    "x exp(x) / expm1(x)**2": lambda x: x * np.exp(x) / np.expm1(x) ** 2,
    "tanh by exponentials": lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)),
    "x + sqrt(x * x + 4)": lambda x: x + np.sqrt(x * x + 4),
    "sqrt(x + 1) - sqrt(x)": lambda x: np.sqrt(x + 1) - np.sqrt(x),
    "sqrt(x) - sqrt(x + 0.25)": lambda x: np.sqrt(x) - np.sqrt(x + 0.25),
    "gelu": lambda x: 0.5 * x * (1 + ogive.erf(x / np.sqrt(2.0))),
    "gelu by tanh": lambda x: 0.5 * x * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3))),
    "phish": lambda x: x * np.tanh(0.5 * x * (1 + ogive.erf(x / np.sqrt(2.0)))),
}

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 88.0, -88.0, 1e4, -1e4, 1.0, -1.0]


def values(dtype):
    rng = np.random.default_rng(5)
    ordinary = [rng.normal(0, width, 40) for width in (1e-3, 1, 8)]
    with np.errstate(over="ignore"):
        return np.concatenate([SPECIAL, *ordinary]).astype(dtype)


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32], ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", FORMULAS)
def test_the_bits_are_those_of_the_formula_itself(name, dtype):
    """Enclosures decide by the formula as it was written."""
    x = values(dtype)
    op = ogive.operator(FORMULAS[name])
    right = correctly_rounded(op, x)
    found = op(x).astype(np.float64)
    np.testing.assert_array_equal(found, right)
    numbers = ~np.isnan(found)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(right[numbers]))


def correctly_rounded(op, x):
    root, kind = op.formula()[0], _kind(x.dtype)
    return np.array([enclosure.right_result(root, (float(v),), {}, kind)[0] for v in x.astype(np.float64)], np.float64)


def _kind(dtype):
    from ogive.common.dtypes import element_type

    return element_type(np.dtype(dtype).name)


@pytest.mark.parametrize("name", FORMULAS)
def test_each_formula_has_another_form(name):
    root = ogive.operator(FORMULAS[name]).formula()[0]
    assert without_cancellation([root])[0] is not root


@pytest.mark.matrix("name")
@pytest.mark.parametrize("width", [1e-9, 1, 30, 1000])
@pytest.mark.parametrize("name", FORMULAS)
def test_no_element_of_ordinary_data_is_left_to_enclosures(name, width, monkeypatch):
    asked = []
    original = enclosure.right_result

    def noted(root, operands, *rest, **named):
        asked.append(operands)
        return original(root, operands, *rest, **named)

    monkeypatch.setattr(enclosure, "right_result", noted)
    x = np.random.default_rng(7).normal(0, width, 2000).astype(np.float32)
    ogive.operator(FORMULAS[name])(x)
    assert len(asked) <= 20, asked[:5]


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("name", FORMULAS)
def test_float64_keeps_its_digits(name):
    x = np.random.default_rng(3).normal(0, 6, 100)
    op = ogive.operator(FORMULAS[name])
    found, exact = op(x), correctly_rounded(op, x)
    numbers = ~np.isnan(exact)
    assert np.array_equal(np.isnan(found), ~numbers)
    assert np.all(np.abs(found - exact)[numbers] <= 2 * np.spacing(np.abs(exact))[numbers])

"""The special cases that docstrings state, on every floating-point type of the operator."""

import re

import ml_dtypes
import numpy as np
import pytest

from ogive import formula as f
from ogive import operator
from ogive.catalog import OPERATORS, PLACES
from ogive.formula import __all__ as formula_names
from ogive.laboratory.accuracy import error_in_ulp
from ogive.laboratory.reference import evaluate_exactly, to_long_double
from tests.inputs import assert_same_bits

STATEMENT = re.compile(r"Special cases(?: \((?P<given>[^)]*)\))?: (?P<cases>[^.]+(?:\.[^.\s][^.]*)*)\.")
#: A number; the largest finite or the smallest positive one of the type; with + or - behind it the next one to a number.
NUMBER = re.compile(r"^-?(?:inf|nan|largest|smallest|[0-9.]+(?:e-?[0-9]+)?[+-]?)$")

STATED = [op for op in OPERATORS.values() if "Special cases" in op.__doc__]


def statements(op):
    """[(fixed operands by name, input, result)], the latter two as texts; "formula" is its value, nearly rounded"""
    found = list(STATEMENT.finditer(" ".join(op.__doc__.split())))
    assert found, f"{op.name}: its special cases are not written as `a -> b; c -> d.`"
    for statement in found:
        fixed = dict(part.split(" = ") for part in (statement["given"] or "").split(", ") if part)
        for case in statement["cases"].split("; "):
            value, result = case.split(" -> ")
            assert NUMBER.match(value), case
            assert NUMBER.match(result) or result == "formula", case
            yield fixed, value, result


def number(text, dtype):
    """The number that a text stands for in an element type."""
    if text.endswith(("largest", "smallest")):
        info = ml_dtypes.finfo(dtype)
        size = info.max if text.endswith("largest") else info.smallest_subnormal
        return dtype.type(-size if text[0] == "-" else size)
    if text[-1] in "+-":
        return np.nextafter(dtype.type(float(text[:-1])), dtype.type(np.inf if text[-1] == "+" else -np.inf))
    return dtype.type(float(text))


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("op", STATED, ids=lambda op: op.name)
def test_stated_cases_hold(op):
    for fixed, value, expected in statements(op):
        for signature in op.signatures:
            if not all(t.is_float for t in (*signature.inputs, *signature.outputs)):
                continue
            dtype = signature.inputs[0].numpy
            tensors = [value] + [fixed[name] for name in op.tensors[1:]]
            parameters = {p.name: fixed[p.name] for p in op.parameters if p.name in fixed}
            parameters |= {p.name: float(fixed[p.name]) for p in op.numeric_parameters if p.name in fixed}
            result = op(*(np.array([number(text, dtype)]) for text in tensors), **parameters)
            if expected == "formula":
                given = [float(number(text, dtype)) for text in tensors]
                values = {p.name: parameters.get(p.name, p.default) for p in op.numeric_parameters}
                if signature.inputs[0].computes_in == "float32":
                    values = {name: float(np.float32(v)) for name, v in values.items()}
                exact = np.array([to_long_double(evaluate_exactly(op.formula()[0], given, values))])
                assert error_in_ulp(result, exact, signature.outputs[0])[0] <= 1
            else:
                assert_same_bits(result, np.array([number(expected, dtype)]), np.array([number(value, dtype)]))


def test_every_activation_states_what_is_special():
    """NaN, both zeros, both infinities, the largest and the smallest numbers: nobody has to guess them."""
    assert STATED
    for name in [*(name for name, module in PLACES.items() if module == "activations"), "clip"]:
        values = {value for _, value, _ in statements(OPERATORS[name])}
        ends = {"largest", "-largest", "smallest", "-smallest"}
        assert {"nan", "0", "-0", "inf", "-inf"} | ends <= values, name


def test_kinks_and_signs_of_parameters_are_stated():
    kinks = {"hard_sigmoid": 2.5, "hard_swish": 3, "parametric_hard_swish": 2, "shrink": 0.5, "clip": 1}
    for name, kink in kinks.items():
        values = {value for _, value, _ in statements(OPERATORS[name])}
        assert {f"{sign}{kink}{side}" for sign in ("", "-") for side in ("", "+", "-")} <= values, name
    values = {value for _, value, _ in statements(OPERATORS["thresholded_relu"])}
    assert {"1", "1+", "1-"} <= values
    for name, parameter in (("celu", "alpha"), ("elu", "alpha"), ("shrink", "lambd")):
        assert any(fixed.get(parameter, "").startswith("-") for fixed, _, _ in statements(OPERATORS[name])), name


@pytest.mark.matrix(share=16, pool="slow")
def test_nan_is_canonical():
    payloads = np.array([0x7F800001, 0x7FC12345, 0xFFC00000, 0xFFFFFFFF], dtype=np.uint32).view(np.float32)
    for op in OPERATORS.values():
        for signature in op.signatures:
            if signature.outputs[0].name == "float32" and signature.inputs[0].name == "float32":
                required = {p.name: 1.0 for p in op.parameters if p.is_required}
                result = op(*[payloads] * op.inputs, **required)
                bits = result.view(np.uint32)[np.isnan(result)]
                assert (bits == 0x7FC00000).all(), op.name


def test_formulas_have_the_vocabulary():
    assert len(formula_names) > 10


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_magnitude_of_a_zero_is_positive(dtype):
    """Also where the number is known not to be negative: -0 is not less than 0."""

    @operator
    def magnitude(x):
        return abs(f.maximum(x, 0) * 0.1) / 3

    @operator
    def of_function(x):
        return f.tanh(abs(f.maximum(x, 0) * 0.1)) * 3

    x = np.array([-0.0, 0.0, -1.0], dtype)
    for made in (magnitude, of_function):
        assert not np.signbit(made(x)).any()


@pytest.mark.parametrize("name", ["log1p", "asinh", "acosh"])
def test_logarithms_of_the_largest_numbers(name):
    """Beyond 2**1023.5 their exponent is that of an infinity."""
    x = np.array([1e300, 2.0**1023, 1.2e308, 1.3e308, 1.7976931348623157e308, np.inf])
    right = getattr(np, {"log1p": "log1p", "asinh": "arcsinh", "acosh": "arccosh"}[name])(x)
    np.testing.assert_array_max_ulp(OPERATORS[name](x), right, 1)

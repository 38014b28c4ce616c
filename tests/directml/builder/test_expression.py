"""Python's operators on expressions."""

import math

import numpy as np
import pytest

import ogive.directml as dml
from ogive.errors import ArgumentError, ParameterError
from tests.directml.running import DEVICE, values
from tests.inputs import assert_same_bits

X = np.float32([[-2.0, -0.5, 0.75, 3.0]])
N = np.int32([[-7, -1, 1, 7]])
U = np.uint8([[1, 6, 255, 16]])


def compute(build, *arrays, device=DEVICE):
    graph = dml.Graph(device)
    xs = [graph.input(a.shape, a.dtype) for a in arrays]
    y = build(*xs)
    return graph.compile([y])(dict(zip(xs, arrays, strict=True)))[0]


def operators(build, dtype=np.float32, device=DEVICE):
    """The operators that an expression of one input makes, in order."""
    graph = dml.Graph(device)
    y = build(graph.input([4], dtype))
    found, waiting = [], [y._node]
    while waiting:
        node = waiting.pop()
        if node.operator is not None:
            found.append((node.number, node.operator.desc))
            waiting += [x._node for x in node.operands if x is not None]
    return [desc for _, desc in sorted(dict(found).items())]


BINARY = {
    "+": (lambda a, b: a + b, "ELEMENT_WISE_ADD"),
    "-": (lambda a, b: a - b, "ELEMENT_WISE_SUBTRACT"),
    "*": (lambda a, b: a * b, "ELEMENT_WISE_MULTIPLY"),
    "/": (lambda a, b: a / b, "ELEMENT_WISE_DIVIDE"),
    "%": (lambda a, b: a % b, "ELEMENT_WISE_MODULUS_FLOOR"),
}


@pytest.mark.parametrize("symbol", BINARY)
def test_arithmetic(symbol):
    build, name = BINARY[symbol]
    found = compute(build, X, np.full_like(X, 2.5))
    assert np.allclose(found, build(X, np.float32(2.5)), rtol=1e-6)
    (desc,) = operators(lambda x: build(x, x))
    assert desc.FACTS.name == name
    if symbol != "/":
        assert compute(build, N, np.full_like(N, 5)).tolist() == build(N, 5).tolist()


def test_other_operators():
    assert_same_bits(compute(lambda a, b: a & b, U, np.full_like(U, 12)), U & 12)
    assert_same_bits(compute(lambda a, b: a | b, U, np.full_like(U, 12)), U | 12)
    assert_same_bits(compute(lambda a, b: a ^ b, U, np.full_like(U, 12)), U ^ 12)
    assert_same_bits(compute(lambda a, b: a << b, U, np.full_like(U, 2)), U << 2)
    assert_same_bits(compute(lambda a, b: a >> b, U, np.full_like(U, 2)), U >> 2)
    assert_same_bits(compute(lambda a: ~a, U), ~U)
    assert_same_bits(compute(lambda a: abs(a), X), np.abs(X))
    assert_same_bits(compute(lambda a: -a, X), -X)
    assert_same_bits(compute(lambda a: a**2, X), X**2)
    assert_same_bits(compute(lambda a, b: abs(a) ** b, X, X * 0 + 2), X**2)


def scale_bias(build):
    (desc,) = operators(build)
    assert desc.FACTS.name == "ELEMENT_WISE_IDENTITY"
    return desc.ScaleBias.Scale, desc.ScaleBias.Bias


@pytest.mark.parametrize(
    ("build", "scale", "bias"),
    [
        (lambda x: x + 2.5, 1, 2.5),
        (lambda x: 2.5 + x, 1, 2.5),
        (lambda x: x - 2.5, 1, -2.5),
        (lambda x: 2.5 - x, -1, 2.5),
        (lambda x: x * 2.5, 2.5, 0),
        (lambda x: 2.5 * x, 2.5, 0),
        (lambda x: x / 4, 0.25, 0),
        (lambda x: np.float32(2.5) * x, 2.5, 0),
        (lambda x: x * np.int64(3), 3, 0),
    ],
)
def test_numbers_become_scale_and_bias(build, scale, bias):
    assert scale_bias(build) == (scale, bias)
    assert_same_bits(compute(build, X), X * np.float32(scale) + np.float32(bias))


def test_a_number_divided_by_a_tensor_is_a_quotient():
    """Not the reciprocal of the product, and not the product with the reciprocal, which is rounded twice."""
    data = values("FLOAT32", 200).reshape(1, -1)
    with np.errstate(all="ignore"):
        wanted = np.float32(3.0) / data
    wanted[np.isnan(wanted)] = np.nan
    assert_same_bits(compute(lambda x: 3.0 / x, data), wanted)


def test_numbers_with_integers_are_exact():
    big = 2**24 + 1
    assert compute(lambda x: x + big, N).tolist() == (N + big).tolist()
    assert compute(lambda x: big - x, N).tolist() == (big - N).tolist()
    assert compute(lambda x: x * big, N).tolist() == (N * big).tolist()
    assert compute(lambda x: x / 3, np.int32([[300_000_001]])).tolist() == [[100_000_000]]
    assert compute(lambda x: 100 / x, N).tolist() == [[-14, -100, 100, 14]]
    assert compute(lambda x: x % 5, N).tolist() == (N % 5).tolist()
    assert compute(lambda x: x << 2, U).tolist() == (U << 2).tolist()
    assert compute(lambda x: x * 0.5, N).tolist() == [[-3, 0, 0, 3]]  # towards zero, as DML_SCALE_BIAS on integers
    with pytest.raises(ParameterError, match=r"^\+: an operand is 300; allowed: whole numbers from 0 to 255 with a te"):
        compute(lambda x: x + 300, U)
    with pytest.raises(ParameterError, match=r"^%: an operand is 2.5; allowed: whole .* Use dml.cast"):
        compute(lambda x: x % 2.5, N)


def test_numbers_that_are_used_again_are_one_constant():
    graph = dml.Graph(DEVICE)
    x = graph.input([4], np.int32)
    op = graph.compile([x + 5, x * 5, x - 6])
    assert len(op._literals) == 2
    assert [a.tolist() for a in op({x: N.ravel()})] == [(N + 5).tolist()[0], (N * 5).tolist()[0], (N - 6).tolist()[0]]
    op.initialize()
    assert op({x: N.ravel()})[0].tolist() == (N + 5).tolist()[0]


def test_negation_below_5_0_is_a_scale():
    assert [d.FACTS.name for d in operators(lambda x: -x)] == ["ELEMENT_WISE_NEGATE"]
    old = dml.Device("3_0")
    (desc,) = operators(lambda x: -x, device=old)
    assert (desc.FACTS.name, desc.ScaleBias.Scale) == ("ELEMENT_WISE_IDENTITY", -1)


def test_division_by_zero_needs_a_constant():
    with pytest.raises(ParameterError, match="^/: a tensor is divided by 0.0; allowed: any number but 0. Divide by"):
        compute(lambda x: x / 0.0, X)
    assert compute(lambda x: x / 0, N).tolist() == [[0, 0, 0, 0]]


@pytest.mark.parametrize("operand", [np.ones((1, 4), np.float32), [1.0], True, "1", None, 1j])
def test_other_operands_are_refused(operand):
    graph = dml.Graph(DEVICE)
    x = graph.input([1, 4])
    for build in (lambda: x + operand, lambda: operand * x):
        with pytest.raises(ArgumentError, match="^[+*]: an operand is .*; allowed: expressions and numbers"):
            build()


SPECIAL = np.float32([[0.0, -0.0, 1.0, -1.5, 2.0, np.inf, -np.inf, np.nan]])


@pytest.mark.parametrize(
    "build",
    [
        lambda x: x == 1,
        lambda x: 1 == x,  # noqa: SIM300  # the reflected operator
        lambda x: x != 1.0,
        lambda x: x != x,  # NaN
        lambda x: x == np.float32(-1.5),
        lambda x: np.float32(1) < x,
        lambda x: x < 1,
        lambda x: x <= 1,
        lambda x: x > 1,
        lambda x: 2 >= x,  # noqa: SIM300  # the reflected operator
        lambda x: x == float("inf"),
    ],
)
def test_comparisons_make_operators(build):
    np.testing.assert_array_equal(compute(build, SPECIAL), build(SPECIAL))


def test_comparisons_of_integers():
    np.testing.assert_array_equal(compute(lambda x: x == 1, N), N == 1)
    np.testing.assert_array_equal(compute(lambda x, y: x != y, N, N[:, ::-1].copy()), N[:, ::-1] != N)


@pytest.mark.parametrize("build", [lambda x: 2**x, round, math.floor, math.ceil, math.trunc, lambda x: +x + 0.0])
def test_other_operators_of_python(build):
    wanted = {round: np.rint, math.floor: np.floor, math.ceil: np.ceil, math.trunc: np.trunc}.get(build, build)
    np.testing.assert_allclose(compute(build, X), wanted(X), rtol=1e-6)


def test_numbers_on_the_left_of_bits():
    np.testing.assert_array_equal(compute(lambda x: 3 & x, U), 3 & U)
    np.testing.assert_array_equal(compute(lambda x: 1 << x, U), np.left_shift(np.uint8(1), U))


def test_dictionaries_tell_expressions_apart_by_identity():
    graph = dml.Graph(DEVICE)
    x, y = graph.input([1, 4]), graph.input([1, 4])
    assert len({x, y, x}) == 2
    assert {x: 1, y: 2}[y] == 2


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda x: bool(x == 1), "asked whether it is true. Write dml.where\\(condition, a, b\\)"),
        (lambda x: x in [1, 2], "asked whether it is true"),
        (lambda x: 0 < x < 1, "dml.logical_and"),
        (float, "asked for its value. Use the functions of ogive.directml"),
        (list, "asked for its elements"),
        (lambda x: x[0], "asked for its elements"),
        (lambda x: x // 2, "//: DirectML has no operator for it. Write dml.floor\\(x / y\\)"),
        (lambda x: divmod(x, 2), "Write dml.floor"),
        (lambda x: x @ x, "@: products of matrices are out of scope"),
        (lambda x: x == None, "==: an operand is None; allowed: expressions and numbers"),  # noqa: E711
        (lambda x: x != "a", "!=: an operand is 'a'"),
        (lambda x: x == X, "graph.constant\\(array\\)"),
        (np.exp, "numpy.exp: an operand is an expression; allowed: arrays. Use dml.exp"),
        (np.isnan, "Use dml.is_nan"),
        (np.cbrt, "Use the functions of ogive.directml"),
        (lambda x: round(x, 2), "the number of digits is 2; allowed: none, or 0"),
    ],
)
def test_what_expressions_cannot_mean(act, text):
    with pytest.raises(ArgumentError, match=text):
        act(dml.Graph(DEVICE).input([1, 4]))


def test_there_are_no_operators_in_place():
    graph = dml.Graph(DEVICE)
    x = alias = graph.input([1, 4])
    x += 1.0
    assert x is not alias
    assert_same_bits(graph.compile([x])({alias: X})[0], X + 1)


def test_what_an_expression_says():
    graph = dml.Graph(DEVICE)
    x = graph.input((2, 3), "float16", strides=(1, 2))
    assert repr(x) == "<dml.Expression float16 [2, 3]>"
    assert (x.shape, x.strides, x.dtype, x.size) == ((2, 3), (1, 2), np.float16, 6)
    assert isinstance(x.desc, dml.TensorDesc)
    assert repr(x.desc) == "TensorDesc(float16, [2, 3], strides=[1, 2])"
    assert graph.input([2]).strides is None

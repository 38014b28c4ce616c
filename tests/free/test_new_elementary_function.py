"""A new elementary function is one file: what is said here of one is enough for everything that there is."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.errors import PickleError, UnsupportedError
from ogive.graph.expression import Format, lift, node, python, walk
from ogive.graph.operations import OPERATIONS, Operation, elementary
from ogive.laboratory.reference import evaluate, evaluate_exactly
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.interval import Interval
from tests.verify import verify

# ---- the file of the function: x / (1 + abs(x)), which needs no polynomial


def lower(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    one = m.wide(1.0)
    bounded = m.clamped(x, -m.largest, m.largest)
    return m.divide(bounded, m.add(one, m.absolute(bounded)))


BENT = elementary(
    "toy_bent",
    doc="A number, bent towards 1 and -1.",
    never_makes_nan=True,
    lowering=lower,
    evaluate=lambda x: np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x))),
    evaluate_exactly=lambda mp, x: mp.sign(x) if mp.isinf(x) else x / (1 + abs(x)),
    at_zero=0.0,
    at_infinities=(-1, 1),
    ball=lambda ball: ball / (1 + abs(ball)),
    is_linear_at_zero=True,
    near_zero=lambda u, sign: (u, -sign),
)
bent = f.of_one(BENT)
OPERATIONS.pop(BENT)  # other tests look at all there are

# ---- what follows from it


@pytest.fixture(autouse=True)
def _listed() -> Iterator[None]:
    OPERATIONS[BENT] = BENT
    yield
    OPERATIONS.pop(BENT)


x = node(OPERATIONS["input"], (), 0, Format.NUMBER)
POINTS = np.array([0.0, -0.0, 1e-30, -0.3, 0.5, 1.0, -2.5, 77.0, 1e30, math.inf, -math.inf, math.nan])


def exactly(values: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.where(np.isinf(values), np.sign(values), values / (1 + np.abs(values)))


def test_formulas_can_write_it():
    root = bent(x) * 2
    assert str(lift(root)) == "<number expression toy_bent(x0) * 2>"
    verify(root, stage="formula")
    assert bent.__doc__ == "A number, bent towards 1 and -1."
    scope: dict[str, Any] = {}
    exec(python(root), scope)
    assert scope["roots"] == (root,)
    assert pickle.loads(pickle.dumps(root)) is root
    assert pickle.loads(pickle.dumps(BENT)) is BENT


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_kernels_compute_it(dtype):
    op = ogive.operator(types=[np.dtype(dtype).name])(lambda x: bent(x))
    values = POINTS[np.isinf(POINTS) | ~(np.abs(POINTS) > 6e4)].astype(dtype)
    got = op(values).astype(np.float64)
    np.testing.assert_allclose(got, exactly(values.astype(np.float64)), rtol=2 * np.finfo(dtype).eps, atol=0)
    assert np.signbit(got[1])
    for signature in op.signatures:
        verify(*op.program(signature).roots, stage="primitive")


@pytest.mark.matrix(share=16, pool="slow")
def test_kernels_fuse_it():
    op = ogive.operator(types=["float32"])(lambda x, *, alpha=1.5: f.where(x > 0, x, alpha * bent(f.exp(x) - 1)))
    values = np.float32([-3, -0.25, 0, 2])
    expected = np.where(values > 0, values, 2.0 * exactly(np.expm1(values.astype(np.float64))))
    np.testing.assert_allclose(op(values, alpha=2.0), expected, rtol=1e-6)


def test_sizes_know_it():
    assert BENT.instructions == 30


def test_references_compute_it():
    pytest.importorskip("mpmath", reason="exact values need mpmath")
    np.testing.assert_allclose(evaluate(bent(x), [POINTS]), exactly(POINTS), rtol=1e-15)
    for value in (0.5, -2.5, math.inf):
        assert float(evaluate_exactly(bent(x), [value])) == exactly(np.array(value))


def test_enclosures_decide_it():
    from ogive.enclosures.enclosure import right_result

    single = ELEMENT_TYPES["float32"]
    for value in (0.5, -0.3, 77.0, 1e-30, math.inf):
        found, is_decided = right_result(bent(x), [float(np.float32(value))], {}, single)
        assert is_decided
        assert found == np.float32(exactly(np.float64(np.float32(value)))), value


@pytest.mark.matrix(share=16, pool="slow")
def test_the_level_of_moderate_operands_knows_that_it_makes_no_nan():
    op = ogive.operator(types=["float32"])(lambda x: bent(x * x * x + 2 * x))
    program = op.program(op.signatures[0])
    values = np.float32(np.linspace(-300, 300, 999))
    alone = np.array([op(value) for value in values])
    assert np.array_equal(op(values), alone)
    assert program.results


def test_a_rule_that_is_missing_is_named():
    lonely = elementary("toy_lonely", lowering=lower)
    try:
        root = f.of_one(lonely)(x)
        with pytest.raises(UnsupportedError, match="^reference: there is no rule for toy_lonely$"):
            evaluate(root, [POINTS])
    finally:
        OPERATIONS.pop(lonely)


def test_names_are_taken_once():
    with pytest.raises(ValueError, match="Operation: there is an operation 'exp'. Give this one another name"):
        Operation("exp", 1)


def test_operations_are_their_names():
    root = bent(x)
    assert root.operation == "toy_bent"
    assert root.operation is BENT
    assert {"toy_bent": 1}[root.operation] == 1
    assert [type(n.operation) for n in walk(root)] == [Operation, Operation]
    assert Interval.point(1.0).low == 1.0


def test_a_pickle_of_a_function_that_is_not_there():
    text = pickle.dumps(BENT)
    OPERATIONS.pop(BENT)
    with pytest.raises(PickleError, match="there is no operation 'toy_bent'. Import the module that defines it first"):
        pickle.loads(text)
    OPERATIONS[BENT] = BENT

"""Running sums and products are rounded once from the elements, judged in fractions, through every front end."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import ogive.onnx
import ogive.webnn as webnn
from ogive.engine.running import running_product, running_sum
from tests.nearest import is_nearest
from tests.onnx.models import node_model

KINDS = [np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)]


def elements(kind, case, generator):
    shape = (2, 100)
    low, high = (-20, 14) if kind == np.float16 else (-140, 120)
    numbers = {
        "normal": lambda: generator.standard_normal(shape),
        "mean 1e4": lambda: 1e4 + generator.standard_normal(shape),
        "any magnitude": lambda: np.ldexp(generator.standard_normal(shape), generator.integers(low, high, shape)),
        "cancelling": lambda: np.repeat(generator.standard_normal((2, 50)), 2, 1) * np.tile([1, -1], 50),
        "integers": lambda: generator.integers(-5, 6, shape) * 1.0,
        "near 1": lambda: 1 + 1e-3 * generator.standard_normal(shape),
        "one number": lambda: np.full(shape, 0.1),
        "ends of the range": lambda: float(ml_dtypes.finfo(kind).max) * generator.choice([0.5, -0.5, 1, -1], shape),
        "subnormal": lambda: float(ml_dtypes.finfo(kind).smallest_subnormal) * generator.integers(-9, 9, shape),
    }[case]()
    return numbers.astype(kind)


CASES = ["normal", "mean 1e4", "any magnitude", "cancelling", "integers", "near 1", "one number", "ends of the range"]


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("case", [*CASES, "subnormal"])
@pytest.mark.parametrize("operation", ["sum", "product"])
def test_rounded_once(kind, case, operation):
    x = elements(kind, case, np.random.default_rng(KINDS.index(kind)))
    compute, neutral = (running_sum, 0) if operation == "sum" else (running_product, 1)
    for exclusive in (False, True):
        for reverse in (False, True):
            result = compute(x, 1, exclusive=exclusive, reverse=reverse)
            assert result.dtype == kind
            for row, found in zip(x, result, strict=True):
                total = Fraction(neutral)
                order = range(len(row))
                for i in reversed(order) if reverse else order:
                    after = Fraction(float(row[i]))
                    after = total + after if operation == "sum" else total * after
                    assert is_nearest(found[i], total if exclusive else after, kind), (i, found[i])
                    total = after


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_not_finite_and_signs_of_zero(kind):
    x = np.array([-0.0, -0.0, 1, np.inf, 2, -np.inf, 3]).astype(kind)
    total = running_sum(x, 0, exclusive=False, reverse=False).astype(float)
    assert np.signbit(total[:2]).all()
    assert total[2:5].tolist() == [1, np.inf, np.inf]
    assert np.isnan(total[5:]).all()
    product = running_product(x[2:], 0, exclusive=False, reverse=False).astype(float)
    assert product.tolist() == [1, np.inf, np.inf, -np.inf, -np.inf]
    product = running_product(np.array([-1, 0, 2, np.inf, 1]).astype(kind), 0, exclusive=False, reverse=False)
    assert (product[:3].astype(float).tolist(), np.signbit(product[1:3]).tolist()) == ([-1, 0, 0], [True, True])
    assert np.isnan(product[3:].astype(float)).all()


def test_sums_of_float64_that_overflow_on_the_way():
    x = np.array([1.7e308, 1.7e308, -1.7e308, -1.7e308])
    assert running_sum(x, 0, exclusive=False, reverse=False).tolist() == [1.7e308, np.inf, 1.7e308, 0]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (1,), (2, 3, 4)])
def test_every_axis_of_every_shape(shape):
    x = np.random.default_rng(0).integers(-4, 5, shape).astype(np.float32)
    for axis in range(len(shape)):
        for compute, right in ((running_sum, np.cumsum), (running_product, np.cumprod)):
            found = compute(x, axis, exclusive=False, reverse=False)
            assert found.tolist() == right(x, axis).tolist()
            assert found.flags.c_contiguous


def test_integers_wrap_around():
    x = np.int32([2**31 - 1, 1, 3])
    assert running_sum(x, 0, exclusive=False, reverse=False).tolist() == [2**31 - 1, -(2**31), 3 - 2**31]
    assert running_product(x, 0, exclusive=True, reverse=False).tolist() == [1, 2**31 - 1, 2**31 - 1]


def test_every_front_end_has_these_sums():
    x = np.float32([[16777216, 1, 1, -16777216], [0.1, 0.2, 0.3, 0.4]])
    axis = np.array(1)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            attributes = {"exclusive": exclusive, "reverse": reverse}
            right = running_sum(x, 1, exclusive=bool(exclusive), reverse=bool(reverse))
            model = ogive.onnx.load(node_model("CumSum", 14, [("x", x), ("a", axis)], attributes))
            assert model(x=x, a=axis).tobytes() == right.tobytes()
            context = webnn.MLContext()
            builder = webnn.MLGraphBuilder(context)
            given = builder.input("x", {"dataType": "float32", "shape": [2, 4]})
            options = {"exclusive": bool(exclusive), "reversed": bool(reverse)}
            graph = builder.build({"y": builder.cumulativeSum(given, 1, options)})
            assert graph({"x": x})["y"].tobytes() == right.tobytes()

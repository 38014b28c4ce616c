"""Row operators of row operators, in every type: by enclosures of the whole formula."""

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import ELEMENT_TYPES

X = np.linspace(-1.0, 1.0, 3)
ROW_WISE = [name for name, op in OPERATORS.items() if op.is_row_wise and op.inputs == 1]
TYPES = ("float16", "bfloat16", "float32", "float64")


def elements_of(name):
    """The operator, of one number a row the distance of each element from it."""
    op = OPERATORS[name]
    return op if op(X).shape == X.shape else lambda x: x - op(x)


def test_there_are_operators():
    assert len(ROW_WISE) >= 13


@pytest.mark.matrix("outer", share=6)
@pytest.mark.parametrize(("outer", "inner"), [(a, b) for a in ROW_WISE for b in ROW_WISE])
def test_they_are_what_enclosures_say(outer, inner):
    first, second = elements_of(inner), elements_of(outer)
    op = ogive.row_operator(lambda x: second(first(x)))
    generator = np.random.default_rng(5)
    for signature in op.signatures:
        kind = signature.inputs[0]
        if kind.name not in TYPES:
            continue
        x = (generator.normal(size=(1, 7)) * generator.choice([1.0, 30.0])).astype(kind.numpy)
        with np.errstate(all="ignore"):
            found = op(x)
        decide_row = op.program(signature).decide_row
        if decide_row is None:  # what only chooses among the elements is exact
            continue
        parameters = [float(np.float32(p.default)) for p in op.numeric_parameters]
        (expected,) = decide_row([[float(v) for v in x[0]]], parameters)
        right = np.array([float(v) for v in expected]).astype(ELEMENT_TYPES[kind.name].numpy)
        assert found[0].tobytes() == right.tobytes(), (kind.name, x, found, right)

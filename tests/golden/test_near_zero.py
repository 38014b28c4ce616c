"""Results next to zero that are rounded beside a line are those that enclosures decide one by one."""

import numpy as np
import pytest

pytest.importorskip("flint", reason="golden data needs python-flint")

from ogive.enclosure import right_result
from ogive.golden.specification import bits_of, of_operator
from ogive.near_zero import LIMIT, line_of

#: Operators whose slope at zero is a half, or another number of few bits, and whether they lie above the line.
CURVED = {
    "gelu": (0.5, True),
    "swish": (0.5, True),
    "hard_swish": (0.5, True),
    "log1p": (1.0, False),
    "expm1": (1.0, True),
    "sin": (1.0, False),
    "tan": (1.0, True),
}
#: By their third derivatives: below zero they lie on the other side.
ODD = ("sin", "tan")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("operator", CURVED)
def test_the_line_rounds_as_enclosures_do(operator, dtype):
    spec = of_operator(operator, dtype)
    (step,), kind = spec.steps, spec.output
    line = line_of(step.root, step.numbers, (kind, kind))
    slope, above = CURVED[operator]
    assert (line.slope, line.above) == (slope, {False: above, True: above is not (operator in ODD)})
    top = int(bits_of(np.array([LIMIT]).astype(kind.numpy))[0])
    random = np.random.default_rng(0).integers(1, top, 40)
    bits = np.concatenate([[1, 2, 3, 5, 7, top - 1, top], random])
    x = np.concatenate([bits, bits | 1 << (kind.bits - 1)]).astype(f"u{kind.itemsize}").view(kind.numpy)
    alone = [right_result(step.root, [float(v)], step.numbers, kind, bits=kind.bits, modular=False)[0] for v in x]
    assert np.array_equal(bits_of(spec.right([x])), bits_of(np.array(alone).astype(kind.numpy)))


@pytest.mark.parametrize("operator", ["mish", "sigmoid", "elu", "relu", "exp"])
def test_there_is_none_where_nothing_is_known_of_the_rest(operator):
    """A slope of 3/5, results that are not zero at zero, a kink, a straight line."""
    spec = of_operator(operator, "float32")
    assert line_of(spec.root, spec.steps[0].numbers, (spec.output, spec.output)) is None

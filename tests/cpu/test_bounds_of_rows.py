"""The error bounds of numbers of rows and their elements, as each level says: judged by the same formulas in Arb."""

import flint
import numpy as np
import pytest

import ogive
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.graph.expression import Format
from ogive.lowering.identities import without_cancellation
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.precisions import CORRECTED_ROWS, PROMOTED
from ogive.lowering.program import Program
from ogive.lowering.tested_rows import TestedRows
from ogive.runtime.kernels import make_ufunc
from tests.cpu import test_computed_rows as computed

arb = flint.arb

SINGLE, DOUBLE = ELEMENT_TYPES["float32"], ELEMENT_TYPES["float64"]


def with_bound(root, *, is_repair):
    """A ufunc that gives both words of a number, its bound, and whether that is in doubt."""
    arithmetic = Bounded(CORRECTED_ROWS if is_repair else PROMOTED)
    reals = TestedRows(arithmetic, (SINGLE,), Format.F32)
    outputs = (DOUBLE,) * 4
    stages = reals.reduce([root], 1 + len(outputs))
    m, number = reals.m, reals.m.unscaled(reals.number(root))
    assert number.error.is_known
    zero = m.number(0.0)
    bound = m.total(number)
    doubt = number.error.doubt
    results = (
        number.high,
        m.low_part(number),
        zero if bound is None else bound,
        zero if doubt is None else m.select_(doubt, m.number(1.0), zero),
    )
    return make_ufunc("with_bound", Program((SINGLE,), outputs, results, stages))


def families():
    """Rows of few elements: with the largest ones near each other, equal, far apart, masked, tiny and huge."""
    random = np.random.default_rng(0)
    usual = random.standard_normal((12, 6)) * np.repeat([0.1, 1, 3, 20], 3)[:, np.newaxis]
    usual[1, 1:] = usual[1, 0] - np.arange(5) * 2.0**-20
    usual[4] = usual[4, 0]
    usual[5, 3:] = usual[5, :3]
    usual[7, 2:] = [40.0, 41.0, 42.0, 43.0]  # where tanh is 1 but for next to nothing
    yield "usual", usual
    yield "tiny", usual * 1e-30
    yield "ahead", usual + 60.0 * (np.arange(6) == 2)
    yield "masked", np.where(np.arange(6) < 2, -np.inf, usual)


#: Operators that elements of -inf leave as they are for the others.
MASKED, LINEAR = (
    {"row_max", "row_log_sum_exp", "softmax", "beside the largest"},
    {"x / 3", "x + 1/3", "x * 1.75 + 0.3125"},
)

ALL = [(name, element) for name in computed.OF_ROWS for element in computed.ELEMENTS]


def test_there_are_formulas():
    assert len(ALL) >= 50
    assert set(computed.OF_ROWS) >= MASKED
    assert set(computed.ELEMENTS) >= LINEAR


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize("is_repair", [False, True], ids=["first level", "repair"])
@pytest.mark.parametrize(("of_row", "element"), ALL)
def test_numbers_lie_within_their_bounds(of_row, element, is_repair):
    (outer, outer_exact), (inner, inner_exact) = computed.OF_ROWS[of_row], computed.ELEMENTS[element]
    formula = ogive.row_operator(lambda x: outer(inner(x)), types=("float32",))
    (root,) = formula.formula()
    ufunc = with_bound(without_cancellation([root])[0], is_repair=is_repair)
    before, sure = flint.ctx.prec, 0
    flint.ctx.prec = 400
    try:
        for family, rows in families():
            with np.errstate(all="ignore"):
                single = rows.astype(np.float32)
                found = ufunc(single)
            for i, row in enumerate(single):
                places = np.flatnonzero(np.isfinite(row))
                if places.size < row.size and not (of_row in MASKED and element in LINEAR):
                    continue  # their results are infinite or NaN
                exact = outer_exact([inner_exact(arb(float(x))) for x in row[places]])
                exact = exact if isinstance(exact, list) else [exact] * len(places)
                for j, e in zip(places, exact, strict=True):
                    high, low, bound, doubt = (float(part[i, j]) for part in found)
                    if doubt or not np.isfinite([high, low, bound]).all():
                        continue
                    sure += 1
                    wrong_by = abs(arb(high) + arb(low) - e)
                    assert wrong_by.abs_lower() <= arb(bound) * (1 + arb(2) ** -20) + arb(2) ** -1060, (family, row, j)
    finally:
        flint.ctx.prec = before
    assert sure > 60  # of 72, the fewest: logarithms of negative numbers are none

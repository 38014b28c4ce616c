"""The constants of formulas beside Arb's, and formulas that need more of their bits than a few words have."""

import flint
import mpmath
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.graph import irrational_numbers


@pytest.mark.parametrize(
    ("name", "of_arb"),
    [
        ("PI", flint.arb.pi),
        ("LOG_2", lambda: flint.arb(2).log()),
        ("LOG_10", lambda: flint.arb(10).log()),
    ],
)
def test_digits(name, of_arb):
    value = getattr(irrational_numbers, name)
    with flint.ctx.workprec(irrational_numbers.BITS + 64):
        error = abs(of_arb() - flint.arb(flint.fmpq(*value.as_integer_ratio())))
        assert error < flint.arb(2) ** -(irrational_numbers.BITS)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_formulas_that_need_many_bits_of_them(dtype):
    """Hundreds of bits behind the point: with a pi of 250 bits, these were the cosines of other numbers."""
    x = np.array([20.0, 27.0, 29.5, 40.0], dtype)
    with mpmath.workprec(6000):
        exact = [mpmath.mpf(float(v)) ** 2 for v in x]
        cases = (
            (
                lambda x: f.cos(1 / ogive.grad(ogive.erf)(x)),
                lambda s: mpmath.cos(mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(s)),
            ),
            (lambda x: f.sin(f.exp(x * x) * f.pi), lambda s: mpmath.sin(mpmath.exp(s) * mpmath.pi)),
            (lambda x: f.cos(f.exp(x * x) * f.log_2), lambda s: mpmath.cos(mpmath.exp(s) * mpmath.log(2))),
            (lambda x: f.sin(f.exp(x * x) / f.log_10), lambda s: mpmath.sin(mpmath.exp(s) / mpmath.log(10))),
        )
        for formula, right in cases:
            wanted = np.array([float(right(s)) for s in exact]).astype(dtype)
            assert np.array_equal(ogive.operator(formula)(x), wanted)

"""Derive the polynomials of the fast contract (lowering/numerics/elementary/derived_numbers.json): compare, or --write them.

    python accuracy/derive_fast_coefficients.py [--write]

The method is that of derive_coefficients.py. All coefficients are float32 numbers. The lower polynomial of a quotient is
rounded first, and the upper one is fitted again so that it makes up for that.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import Any

import mpmath as mp
from derive_coefficients import (
    DIGITS,
    Fit,
    Function,
    Quotient,
    described,
    fitted,
    fitted_quotient,
    polynomial,
    round_to,
)
from derived_tables import Sections, write_or_compare_tables

SINGLE = 24

#: A factor of both polynomials of a quotient changes what rounding loses, of coefficients and of sums. Out of 200 powers of 2, from
#: 1 to 2, 2**(159 / 200) leaves gelu 4.9 ULP over all inputs; others leave it up to 5.6.
SCALE = 159, 200


def fits() -> list[Fit]:
    half = mp.log(2) / 2 * (1 + mp.mpf(2) ** -10)

    tiny = mp.mpf(10) ** -15

    def exp_tail(r: mp.mpf) -> mp.mpf:
        return mp.mpf(1) / 2 + r / 6 if abs(r) < tiny else (mp.expm1(r) - r) / r**2

    def log1p_over(x: mp.mpf) -> mp.mpf:
        return 1 - x / 2 if abs(x) < tiny else mp.log1p(x) / x

    return [
        Fit(
            "EXP",
            "(exp(r) - 1 - r) / r**2 on |r| <= log(2) / 2; the error is relative to exp(r)",
            exp_tail,
            lambda r: r**2 / mp.exp(r),
            (-half, half),
            {"F32": range(5)},
        ),
        Fit(
            "EXPM1",
            "(expm1(r) - r) / r**2 on |r| <= log(2) / 2; the error is relative to expm1(r)",
            exp_tail,
            lambda r: r if abs(r) < tiny else r**2 / mp.expm1(r),
            (-half, half),
            {"F32": range(6)},
        ),
        Fit(
            "LOG1P",
            "log1p(x) / x on [0, 1]; relative error",
            log1p_over,
            lambda x: 1 / log1p_over(x),
            (mp.mpf(0), mp.mpf(1)),
            {"F32": range(10)},
        ),
    ]


#: How many coefficients results of 16 bits take.
SHORT = {"EXP": 4, "EXPM1": 5, "LOG1P": 8}


def quotients() -> list[Quotient]:
    def scaled_tail(a: mp.mpf) -> mp.mpf:
        return mp.erfc(a / mp.sqrt(2)) * mp.exp(a**2 / 2) / 2

    return [
        Quotient(
            "NORMAL_TAIL",
            "exp(a**2 / 2) erfc(a / sqrt(2)) / 2 on [0, 12.9]; relative error",
            scaled_tail,
            lambda a: 1 / scaled_tail(a),
            (mp.mpf(0), mp.mpf("12.9")),
            (4, 5),
        ),
    ]


def rounded_quotient(quotient: Quotient) -> tuple[list[list[mp.mpf]], mp.mpf]:
    """The coefficients of both polynomials as float32 numbers, and the largest error that they leave."""
    (_, divisor), _ = fitted_quotient(quotient)
    below = [round_to(c * mp.mpf(2) ** (mp.mpf(SCALE[0]) / SCALE[1]), SINGLE) for c in divisor]
    upper = Fit(
        quotient.name,
        quotient.what,
        partial(_times, quotient.function, below),
        partial(_over, quotient.weight, below),
        quotient.interval,
        {"F32": range(quotient.degrees[0] + 1)},
    )
    above, worst = fitted(upper, "F32")
    return [above, below], worst


def _times(function: Function, below: list[mp.mpf], a: mp.mpf) -> mp.mpf:
    return function(a) * polynomial(below, a)


def _over(weight: Function, below: list[mp.mpf], a: mp.mpf) -> mp.mpf:
    return weight(a) / polynomial(below, a)


def derived() -> Sections:
    found: dict[str, dict[str, Any]] = {}
    of_16_bits = [
        replace(fit, name=f"{fit.name}_SHORT", what=f"{fit.what}; for results of 16 bits", powers={"F32": range(count)})
        for fit in fits()
        for count in (SHORT[fit.name],)
    ]
    for fit in (*fits(), *of_16_bits):
        coefficients, worst = fitted(fit, "F32")
        found[fit.name] = {"what": described(fit.what, [worst]), "F32": list(map(float, coefficients))}
    for quotient in quotients():
        parts, worst = rounded_quotient(quotient)
        what = described(f"{quotient.what}; above and below the line", [worst])
        found[quotient.name] = {"what": what, "F32": [list(map(float, part)) for part in parts]}
    return {"fast": found}


if __name__ == "__main__":
    mp.mp.dps = DIGITS
    sys.exit(write_or_compare_tables(__doc__, derived))

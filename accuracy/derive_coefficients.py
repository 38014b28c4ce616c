"""Derive every polynomial of ogive.lowering.numerics.elementary: run it and compare, or --write the table.

    python accuracy/derive_coefficients.py [--write]

Method: in 60-digit arithmetic, the polynomial with (nearly) the smallest largest error over the interval.
The error is weighted, so that it is relative to the function that the polynomial helps to compute. Then
the first coefficient, which matters most, is rounded to the format, the rest is fitted again so that it
makes up for the rounding, and so on to the last. The largest error that remains is measured on a dense
grid and written beside the table as a power of two.

Quotients of polynomials are found in the same way: an error times the denominator is linear in the coefficients, so the
denominator of the step before is divided by. They are for float64 that computes float32 results, where rounding the
coefficients does not show.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import mpmath as mp
from derived_tables import Sections, write_or_compare_tables

DIGITS = 60
ITERATIONS = 12
ITERATIONS_OF_QUOTIENT = 80
#: The forms. LONG is for float64 that computes float32 with a bound, for correct rounding.
PRECISION = {"F32": 24, "F64": 53, "LONG": 53}

Function = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Fit:
    """One polynomial: sum of coefficient[i] * x**powers[i] that approximates `function` on the interval."""

    name: str
    what: str
    function: Function
    weight: Function
    interval: tuple[mp.mpf, mp.mpf]
    powers: dict[str, Sequence[int]]
    in_float64: bool = False
    """Whether float32 results are computed in float64 with it; then its coefficients are float64 numbers too."""


def nodes(interval: tuple[mp.mpf, mp.mpf], count: int) -> list[mp.mpf]:
    """Chebyshev nodes: denser near the ends, where the error of a best polynomial is found."""
    low, high = interval
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / count) for i in range(count)]


def error_at(x: mp.mpf, fit: Fit, powers: Sequence[int], coefficients: Sequence[mp.mpf]) -> mp.mpf:
    value = sum((c * x**p for c, p in zip(coefficients, powers, strict=True)), mp.mpf(0))
    return (value - fit.function(x)) * fit.weight(x)


def best(fit: Fit, powers: Sequence[int], kept: Sequence[mp.mpf]) -> list[mp.mpf]:
    """The coefficients that follow `kept`: least squares over the nodes, reweighted by Lawson's rule
    (a node gains the weight of its error), which tends to the smallest largest error.
    """
    free = powers[len(kept) :]
    points = nodes(fit.interval, 6 * len(powers) + 1)
    scale = [fit.weight(x) for x in points]
    rows = [[w * x**p for p in free] for x, w in zip(points, scale, strict=True)]
    right = [
        w * (fit.function(x) - sum((c * x**p for c, p in zip(kept, powers, strict=False)), mp.mpf(0)))
        for x, w in zip(points, scale, strict=True)
    ]
    lawson = [mp.mpf(1)] * len(points)
    for _ in range(ITERATIONS):
        matrix = mp.matrix(len(free), len(free))
        vector = mp.matrix(len(free), 1)
        for i in range(len(free)):
            vector[i] = mp.fsum(q * row[i] * y for q, row, y in zip(lawson, rows, right, strict=True))
            for j in range(i + 1):
                matrix[i, j] = matrix[j, i] = mp.fsum(q * row[i] * row[j] for q, row in zip(lawson, rows, strict=True))
        coefficients = list(mp.lu_solve(matrix, vector))
        errors = [abs(mp.fdot(row, coefficients) - y) for row, y in zip(rows, right, strict=True)]
        lawson = [q * e for q, e in zip(lawson, errors, strict=True)]
        total = mp.fsum(lawson)
        lawson = [q / total + mp.mpf(10) ** -12 for q in lawson]
    return coefficients


@dataclass(frozen=True)
class Quotient:
    """Two polynomials, the quotient of which approximates `function` on the interval; the highest coefficient of the
    lower one is 1.
    """

    name: str
    what: str
    function: Function
    weight: Function
    interval: tuple[mp.mpf, mp.mpf]
    degrees: tuple[int, int]
    form: str = "F32"


def polynomial(coefficients: Sequence[mp.mpf], x: mp.mpf) -> mp.mpf:
    return mp.polyval(list(reversed(coefficients)), x)


def fitted_quotient(fit: Quotient) -> tuple[list[list[mp.mpf]], mp.mpf]:
    """The rounded coefficients of both polynomials, and the largest weighted error that they leave."""
    above, below = fit.degrees
    size = above + 1 + below
    points = nodes(fit.interval, 8 * size)
    wanted = [fit.function(x) for x in points]
    scale = [fit.weight(x) for x in points]
    lawson, lower, least = [mp.mpf(1)] * len(points), [mp.mpf(1)] * len(points), mp.inf
    for _ in range(ITERATIONS_OF_QUOTIENT):
        # p(x) - f(x) (q(x) - 1) = f(x), with the lowest coefficient of q equal to 1.
        rows, right = [], []
        for x, f, w, q, share in zip(points, wanted, scale, lower, lawson, strict=True):
            factor = w / q * mp.sqrt(share)
            rows.append([factor * x**k for k in range(above + 1)] + [-factor * f * x**k for k in range(1, below + 1)])
            right.append(factor * f)
        matrix = mp.matrix(rows)
        found = list(mp.lu_solve(matrix.T * matrix, matrix.T * mp.matrix(right)))
        upper, divisor = found[: above + 1], [mp.mpf(1), *found[above + 1 :]]
        lower = [polynomial(divisor, x) for x in points]
        errors = [
            abs(w * (polynomial(upper, x) / q - f)) for x, f, w, q in zip(points, wanted, scale, lower, strict=True)
        ]
        largest = max(errors)
        if largest < least:
            least, kept = largest, [[c / divisor[-1] for c in part] for part in (upper, divisor)]
        lawson = [share * (e / largest + mp.mpf(10) ** -3) for share, e in zip(lawson, errors, strict=True)]
        total = mp.fsum(lawson)
        lawson = [share / total for share in lawson]
    parts = [[round_to(c, PRECISION["F64"]) for c in part] for part in kept]
    worst = max(
        abs(fit.weight(x) * (polynomial(parts[0], x) / polynomial(parts[1], x) - fit.function(x)))
        for x in nodes(fit.interval, 2001)
    )
    return parts, worst


def round_to(value: mp.mpf, precision: int) -> mp.mpf:
    with mp.workprec(precision):
        return +value


def fitted(fit: Fit, form: str) -> tuple[list[mp.mpf], mp.mpf]:
    """The rounded coefficients and the largest weighted error that they leave."""
    powers = list(fit.powers[form])
    precision = PRECISION["F64" if fit.in_float64 else form]
    kept: list[mp.mpf] = []
    while len(kept) < len(powers):
        kept.append(round_to(best(fit, powers, kept)[0], precision))
    worst = max(abs(error_at(x, fit, powers, kept)) for x in nodes(fit.interval, 2001))
    return kept, worst


#: By what the operand of `of_ninth_degree` is shifted: there all roots of the odd part are real, and nothing cancels.
SHIFT = 3.25
#: The roots by magnitude, from the last step to the first, so that rounding errors are least.
ORDER = (2, 1, 0, 3)


def of_ninth_degree(powers: Sequence[mp.mpf]) -> list[mp.mpf]:
    """The numbers of the polynomial (lowering/numerics/elementary/exponential/exp.py), in the order of their use.

    In y = x + shift its odd part is y times a polynomial in y**2 with the roots a. Divided by y**2 - a the polynomial leaves
    a constant.
    """
    with mp.extraprec(8 * DIGITS):
        rest = mp.taylor(lambda y: mp.polyval(list(powers)[::-1], y - SHIFT), 0, 9)
        rest = [mp.re(c) for c in rest]
        roots = sorted(map(mp.re, mp.polyroots(rest[1::2][::-1], maxsteps=500, extraprec=8 * DIGITS)), key=abs)
        steps: list[mp.mpf] = []
        for root in (roots[i] for i in ORDER):
            divided = [mp.mpf(0)] * (len(rest) - 2)
            for k in range(len(rest) - 1, 1, -1):
                divided[k - 2] = rest[k]
                rest[k - 2] += root * rest[k]
            steps = [root, rest[0], *steps]
            rest = divided
    with mp.workprec(PRECISION["F64"]):
        return [+number for number in (mp.mpf(SHIFT), rest[1], rest[0], *steps)]


def described(what: str, errors: Sequence[mp.mpf]) -> str:
    """A text for the file: the function, and the largest error of each form."""
    return f"{what}; largest error {', '.join(f'2**{float(mp.log(error, 2)):.1f}' for error in errors)}"


def fits() -> list[Fit]:
    half_ln2 = mp.log(2) / 2 * (1 + mp.mpf(2) ** -10)  # the argument may be rounded across the middle

    def expm1_tail(r: mp.mpf) -> mp.mpf:
        if abs(r) < mp.mpf(10) ** -15:
            return mp.mpf(1) / 2 + r / 6
        return (mp.expm1(r) - r) / r**2

    def erf_tail(x: mp.mpf) -> mp.mpf:
        root = mp.sqrt(x)
        return (mp.erf(root) / root - 2 / mp.sqrt(mp.pi)) / x

    def rest_of_series(
        name: str, function: Function, first: dict[int, mp.mpf], limit: mp.mpf, counts: dict[str, int], where: str
    ) -> Fit:
        """The rest of an odd or an even function beyond its first terms: a polynomial in x**2."""
        power = max(first) + 2
        call = f"{name.lower().removesuffix('_short')}(x)"

        def rest(square: mp.mpf) -> mp.mpf:
            x = mp.sqrt(square)
            return (function(x) - mp.fsum(c * x**p for p, c in first.items())) / x**power

        def weight(square: mp.mpf) -> mp.mpf:
            x = mp.sqrt(square)
            return x**power / function(x)

        return Fit(
            name,
            f"What {call} has beyond x**{power - 2}, divided by x**{power}: in x**2, {where}; relative to {call}",
            rest,
            weight,
            (mp.mpf(10) ** -12, (limit * (1 + mp.mpf(2) ** -10)) ** 2),
            {form: range(count) for form, count in counts.items()},
            in_float64=True,
        )

    def erfinv_over(w: mp.mpf) -> mp.mpf:
        if w < mp.mpf(10) ** -15:
            return mp.sqrt(mp.pi) / 2
        x = mp.sqrt(-mp.expm1(-w))
        return mp.erfinv(x) / x

    one = mp.mpf(1)
    root_half = mp.sqrt(mp.mpf(1) / 2)

    def log_tail(f: mp.mpf) -> mp.mpf:
        if abs(f) < mp.mpf(10) ** -15:
            return mp.mpf(1) / 3 - f / 4
        return (mp.log1p(f) - f + f**2 / 2) / f**3

    def log_weight(f: mp.mpf) -> mp.mpf:
        return f**2 if abs(f) < mp.mpf(10) ** -15 else f**3 / mp.log1p(f)

    return [
        Fit(
            "EXP",
            "(expm1(r) - r) / r**2 on |r| <= log(2) / 2, shorter; the error is relative to exp(r)",
            expm1_tail,
            lambda r: r**2 / mp.exp(r),
            (-half_ln2, half_ln2),
            {"F32": range(5), "F64": range(10)},
        ),
        Fit(
            "COTH",
            "s coth(s) in s**2, |s| <= log(2) / 4; relative error",
            lambda z: mp.sqrt(z) * mp.coth(mp.sqrt(z)) if z > mp.mpf(10) ** -15 else 1 + z / 3,
            lambda z: mp.tanh(mp.sqrt(z)) / mp.sqrt(z) if z > mp.mpf(10) ** -15 else 1 - z / 3,
            (mp.mpf(0), (half_ln2 / 2) ** 2),
            {"LONG": range(4)},
        ),
        Fit(
            "LOG1P",
            "(log1p(f) - f + f**2 / 2) / f**3 on sqrt(1/2) <= 1 + f <= sqrt(2); the error is relative to log1p(f)",
            log_tail,
            log_weight,
            (root_half - 1, 1 / root_half - 1),
            {"F64": range(20)},
        ),
        Fit(
            "ERF",
            "(erf(x) / x - 2 / sqrt(pi)) / x**2 in x**2, abs(x) <= 1/2; the error is relative to erf(x) / x",
            erf_tail,
            lambda x: x,
            (mp.mpf(10) ** -12, mp.mpf("0.2501")),
            {"LONG": range(7)},
        ),
        rest_of_series("SIN", mp.sin, {1: one}, mp.pi / 4, {"LONG": 5}, "abs(x) <= pi / 4"),
        rest_of_series("COS", mp.cos, {0: one, 2: -one / 2}, mp.pi / 4, {"LONG": 5}, "abs(x) <= pi / 4"),
        rest_of_series("ASIN", mp.asin, {1: one}, one / 2, {"LONG": 10, "F64": 14}, "abs(x) <= 1/2"),
        rest_of_series("ATAN", mp.atan, {1: one}, mp.sqrt(2) - 1, {"F64": 12}, "abs(x) <= tan(pi / 8)"),
        rest_of_series("SINH", mp.sinh, {1: one}, mp.log(2) / 2, {"LONG": 4}, "abs(x) <= log(2) / 2"),
        rest_of_series(
            "COSH",
            mp.cosh,
            {0: one, 2: one / 2},
            mp.log(2) / 2,
            {"LONG": 4},
            "abs(x) <= log(2) / 2",
        ),
        rest_of_series(
            "ATANH",
            mp.atanh,
            {1: one, 3: one / 3, 5: one / 5},
            3 - 2 * mp.sqrt(2),
            {"LONG": 5, "F64": 8},
            "abs(x) <= 3 - sqrt(8)",
        ),
        Fit(
            "CBRT_START",
            "x ** (-1/3) on sqrt(1/2) <= x <= sqrt(2), roughly; relative error",
            lambda x: 1 / mp.cbrt(x),
            mp.cbrt,
            (root_half, 1 / root_half),
            {"F64": range(7)},
        ),
        Fit(
            "ERFINV_NEAR",
            "erfinv(x) / x in w = -log(1 - x**2), 0 <= w <= 6.25, roughly; relative error",
            erfinv_over,
            lambda w: 1 / erfinv_over(w),
            (mp.mpf(0), mp.mpf("6.2501")),
            {"F64": range(11)},
        ),
        Fit(
            "ERFINV_FAR",
            "erfinv(x) / x in sqrt(w) - 4, w = -log(1 - x**2), 6.25 <= w <= 37, roughly; relative error",
            lambda s: erfinv_over((s + 4) ** 2),
            lambda s: 1 / erfinv_over((s + 4) ** 2),
            (mp.mpf("-1.5001"), mp.mpf("2.1")),
            {"F64": range(11)},
        ),
        rest_of_series("ATANH_SHORT", mp.atanh, {1: one}, mp.mpf("0.2005"), {"LONG": 6}, "abs(x) <= 0.2005"),
    ]


def quotients() -> list[Quotient]:
    def log1p_over(x: mp.mpf) -> mp.mpf:
        return mp.log1p(x) / x if abs(x) > mp.mpf(10) ** -15 else 1 - x / 2

    def log1p_quotient(name: str, where: str, low: mp.mpf, high: mp.mpf) -> Quotient:
        interval = (low - mp.mpf(2) ** -10, high + mp.mpf(2) ** -10)
        what = f"log1p(x) / x, {where} and a little beyond; relative error"
        return Quotient(name, what, log1p_over, lambda x: 1 / log1p_over(x), interval, (3, 3))

    def long(fit: Quotient, degrees: tuple[int, int], interval: tuple[mp.mpf, mp.mpf] | None = None) -> Quotient:
        return replace(fit, degrees=degrees, interval=interval or fit.interval, form="LONG")

    def scaled_tail(a: mp.mpf) -> mp.mpf:
        return mp.exp(a * a / 2) * mp.erfc(a / mp.sqrt(2)) / 2

    def over_root(name: str, function: Function, limit: float, degrees: tuple[int, int]) -> Quotient:
        def wanted(square: mp.mpf) -> mp.mpf:
            root = mp.sqrt(square)
            return function(root) / root

        what = f"{name}(x) / x in x**2, abs(x) <= {limit}; relative error"
        interval = (mp.mpf(10) ** -12, mp.mpf(limit) ** 2)
        return Quotient(f"{name.upper()}_QUOTIENT", what, wanted, lambda square: 1 / wanted(square), interval, degrees)

    root_half = mp.sqrt(mp.mpf(1) / 2)
    of_all = log1p_quotient("LOG1P_QUOTIENT", "sqrt(1/2) <= 1 + x <= sqrt(2)", root_half - 1, 1 / root_half - 1)
    to_one = log1p_quotient("LOG1P_TO_ONE", "0 <= x <= 1", mp.mpf(0), mp.mpf(1))
    tail = Quotient(
        "NORMAL_TAIL",
        "exp(a**2 / 2) erfc(a / sqrt(2)) / 2 in a, 0 <= a <= 38; relative error",
        scaled_tail,
        lambda a: 1 / scaled_tail(a),
        (mp.mpf(0), mp.mpf("15.5")),
        (4, 5),
    )
    arctangent = over_root("atan", mp.atan, 1, (3, 3))
    return [
        of_all,
        long(of_all, (4, 4)),
        long(to_one, (4, 4)),
        long(tail, (7, 8), (mp.mpf(0), mp.mpf(38))),
        long(arctangent, (5, 5)),
    ]


#: 1024 for the largest exponent, and those that remain of a product with a number of 53 bits.
BITS_OF_TWO_OVER_PI = 1198


def adapted(exp: Fit) -> dict[str, Any]:
    """A form of exp for float64 that computes float32, with what it is."""
    one = mp.mpf(1)
    longer = fitted(replace(exp, powers={"LONG": range(8)}), "LONG")[0]
    numbers = of_ninth_degree([one, one, *longer])
    return {"what": "1 + r + r**2 P(r), P longer than EXP: of_ninth_degree", "LONG": list(map(float, numbers))}


def derived() -> Sections:
    polynomials: dict[str, dict[str, Any]] = {}
    groups = [list(group) for _, group in groupby(fits(), key=lambda fit: fit.name)]
    for group in groups:
        found = {form: fitted(member, form) for member in group for form in member.powers}
        what = described(group[0].what, [worst for _, worst in found.values()])
        numbers = {form: list(map(float, coefficients)) for form, (coefficients, _) in found.items()}
        polynomials[group[0].name] = {"what": what, **numbers}
    polynomials["EXP_ADAPTED"] = adapted(next(fit for fit in fits() if fit.name == "EXP"))
    divided: dict[str, dict[str, Any]] = {}
    for name, members in groupby(quotients(), key=lambda fit: fit.name):
        both = [(quotient, *fitted_quotient(quotient)) for quotient in members]
        what = described(both[0][0].what, [worst for _, _, worst in both])
        divided[name] = {
            "what": what,
            **{fit.form: [list(map(float, part)) for part in parts] for fit, parts, _ in both},
        }
    with mp.workprec(BITS_OF_TWO_OVER_PI + 64):
        digits = f"{int(mp.floor(2 / mp.pi * 2**BITS_OF_TWO_OVER_PI)):x}"
    what = "2 / pi times 2**bits, in hexadecimal digits"
    ratio = {"TWO_OVER_PI": {"what": what, "bits": BITS_OF_TWO_OVER_PI, "digits": digits}}
    return {"polynomials": polynomials, "quotients": divided, "two over pi": ratio}


if __name__ == "__main__":
    mp.mp.dps = DIGITS
    sys.exit(write_or_compare_tables(__doc__, derived))

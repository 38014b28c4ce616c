"""The second oracle for tables: MPFR's values of the standards' formulas, rounded here by search among all numbers of a type.

Nothing of Ogive computes here but the table that is compared. ``python -m tests.golden.table_oracle FILE`` compares every entry of
every operator of one tensor that FILE has not yet, and writes how many there are and how many differ.
"""

from __future__ import annotations

import bisect
import math
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpfr

from ogive.exporting.tables import Table, table_of
from ogive.golden.specification import find_operator
from tests.golden.oracle import FORMULAS, required

#: The bits of the fraction, the exponent's bias, and which codes are no finite numbers: the specifications' tables.
FLOATS = {
    "float8_e4m3": (3, 7, "ieee"),
    "float8_e4m3fn": (3, 7, "fn"),
    "float8_e4m3fnuz": (3, 8, "fnuz"),
    "float8_e5m2": (2, 15, "ieee"),
    "float8_e5m2fnuz": (2, 16, "fnuz"),
}

#: (x's scale, zero point, y's scale, zero point): ordinary ones; a ratio that gives ties; results that saturate.
QUANTISED = {
    "int8": ((0.05, 0, 0.03, 10), (0.5, -128, 1.0, 127), (3.0, 5, 2.0**-7, -128)),
    "uint8": ((0.05, 128, 1 / 256, 0), (0.25, 128, 0.5, 128), (1e-30, 0, 1e30, 255)),
}

_WIDE = gmpy2.context(precision=400, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min(), trap_divzero=False)
_WIDER = gmpy2.context(_WIDE, precision=4000)


def decoded(code: int, kind: str) -> float:
    """The number of a code."""
    bits, bias, family = FLOATS[kind]
    exponent, fraction = (code & 127) >> bits, code & ((1 << bits) - 1)
    sign = -1.0 if code & 128 else 1.0
    if family == "fnuz" and code == 128:
        return math.nan
    if family == "fn" and code & 127 == 127:
        return math.nan
    if family == "ieee" and exponent == (127 >> bits):
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - bits)
    return sign * math.ldexp((1 << bits) + fraction, exponent - bias - bits)


@cache
def magnitudes(kind: str) -> tuple[Fraction, ...]:
    """The finite numbers that are not negative; each has its place as the code."""
    values = [decoded(code, kind) for code in range(128)]
    return tuple(Fraction(value) for value in values if math.isfinite(value))


def _fraction(value: Any) -> Fraction:
    """A finite value; far beyond all types, which would take gigabytes, another one there."""
    if value and not mpfr(2) ** -500 < abs(value) < mpfr(2) ** 500:
        return Fraction(2) ** (500 if abs(value) > 1 else -500) * gmpy2.sign(value)
    return Fraction(*map(int, value.as_integer_ratio()))


def encoded(value: Any, kind: str, *, saturate: bool) -> float:
    """The number of a type that is nearest to a value of MPFR, of two the one with the even code."""
    family, sizes = FLOATS[kind][2], magnitudes(kind)
    if gmpy2.is_nan(value):
        return math.nan
    sign = -1.0 if gmpy2.is_signed(value) else 1.0
    beyond = sign * math.inf if family == "ieee" else math.nan
    if saturate:
        beyond = sign * float(sizes[-1])
    if gmpy2.is_infinite(value):
        return beyond
    size = abs(_fraction(value))
    place = bisect.bisect_right(sizes, size) - 1
    above = sizes[place + 1] if place + 1 < len(sizes) else 2 * sizes[-1] - sizes[-2]
    middle = (sizes[place] + above) / 2
    place += size > middle or (size == middle and place % 2)
    if place == len(sizes):
        return beyond
    return float(sizes[place]) * (1.0 if family == "fnuz" and place == 0 else sign)


def _rounded(compute: Callable[[], Any], accept: Callable[[Any], float]) -> float:
    """The rounded value: in 400 bits, and where their error could decide in 4,000, as at x - tanh(x) next to a tie."""
    with gmpy2.context(_WIDE):
        value = compute()
        if not gmpy2.is_finite(value) or value == 0:
            return accept(value)
        off = abs(value) * mpfr(2) ** -390
        low, high = accept(value - off), accept(value + off)
    if low == high:
        return low
    with gmpy2.context(_WIDER):
        return accept(compute())


def of_floats(operator: str, kind: str, *, saturate: bool) -> tuple[int, int]:
    """How many entries were compared, and how many differ; one NaN is as good as another."""
    table = table_of(find_operator(operator).bind(**required(operator)), kind, None, None, {}, saturate=saturate)
    wrong = 0
    for code, entry in enumerate(table.entries.tolist()):
        x = decoded(code, kind)
        if table.specification.output.name == "bool":
            wrong += bool(FORMULAS[operator](mpfr(x))) != bool(entry)
            continue
        found = decoded(entry, kind)
        wanted = _rounded(
            lambda x=x: FORMULAS[operator](mpfr(x)),  # type: ignore[misc]
            lambda value: encoded(value, kind, saturate=saturate),
        )
        is_same = math.isnan(wanted) if math.isnan(found) else wanted == found
        wrong += not is_same or (found == 0 and math.copysign(1, found) != math.copysign(1, wanted))
    return table.entries.size, wrong


def of_integers(operator: str, kind: str, row: tuple[float, int, float, int]) -> tuple[int, int]:
    """The same of quantised integers."""
    words = dict(zip(("x_scale", "x_zero_point", "y_scale", "y_zero_point"), row, strict=True))
    bound = find_operator(operator).bind(**required(operator))
    table: Table = table_of(bound, kind, None, None, words, saturate=True)
    low, high = (-128, 127) if kind == "int8" else (0, 255)
    x_scale, y_scale = (float(np.float32(row[k])) for k in (0, 2))
    wrong = 0
    for code, entry in enumerate(table.entries.tolist()):
        number = code - 256 if kind == "int8" and code > 127 else code

        def value(number: int = number) -> Any:
            return FORMULAS[operator]((mpfr(number) - row[1]) * mpfr(x_scale)) / mpfr(y_scale)

        def whole(found: Any) -> float:
            if gmpy2.is_nan(found):
                return 0
            if gmpy2.is_infinite(found):
                return high if found > 0 else low
            return min(max(round(_fraction(found)) + row[3], low), high)

        wrong += _rounded(value, whole) != entry
    return table.entries.size, wrong


def cases() -> Iterator[tuple[str, str, str]]:
    """(operator, element type, what else) of all tables of 256 entries."""
    truths = ("isinf", "isnan", "isfinite")
    for operator in FORMULAS:
        yield from ((operator, kind, ends) for kind in FLOATS for ends in ("saturated", "unsaturated"))
        if operator not in truths:
            yield from ((operator, kind, str(k)) for kind in QUANTISED for k in range(3))


def compared(operator: str, kind: str, how: str) -> tuple[int, int]:
    """How many entries of a case were compared, and how many differ."""
    if kind in FLOATS:
        return of_floats(operator, kind, saturate=how == "saturated")
    return of_integers(operator, kind, QUANTISED[kind][int(how)])


def main() -> None:
    """Compare all; ``FILE`` is the table, to which rows are added."""
    path = Path(sys.argv[1])
    known = path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
    there = {tuple(line.split(",")[:3]): line for line in known}
    lines = ["operator,dtype,how,entries,disagreements"]
    for case in cases():
        if case not in there:
            count, wrong = compared(*case)
            there[case] = ",".join([*case, str(count), str(wrong)])
            print(there[case], flush=True)
        lines.append(there[case])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

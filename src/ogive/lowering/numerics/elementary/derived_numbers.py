"""The numbers that scripts derive (derived_numbers.json): polynomials, lowest power first, and tables.

The scripts are ``accuracy/derive_*.py``, which say how: change those, not the file. Its members say ``what`` they approximate.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from ogive.graph.expression import Format
from ogive.lowering.numerics.machine import LONG

#: How the file names a form.
FORMS = {"F32": Format.F32, "F64": Format.F64, "LONG": LONG}

Numbers = tuple[float, ...]
Sections = dict[str, dict[str, dict[Any, Any]]]


def _of(value: Any) -> Any:
    return tuple(map(_of, value)) if isinstance(value, list) else value


def _read() -> Sections:
    read = json.loads(Path(__file__).with_name("derived_numbers.json").read_bytes())
    return {
        section: {
            name: {FORMS.get(key, key): _of(value) for key, value in members.items() if key != "what"}
            for name, members in tables.items()
        }
        for section, tables in read.items()
    }


SECTIONS = _read()

#: By names, then by forms.
POLYNOMIALS: dict[str, dict[Any, Numbers]] = SECTIONS["polynomials"]

#: Two polynomials, the quotient of which it is.
QUOTIENTS: dict[str, dict[Any, tuple[Numbers, Numbers]]] = SECTIONS["quotients"]

#: The numbers of float32 without pairs. NORMAL_TAIL is a quotient.
FAST: dict[str, Any] = {name: forms[Format.F32] for name, forms in SECTIONS["fast"].items()}

#: The numbers of float64's own kernels: sums of two float64 as far as that shows.
WORDS: dict[str, tuple[Numbers, ...]] = {name: forms[Format.F64] for name, forms in SECTIONS["words"].items()}

#: The numbers of the second level: likewise.
SECOND_LEVEL: dict[str, tuple[Numbers, ...]] = {n: forms[Format.F64] for n, forms in SECTIONS["second level"].items()}

#: Tables of pairs of float32.
TABLES: dict[str, Numbers] = {name: forms[Format.F32] for name, forms in SECTIONS["pairs"].items()}

#: Polynomials in each of many intervals (piecewise.py).
PIECEWISE: dict[str, dict[str, Any]] = SECTIONS["piecewise"]

#: Its first 1198 bits: 1024 for the largest exponent, and those that remain of a product with a number of 53 bits.
TWO_OVER_PI = Fraction(int(SECTIONS["two over pi"]["TWO_OVER_PI"]["digits"], 16), 1 << 1198)


def numbers_in_single(name: str, *, is_short: bool) -> tuple[float, ...]:
    """The coefficients of a polynomial; fewer for results of 16 bits."""
    return tuple(FAST[f"{name}_SHORT" if is_short else name])

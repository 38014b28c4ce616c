"""Hunt for float64 results that are not the nearest number: writes accuracy/float64.json.

    python -m accuracy.hunt_float64 [--count 1000000] [--only NAME ...]

Each row is an operator of elements, one of its derivatives (a name with ') or a formula of tests/textbooks.py. Its inputs
are hunted: the neighbours of zeros of the function and of its derivative, of small numbers and of powers of two, exponents
spread over the whole range, random bits, and ordinary data.

A sieve in long double, with a bound of its error (ogive.laboratory.accuracy.running_bound), lets pass what is certainly within half
a unit. The judge decides the rest, and the largest errors that the sieve has seen: it evaluates the formula, as it was
written, in balls of Arb (python-flint) with as many bits as it takes, ``ogive.enclosures.enclosure.exact_value``. It takes up to
`MOST` inputs of a row where the sieve has an estimate, those with the largest first, and as many by chance where it has
none; a row says how many it left. Cases that were published as the hardest to round are rows of their own. A second run
replaces the rows that it measures.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.enclosure import exact_value, right_result
from ogive.errors import OgiveError
from ogive.graph import elementary_functions as functions
from ogive.graph.error_functions import normal_tail_on_array
from ogive.graph.expression import Expression
from ogive.laboratory.accuracy.running_bound import BoundRules, Estimated, enclosed
from ogive.operators.operator import Operator
from tests.textbooks import TEXTBOOKS

DATA = Path(__file__).resolve().parent / "float64.json"

#: The nearest number is off by no more units in the last place.
HALF = Fraction(1, 2)

#: The judge's decimals leave this open, in units in the last place.
OF_DIGITS = Fraction(1, 10**20)

#: The smallest unit in the last place.
LEAST = Fraction(1, 1 << 1074)

#: The power of two that overflows in float64.
OVERFLOWS = np.ldexp(np.longdouble(1), 1024)

DIGITS = 40

#: How many inputs of a row the judge decides where the sieve has an estimate, and where it has none.
MOST = 10_000

#: How many inputs of a row the judge decides because the sieve saw the largest errors there.
LARGEST = 100

#: How many inputs the sieve takes at a time: all numbers on the way are kept.
CHUNK = 1 << 15

#: Parameters that have no default.
PARAMETERS: dict[str, dict[str, float]] = {
    "linear": {"alpha": 1.5, "beta": 0.5},
    "parametric_softplus": {"alpha": 1.5, "beta": 0.5},
    "softcap": {"cap": 1.5},
    "threshold": {"min": 0.5},
    "clamp": {"min": -1.0, "max": 1.0},
}

#: Inputs whose results lie nearest to a boundary of rounding: of Lefevre and Muller, "Worst cases for correct rounding of
#: the elementary functions in double precision" (2001), and of the project CORE-MATH (Sibidanov, Zimmermann and Glondu,
#: 2022), as exact numbers.
HARDEST = {
    "exp": ("0x1.9e9cbbfd6080bp-31", "0x1.005ae04256babp-1"),
    "log": ("0x1.10cdb4aa1770bp-9", "0x1.c8fd435402433p-3", "0x1.bdd793fe7b41cp+7", "0x1.15956b273c365p+8"),
    "sin": ("0x1.598bae9e632f6p-7", "0x1.1c63df63d59d0p-2", "0x1.d98c4c612718dp-1", "0x1.c1c27d6b9a3a1p+5"),
    "cos": ("0x1.6b8a6273d7c21p+0", "0x1.34ec2f9fc9c00p+1", "0x1.c62c5d3d000c3p-6", "0x1.16e534ee36580p-4"),
    "tan": ("0x1.c839011a23cb6p-9", "0x1.50486b2f87014p-5", "0x1.4c7ffc65facc3p+0", "0x1.ccaffe66878dbp+0"),
    "tanh": ("0x1.0a90d36059a04p-6", "0x1.ac343b179fec4p-3", "0x1.291c601a05276p-2", "0x1.1375c272d441cp+1"),
}


class Row(NamedTuple):
    """One function: results of arrays, and its formula."""

    name: str
    function: Callable[..., np.ndarray]
    root: Expression
    arity: int
    parameters: dict[str, float]


def rows() -> Iterator[Row]:
    """The operators of elements, their derivatives, and the formulas of textbooks."""
    double = ELEMENT_TYPES["float64"]
    for name, op in OPERATORS.items():
        signature = next((s for s in op.signatures if {*s.inputs, *s.outputs} == {double}), None)
        if signature is None or op.is_row_wise or len(signature.outputs) != 1:
            continue
        given = PARAMETERS.get(name, {p.name: 0.75 for p in op.parameters if p.is_required})
        yield from _row(name, op, given)
        for number in range(op.inputs):
            try:
                derivative = ogive.grad(op, number)
            except OgiveError:
                continue
            yield from _row(f"{name}'" if op.inputs == 1 else f"{name}' ({number})", derivative, given)
    for name, textbook in TEXTBOOKS.items():
        arity = len(textbook.domains)
        names = ", ".join("abcd"[:arity])
        formula = eval(f"lambda {names}: f(m, {names})", {"f": textbook.formula, "m": ogive.formula})
        yield from _row(f"textbook: {name}", ogive.operator(formula), {})


def _row(name: str, op: Operator, given: dict[str, float]) -> Iterator[Row]:
    bound = op.bind(**given) if given else op
    numbers = {p.name: float(p.default) for p in op.parameters if isinstance(p.default, (int, float))} | given
    (root,) = op.formula(for_doubles=True)
    yield Row(name, bound, root, op.inputs, numbers)


def around(points: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    """Numbers next to these, and a little farther from them."""
    chosen = rng.choice(points, count)
    steps = np.round(np.exp2(rng.uniform(0, 40, count)) - 1) * rng.choice([-1.0, 1.0], count)
    return np.asarray(chosen + steps * np.spacing(chosen))


def zeros(function: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Neighbours of zeros of a function of one number: where its sign changes, found by halving."""
    grid = np.unique(np.concatenate([rng.normal(0, 4, 2000), np.linspace(-40, 40, 801), np.geomspace(1e-6, 1e6, 200)]))
    with np.errstate(all="ignore"):
        signs = np.sign(function(grid))
        places = np.flatnonzero((signs[1:] * signs[:-1]) < 0)[:60]
        low, high = grid[places].copy(), grid[places + 1].copy()
        first = signs[places]
        for _ in range(1100):
            middle = low + (high - low) / 2
            same = np.sign(function(middle)) == first
            low, high = np.where(same, middle, low), np.where(same, high, middle)
            if np.all(np.nextafter(low, high) == high):
                break
    return np.unique(np.concatenate([low, high]))


def hunted(row: Row, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Inputs where results may be wrong."""

    def ordinary(n: int) -> np.ndarray:
        spread = np.ldexp(rng.uniform(1, 2, n), rng.integers(-1074, 1024, n)) * rng.choice([-1.0, 1.0], n)
        near = np.array([0.25, 0.5, 1, 2, 4, math.pi / 2, math.pi, math.log(2) / 2, math.log(2), 6, 38, 700, 745])
        parts = [
            rng.normal(0, 1, n),
            rng.normal(0, 10, n),
            spread,
            np.exp2(rng.uniform(-40, 10, n)) * rng.choice([-1.0, 1.0], n),
            rng.integers(0, 1 << 63, n, dtype=np.int64).view(np.float64) * rng.choice([-1.0, 1.0], n),
            around(np.concatenate([near, -near]), rng, n),
        ]
        return np.asarray(np.choose(rng.integers(0, len(parts), n), parts))

    with np.errstate(all="ignore"):
        operands = [ordinary(count) for _ in range(row.arity)]
        if row.arity == 1:
            step = 2.0**-20
            function = row.function
            found = [
                zeros(function, rng),
                zeros(lambda x: function(x * (1 + step)) - function(x * (1 - step)), rng),
            ]
            points = np.concatenate(found)
            if points.size:
                share = count // 3
                operands[0][:share] = around(points, rng, share)
                operands[0][: min(points.size, share)] = points[: min(points.size, share)]
    return operands


class Sieve(BoundRules):
    """Long double by the C library, whose makers state 4 units at most; and functions that it has not."""

    units = 4

    def __init__(self, dtype: Any, nodes: int) -> None:
        super().__init__(dtype, nodes)
        itself: Any = lambda x, e, f: np.where(e == 0, 0, f * (e / np.abs(x)))  # noqa: E731
        of_one = {
            functions.EXP: (np.exp, self._grown, 1, "limit huge"),
            functions.EXP2: (np.exp2, self._grown, 1, "limit huge"),
            functions.LOG2: (np.log2, self._of_part, None, ""),
            functions.LOG10: (np.log10, self._of_part, None, ""),
            functions.CBRT: (np.cbrt, itself, 0, ""),
            functions.TANH: (np.tanh, self._flattened, 0, "limit"),
        }
        self.table |= self.applied(of_one)
        self.table |= {functions.ERFINV: self._erfinv, functions.LOG_NDTR: self._log_ndtr}

    @staticmethod
    def _grown(x: Any, e: Any, f: Any) -> Any:
        """For exponentials; beyond the least number of long double nothing is left."""
        return np.where(x + 2 * e < -20_000, 0, f * np.where(e <= 1, e + e * e, np.inf))

    @staticmethod
    def _flattened(x: Any, e: Any, f: Any) -> Any:
        near = np.abs(x) - 2 * e
        return e * np.where(near > 1, 4 * np.exp(-2 * near), 1)

    @staticmethod
    def _of_part(x: Any, e: Any, f: Any) -> Any:
        part = e / x
        return np.where((part < 0.25) & (x > 0), 2 * part, np.inf)

    def _erfinv(self, a: Estimated) -> Estimated:
        """Newton's method from SciPy's, on erf or erfc: whichever is the smaller."""
        from scipy import special

        x, size = a.value, np.abs(a.value)
        root = self.dtype(special.erfinv(size.astype(np.float64)))
        for _ in range(2):
            beside = np.where(size < 0.5, self.erf(root) - size, (1 - size) - self.erfc(root))
            slope = np.exp(root * root) * np.sqrt(np.arctan(self.dtype(1)))
            root = root - beside * slope
        bound = 4 * self.function * root + self.lost
        if not self.is_exact(a):
            part = a.bound / (1 - size)
            bound = bound + np.where((part >= 0) & (part < 2.0**-10), 1.01 * slope * a.bound, np.inf)
        bound = np.where((size < 1) & np.isfinite(root), bound, np.inf)
        return self.made(np.copysign(root, x), bound, a.sign_is_known, a, nan=size - 2 * a.bound > 1)

    def _log_ndtr(self, a: Estimated) -> Estimated:
        """By the tail of the normal distribution, and far out by its asymptotic series."""
        x = a.value
        tail = normal_tail_on_array(np.abs(x))
        value = np.where(x > 0, np.log1p(-tail), np.log(tail))
        far = np.where(x < -100, x, -100)
        u, total = 1 / (far * far), self.dtype(1)
        for n in range(15, 0, -1):
            total = 1 - (2 * n - 1) * u * total
        series = -far * far / 2 - (np.log(-far) + np.log(8 * np.arctan(self.dtype(1))) / 2) + np.log(total)
        value = np.where(x < -100, series, value)
        bound = 4 * self.function * np.abs(value) + self.lost
        if not self.is_exact(a):
            # The slope is exp(-x**2 / 2) / sqrt(2 pi) at most right of zero, and 1 - x at most left of it.
            steep = np.where(x > 1, np.exp(-(x - 1) * x / 2), 2 + np.abs(x))
            bound = bound + np.where(a.bound < 2.0**-10 / (1 + np.abs(x)), steep * a.bound, np.inf)
        return self.made(value, bound, True, a)


class Sifted(NamedTuple):
    """The sieve's findings about a row's results."""

    error: np.ndarray
    """In units in the last place, as estimated; infinite or NaN where nothing is known of it."""
    is_within: np.ndarray
    """Where the error is certainly no more than is allowed."""
    is_number: np.ndarray
    """Where the exact result may be a finite number."""


def sifted(row: Row, operands: list[np.ndarray], results: np.ndarray) -> Sifted:
    errors, within, numbers = [], [], []
    for first in range(0, results.size, CHUNK):
        part = slice(first, first + CHUNK)
        inputs, found = [operand[part] for operand in operands], results[part].astype(np.longdouble)
        _, _, value, bound = enclosed(row.root, inputs, row.parameters, ELEMENT_TYPES["float64"], by=Sieve)
        with np.errstate(all="ignore"):
            _, exponent = np.frexp(value)
            unit = np.ldexp(np.longdouble(1), np.maximum(exponent - 53, -1074))
            error = np.abs(found - value) / unit
            is_vast = (np.abs(value) - bound > OVERFLOWS) | np.isinf(value)
            overflows = np.isinf(found) & (np.sign(found) == np.sign(value)) & is_vast
            error = np.where(overflows, 0, np.where(np.isfinite(bound), error, np.inf))
            within.append((error + bound / unit <= 0.5) | overflows)
            is_number = np.isfinite(value) | np.isinf(bound)
        for operand in inputs:
            is_number = is_number & np.isfinite(operand)
        errors.append(error)
        numbers.append(is_number & ~overflows)
    return Sifted(np.concatenate(errors), np.concatenate(within), np.concatenate(numbers))


def chosen(found: Sifted, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """The inputs that the judge decides, and how many undecided ones it leaves."""
    open_ones = found.is_number & ~found.is_within
    has_estimate = np.isfinite(found.error)
    estimated = np.flatnonzero(open_ones & has_estimate)
    estimated = estimated[np.argsort(-found.error[estimated], kind="stable")]
    unknown = rng.permutation(np.flatnonzero(open_ones & ~has_estimate))
    certain = np.flatnonzero(found.is_number & found.is_within)
    largest = certain[np.argsort(-found.error[certain], kind="stable")[:LARGEST]]
    left = max(0, estimated.size - MOST) + max(0, unknown.size - MOST)
    return np.concatenate([estimated[:MOST], unknown[:MOST], largest]), left


def judge(row: Row, operands: list[np.ndarray], rng: np.random.Generator) -> dict[str, Any]:
    """The largest error in units in the last place, where it is, and how many results are misrounded."""
    with np.errstate(all="ignore"):
        results = np.asarray(row.function(*operands))
    found = sifted(row, operands, results)
    places, left = chosen(found, rng)
    passed = int(np.count_nonzero(found.is_number & found.is_within))
    worst, place, misrounded, subnormal, asked = Fraction(0), None, 0, 0, 0
    certain = 0
    for number in places.tolist():
        result, inputs = float(results[number]), [float(operand[number]) for operand in operands]
        try:
            exact = exact_value(row.root, inputs, row.parameters, DIGITS)
        except (OgiveError, ArithmeticError, ValueError):
            continue
        if not exact.is_finite():
            continue
        value = Fraction(exact)
        if not math.isfinite(result):
            if abs(value) < Fraction(1.7976931348623157e308):
                misrounded += 1
                place = place or inputs
            continue
        asked += 1
        certain += bool(found.is_within[number])
        exponent = math.frexp(float(value))[1] if abs(value) < 2**1023 else 1024
        unit = max(Fraction(2) ** (exponent - 53), LEAST)
        error = abs(Fraction(result) - value) / unit
        if abs(error - HALF) < OF_DIGITS:  # beside a tie: on which side, a rounded decimal does not say
            right, _ = right_result(row.root, inputs, row.parameters, ELEMENT_TYPES["float64"], bits=64)
            error = HALF if result == right else error + OF_DIGITS
        if error > HALF:
            misrounded += 1
            subnormal += abs(value) < Fraction(2) ** -1000
        if error > worst:
            worst, place = error, inputs
    return {
        "row": row.name,
        "judged": passed + asked - certain,
        "by Arb": asked,
        "left": left,
        "worst": round(float(min(worst, Fraction(10) ** 300)), 4),
        "at": [float(x).hex() for x in place or ()],
        "misrounded": misrounded,
        "misrounded below 2**-1000": int(subnormal),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000, help="inputs of each row")
    parser.add_argument("--only", nargs="*", help="these rows")
    arguments = parser.parse_args()
    known = {row["row"]: row for row in (json.loads(DATA.read_text()) if DATA.exists() else [])}

    def keep(found: dict[str, Any]) -> None:
        known[found["row"]] = found
        print(found, flush=True)
        DATA.write_text("[\n" + ",\n".join(map(json.dumps, known.values())) + "\n]\n", encoding="utf-8")

    for row in rows():
        if arguments.only and row.name not in arguments.only:
            continue
        rng = np.random.default_rng(sum(map(ord, row.name)))
        keep(judge(row, hunted(row, arguments.count, rng), rng))
    for name, numbers in HARDEST.items():
        (row,) = _row(f"hardest: {name}", OPERATORS[name], {})
        if not arguments.only or row.name in arguments.only:
            keep(judge(row, [np.array([float.fromhex(x) for x in numbers])], np.random.default_rng(0)))


if __name__ == "__main__":
    main()

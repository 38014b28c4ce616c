"""Formulas on whole arrays, each value with a bound of its error: what needs no exact arithmetic, told apart quickly.

NumPy computes a formula in float64, for results of up to 32 bits, or in long double. Each value comes with a bound
of what it is wrong by: what its operands are wrong by, times how much the operation magnifies it, and what rounding or
the C library adds (`FUNCTION` units). Where all that is within the bound rounds alike, the correctly rounded result is
known; everything else is left to `ogive.enclosures.enclosure`. Nothing is guessed: what has no rule here has no bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ogive.common.array_shapes import broadcast_arrays, broadcast_shapes
from ogive.common.conversion import converted
from ogive.common.dtypes import ELEMENT_TYPES, FLOAT_FORMATS, ElementType
from ogive.common.forking import cached_property
from ogive.differentiation.slope_forms import with_slopes
from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Operation, walk
from ogive.graph.limits import with_limits
from ogive.laboratory.reference import compiled_error_function

#: The largest error of NumPy's functions, in units in the last place: four times what their makers state.
FUNCTION = 16
#: The errors of SciPy's erf and erfc, which take the place of glibc's where these are not.
SPECIAL_FUNCTION = 4096

#: The bounds are computed in floating point, too: for what they lose to rounding.
SLACK = 1 + 2.0**-20

#: Formulas of more nodes have no `huge` values: each step may take 8 powers of two from what is known of these.
LONGEST = 80


class Estimated(NamedTuple):
    """Values, and bounds of their errors. Three kinds of values are not finite.

    NaN with the bound 0 is NaN for sure, an infinity with the bound 0 is one for sure. An infinity with an infinite
    bound, whose sign is known, is ``huge``: a number beyond the format, so that every result that it can still become
    is known to be zero, infinite or at a limit. NaN with an infinite bound is not known.
    """

    value: Any
    bound: Any
    sign_is_known: Any
    """Whether the exact value's sign is that of `value` even where the bound is larger than the value."""


class Truths(NamedTuple):
    """Truth values, and where they are not known."""

    value: Any
    unknown: Any


class BoundRules:
    """The rule of each operation for values and bounds. Formulas have ``nodes`` nodes."""

    #: The largest error of functions, in units in the last place.
    units = FUNCTION

    def __init__(self, dtype: Any, nodes: int) -> None:
        self.dtype = dtype
        info = np.finfo(dtype)
        #: Half a unit in the last place, relative to the number.
        self.half = dtype(info.eps) / 2
        self.function = 2 * self.units * self.half
        #: The loss where results are subnormal, which functions may take for zero.
        self.lost = dtype(info.tiny) * 8
        #: The largest quotient of one by something huge.
        self.rest = dtype(info.tiny) ** dtype(0.25)
        self.knows_huge = nodes <= LONGEST
        half_bits = (info.nmant + 2) // 2
        self.splitter = dtype(2**half_bits + 1)
        self.product_limits = dtype(info.max) ** dtype(0.4), dtype(info.tiny) ** dtype(0.8)
        self.table: dict[Operation, Callable[..., Any]] = {
            ops.ADD: self.add,
            ops.SUBTRACT: lambda a, b: self.add(a, self.negate(b)),
            ops.MULTIPLY: self.multiply,
            ops.DIVIDE: self.divide,
            ops.NEGATE: self.negate,
            ops.ABSOLUTE: lambda a: Estimated(np.abs(a.value), a.bound, True),
            ops.COPY_SIGN: self.copy_sign,
            ops.FLOOR: partial(self.whole, np.floor),
            ops.CEILING: partial(self.whole, np.ceil),
            ops.TRUNCATE: partial(self.whole, np.trunc),
            ops.ROUND_EVEN: partial(self.whole, np.rint),
            ops.REMAINDER: self.remainder,
            functions.POWER: self.power,
            functions.ATAN2: self.atan2,
            functions.LARGER: partial(self.extreme, np.greater),
            functions.SMALLER: partial(self.extreme, np.less),
            ops.LESS: self.less,
            ops.LESS_EQUAL: self.less_equal,
            ops.EQUAL: self.equal,
            ops.AND: self.both,
            ops.OR: lambda a, b: self.opposite(self.both(self.opposite(a), self.opposite(b))),
            ops.EXCLUSIVE_OR: lambda a, b: Truths(np.logical_xor(a.value, b.value), a.unknown | b.unknown),
            ops.NOT: self.opposite,
            ops.SELECT: self.select,
            functions.NORMAL_TAIL: self.normal_tail,
            **self.applied(self._functions()),
        }

    def erf(self, x: Any) -> Any:
        return self._error_functions[0](x)

    def erfc(self, x: Any) -> Any:
        return self._error_functions[1](x)

    @cached_property
    def _error_functions(self) -> tuple[Any, Any, Any]:
        """Both, and how far they are off at most: made for the formulas that have one, as they need other packages."""
        compiled = [compiled_error_function(name, self.dtype) for name in ("erf", "erfc")]
        if all(compiled):
            return *compiled, self.function
        try:
            from scipy import special
        except ImportError:
            special = None
        if special is None or self.dtype is not np.float64:
            # Nothing is known of the result.
            unknown = partial(np.full_like, fill_value=np.nan)
            return unknown, unknown, self.function
        return special.erf, special.erfc, 2 * SPECIAL_FUNCTION * self.half

    # ---- what values are

    def is_exact(self, a: Estimated) -> bool:
        return isinstance(a.bound, float) and a.bound == 0

    def known(self, a: Estimated) -> Any:
        """The condition that the sign is known."""
        return a.sign_is_known | (np.abs(a.value) > a.bound * SLACK)

    def huge(self, a: Estimated) -> Any:
        return np.isinf(a.value) & np.isinf(a.bound)

    def made(
        self, value: Any, bound: Any, known: Any, *operands: Estimated, nan: Any = None, huge: Any = None
    ) -> Estimated:
        """A result, of which those that are not finite are looked at.

        ``nan``: which are NaN for sure, besides those with an operand that is; ``huge``: which ones are, with a sign.
        """
        if np.all(np.isfinite(value + bound)):
            if np.ndim(bound) and not bound.any():
                bound = 0.0
            return Estimated(value, bound, known)
        shape = np.shape(value)
        value, bound = np.array(value, self.dtype), np.array(np.broadcast_to(bound, shape), self.dtype)
        known = np.array(np.broadcast_to(known, shape), bool)
        is_nan = np.zeros(shape, bool) if nan is None else np.array(np.broadcast_to(nan, shape))
        for operand in operands:
            is_nan |= np.isnan(operand.value) & (np.asarray(operand.bound) == 0)
        odd = ~np.isfinite(value + bound)
        is_huge = odd & huge if huge is not None and self.knows_huge else np.zeros(shape, bool)
        value[is_huge] = np.copysign(np.inf, value[is_huge])
        bound[is_huge], known[is_huge] = np.inf, True
        unknown = odd & ~is_huge
        value[unknown], bound[unknown], known[unknown] = np.nan, np.inf, False
        value[is_nan], bound[is_nan], known[is_nan] = np.nan, 0, True
        return Estimated(value, bound, known)

    # ---- arithmetic

    def negate(self, a: Estimated) -> Estimated:
        return a._replace(value=-a.value)

    def copy_sign(self, a: Estimated, b: Estimated) -> Estimated:
        value = np.copysign(a.value, b.value)
        unknown = np.logical_not(self.known(b)) | np.isnan(b.value)
        if np.any(unknown):
            value = np.where(unknown, np.nan, value)
            return self.made(value, np.where(unknown, np.inf, a.bound), a.sign_is_known, a)
        return Estimated(value, np.broadcast_to(a.bound, np.shape(value)) if np.ndim(a.bound) else a.bound, True)

    def add(self, a: Estimated, b: Estimated) -> Estimated:
        x, y = a.value, b.value
        value = x + y
        if self.is_exact(a) and self.is_exact(b):
            # Knuth's TwoSum: what rounding has lost, exactly.
            part = value - x
            return self.made(value, np.abs((x - (value - part)) + (y - part)), True, a, b)
        bound = (a.bound + b.bound) + self.half * np.abs(value)
        known = True
        if not (np.all(np.abs(value) > bound * SLACK)):
            known = (np.abs(value) > bound * SLACK) | (self.known(a) & self.known(b) & (np.signbit(x) == np.signbit(y)))
        huge = None
        if not np.all(np.isfinite(bound)):
            big = [self.huge(a), self.huge(b)]
            small = [np.abs(c.value) + c.bound < 2.0**80 for c in (a, b)]
            huge = (big[0] & small[1]) | (small[0] & big[1]) | (big[0] & big[1] & (x == y))
        return self.made(value, bound, known, a, b, huge=huge)

    def lost_by_product(self, x: Any, y: Any, product: Any) -> Any:
        """The part that rounding a product has lost, at most: Dekker's, exactly, unless factors or product are extreme."""
        high_x, high_y = (c - (c - v) for v in (x, y) for c in (v * self.splitter,))
        low_x, low_y = x - high_x, y - high_y
        error = np.abs(((high_x * high_y - product) + high_x * low_y + low_x * high_y) + low_x * low_y)
        most, least = self.product_limits
        size = np.abs(product)
        is_usual = (np.abs(x) < most) & (np.abs(y) < most) & ((size > least) | (x == 0) | (y == 0))
        return np.where(is_usual, error, self.half * size + self.lost)

    def multiply(self, a: Estimated, b: Estimated) -> Estimated:
        x, y = a.value, b.value
        value = x * y
        if self.is_exact(a) and self.is_exact(b):
            return self.made(value, self.lost_by_product(x, y, value), True, a, b)
        bound = a.bound * np.abs(y) + b.bound * np.abs(x) + a.bound * b.bound + (self.half * np.abs(value) + self.lost)
        huge = None
        if not np.all(np.isfinite(bound)):
            big = [self.huge(a), self.huge(b)]
            large = [(np.abs(c.value) - c.bound > 2.0**-8) & np.isfinite(c.bound) for c in (a, b)]
            huge = (big[0] & (large[1] | big[1])) | (big[1] & large[0])
        return self.made(value, bound, self.both_known(a, b), a, b, huge=huge)

    def both_known(self, a: Estimated, b: Estimated) -> Any:
        if a.sign_is_known is True and b.sign_is_known is True:
            return True
        return self.known(a) & self.known(b)

    def divide(self, a: Estimated, b: Estimated) -> Estimated:
        x, y = a.value, b.value
        value = x / y
        known = self.both_known(a, b)
        if self.is_exact(a) and self.is_exact(b):
            product = value * y
            error = self.lost_by_product(value, y, product)
            bound = np.where((product == x) & (error == 0), 0, self.half * np.abs(value) + self.lost)
            return self.made(value, bound, known, a, b)
        size = np.abs(y) - b.bound * SLACK
        bound = np.where(
            size > 0, (a.bound + b.bound * np.abs(value)) / size + (self.half * np.abs(value) + self.lost), np.inf
        )
        huge = None
        if not np.all(np.isfinite(value + bound)):
            big = [self.huge(a), self.huge(b)]
            huge = big[0] & (np.abs(y) + b.bound < 2.0**8) & known
            is_rest = big[1] & (np.abs(x) + a.bound < 2.0**80)
            bound = np.where(is_rest, self.rest, bound)
        return self.made(value, bound, known, a, b, huge=huge)

    def whole(self, function: Callable[..., Any], a: Estimated) -> Estimated:
        value = function(a.value)
        if self.is_exact(a):
            return Estimated(value, 0.0, a.sign_is_known)
        bound = a.bound * SLACK + 4 * self.half * np.abs(a.value)
        bound = np.where(a.bound == 0, 0, bound)
        is_same = (function(a.value - bound) == function(a.value + bound)) & ((value != 0) | self.known(a))
        bound = np.where(is_same & np.isfinite(a.value), 0, np.inf)
        return self.made(value, bound, np.isfinite(bound), a, huge=self.huge(a))

    def remainder(self, a: Estimated, b: Estimated) -> Estimated:
        value = np.fmod(a.value, b.value)
        is_good = (np.asarray(a.bound) == 0) & (np.asarray(b.bound) == 0)
        is_good = is_good & np.isfinite(a.value) & np.isfinite(b.value) & (b.value != 0)
        return self.made(value, np.where(is_good, self.dtype(0), np.inf), True, a, b)

    def power(self, a: Estimated, b: Estimated) -> Estimated:
        x, y = a.value, b.value
        value = np.power(x, y)
        size = np.abs(x)
        relative = a.bound / size * SLACK
        relative = np.where(relative < 0.5, relative / (1 - relative), np.inf)
        change = np.abs(y) * relative
        if not self.is_exact(b):
            change = change + (np.abs(np.log(size)) * (1 + self.function) + relative) * b.bound * SLACK
        bound = np.where(
            change <= 1, np.abs(value) * (change + change * change) + self.function * np.abs(value) + self.lost, np.inf
        )
        # A negative base only where the exponent is certainly an integer; zero and infinities not at all.
        is_whole = (np.asarray(b.bound) == 0) & (np.floor(y) == y)
        is_good = np.isfinite(x) & np.isfinite(y) & (size > a.bound) & (y != 0) & ((x > 0) | is_whole)
        is_nan = (x < -a.bound * SLACK) & np.isfinite(x + y) & (np.asarray(b.bound) == 0) & (np.floor(y) != y)
        return self.made(value, np.where(is_good, bound, np.inf), True, nan=is_nan & (size > 0))

    def atan2(self, a: Estimated, b: Estimated) -> Estimated:
        y, x = a.value, b.value
        value = np.arctan2(y, x)
        distance = np.maximum(np.abs(x), np.abs(y)) - (a.bound + b.bound) * SLACK
        bound = (a.bound + b.bound) / distance + self.function * np.abs(value) + self.lost
        is_good = (distance > 0) & np.isfinite(x + y) & self.known(a)
        # The quotient may underflow, and NumPy then say zero: a bound of its own.
        return self.made(value, np.where(is_good, bound, np.inf), self.known(a), a, b)

    def extreme(self, better: Any, a: Estimated, b: Estimated) -> Estimated:
        comparison = self.less(a, b) if better is np.less else self.less(b, a)
        other = self.less(b, a) if better is np.less else self.less(a, b)
        unclear = comparison.unknown | np.logical_not(comparison.value | other.value)
        x, y = broadcast_arrays(a.value, b.value)
        # Between zeros, equal numbers and NaN NumPy does not choose as is needed.
        is_zero = (x == 0) & (y == 0)
        value = np.where(comparison.value, x, np.where(other.value, y, np.where(better(x, y), x, y)))
        bounds = [np.broadcast_to(c.bound, x.shape) for c in (a, b)]
        known = [np.broadcast_to(c.sign_is_known, x.shape) for c in (a, b)]
        bound = np.where(comparison.value, bounds[0], np.where(other.value, bounds[1], np.maximum(*bounds)))
        sign = np.where(comparison.value, known[0], np.where(other.value, known[1], known[0] & known[1]))
        same_sign = np.signbit(x) == np.signbit(y)
        bound = np.where(unclear & (np.isnan(x) | np.isnan(y) | (is_zero & ~same_sign)), np.inf, bound)
        sign = np.where(unclear & ~same_sign, False, sign)
        return self.made(value, bound, sign, a, b, huge=self.huge(Estimated(value, bound, sign)))

    # ---- comparisons

    def order(self, a: Estimated, b: Estimated) -> tuple[Any, Any, Any]:
        """Three conditions: a < b for sure; a > b for sure; a = b, or one of them NaN, for sure."""
        x, y = a.value, b.value
        if self.is_exact(a) and self.is_exact(b):
            return x < y, x > y, ~((x < y) | (x > y))
        margin = (a.bound + b.bound) * SLACK + np.where(
            np.isfinite(x) & np.isfinite(y), 4 * self.half * (np.abs(x) + np.abs(y)), 0
        )
        exact = (np.asarray(a.bound) == 0) & (np.asarray(b.bound) == 0)
        margin = np.where(exact, 0, margin)
        difference = x - y
        below, above = difference < -margin, difference > margin
        is_nan = np.isnan(x) | np.isnan(y)
        # They have different signs, and one of them is certainly not zero.
        known = self.known(a) & self.known(b) & (np.signbit(x) != np.signbit(y)) & ~is_nan
        known = known & ((np.abs(x) > a.bound * SLACK) | (np.abs(y) > b.bound * SLACK))
        below = below | (known & np.signbit(x))
        above = above | (known & np.signbit(y))
        if not (np.all(np.isfinite(x + margin)) and np.all(np.isfinite(y))):
            for first, second, is_swapped in ((a, b, False), (b, a, True)):
                p, q = first.value, second.value
                # A huge number beside one of the format, and beside an infinity, which is larger.
                is_huge = self.huge(first) & (np.abs(q) + second.bound < 2.0**80)
                is_limit = np.isinf(q) & (np.asarray(second.bound) == 0) & ~np.isnan(p)
                is_limit = is_limit & ~(np.isinf(p) & (np.asarray(first.bound) == 0))
                less = (is_huge & (p < 0)) | (is_limit & (q > 0))
                more = (is_huge & (p > 0)) | (is_limit & (q < 0))
                below, above = below & ~is_limit, above & ~is_limit
                below, above = below | (more if is_swapped else less), above | (less if is_swapped else more)
        nan = [np.isnan(c.value) & (np.asarray(c.bound) == 0) for c in (a, b)]
        return below, above, (exact & (difference == 0)) | nan[0] | nan[1]

    def less(self, a: Estimated, b: Estimated) -> Truths:
        below, above, neither = self.order(a, b)
        return Truths(below, np.logical_not(below | above | neither))

    def less_equal(self, a: Estimated, b: Estimated) -> Truths:
        below, above, neither = self.order(a, b)
        is_nan = np.isnan(a.value) | np.isnan(b.value)
        same_infinity = (a.value == b.value) & np.isinf(a.value)
        neither = neither | (same_infinity & (np.asarray(a.bound) == 0) & (np.asarray(b.bound) == 0))
        return Truths(below | (neither & ~is_nan), np.logical_not(below | above | neither))

    def equal(self, a: Estimated, b: Estimated) -> Truths:
        below, above, neither = self.order(a, b)
        is_nan = np.isnan(a.value) | np.isnan(b.value)
        return Truths(neither & ~is_nan, np.logical_not(below | above | neither))

    def both(self, a: Truths, b: Truths) -> Truths:
        """A truth value that is false with any of the two is false, whatever the other one is."""
        value = np.logical_and(a.value, b.value)
        no = (np.logical_not(a.value) & ~a.unknown) | (np.logical_not(b.value) & ~b.unknown)
        return Truths(value, (a.unknown | b.unknown) & ~no)

    def opposite(self, a: Truths) -> Truths:
        return Truths(np.logical_not(a.value), a.unknown)

    def select(self, condition: Truths, a: Any, b: Any) -> Any:
        if isinstance(a, Truths):
            picked = [np.where(condition.value, x, y) for x, y in zip(a, b, strict=True)]
            return Truths(picked[0], picked[1] | condition.unknown)
        value, bound, known = (np.where(condition.value, x, y) for x, y in zip(a, b, strict=True))
        if np.any(condition.unknown):
            value = np.where(condition.unknown, np.nan, value)
            bound = np.where(condition.unknown, np.inf, bound)
        # The values are not looked at again: those that are not finite are what they were.
        return Estimated(value, 0.0 if not np.any(bound) else bound, True if np.all(known) else known)

    # ---- functions of one number

    def _functions(self) -> dict[Operation, tuple[Any, ...]]:
        """NumPy's function; how much the operand's error changes it at most; the sign; at infinity.

        The change is a function of operand, bound and value. The sign: 1 where the value has one, 0 where it is that
        of the operand, None where neither. ``limit`` and ``huge``: what comes out of a huge number, if that is known.
        """

        def grown(bound: Any) -> Any:
            """exp(bound) - 1 at most; unknown where the bound is large."""
            return np.where(bound <= 1, bound + bound * bound, np.inf)

        def of_part(bound: Any, size: Any) -> Any:
            """-log(1 - bound / size) at most."""
            part = bound / size
            return np.where((part < 0.5) & (size > 0), part / (1 - part), np.inf)

        def tangent(x: Any, e: Any, f: Any) -> Any:
            t = e * np.abs(f) + e * e
            return np.where(t < 0.5, e * (1 + f * f) / (1 - t), np.inf)

        def inverse_sine(x: Any, e: Any, f: Any) -> Any:
            w = np.abs(x) + e * SLACK
            return np.where(w < 1, e / np.sqrt((1 - w) * (1 + w)) * SLACK, np.inf)

        def inverse_tangent(x: Any, e: Any, f: Any) -> Any:
            w = np.abs(x) + e * SLACK
            return np.where(w < 1, e / ((1 - w) * (1 + w)) * SLACK, np.inf)

        def inverse_cosh(x: Any, e: Any, f: Any) -> Any:
            w = x - e * SLACK
            return np.where(w > 1, e / np.sqrt((w - 1) * (w + 1)) * SLACK, np.inf)

        def gaussian(x: Any, e: Any, f: Any) -> Any:
            near = np.maximum(np.abs(x) - e, 0)
            return 1.15 * np.exp(-near * near) * e * SLACK

        itself: Any = lambda x, e, f: e  # noqa: E731
        sqrt: Any = lambda x, e, f: np.where(x > e * SLACK, f * (e / x), np.where(e == 0, 0, np.inf))  # noqa: E731
        return {
            ops.SQUARE_ROOT: (np.sqrt, sqrt, 1, ""),
            functions.EXP: (np.exp, lambda x, e, f: f * grown(e), 1, "limit huge"),
            functions.EXPM1: (np.expm1, lambda x, e, f: (np.abs(f) + 1) * grown(e), 0, "limit huge"),
            functions.LOG: (np.log, lambda x, e, f: of_part(e, x), None, ""),
            functions.LOG1P: (np.log1p, lambda x, e, f: of_part(e, (1 + x) * (1 - 4 * self.half)), 0, ""),
            functions.LOGISTIC: (self.logistic, lambda x, e, f: f * grown(e), 1, "limit"),
            functions.SIN: (np.sin, itself, None, ""),
            functions.COS: (np.cos, itself, None, ""),
            functions.TAN: (np.tan, tangent, None, ""),
            functions.SINH: (np.sinh, lambda x, e, f: (np.abs(f) + 1) * grown(e), 0, "huge"),
            functions.COSH: (np.cosh, lambda x, e, f: f * grown(e), 1, "huge"),
            functions.TANH: (np.tanh, itself, 0, "limit"),
            functions.ASIN: (np.arcsin, inverse_sine, 0, ""),
            functions.ACOS: (np.arccos, inverse_sine, 1, ""),
            functions.ATAN: (np.arctan, itself, 0, "limit"),
            functions.ASINH: (np.arcsinh, itself, 0, ""),
            functions.ACOSH: (np.arccosh, inverse_cosh, 1, ""),
            functions.ATANH: (np.arctanh, inverse_tangent, 0, ""),
            functions.ERF: (self.erf, lambda x, e, f: 1.15 * e, 0, "limit"),
            functions.ERFC: (self.erfc, gaussian, 1, "limit"),
        }

    def applied(self, rows: Mapping[Operation, tuple[Any, ...]]) -> dict[Operation, Callable[..., Any]]:
        """The rules of functions with such rows."""
        return {operation: partial(self.apply, operation.domain, *row) for operation, row in rows.items()}

    def apply(
        self,
        domain: tuple[float, float],
        function: Callable[..., Any],
        change: Callable[..., Any],
        sign: int | None,
        at_infinity: str,
        a: Estimated,
    ) -> Estimated:
        value = function(a.value)
        by_library = self._error_functions[2] if function in (self.erf, self.erfc) else self.function
        if function == self.logistic:
            by_library = 2 * by_library
        bound = by_library * np.abs(value) + self.lost
        if not self.is_exact(a):
            bound = bound + change(a.value, a.bound, value)
        elif function is np.sqrt:
            # A root that is one exactly; and rounding is all that IEEE 754 allows.
            product = value * value
            is_root = (product == a.value) & (self.lost_by_product(value, value, product) == 0)
            bound = np.where(is_root, 0, bound)
        known = True if sign == 1 else a.sign_is_known if sign == 0 else False
        if np.all(np.isfinite(value + bound)):
            return Estimated(value, bound, known)
        big = self.huge(a)
        if "limit" in at_infinity:
            bound = np.where(big & np.isfinite(value), by_library * np.abs(value) + self.rest, bound)
        huge = None
        if "huge" in at_infinity:
            # The result overflows even if the operand is off by 1.
            is_near = np.isfinite(a.value) & (np.asarray(a.bound) < 1)
            huge = np.isinf(value) & (is_near | big)
        low, high = domain
        nan = None
        if domain != (-math.inf, math.inf):
            is_outside = (a.value + a.bound * SLACK < low) | (a.value - a.bound * SLACK > high)
            nan = is_outside & np.isfinite(a.bound) & ~np.isnan(a.value)
        return self.made(value, bound, known, a, nan=nan, huge=huge)

    def logistic(self, x: Any) -> Any:
        """Twice the error that a function may have: that of one exponential, a sum and a quotient."""
        e = np.exp(-np.abs(x))
        return np.where(x >= 0, 1, e) / (1 + e)

    def normal_tail(self, a: Estimated) -> Estimated:
        root = self.dtype(1) / np.sqrt(self.dtype(2))
        argument = a.value * root
        bound = a.bound * root + 4 * self.half * np.abs(argument) + self.lost
        scaled = self.made(argument, bound, a.sign_is_known, a, huge=self.huge(a))
        tail: Estimated = self.table[functions.ERFC](scaled)
        return tail._replace(value=tail.value / 2)  # the bound is larger than need be: halving may be inexact


def _constant(value: Any, dtype: Any) -> Estimated:
    """A number of a formula: exactly, or the nearest that the format has."""
    if not isinstance(value, Fraction):
        return Estimated(dtype(value), 0.0, True)
    try:
        high = dtype(float(value))
    except OverflowError:
        return Estimated(dtype(np.nan), np.inf, False)
    high = high + dtype(float(value - Fraction(*high.as_integer_ratio())))
    missing = abs(value - Fraction(*high.as_integer_ratio()))
    is_lost = value != 0 and high == 0
    return Estimated(high, float(missing) * SLACK + (math.ulp(0) if missing else 0.0), not is_lost)


def evaluate_with_bounds(
    root: Expression,
    inputs: Sequence[np.ndarray],
    parameters: Mapping[str, float],
    kind: ElementType,
    *,
    modular: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """The correctly rounded results of a formula in an element type, and where they are known.

    Elsewhere the results mean nothing. Known are never those of zeros, infinities and NaN, nor integers ``modular``
    (see `ogive.enclosures.enclosure.right_result`).
    """
    found = enclosed(root, inputs, parameters, kind, modular=modular)
    return found.right, found.known


class Enclosed(NamedTuple):
    """Results of a formula with what is known of them."""

    right: np.ndarray
    """The correctly rounded results."""
    known: np.ndarray
    """The elements whose results are known, as truth values."""
    value: np.ndarray
    """The results in float64 or long double, as computed."""
    bound: np.ndarray
    """Their largest errors; infinite where nothing is known."""


def enclosed(
    root: Expression,
    inputs: Sequence[np.ndarray],
    parameters: Mapping[str, float],
    kind: ElementType,
    *,
    modular: bool = False,
    by: type[BoundRules] = BoundRules,
) -> Enclosed:
    """As `evaluate_with_bounds`, with the values that were rounded, and the bounds of their errors, ``by`` these rules."""
    (root,) = with_slopes(with_limits([root], kind if kind.is_float else ELEMENT_TYPES["float64"]))
    order = list(walk(root))
    is_long = kind.bits > 32 or any(np.asarray(x).dtype.itemsize > 4 for x in inputs)
    dtype: Any = np.longdouble if is_long else np.float64
    shape = broadcast_shapes(*(np.shape(x) for x in inputs))
    nowhere = Enclosed(
        np.zeros(shape, kind.numpy), np.zeros(shape, bool), np.zeros(shape, dtype), np.full(shape, np.inf, dtype)
    )
    if modular and not kind.is_float:
        return nowhere
    rules = by(dtype, len(order))
    values: dict[Expression, Any] = {}
    usual = np.ones(shape, bool)
    with np.errstate(all="ignore"):
        for current in order:
            if current.operation == ops.INPUT:
                x = np.asarray(inputs[current.attribute])
                if current.format is Format.TRUTH:
                    values[current] = Truths(x.astype(bool), np.False_)
                    continue
                if x.dtype.kind in "iu" and x.dtype.itemsize * 8 > np.finfo(dtype).nmant + 1:
                    return nowhere  # there is no format that is long enough
                number = x.astype(dtype)
                if x.dtype.kind not in "iu":
                    usual &= np.isfinite(number) & (number != 0)
                    number = np.where(np.isfinite(number), number, 1)
                values[current] = Estimated(number, 0.0, True)
            elif current.operation == ops.PARAMETER:
                values[current] = Estimated(dtype(parameters[current.attribute[1]]), 0.0, True)
            elif current.operation == ops.CONSTANT:
                truth = current.format is Format.TRUTH
                values[current] = (
                    Truths(np.bool_(current.attribute), np.False_) if truth else _constant(current.attribute, dtype)
                )
            else:
                operands = [values[operand] for operand in current.operands]
                if current.operation not in rules.table or _is_of_bits(current):
                    return nowhere
                values[current] = rules.table[current.operation](*operands)
        result, known = _rounded(values[root], kind, shape, rules)
        if isinstance(values[root], Truths):
            value, bound = np.broadcast_to(values[root].value, shape).astype(dtype), np.zeros(shape, dtype)
        else:
            value, bound = (np.broadcast_to(np.asarray(x, dtype), shape) for x in values[root][:2])
        bound = np.where(usual, bound, np.inf)
    return Enclosed(result, known & usual, value, bound)


def _is_of_bits(current: Expression) -> bool:
    """Operations on the bits of integers have the names of those on truth values."""
    of_truths = (ops.AND, ops.OR, ops.EXCLUSIVE_OR, ops.NOT)
    return current.operation in of_truths and current.format is not Format.TRUTH


def _rounded(found: Any, kind: ElementType, shape: tuple[int, ...], rules: BoundRules) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(found, Truths):
        value, unknown = (np.broadcast_to(x, shape) for x in found)
        return converted(value, kind.numpy), ~unknown
    value, bound, known = (np.broadcast_to(x, shape) for x in found)
    size = np.abs(value)
    # The ends are rounded themselves.
    margin = np.where(bound == 0, 0, bound * SLACK + 4 * rules.half * size)
    low, high = np.maximum(size - margin, 0), size + margin
    if not kind.is_float:
        low, high = np.floor(low), np.floor(high)
        decided = (low == high) & ((low == 0) | known | (size > margin))
        wide = np.where(np.isfinite(low), np.copysign(low, value), 0)
        decided &= np.isfinite(low) & (np.abs(wide) < 2.0**62)
        if kind.name == "bool":
            return (wide != 0).astype(bool), decided & (size > margin)
        whole = np.clip(wide, -(2.0**62), 2.0**62).astype(np.int64)
        return converted(np.clip(whole, kind.minimum, min(kind.maximum, 2**63 - 1)), kind.numpy), decided
    ends = [rounded_to(end, kind) for end in (low, high)]
    decided = (ends[0] == ends[1]) & (known | (size > margin))
    if not np.all(np.isfinite(high)):
        is_nan = np.isnan(value) & (bound == 0)
        is_huge = np.isinf(value) & (np.isinf(bound) & known | (bound == 0))
        ends[0] = np.where(is_nan, np.nan, np.where(is_huge, np.inf, ends[0])).astype(ends[0].dtype)
        decided = np.where(np.isfinite(high), decided, is_nan | is_huge)
    # A number of bfloat16 is one of float32.
    return converted(np.copysign(ends[0], value), kind.numpy), decided


def rounded_to(values: np.ndarray, kind: ElementType) -> np.ndarray:
    """Numbers that are not negative, rounded to a floating-point type, once: in it or in float32."""
    if kind.name in ("float32", "float64"):
        return converted(values, kind.numpy)
    precision, smallest, largest = FLOAT_FORMATS[kind.name]
    _, exponent = np.frexp(values)
    exponent = np.maximum(exponent - 1, smallest) - (precision - 1)
    rounded = np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent)
    return np.where(rounded > largest, np.inf, rounded).astype(np.float32)

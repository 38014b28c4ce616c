"""The error of an elementary function by its operand's, and the error that its rule adds (own_errors.py).

An error e of the operand u moves f(u) by at most abs(f'(u)) e, and a little more where f bends: that is left to a
margin of 1 %, and where e is so large that this does not hold, the result is in doubt. If one number bounds the relative
error of u, the condition number ``abs(u f'(u) / f(u))`` magnifies it: as far as that is bounded, the bound stays static.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, wraps

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Operation, in_format, node
from ogive.lowering.numerics import beyond_range, ties
from ogive.lowering.numerics.bound import UNKNOWN, Beyond, Bound
from ogive.lowering.numerics.bounded import SLACK, Bounded
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.argument import SingleOperand
from ogive.lowering.numerics.elementary.exponential.exp import FARTHEST, exp_of_sums
from ogive.lowering.numerics.elementary.extremes import computed_remainder, is_one_word
from ogive.lowering.numerics.elementary.function_row import FUNCTIONS, Function, more_than_result
from ogive.lowering.numerics.elementary.own_errors import CORRECTED, IN_WORDS, PROMOTED, SHORT
from ogive.lowering.numerics.elementary.trigonometric import NO_TURN
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.precisions import LOST, NEXT_TO_NOTHING
from ogive.lowering.numerics.single import NoSingle, SingleBounded
from ogive.lowering.numerics.truths import both, either, except_where, nowhere

#: The largest error of a function that underflows.
UNDERFLOW = 2.0**-980

#: The exponential of a square of up to FAR_TAIL**2 magnifies the square's error, 2**-102 or less, as much.
FAR_TAIL_ERROR = 2.0**-80

#: Smaller errors of an angle leave its functions their sign, but where they are as small.
SMALLEST_TURN = 2.0**-30

#: How many times as steep as high functions are that underflow: tails of up to FAR_TAIL, by `_gauss_tail`.
STEEPEST = 2.0**11

#: A power whose relative error is larger has no bound.
LARGEST_OF_POWERS = 2.0**-20

#: Powers of larger exponents are vast: their products with two numbers of float32 are.
VAST_POWER = 1300.0

#: The logarithm of a number that is nearer to 1 loses bits of its second word.
NEXT_TO_ONE = 2.0**-900

#: Beyond this exponentials and what is made of them are vast, or next to their limits.
FAR = 8192.0


def rule_of(m: Arithmetic, operation: Operation) -> Callable[..., DoubleWord]:
    """The rule of a function in an arithmetic: where numbers have bounds, one whose result has one."""
    if m.bounded:
        return bounded(operation)
    assert operation.lowering is not None
    return operation.lowering


#: The float32 below 1.
LAST_BELOW_1 = 1 - 2.0**-24


@cache
def bounded(operation: Operation, *, is_result: bool = False) -> Callable[..., DoubleWord]:
    """The rule of a function, whose result carries its bound.

    With ``is_result`` the number is a result of a formula, in a format shorter than float64: what is beyond that is
    infinite, and need not be known better.
    """
    name, rule = operation.name, operation.lowering
    if rule is None:
        raise ValueError(f"{name} has no rule")

    @wraps(rule)
    def with_bound(m: Bounded, *operands: DoubleWord) -> DoubleWord:
        if name in ("larger", "smaller", "remainder"):
            operands = tuple(map(m.unscaled, operands))
        if name == "remainder" and not all(map(is_one_word, operands)):
            return computed_remainder(m, *operands)
        # On the way bounds are not asked for: the rule's own error says what becomes of exact operands.
        bare = [replace(operand, error=UNKNOWN) for operand in operands]
        result: DoubleWord = rule(m, *bare)
        if not all(operand.error.is_known for operand in operands):
            return result
        if name in ("larger", "smaller"):
            return m.finished(result, m.error_of_extreme(result, *operands))
        if name == "remainder":
            return m.finished(result, _of_remainder(m, result, *operands))
        table = CORRECTED if m.is_long else IN_WORDS if m.extended else PROMOTED
        relative = table.get(name, math.inf)
        if relative == math.inf:
            return result
        own = Bound(relative)
        if name in OF_TWO:
            made = OF_TWO[name](m, own, result, *operands)
            if name == "power" and not is_result:
                made = m.doubted(made, _clamped(m, made))
        else:
            function = FUNCTIONS[name]
            own = replace(own, static=UNDERFLOW if function.underflows else 0.0)
            if is_result:
                limits = (math.inf, math.inf) if function.saturates else function.limits
                function = replace(function, limits=limits, nothing_beyond=None)
            made = of_one(m, function, own, result, operands[0])
            if m.extended and not (m.knows_infinities or is_result) and function.zero_at is not None:
                made = _zero_at(m, function.zero_at, operands[0], made)
        return made if is_result else m.finished(made, made.error)

    return with_bound


#: Factors are no larger, so that constants can be multiplied by them. Reciprocals are no smaller than one by this.
LARGEST_FACTOR = 2.0**100


def single_rule(m: SingleBounded, operation: Operation, operand: DoubleWord, *, is_result: bool) -> DoubleWord:
    """The function of a number, with its bound. Raises NoSingle where there is no rule."""
    name = operation.name
    row = FUNCTIONS.get(name)
    form = None if row is None else row.in_single
    if row is None or form is None or form.tested is None:
        raise NoSingle(f"{name} has no rule in float32")
    if not operand.error.is_known:
        return replace(operand, error=UNKNOWN)
    factors = None if form.of_product is None else m.factors.get(operand.high)
    is_short = is_result or not form.has_shorter_results
    x = SingleOperand(m, operand, factors, is_short=is_short)
    number, lies, static, doubt = form.tested(x, is_result)
    error, more = operand.error, 0.0
    if factors is not None and form.of_product is not None:
        error = replace(error, relative=0.0)  # the rule multiplies
        more = form.of_product
        size = m.abs_(factors.w)
        doubt = either(doubt, m.not_(m.less_(size, m.number(LARGEST_FACTOR))))
        if factors.rest is not None:
            doubt = either(doubt, m.less_(size, m.number(1 / LARGEST_FACTOR)))
    inside = Interval(max(operand.interval.low, -form.reach), min(operand.interval.high, form.reach))
    error = replace(error, largest=min(error.largest, form.reach))
    function = replace(row, limits=(math.inf, math.inf), increasing=None)
    of_rule = f"{name} as {'bfloat16' if m.is_wide else 'float16'}" if is_result and form.has_shorter_results else name
    own = Bound(SHORT[of_rule] + more, static=static, doubt=doubt)
    result = DoubleWord(number, interval=lies)
    made = of_one(m, function, own, result, replace(operand, interval=inside, error=error))
    return made if is_result else m.finished(made, made.error)


def bounded_of_sums(m: Bounded, operand: DoubleWord) -> DoubleWord:
    """The exponential of float64's own kernels that is summed, with its bound (`exp_of_sums`)."""
    result = exp_of_sums(m, replace(operand, error=UNKNOWN))
    made = of_one(m, FUNCTIONS["exp"], Bound(IN_WORDS["exp_of_sums"], UNDERFLOW), result, operand)
    return m.finished(made, made.error)


def of_one(m: Bounded, function: Function, own: Bound, result: DoubleWord, operand: DoubleWord) -> DoubleWord:
    """The result with its bound: what the rule adds, its own, and what becomes of the operand's."""
    if m.of_doubles and function.cuts_off:
        u = m.unscaled_result(operand)
    else:
        u = m.mantissa(operand) if function.takes_exponents and m.of_doubles else m.unscaled(operand)
    error = u.error
    doubt = either(error.doubt, own.doubt)
    limit = function.limits[m.extended]
    if function.saturates and m.of_doubles and function.limits[1] < math.inf:
        limit = FARTHEST
    if m.follows_far and error.vast is not None:  # beside its power of two
        doubt, error = either(doubt, error.vast), replace(error, vast=None)
    is_single = error.bits is not None and error.bits <= 24
    u_low, u_high = max(u.interval.low, -error.largest), min(u.interval.high, error.largest)
    saturated: Expression | None = None
    end = function.nothing_beyond if m.of_doubles else None
    if limit < math.inf and u_high > limit:
        saturated = m.less_(m.number(limit), u.high)
    if limit < math.inf and u_low < -limit and not function.is_limited_above and end is None:
        saturated = either(saturated, m.less_(u.high, m.number(-limit)))
        if is_single and error.is_exact and function.domain == (-1.0, 1.0) and limit >= LAST_BELOW_1:
            saturated = m.equal_(m.abs_(u.high), m.number(1.0))  # the only float32 beyond the limit that is no NaN
    is_vast = function.saturates and m.follows_vast
    far: Expression | None = None
    if m.follows_far and function.saturates and result.exponent is not None and saturated is not None:
        is_finite = m.less_(m.abs_(u.high), m.number(m.safe))
        far = both(saturated, is_finite)
        doubt = either(doubt, except_where(except_where(saturated, is_finite), _where_infinite(m, operand, u)))
    elif not is_vast:
        doubt = either(doubt, saturated)
    if function.name in ("log", "log2", "log10") and operand.exponent is not None:
        doubt = either(doubt, _no_logarithm(m, operand))
    relative, static, absolute = own.relative, own.static, None
    if end is not None and (u_low < end if end < 0 else end < u_high):
        first, last = (-math.inf, end) if end < 0 else (end, math.inf)
        is_nothing = both(m.less_(m.number(first), u.high), m.less_(u.high, m.number(last)))
        if m.is_long and result.exponent is not None:
            far = either(far, both(is_nothing, m.less_(m.abs_(u.high), m.number(m.safe))))
            absolute = m.select_(is_nothing, m.number(4.0), m.number(0.0))
        else:
            doubt = either(doubt, is_nothing)
    if static and m.of_doubles:  # whose power of two is kept apart, but for that of log_ndtr
        is_tail = function.name in ("erfc", "normal_tail")
        static = LOST if result.exponent is None or (is_tail and m.is_own) else 0.0
        relative = max(relative, FAR_TAIL_ERROR) if is_tail and m.is_long else relative
    if function.name in ("erf", "erfinv") and m.of_doubles and result.exponent is None:
        static = LOST  # of a subnormal operand it is no multiple of the smallest number
    if function.static and not is_single and not (m.is_own and u.is_exact and error.is_exact):
        static += function.static if not m.extended else function.static * 2.0**-46
        if function.slope is not None:  # of the tangent: an error of the reduced angle
            absolute = m.mul_(m.number(static), function.slope(m, u.high, result.high))
            static = 0.0
        if m.extended and function.name in ("sin", "tan"):  # near zero no angle is reduced
            absolute, static = m.number(static) if absolute is None else absolute, 0.0
            absolute = m.select_(m.less_(m.abs_(u.high), m.number(0.5)), m.number(0.0), absolute)
    lies = Interval(u_low, u_high)
    if error.absolute is None and 0 < error.static <= m.next_to_nothing:
        if not function.is_steep_at_zero and any(lies.within(i.low, i.high) for i, _ in function.conditions):
            if m.of_doubles and function.underflows and result.exponent is not None:
                # No slope is more than STEEPEST times the value, which may be far below what the operand has lost.
                relative += STEEPEST * error.static
            else:  # No slope there is more than the value and 2.
                relative, static = relative + 2 * error.static, static + 2.2 * error.static
            error = replace(error, static=0.0)
        else:
            u = m.without_static(u)
            error, doubt = u.error, either(doubt, u.error.doubt)
    is_relative = error.is_exact and result.exponent is None
    at_zero = m.where_zero(u) if m.follows_zeros and function.grows_as_operand and not is_relative else None
    if m.follows_zeros and function.at_zero:
        at_zero = m.where_zero(u)
        if at_zero is not None:
            number = m.unscaled(replace(result, error=UNKNOWN))
            is_value = m.equal_(number.high, m.number(function.at_zero))
            at_zero = both(at_zero, both(is_value, m.equal_(m.low_part(number), m.number(0.0))))
    if not error.is_exact:
        change = _change(m, function, replace(u, error=error), error, lies)
        if isinstance(change, float) and not function.is_logarithm:
            relative += change
        elif isinstance(change, float):
            static += change
        else:
            value = result.high
            slope = function.slope
            is_of_angle = function.name in ("cos", "sin", "tan")
            multiple = m.multiples.get(u.high) if is_of_angle else None
            if multiple is not None and not multiple.is_whole:  # such angles are reduced exactly
                change = m.select_(m.less_(m.number(NO_TURN), m.abs_(u.high)), m.number(0.0), change)
            if m.follows_exactness and error.exactly is not None:
                change = m.select_(error.exactly, m.number(0.0), change)
            is_far = _far(m, function, u, change)
            if function.room is not None:
                room = m.mul_(function.room(m, u.high, value), m.number(2.0**-10))
                is_wide = m.not_less(change, room)
                if not m.extended:  # beside NaN there is no room, and no doubt
                    is_wide = both(is_wide, m.equal_(u.high, u.high))
                doubt = either(doubt, except_where(is_wide, either(error.vast, is_far, at_zero)))
            grown = m.mul_(change, m.number(1.01))
            if slope is not None:
                grown = m.mul_(grown, slope(m, u.high, value))
            grown = grown if is_far is None else m.select_(is_far, m.number(0.0), grown)
            is_of_value = function.underflows or slope is more_than_result  # beside the same power of two
            if m.of_doubles and result.exponent is not None and not is_of_value:
                grown = m.scale_(grown, m.neg_(result.exponent))
            if is_of_angle and not m.extended:
                # The functions of a vast angle have no known sign, which is all that is left beside an infinity.
                tells_nothing = both(m.less_(m.abs_(value), grown), m.less_(m.number(SMALLEST_TURN), grown))
                doubt = either(doubt, tells_nothing)
            absolute = grown if absolute is None else m.add_(absolute, grown)
    # For functions that grow from f(0) = 0, with a slope of nearly 1 there.
    least = min(error.least, 1.0) / 2 if function.grows_as_operand and u.is_exact and error.is_exact else 0.0
    if function.increasing is not None and max(abs(u_low), abs(u_high)) < 700 and error.is_relative:
        least = max(least, function.increasing(u_low) * (1 - 2.0**-16))
    # Those that are linear at zero have the sign of the operand, also where it has underflowed.
    keeps_sign = m.keeps_sign(u) if function.grows_as_operand else None
    if m.extended and function.has_sign_below is not None:
        keeps_sign = m.keeps_sign(u)
        if keeps_sign is not None:
            keeps_sign = both(keeps_sign, m.less_(m.abs_(u.high), m.number(function.has_sign_below)))
    if m.follows_exactness and function.at_zero == 0:  # and grows there: a rule's interval may lie a little below
        low, high = max(result.interval.low, 0.0) if u_low >= 0 else result.interval.low, result.interval.high
        periodic = function.name in ("sin", "tan") and u_high > 1.5
        result = result if periodic else replace(result, interval=Interval(low, max(low, high)))
    beyond = ties.near_zero(m, function.name, u, _beyond(m, function, u)) if m.extended else None
    exactly = _exactly_at_points(m, function, u) if m.follows_exactness else at_zero
    if exactly is not None and result.low is not None and function.name in ("erfc", "normal_tail"):
        result = replace(result, low=m.select_(exactly, m.number(0.0), result.low))  # the rule is off by a last bit
    is_limit = _is_limit(m, function, u, result) if m.follows_exactness else None
    if is_limit is not None:
        rest = None if result.low is None else m.select_(is_limit, m.number(0.0), result.low)
        result = replace(result, low=rest)
        if function.zero_at == math.inf:
            result = _zero_where(m, both(is_limit, m.less_(m.number(0.0), u.high)), result)
        known = both(is_limit, _where_infinite(m, operand, u))
        exactly = either(exactly, known)
        if m.knows_infinities:  # what has overflowed is next to a limit that is not zero
            known = either(known, both(is_limit, m.not_(m.equal_(result.high, m.number(0.0)))))
        doubt = either(operand.error.doubt, except_where(doubt, known))
    made = Bound(relative, static, absolute, doubt, None, least, function.largest, keeps_sign, exactly, beyond)
    if m.follows_vast:
        made = _beyond_range(m, function, made, u, saturated if is_vast else None)
    elif m.follows_nan:
        made = replace(made, nan=either(u.error.nan, beyond_range.outside(m, u, *function.domain)))
    if m.follows_far:
        result, made = _with_far_power(m, function, result, u, replace(made, vast=far))
    return replace(result, error=made)


def _with_far_power(
    m: Bounded, function: Function, result: DoubleWord, u: DoubleWord, error: Bound
) -> tuple[DoubleWord, Bound]:
    """A far exponential with the power of two that it has, to many bits, in the place of the one that the rule moved it to."""
    if error.vast is None or result.exponent is None or not function.saturates or u.error.relative > 2.0**-48:
        return result, error
    power = m.abs_(u.high) if function.name in ("sinh", "cosh") else u.high
    if function.name != "exp2":
        power = m.mul_(power, m.number(math.log2(math.e)))
    exponent = m.select_(error.vast, m.round_even_(power), result.exponent)
    return replace(result, exponent=exponent), replace(error, vast_exponent=beyond_range.BITS_OF_FAR)


def _no_logarithm(m: Bounded, operand: DoubleWord) -> Expression | None:
    """Where a power of two was moved to FARTHEST: a product with it is zero or infinite all the same, a logarithm is not."""
    if not m.of_doubles or operand.exponent is None:
        return None
    size = m.abs_(operand.high)
    is_number = both(m.less_(m.number(0.0), size), m.less_(size, m.number(math.inf)))
    return both(is_number, m.less_(m.number(FARTHEST / 2), m.abs_(operand.exponent)))


def _is_limit(m: Bounded, function: Function, u: DoubleWord, result: DoubleWord) -> Expression | None:
    """The condition that the result is the function's finite limit at an infinity, which the operand is, or has become."""
    is_known = m.knows_infinities or ties.exactness(u) is not None
    if not is_known or u.interval.within(-sys.float_info.max, sys.float_info.max):
        return None
    ends = zip((-math.inf, math.inf), function.ends, strict=True)
    is_end = either(*(m.equal_(u.high, m.number(end)) for end, limit in ends if math.isfinite(limit)))
    return both(is_end, m.is_finite_(result.high))


def _where_infinite(m: Bounded, operand: DoubleWord, u: DoubleWord) -> Expression:
    """The condition that an operand is exactly the infinity that it is without the power of two beside it."""
    if m.knows_infinities:
        return m.is_infinity(operand) or nowhere()
    return ties.exactness(u) or nowhere()


def _exactly_at_points(m: Bounded, function: Function, u: DoubleWord) -> Expression | None:
    """The condition that the result is exact: log(1), exp(0), and exp2 of integers."""
    where, name = ties.exactness(u), function.name
    if function.at_zero is not None and name != "exp2":
        return m.is_zero(u)
    if (function.exact_at is None and function.at_zero is None) or where is None:
        return None
    if u.low is not None:
        where = both(where, m.equal_(u.low, m.number(0.0)))
    if name == "exp2":
        is_whole = m.equal_(u.high, m.make(ops.ROUND_EVEN, u.high))
        return both(where, both(is_whole, m.less_(m.abs_(u.high), m.number(900.0))))
    assert function.exact_at is not None
    return both(where, m.equal_(u.high, m.number(function.exact_at)))


def _far(m: Bounded, function: Function, u: DoubleWord, change: Expression) -> Expression | None:
    """The condition that the function is next to its limit, or vast, whatever the large operand's error.

    There `FUNCTIONS` have what the rule is wrong by. atan comes to its limit later.
    """
    size = m.abs_(u.high)
    if m.follows_far and function.saturates:
        is_far = both(m.less_(m.number(2 * FARTHEST), size), m.is_finite_(size))
        return both(is_far, m.less_(m.mul_(change, m.number(2.0**48)), size))
    if not m.follows_vast or function.name == "atan" or "unknown" in function.of_vast:
        return None
    return both(m.less_(m.number(FAR), size), m.less_(m.mul_(change, m.number(2.0)), size))


def _beyond_range(m: Bounded, function: Function, made: Bound, u: DoubleWord, saturated: Expression | None) -> Bound:
    """The bound with what is known of vast values and of NaN."""
    nan = either(u.error.nan, beyond_range.outside(m, u, *function.domain))
    of_vast = u.error.vast
    if of_vast is None:
        return replace(made, nan=nan, vast=saturated, vast_exponent=beyond_range.SATURATED)
    is_positive = m.less_(m.number(0.0), u.high)
    known: dict[str, Expression | None] = {"vast": None, "limit": None, "unknown": None}
    for kind, side in zip(function.of_vast, (is_positive, m.not_(is_positive)), strict=True):
        known[kind] = either(known[kind], both(of_vast, side))
    absolute, doubt = made.absolute, made.doubt
    if known["limit"] is not None and absolute is not None:
        absolute = m.select_(known["limit"], m.number(0.0), absolute)
    doubt = either(doubt, known["unknown"])
    return replace(
        made,
        nan=nan,
        absolute=absolute,
        doubt=doubt,
        vast=either(except_where(saturated, of_vast), known["vast"]),
        vast_exponent=beyond_range.LEAST,
    )


def _beyond(m: Bounded, function: Function, u: DoubleWord) -> Beyond | None:
    """An exact number that the result lies beyond, however near it comes to that."""
    zero = m.number(0.0)
    if function.is_below_one:
        return _beyond_one(m, u)
    if function.zero_at is not None:  # positive, also where it has underflowed
        end = m.number(function.zero_at)
        is_above = m.less_(end, u.high) if function.zero_at < 0 else m.less_(u.high, end)
        beyond_zero = Beyond(zero, zero, is_above, nowhere())
        if function.other_limit is None or not m.follows_exactness:
            return beyond_zero
        is_far, is_finite = _is_far(m, u, is_positive=function.zero_at < 0)
        below_limit = Beyond(m.number(function.other_limit), zero, nowhere(), is_finite)
        return ties.chosen(m, is_far, below_limit, beyond_zero)
    found = _beyond_zero(m, function, u)
    if function.lower_limit is None or not m.follows_exactness:
        return found
    is_far, is_finite = _is_far(m, u, is_positive=False)
    return ties.chosen(m, is_far, Beyond(m.number(function.lower_limit), zero, is_finite, nowhere()), found)


def _beyond_zero(m: Bounded, function: Function, u: DoubleWord) -> Beyond | None:
    """For a function that is linear at zero the number that its operand lies beyond, where that is zero."""
    zero, near = m.number(0.0), u.error.beyond
    if not function.grows_as_operand or near is None or (near.high is zero and near.low is zero):
        return near if function.grows_as_operand else None
    if not (m.follows_zeros or m.follows_exactness):
        return None
    at_zero = both(m.equal_(near.high, zero), m.equal_(near.low, zero))
    return Beyond(zero, zero, both(at_zero, near.is_above), both(at_zero, near.is_below))


def _is_far(m: Bounded, u: DoubleWord, *, is_positive: bool) -> tuple[Expression, Expression]:
    """Whether a number lies beyond 1, or -1; and whether it is finite."""
    zero, size = m.number(0.0), m.abs_(u.high)
    is_far = both(m.less_(*((zero, u.high) if is_positive else (u.high, zero))), m.less_(m.number(1.0), size))
    total = m.total(u)
    if total is not None:
        is_far = both(is_far, m.less_(total, m.number(0.5)))
    return is_far, m.less_(size, m.number(math.inf))


def _beyond_one(m: Bounded, u: DoubleWord) -> Beyond:
    """For a finite number that is not zero tanh and erf lie between 0 and 1, however near to 1; where u is known well."""
    zero = m.number(0.0)
    total = m.total(u)
    known = node(
        ops.AND,
        (m.less_(m.abs_(u.high), m.number(math.inf)), m.less_(zero if total is None else total, m.abs_(u.high))),
        None,
        Format.BIT,
    )
    is_negative = m.less_(u.high, zero)
    is_above, is_below = (both(known, side) for side in (is_negative, m.not_(is_negative)))
    return Beyond(m.make(ops.COPY_SIGN, m.number(1.0), u.high), zero, is_above, is_below)


def condition_within(function: Function, lies: Interval, farthest: float = math.inf) -> float:
    """No less than the condition number of operands in an interval; infinite where that is not bounded. Those of more than
    1,000 are of saturated rules: ``farthest`` is the one of a rule that reaches farther.
    """
    for interval, condition in function.conditions:
        if condition > 1000 and farthest < math.inf:
            condition = farthest
        if lies.within(interval.low, interval.high):
            size = lies.largest_magnitude
            most = 2 * size * size + 2 if function.is_of_square else max(2.0, size + 1)
            return min(condition, most)
    return math.inf


def _change(m: Bounded, function: Function, u: DoubleWord, error: Bound, lies: Interval) -> float | Expression:
    """The relative error that the operand's makes, as a number; or the absolute error of the operand, to be magnified."""
    if error.is_relative:
        if function.is_logarithm:
            return error.relative * SLACK
        change = condition_within(function, lies, FARTHEST + 1 if m.of_doubles else math.inf) * error.relative * SLACK
        if change <= m.useful:
            return change
    total = m.total(u)
    assert total is not None
    return total


def _of_power(m: Bounded, own: Bound, result: DoubleWord, x: DoubleWord, y: DoubleWord) -> DoubleWord:
    """The relative error of a power: y times that of x, and that of y times the logarithm of the power.

    Numbers of float64 have logarithms below 760, so if one number bounds the relative error of y it is that many times
    larger in the power, as far as this is one. Otherwise ``y e(x) / x + log(x) e(y)``.
    """
    base, x, y = x, m.renormalised(m.unscaled(x)), m.renormalised(m.unscaled(y))
    doubt = either(x.error.doubt, y.error.doubt, x.error.vast, y.error.vast)
    relative = own.relative
    change: Expression | None = None
    size, exponent = m.abs_(x.high), m.abs_(y.high)
    if not x.error.is_exact:
        if x.error.is_relative and y.error.is_exact and y.high.operation is ops.CONSTANT:
            relative += abs(y.high.attribute) * x.error.relative * SLACK
        elif x.error.is_relative:
            change = m.mul_(exponent, m.number(x.error.relative * SLACK))
        else:
            total = m.total(x)
            assert total is not None
            change = m.mul_(exponent, m.div_(total, size))
            doubt = either(doubt, m.doubt_of(m.compare(ops.LESS, x, m.wide(0.0))))
    if not y.error.is_exact:
        # Whether it is an odd integer, an integer or none decides about negative numbers and -0.
        exactly = m.are_exact(y) if m.follows_exactness or m.follows_rests else None
        doubt = either(doubt, except_where(m.less_equal_(x.high, m.number(0.0)), exactly))
        if y.error.is_relative:
            relative += 760 * y.error.relative * SLACK
        else:
            total = m.total(y)
            assert total is not None
            doubt = either(doubt, m.doubt_of(m.compare(ops.LESS, y, m.wide(0.0))))
            grown = m.mul_(total, _largest_logarithm(m, size))
            change = grown if change is None else m.add_(change, grown)
    if x.low is not None:
        # An infinite power of 1 is 1, that of what is next to 1 is not; and what is too near has no logarithm of two words.
        low = m.abs_(m.low_part(x))
        is_beside = both(m.equal_(size, m.number(1.0)), m.less_(m.number(0.0), low))
        is_far = either(m.equal_(exponent, m.number(math.inf)), m.less_(low, m.number(NEXT_TO_ONE)))
        doubt = either(doubt, both(is_beside, is_far or nowhere()))
    if not y.error.is_exact:  # 0, infinity and NaN have powers of 0 that powers of less than all numbers are not
        is_ordinary = both(m.less_(m.number(0.0), size), m.less_(size, m.number(math.inf)))
        unknown = both(m.equal_(exponent, m.number(0.0)), m.not_(is_ordinary))
        doubt = either(doubt, except_where(unknown, m.is_zero(y) if m.follows_exactness else exactly))
    if not relative <= LARGEST_OF_POWERS:
        return replace(result, error=Bound(own.relative, doubt=m.always, nan=_nan_of_power(m, x, y)))
    absolute = None
    if change is not None:
        doubt = either(doubt, m.not_less(change, m.number(2.0**-10)))
        absolute = m.mul_(m.mul_(change, m.abs_(result.high)), m.number(1.01))  # beside the result's power of two
    if not m.extended and not (x.error.bits and x.error.bits <= 24):  # the rule takes subnormal numbers for normal ones
        doubt = either(doubt, m.less_(size, m.number(m.smallest_normal)))
    doubt = either(doubt, _out_of_range(m, base, x))
    static = LOST if m.is_own else UNDERFLOW
    if (
        m.of_doubles and m.is_long and result.exponent is not None
    ):  # so nothing underflows; what is far below all is clamped
        is_clamped = m.less_(result.exponent, m.number(-FARTHEST / 2))
        absolute, static = m._sum_of(absolute, m.select_(is_clamped, m.number(4.0), m.number(0.0))), 0.0
    error = Bound(relative, static, absolute, doubt, nan=_nan_of_power(m, x, y))
    if m.follows_exactness:
        result, error = _with_facts_of_power(m, result, error, x, y)
    if m.follows_far and result.exponent is not None:
        is_number = both(m.less_(m.number(0.0), m.abs_(result.high)), m.is_finite_(result.high))
        error = replace(error, vast=both(is_number, m.less_(m.number(FARTHEST / 2), m.abs_(result.exponent))))
    elif m.follows_exactness and result.exponent is not None:
        error = replace(error, vast=m.less_(m.number(VAST_POWER), result.exponent), vast_exponent=int(VAST_POWER) - 10)
    return replace(result, error=error)


def _with_facts_of_power(
    m: Bounded, result: DoubleWord, error: Bound, x: DoubleWord, y: DoubleWord
) -> tuple[DoubleWord, Bound]:
    """A power with what is known of its sign, and where it is exact. Whether y is whole is in doubt for no positive number."""
    is_known, sign = y.error.is_exact, m.keeps_sign(x)
    if sign is not None and not is_known:
        sign = both(sign, m.less_(m.number(0.0), x.high))
    beyond = _beside_one(m, x, y) if is_known and x.error.is_exact else None
    error = replace(error, keeps_sign=sign, beyond=beyond)
    zero, are_exact = m.is_zero(x), m.are_exact(x, y)
    if zero is not None:
        zero = both(zero, m.less_(m.number(0.0), y.high))
        result, error = _zero_where(m, zero, result), replace(error, exactly=zero)
    whole = None if are_exact is None or not x.error.is_exact else _whole_power(m, result, x, y)
    if whole is not None:
        whole = both(whole, are_exact or m.always)
        result = m.renormalised(result)
        result = replace(result, low=m.select_(whole, m.number(0.0), m.low_part(result)))
        error = replace(error, exactly=either(error.exactly, whole))
    return result, error


def _clamped(m: Bounded, a: DoubleWord) -> Expression | None:
    """The condition that the power of two of a power in float64's own kernels was moved to FARTHEST: that is no number to go on with."""
    if not m.is_own or a.exponent is None:
        return None
    size = m.abs_(a.high)
    is_number = both(m.less_(m.number(0.0), size), m.less_(size, m.number(math.inf)))
    return both(is_number, m.less_(m.number(FARTHEST), m.abs_(a.exponent)))


def _out_of_range(m: Bounded, a: DoubleWord, unscaled: DoubleWord) -> Expression | None:
    """The condition that float64 cannot hold a number without the power of two beside it."""
    if not (m.of_doubles and m.is_long) or a.exponent is None:
        return None
    if a.low is None and a.error.is_exact:  # a subnormal number of one word may have all bits
        return m.not_(m.equal_(m.scale_(unscaled.high, m.neg_(a.exponent)), a.high))
    size, mantissa = m.abs_(unscaled.high), m.abs_(a.high)
    in_range = both(m.less_equal_(m.number(m.smallest_normal), size), m.less_(size, m.number(math.inf)))
    is_number = both(m.less_(m.number(0.0), mantissa), m.less_(mantissa, m.number(math.inf)))
    return both(is_number, m.not_(in_range))


def _whole_power(m: Bounded, result: DoubleWord, x: DoubleWord, y: DoubleWord) -> Expression | None:
    """Where the whole power of a whole number, or of a power of two, is one of float64: the first word is nearest to it."""
    if x.low is not None:
        return None
    size = m.abs_(m.unscaled(replace(result, error=UNKNOWN)).high)
    has_power = both(m.equal_(y.high, m.round_even_(y.high)), m.equal_(m.low_part(y), m.number(0.0)))
    is_whole = both(m.equal_(x.high, m.round_even_(x.high)), m.less_equal_(m.number(0.0), y.high))
    is_whole = both(is_whole, both(m.less_equal_(m.number(1.0), size), m.less_(size, m.number(2.0**52))))
    is_power = both(
        m.is_power_of_two_(x.high), both(m.less_(m.number(2.0**-900), size), m.less_(size, m.number(2.0**900)))
    )
    found = either(is_whole, is_power)
    return both(has_power, found)


def _beside_one(m: Bounded, x: DoubleWord, y: DoubleWord) -> Beyond | None:
    """Powers of positive numbers lie above 1 or below it, as near as they may be."""
    if x.low is not None or y.low is not None:
        return None
    zero, one = m.number(0.0), m.number(1.0)
    larger, smaller = m.less_(one, x.high), both(m.less_(zero, x.high), m.less_(x.high, one))
    positive, negative = m.less_(zero, y.high), m.less_(y.high, zero)
    above = either(both(larger, positive), both(smaller, negative))
    below = either(both(larger, negative), both(smaller, positive))
    return Beyond(one, zero, above, below)


def _zero_at(m: Bounded, end: float, operand: DoubleWord, a: DoubleWord) -> DoubleWord:
    """The number, which is zero of an infinite operand: a quotient of two such numbers is NaN, and so is the product with an infinity.

    Rules move operands to where the result is next to nothing.
    """
    if m.is_bounded(operand.interval):
        return a
    is_end, zero = m.equal_(m.unscaled(operand).high, m.number(end)), m.number(0.0)
    high, low = (None if part is None else m.select_(is_end, zero, part) for part in (a.high, a.low))
    assert high is not None
    return replace(a, high=high, low=low)


def _zero_where(m: Bounded, where: Expression, a: DoubleWord) -> DoubleWord:
    """The number, or zero of its sign: an exponential underflows with a mantissa that is not zero."""
    high, low = (
        None if part is None else m.select_(where, m.mul_(part, m.number(0.0)), part) for part in (a.high, a.low)
    )
    assert high is not None
    return replace(a, high=high, low=low, mantissa=a.stored | Interval.point(0.0))


def _nan_of_power(m: Bounded, x: DoubleWord, y: DoubleWord) -> Expression | None:
    """The condition that a finite negative number is raised to a power that is certainly no integer."""
    if not (m.follows_nan and y.error.is_known):
        return None
    below = beyond_range.outside(m, x, below=0.0)
    value = m.single(y)
    nearest = m.make(ops.ROUND_EVEN, value)
    if y.error.is_exact and y.low is None:
        is_whole = m.equal_(value, nearest)
    else:
        total, margin = m.total(y), m.mul_(m.abs_(value), m.number(2.0**-52))
        margin = margin if total is None else m.fma_(total, m.number(1 + 2.0**-30), margin)
        is_whole = m.not_(m.less_(margin, m.abs_(m.sub_(value, nearest))))
    where = except_where(both(m.less_(m.number(-math.inf), x.high), m.is_finite_(y.high)), is_whole)
    where = except_where(where, y.error.doubt)
    return both(below, where)


def _largest_logarithm(m: Bounded, size: Expression) -> Expression:
    """More than ``abs(log(size))``, of normal numbers: by the exponent."""
    exponent = node(ops.SUBTRACT, (m.shift_right_(m.bits_(size), 52), m.whole(1023)), None, Format.I64)
    return m.add_(m.abs_(in_format(exponent, Format.F64)), m.number(1.0))


def _of_atan2(m: Bounded, own: Bound, result: DoubleWord, y: DoubleWord, x: DoubleWord) -> DoubleWord:
    """Relative errors add up, because abs(sin(a) cos(a)) is at most abs(a); absolute ones are divided by the distance."""
    if m.of_doubles and not (y.exponent is None and x.exponent is None):
        y, x, _ = m.with_common_exponent(y, x)
    y, x = m.unscaled(y), m.unscaled(x)
    doubt = either(x.error.doubt, y.error.doubt, x.error.vast, y.error.vast)
    relative = own.relative + (x.error.relative + y.error.relative) * SLACK
    absolute = None
    if not (x.error.is_relative and y.error.is_relative):
        parts = [m.total(a) for a in (x, y)]
        both = m.add_(*(m.number(0.0) if part is None else part for part in parts))
        a, b = m.abs_(x.high), m.abs_(y.high)
        distance = m.select_(m.less_(a, b), b, a)
        doubt = either(doubt, m.not_less(m.mul_(both, m.number(2.0**10)), distance))
        doubt = either(doubt, m.doubt_of(m.compare(ops.LESS, x, m.wide(0.0))))
        doubt = either(doubt, m.doubt_of(m.compare(ops.LESS, y, m.wide(0.0))))
        absolute = m.mul_(m.div_(both, distance), m.number(1.01))
    static = LOST if m.is_own else UNDERFLOW
    return replace(result, error=Bound(relative, static, absolute, doubt, nan=beyond_range.of_nan(x, y)))


def _of_remainder(m: Bounded, result: DoubleWord, x: DoubleWord, y: DoubleWord) -> Bound:
    """Exact, of exact numbers of one word. It is a multiple of the last bit of y, or x."""
    doubt = either(x.error.doubt, y.error.doubt, x.error.vast, y.error.vast)
    bits = max(x.error.bits, y.error.bits) if x.error.bits and y.error.bits else None
    nan = beyond_range.of_nothing(m, result, x, y) if m.follows_exactness else None
    return Bound(0.0, 0.0, None, doubt, bits, 0.0, min(x.error.largest, y.error.largest), nan=nan)


OF_TWO: dict[str, Callable[..., DoubleWord]] = {"atan2": _of_atan2, "power": _of_power}

assert NEXT_TO_NOTHING >= UNDERFLOW

"""Numbers as sums of products of shared numbers: equal terms cancel before a number is computed.

``(exp(x) + 1) - exp(x)`` is 1 for every x, and at 1e10 no computer has the bits that tell. A value remembers the operation that made
it. Where bits of a sum are lost, or a number could be on either side of a fraction, it is written as a quotient of two sums here. Each
term is a fraction times powers of factors. ``exp(a) * exp(b)`` is ``exp(a + b)``, and cosh, tanh and the logistic function are
sums of exponentials. So equal terms are found, and what remains is computed. Exponentials of different fractions have no sum with
rational coefficients that is zero (Lindemann and Weierstrass), so such sums are decided.

A number that no rule here knows is a factor of its own. So are sums of too many terms: then more bits have to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import isqrt
from typing import Any, NamedTuple

from ogive.errors import needed
from ogive.graph import operations as ops

#: The most terms of a sum, the most operations between a number and its factors, and the largest power that is multiplied out.
_MOST_TERMS, _MOST_STEPS, _MOST_FACTORS = 40, 30, 4

#: The length of coefficients, in bits.
_LONGEST = 20_000


class Factor(NamedTuple):
    """A real number that products have powers of."""

    kind: str
    """``exp`` of a product; ``number``, which is a value or a fraction; ``apart``, the distance of a value from the fraction that it is
    beside; ``log`` of a factor; ``log1p`` of a quotient; ``root1p``, which is ``sqrt(1 + q) - 1``."""
    of: Any


#: Factors and their exponents, which are fractions. Factors with broken exponents are positive.
Product = frozenset[tuple[Factor, Any]]

#: Products and their coefficients, none of which is zero.
Terms = dict[Product, Any]

ONE: Product = frozenset()


class Quotient(NamedTuple):
    """A number as a quotient of two sums."""

    over: Terms
    under: Terms

    @property
    def frozen(self) -> tuple[frozenset[tuple[Product, Any]], frozenset[tuple[Product, Any]]]:
        return frozenset(self.over.items()), frozenset(self.under.items())


def _melted(frozen: tuple[frozenset[tuple[Product, Any]], frozenset[tuple[Product, Any]]]) -> Quotient:
    return Quotient(*map(dict, frozen))


class _TooLong(Exception):
    """There would be too many terms, or a rule does not hold: the number is a factor."""


@cache
def flint() -> Any:
    """python-flint, which is loaded for the first element that is decided."""
    with needed("exact results", "python-flint", "python-flint", "flint"):
        import flint
    return flint


def exact_root(q: Any, degree: int) -> Any:
    """The root of a positive fraction, if that is one; else None."""
    roots = []
    for n in (int(q.p), int(q.q)):
        root = isqrt(n) if degree == 2 else _integer_root(n, degree)
        if root**degree != n:
            return None
        roots.append(root)
    return flint().fmpq(*roots)


def _integer_root(n: int, degree: int) -> int:
    """The integer part of a root."""
    low, high = 0, 1 << (n.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**degree <= n:
            low = middle
        else:
            high = middle - 1
    return low


# ---- sums, products and quotients


def _constant(value: Any) -> Terms:
    return {ONE: flint().fmpq(value)} if value else {}


def _add_to(found: dict[Any, Any], key: Any, more: Any) -> None:
    """Add a number that is not zero to that of a key, which goes where they cancel."""
    total = found.get(key, 0) + more
    if total:
        found[key] = total
    else:
        del found[key]


def _product(a: Product, b: Product) -> Product:
    """The product of products."""
    found = dict(a)
    for factor, exponent in b:
        _add_to(found, factor, exponent)
    return frozenset(found.items())


def _plus(a: Terms, b: Terms, factor: Any = 1) -> Terms:
    """The sum of a and a multiple of b."""
    found = dict(a)
    for product, coefficient in b.items():
        _add_to(found, product, coefficient * factor)
    return _short(found)


def _term(product: Product, coefficient: Any) -> tuple[Product, Any]:
    """A term, in whose coefficient powers of fractions stand."""
    for factor, n in product:
        is_fraction = factor.kind == "number" and not hasattr(factor.of, "kind") and n.q == 1
        if is_fraction and factor.of.height_bits() * abs(n) < _LONGEST:
            product, coefficient = product - {(factor, n)}, coefficient * factor.of ** int(n.p)
    return product, coefficient


def _times(a: Terms, b: Terms) -> Terms:
    if len(a) * len(b) > _MOST_TERMS**2:
        raise _TooLong
    found: Terms = {}
    for product, coefficient in a.items():
        for other, n in b.items():
            _add_to(found, *_term(_product(product, other), coefficient * n))
    return _short(found)


def _short(terms: Terms) -> Terms:
    if len(terms) > _MOST_TERMS or any(n.height_bits() > _LONGEST for n in terms.values()):
        raise _TooLong
    return terms


def _power(product: Product, exponent: Any) -> Product:
    return frozenset((factor, n * exponent) for factor, n in product)


def _divided(over: Terms, under: Terms) -> Quotient:
    """A quotient; one with a single term below has 1 there."""
    if not under:
        raise _TooLong
    if len(under) == 1:
        ((product, coefficient),) = under.items()
        return _of_terms(_times(over, {_power(product, -1): 1 / coefficient}))
    return Quotient(over, under)


def _sum(a: Quotient, b: Quotient, factor: Any = 1) -> Quotient:
    if a.under == b.under:
        return _divided(_plus(a.over, b.over, factor), a.under)
    return _divided(_plus(_times(a.over, b.under), _times(b.over, a.under), factor), _times(a.under, b.under))


def _quotient(a: Quotient, b: Quotient) -> Quotient:
    return _divided(_times(a.over, b.under), _times(a.under, b.over))


def _of_terms(terms: Terms) -> Quotient:
    return Quotient(terms, _constant(1))


def _one() -> Quotient:
    return _of_terms(_constant(1))


def _only(a: Quotient) -> Terms:
    """The sum that a quotient by 1 is."""
    if a.under != _constant(1):
        raise _TooLong
    return a.over


def _single(factor: Factor, exponent: Any = 1) -> Terms:
    return {frozenset({(factor, flint().fmpq(exponent))}): flint().fmpq(1)}


# ---- functions


def _exponential(a: Quotient) -> Quotient:
    """The exponential: a product of powers of exponentials, and of what logarithms in the sum are of."""
    found, rest = ONE, _constant(1)
    for product, coefficient in _only(a).items():
        factor, n = next(iter(product)) if len(product) == 1 else (Factor("exp", product), 0)
        if n == 1 and factor.kind == "log":
            found = _product(found, frozenset({(factor.of, coefficient)}))
        elif n == coefficient == 1 and factor.kind == "log1p":
            rest = _times(rest, _only(_sum(_one(), _melted(factor.of))))
        else:
            found = _product(found, frozenset({(Factor("exp", product), coefficient)}))
    return _of_terms(_times(rest, {found: flint().fmpq(1)}))


def _logarithm_of(product: Product, coefficient: Any) -> Terms:
    """That of a positive number."""
    if coefficient <= 0 or not _is_positive(product):
        raise _TooLong
    found = _single(Factor("log", Factor("number", coefficient))) if coefficient != 1 else {}
    for factor, n in product:
        one = {factor.of: flint().fmpq(1)} if factor.kind == "exp" else _single(Factor("log", factor))
        found = _plus(found, one, n)
    return found


def _logarithm(a: Quotient) -> Quotient:
    found: Terms = {}
    for terms, way in ((a.over, 1), (a.under, -1)):
        (product, coefficient), more = _led(terms)
        found = _plus(found, _logarithm_of(product, coefficient), way)
        if more is not None:
            found = _plus(found, _single(Factor("log1p", more.frozen)), way)
    return _of_terms(found)


def _root(a: Quotient) -> Quotient:
    roots = []
    for terms in a:
        (product, coefficient), more = _led(terms)
        of_coefficient = exact_root(coefficient, 2) if coefficient > 0 else None
        if of_coefficient is None or not _is_positive(product):
            raise _TooLong
        root = {_power(product, flint().fmpq(1, 2)): of_coefficient}
        if more is not None:
            root = _plus(root, _times(root, _single(Factor("root1p", more.frozen))))
        roots.append(root)
    return _divided(*roots)


def _is_positive(product: Product) -> bool:
    return all(_sign_of(factor) > 0 for factor, _ in product)


def _sign_of(factor: Factor) -> int:
    """1, -1, or 0 where it is not known."""
    if factor.kind in ("exp", "apart"):
        return 1
    if factor.kind in ("log1p", "root1p"):
        return sign(_melted(factor.of))
    if factor.kind == "number" and hasattr(factor.of, "kind"):
        return int(factor.of.sign)
    number = _ball_of(factor)
    return 1 if number > 0 else -1 if number < 0 else 0


def _led(terms: Terms) -> tuple[tuple[Product, Any], Quotient | None]:
    """The term that is larger than all others together, and these as a multiple of it; None where there are none."""
    if not terms:
        raise _TooLong
    found, *others = terms.items()
    for other in others:
        found = other if abs(_ball_of_sum(_divided(dict([found]), dict([other])).over)) < 1 else found
    if not others:
        return found, None
    more = _divided({p: n for p, n in terms.items() if p != found[0]}, dict([found]))
    if not abs(_ball_of_sum(more.over)) < 1:
        raise _TooLong
    return found, more


def _with_exponential(*terms: tuple[Any, Any]) -> Callable[[Quotient], Quotient]:
    """A function that is a sum of multiples of ``exp(k * x)``."""

    def function(a: Quotient) -> Quotient:
        found = _of_terms({})
        for coefficient, k in terms:
            power = _exponential(_of_terms(_plus({}, _only(a), k))) if k else _one()
            found = _sum(found, power, coefficient)
        return found

    return function


def _over(
    above: Callable[[Quotient], Quotient], below: Callable[[Quotient], Quotient]
) -> Callable[[Quotient], Quotient]:
    return lambda a: _quotient(above(a), below(a))


def _integer_power(a: Quotient, b: Quotient) -> Quotient:
    """A power with an exponent that is an integer; a positive fraction to the power of any sum."""
    exponent, base = _only(b), fraction(a)
    if base is not None and base > 0 and set(exponent) <= {ONE}:
        power = frozenset({(Factor("number", base), exponent[ONE])}) if exponent else ONE
        return _of_terms(dict([_term(power, flint().fmpq(1))]))
    n = exponent.get(ONE, flint().fmpq(0))
    if set(exponent) - {ONE} or n.q != 1 or abs(n) > _MOST_FACTORS:
        raise _TooLong
    found = _one()
    for _ in range(abs(int(n.p))):
        found = Quotient(_times(found.over, a.over), _times(found.under, a.under))
    return _divided(*found) if n > 0 else _divided(found.under, found.over)


_ONE_AND_MORE = _with_exponential((1, 0), (1, 1))

#: Operations and functions of numbers that are quotients of sums.
RULES: dict[str, Callable[..., Quotient]] = {
    ops.ADD: _sum,
    ops.MULTIPLY: lambda a, b: _divided(_times(a.over, b.over), _times(a.under, b.under)),
    ops.DIVIDE: _quotient,
    ops.NEGATE: lambda a: _sum(_of_terms({}), a, -1),
    ops.SQUARE_ROOT: _root,
    "power": _integer_power,
    "exp": _exponential,
    "exp2": lambda a: _integer_power(_of_terms(_constant(2)), a),
    "expm1": _with_exponential((1, 1), (-1, 0)),
    "log": _logarithm,
    "log1p": lambda a: _logarithm(_sum(_one(), a)),
    "atanh": lambda a: _of_terms(
        _plus({}, _only(_logarithm(_quotient(_sum(_one(), a), _sum(_one(), a, -1)))), _half())
    ),
    "sinh": lambda a: _with_exponential((_half(), 1), (-_half(), -1))(a),
    "cosh": lambda a: _with_exponential((_half(), 1), (_half(), -1))(a),
    "tanh": _over(_with_exponential((1, 2), (-1, 0)), _with_exponential((1, 2), (1, 0))),
    "logistic": _over(_with_exponential((1, 1)), _ONE_AND_MORE),
    "logistic_slope": _over(_with_exponential((1, 1)), _with_exponential((1, 0), (2, 1), (1, 2))),
    "tanh_slope": _over(_with_exponential((4, 2)), _with_exponential((1, 0), (2, 2), (1, 4))),
}


_MAY_DIVIDE, _FINITE = (ops.DIVIDE, "power"), ("zero", "fraction", "ball")


def _half() -> Any:
    return flint().fmpq(1, 2)


# ---- values


def written(value: Any, steps: int = _MOST_STEPS) -> Quotient:
    """A finite value as a quotient of two sums. It remembers that."""
    if value.written is None:
        value.written = _written(value, steps)
    found: Quotient = value.written
    return found


def _written(value: Any, steps: int) -> Quotient:
    if value.kind != "ball":
        return _of_terms(_constant(0 if value.kind == "zero" else value.fraction))
    operation, operands = value.made_by or ("", ())
    rule = RULES.get(operation)
    # A number without a sign may be zero, and must not be cancelled below a line.
    is_known = all(operand.sign for operand in operands) or operation not in _MAY_DIVIDE
    if rule is not None and steps and is_known and all(operand.kind in _FINITE for operand in operands):
        try:
            return rule(*(written(operand, steps - 1) for operand in operands))
        except _TooLong:
            pass
    if value.beside is not None and value.beside.apart is not None:
        fraction, side, _ = value.beside
        try:
            return _of_terms(_plus(_constant(fraction), _single(Factor("apart", value)), side))
        except _TooLong:
            pass
    return _of_terms(_single(Factor("number", value)))


def fraction(a: Quotient) -> Any:
    """The fraction that a quotient is; None where that is not seen."""
    if not a.over:
        return flint().fmpq(0)
    if a.over.keys() != a.under.keys():
        return None
    shares = {n / a.under[product] for product, n in a.over.items()}
    return shares.pop() if len(shares) == 1 else None


def ball(a: Quotient) -> Any:
    return _ball_of_sum(a.over) / _ball_of_sum(a.under)


def sign(a: Quotient) -> int:
    """1 or -1; 0 of zero, and where it is not known."""
    found = 1 if a.over else 0
    for terms in a:
        if found:
            total = _ball_of_sum(terms)
            found *= 1 if total > 0 else -1 if total < 0 else _sign_of_largest(terms)
    return found


def _sign_of_largest(terms: Terms) -> int:
    """The sign of a sum, which is that of its largest term."""
    try:
        (product, coefficient), _ = _led(terms)
    except _TooLong:
        return 0
    found = 1 if coefficient > 0 else -1
    for factor, n in product:
        if n.q == 1 and n.p % 2:
            found *= _sign_of(factor)
    return found


def size(a: Quotient) -> Any:
    """A ball of the logarithm of the magnitude, of numbers too that no ball has room for; without bounds where that is not known."""
    try:
        return _size_of_sum(a.over) - _size_of_sum(a.under)
    except _TooLong:
        return flint().arb("nan")


def _size_of_sum(terms: Terms) -> Any:
    (product, coefficient), more = _led(terms)
    found = abs(flint().arb(coefficient)).log()
    if more is not None:
        found += _ball_of_sum(more.over).log1p()
    for factor, n in product:
        found += (_ball_of_product(factor.of) if factor.kind == "exp" else abs(_ball_of(factor)).log()) * n
    return found


def _ball_of_sum(terms: Terms) -> Any:
    arb = flint().arb
    return sum((arb(n) * _ball_of_product(product) for product, n in terms.items()), arb(0))


def _ball_of_product(product: Product) -> Any:
    arb = flint().arb
    exponent, found = arb(0), arb(1)
    for factor, n in product:
        if factor.kind == "exp":
            exponent += _ball_of_product(factor.of) * n
        elif n.q == 1 and abs(n) <= _MOST_FACTORS:  # a ball about zero has no logarithm
            for _ in range(abs(int(n.p))):
                found = found * _ball_of(factor) if n > 0 else found / _ball_of(factor)
        else:
            exponent += abs(_ball_of(factor)).log() * n
            found *= -1 if n.q == 1 and n.p % 2 and _sign_of(factor) < 0 else 1
    return found * exponent.exp()


def _ball_of(factor: Factor) -> Any:
    """A factor that is no exponential."""
    if factor.kind == "number":
        return factor.of.ball if hasattr(factor.of, "ball") else flint().arb(factor.of)
    if factor.kind == "apart":
        return factor.of.beside.apart()
    if factor.kind == "log":
        return _ball_of(factor.of).log()
    rest = ball(_melted(factor.of))
    return rest.log1p() if factor.kind == "log1p" else rest / (1 + (1 + rest).sqrt())

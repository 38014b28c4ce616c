"""Numbers written as sums of products of shared numbers are the same numbers."""

import random
from fractions import Fraction

import flint
import pytest

from ogive import formula as f
from ogive.enclosures import combinations
from ogive.enclosures.enclosure import Undecided, _rules, evaluated, of_number
from ogive.graph.expression import Format, node

x, y = (node("input", (), place, Format.NUMBER) for place in range(2))

ONE = [
    f.exp,
    f.expm1,
    f.log,
    f.log1p,
    f.square_root,
    f.cosh,
    f.sinh,
    f.tanh,
    f.logistic,
    f.atanh,
    f.exp2,
    f.sin,
    f.erf,
    abs,
]
TWO = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a + b - a]


def grown(random_: random.Random, depth: int, found: list):
    """A formula in which numbers are shared."""
    if depth == 0 or (found and random_.random() < 0.25):
        return random_.choice([x, y, random_.choice([1, -2, 3, 0.5]), *found[-3:]])
    if random_.random() < 0.45:
        made = random_.choice(ONE)(f.lift(grown(random_, depth - 1, found)))
    elif random_.random() < 0.1:
        made = f.power(f.lift(grown(random_, depth - 1, found)), random_.choice([-2, 2, 3]))
    else:
        made = random_.choice(TWO)(f.lift(grown(random_, depth - 1, found)), f.lift(grown(random_, depth - 1, found)))
    found.append(made)
    return made


def leaf(n, numbers):
    return numbers[n.attribute] if n.operation == "input" else of_number(n.attribute)


@pytest.mark.parametrize("seed", range(10))
def test_numbers_and_what_they_are_written_as_have_common_values(seed):
    random_, before, looked_at = random.Random(seed), flint.ctx.prec, 0
    for _ in range(15):
        root = f.lift(grown(random_, 5, []))
        numbers = [of_number(Fraction(random_.randint(-40, 40), random_.choice([1, 2, 3, 8]))) for _ in range(2)]
        try:
            flint.ctx.prec = 400
            value = evaluated(root, lambda n, given=numbers: leaf(n, given), _rules(False, 64))
        except (Undecided, ZeroDivisionError):
            continue
        finally:
            flint.ctx.prec = before
        if isinstance(value, bool) or value.kind != "ball" or not value.ball.is_finite():
            continue
        flint.ctx.prec = 400
        try:
            written = combinations.written(value)
            ball, size = combinations.ball(written), combinations.size(written)
            fraction, sign = combinations.fraction(written), combinations.sign(written)
        finally:
            flint.ctx.prec = before
        assert fraction is None or value.ball.overlaps(flint.arb(fraction)), root
        assert not ball.is_finite() or ball.overlaps(value.ball), root
        assert 0 in (sign, value.sign) or sign == value.sign, root
        assert not size.is_finite() or value.ball.contains(0) or size.overlaps(abs(value.ball).log()), root
        looked_at += ball.is_finite()
    assert looked_at > 3

"""The correctly rounded results: against MPFR, against NumPy's roundings, and where only exact arithmetic decides."""

import math
import random
from fractions import Fraction

import flint
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.catalog import OPERATORS
from ogive.common.dtypes import FLOATS, element_type
from ogive.enclosures import enclosure
from ogive.enclosures.enclosure import _rules, nearest, of_number, right_result
from ogive.errors import UnsupportedError
from ogive.graph.expression import OPERATIONS, ROW_NUMBERS, Format, node
from tests.inputs import special_values

x, y = (node("input", (), i, Format.NUMBER) for i in range(2))
half, brain, single, double, short = map(element_type, ("float16", "bfloat16", "float32", "float64", "int16"))


def right(root, *inputs, kind=single, **options):
    return right_result(root, inputs, {}, kind, **options)


def test_every_kind_of_node_has_a_rule():
    wanted = {row for row in OPERATIONS.values() if row.stages != "primitive" and row.arity}
    assert len(wanted) > 50
    # A choice is evaluated on its own; an approximation and a step of Newton's method stand in lowering's forms alone.
    assert wanted - {"select", "approximation", "threshold_step"} - ROW_NUMBERS == {
        row for row in wanted if _rules(False, 64).rule(row) is not None
    }


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_rounding_is_that_of_numpy(kind):
    generator = np.random.default_rng(0)
    info = np.finfo(np.float32) if kind.bits < 64 else np.finfo(np.float64)
    with np.errstate(all="ignore"):
        values = generator.standard_normal(3000) * np.exp2(generator.uniform(info.minexp - 30, info.maxexp, 3000))
        ends = special_values(kind)
        neighbours = np.nextafter(ends, kind.numpy.type(0)).astype(np.float64)
        ends = ends.astype(np.float64)
        values = np.concatenate([values, ends, ends / 2 + neighbours / 2])
        if kind is brain:  # from float32: ml_dtypes rounds float64 twice
            values = values.astype(np.float32).astype(np.float64)
        values = values[(values != 0) & np.isfinite(values)]
        expected = values.astype(np.float32 if kind is brain else kind.numpy).astype(kind.numpy).astype(np.float64)
    found = np.array([nearest(*float(value).as_integer_ratio(), kind.name) for value in values])
    assert found.tobytes() == expected.tobytes()


FUNCTIONS = {
    **{name: name for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: name for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "erf", "erfc")},
    "square_root": "sqrt",
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", [half, single, double], ids=str)
def test_functions_against_mpfr(name, kind):
    gmpy2 = pytest.importorskip("gmpy2", reason="MPFR, which the results are compared with")
    root = getattr(f, name)(x)
    generator = random.Random(name)
    points = [generator.choice([-1, 1]) * generator.uniform(1, 2) * 2.0 ** generator.randint(-40, 7) for _ in range(60)]
    points += [1 + 2.0**-52, 1 - 2.0**-53, math.pi, -math.pi / 2, 0.5, 88.7, -103.9, 709.7, -745.1]
    with gmpy2.context(gmpy2.get_context(), precision=400, emax=10**9, emin=-(10**9)):
        for point in np.array(points).astype(kind.numpy).astype(float):
            exact = getattr(gmpy2, FUNCTIONS[name])(gmpy2.mpfr(point))
            if gmpy2.is_finite(exact) and exact:
                n, d = exact.as_integer_ratio()
                expected = nearest(int(n), int(d), kind.name)
            else:
                expected = float(exact)
            found, is_decided = right(root, point, kind=kind)
            assert is_decided
            assert found == expected or (math.isnan(found) and math.isnan(expected)), point


def test_two_operands_against_mpfr():
    gmpy2 = pytest.importorskip("gmpy2", reason="MPFR, which the results are compared with")
    generator = random.Random(0)
    with gmpy2.context(gmpy2.get_context(), precision=400):
        for _ in range(100):
            a, b = generator.uniform(0.1, 10), generator.uniform(-20, 20)
            for root, exact in (
                (f.power(x, y), gmpy2.mpfr(a) ** gmpy2.mpfr(b)),
                (f.atan2(y, x), gmpy2.atan2(gmpy2.mpfr(b), gmpy2.mpfr(a))),
                (f.atan2(y, -x), gmpy2.atan2(gmpy2.mpfr(b), -gmpy2.mpfr(a))),
                (f.hypot(x, y), gmpy2.hypot(gmpy2.mpfr(a), gmpy2.mpfr(b))),
            ):
                n, d = exact.as_integer_ratio()
                assert right(root, a, b, kind=double) == (nearest(int(n), int(d), "float64"), True)
            assert right(f.remainder(y, x), a, b, kind=double) == (math.fmod(b, a), True)


@pytest.mark.matrix(share=16, pool="slow")
def test_special_values_are_those_of_the_operators():
    """Infinities, NaN and zeros: IEEE 754's rules for each node are the operators', signs of zeros included."""
    points = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, -3.0]
    compared = 0
    for op in OPERATORS.values():
        types = [s for s in op.signatures if {t.name for t in (*s.inputs, *s.outputs)} == {"float32"}]
        if op.is_row_wise or not types or op.nout > 1:
            continue
        values = op.checked_parameters({p.name: 1.5 for p in op.numeric_parameters if p.is_required})
        numbers = {p.name: float(np.float32(values[p.name])) for p in op.numeric_parameters}
        root = op.formula(**{p.name: values[p.name] for p in op.parameters if p.choices})[0]
        grid = np.array(np.meshgrid(*[points] * op.inputs)).reshape(op.inputs, -1).astype(np.float32)
        result = op(*grid, **values)
        for *inputs, found in zip(*grid, result, strict=True):
            if any(map(float.is_integer, map(float, inputs))) or not all(map(math.isfinite, inputs)):
                expected, _ = right_result(root, list(map(float, inputs)), numbers, single)
                same = np.float32(expected).tobytes() == found.tobytes()
                assert (
                    same
                    or abs(found - expected) <= abs(np.spacing(found)) > 0
                    or (math.isnan(expected) and math.isnan(found))
                ), (op.name, inputs, found, expected)
                compared += 1
    assert compared > 400


def test_ties_are_decided():
    smallest = 2.0**-149
    for n in range(1, 100):
        assert right(x / 2, n * smallest) == (round(n / 2) * smallest, True)  # Python's round takes ties to even
        assert right(x / 3 * 1.5, n * smallest) == (round(n / 2) * smallest, True)
        assert right(x * Fraction(1, 3) * 1.5, n * smallest) == (round(n / 2) * smallest, True)
        # x / 2 + x**2 / 4 and a little: above the tie.
        assert right(x * f.logistic(x), n * smallest) == ((n + 1) // 2 * smallest, True)
        assert right(f.tanh(x / 2), n * smallest) == (n // 2 * smallest, True)
    assert right(f.square_root(x * x), 1 + 2.0**-23) == (1 + 2.0**-23, True)
    assert right(f.power(x, 0.25), 81.0) == (3.0, True)
    assert right(f.cbrt(x), -27.0) == (-3.0, True)
    assert right(f.power(x, 2), 1 + 2.0**-12) == (1 + 2.0**-11, True)  # a tie with 2**-24


def test_what_is_beside_a_tie_by_very_little():
    """Far less than `BITS` bits can tell: 1.5 * exp(-32752) is about 2**-47251."""
    root = 0.75 * x + 1.5 * f.log1p(f.exp(x * -0.5))
    for point in (67.4375, 68.5625, 50.0, 2042.0, 65440.0, 65504.0):
        exact = Fraction(point) * 3 / 4
        found, is_decided = right(root, point, kind=half)
        assert is_decided
        low = nearest(exact.numerator, exact.denominator, "float16")
        above = exact + Fraction(1, 10**20)
        assert found == nearest(above.numerator, above.denominator, "float16") >= low
    assert right(root, 67.4375, kind=half)[0] == 50.59375
    found, is_decided = right(1 + f.tanh(x), -1e9)
    assert (str(found), is_decided) == ("0.0", True)
    found, is_decided = right(-1 - f.tanh(x), -1e9)
    assert (str(found), is_decided) == ("-0.0", True)
    assert right(10 + f.tanh(x), -1e30, kind=short) == (9, True)
    assert right(10 - f.exp(x), -1e30, kind=short) == (9, True)
    assert right(10 + f.exp(x), -1e30, kind=short) == (10, True)


def test_products_quotients_and_functions_beside_fractions():
    """A number next to 1, by far less than bits can tell, leaves products, quotients and roots next to something, too."""
    nearly_one, more, less = f.logistic(x), 1 + f.exp(-x), f.exp(-f.exp(-x))
    tie = 1 - Fraction(1, 1 << 25)
    below = float(np.nextafter(np.float32(1), np.float32(0)))
    above = float(np.nextafter(np.float32(1), np.float32(2)))
    for root in (nearly_one * nearly_one, nearly_one / more, f.square_root(nearly_one), less, f.cos(f.exp(-x))):
        assert right(root + (tie - 1), 1e30) == (below, True)
    for root in (more * more, more / nearly_one, 1 / nearly_one, f.square_root(more), f.cosh(f.exp(-x))):
        assert right(root + Fraction(1, 1 << 24), 1e30) == (above, True)
    assert right((x - f.logistic(x)) * (x - f.logistic(x)), -2.33646e12, kind=brain) == (5.440166188265831e24, True)
    assert right(1 / (nearly_one * nearly_one) + y, 1e30, 7.28125, kind=brain) == (8.3125, True)
    assert right(f.where(more > 1, 2, 3), 1e30) == (2.0, True)
    assert right(f.where(nearly_one < 1, 2, 3), 1e30) == (2.0, True)
    assert str(right(f.log(more) * y, 1e30, -1.0)) == "(-0.0, True)"


@pytest.mark.parametrize("at", [-1.1, 1.1, -3.0, 3.0])
def test_distances_of_products_and_quotients_have_the_signs_of_their_numbers(at):
    """Near -1 and 1 alike, the magnitude of a number is less than 1 by its distance."""
    number = 2 / (1 + math.exp(-2 * at)) - 1
    formulas = {
        1 - f.tanh(x) * f.tanh(x): 1 - number * number,
        1 - 1 / (f.tanh(x) * f.tanh(x)): 1 - 1 / (number * number),
        math.copysign(1, at) - 1 / f.tanh(x): math.copysign(1, at) - 1 / number,
        1 - f.square_root(f.tanh(x) * f.tanh(x)): 1 - abs(number),
        2 + f.tanh(x) * (1 + f.tanh(x)): 2 + number * (1 + number),
    }
    for root, expected in formulas.items():
        found, is_sure = right(root, at, kind=double)
        assert is_sure
        assert found == pytest.approx(expected, rel=1e-12)


def test_huge_values_on_the_way():
    assert right(f.exp(x) / (1 + f.exp(x)), 3e38) == (1.0, True)
    assert right(f.log(f.exp(x)), 3e38)[0] == pytest.approx(3e38)
    assert right(0.5 * f.exp(x), 89.0, kind=single)[0] == np.float32(0.5 * math.exp(89))
    assert right(f.exp(x), 1e300, kind=double) == (math.inf, True)
    assert right(f.exp(f.exp(x)), 1000.0, kind=double) == (math.inf, True)
    assert right(1 / f.exp(f.exp(x)), 1000.0, kind=double) == (0.0, True)
    assert right(f.sin(x), 1.7e308, kind=double)[0] == math.sin(1.7e308)


def test_what_many_bits_do_not_decide_is_taken_as_exact():
    one = f.sin(x) * f.sin(x) + f.cos(x) * f.cos(x)
    found = right(one - 1, 3.0)
    assert (str(found[0]), found[1]) == ("0.0", False)
    assert right(f.where(one <= 1, 1, 2), 3.0) == (1.0, False)
    assert right(f.floor(one), 3.0) == (1.0, False)
    assert right(one, 3.0, kind=short) == (1, False)
    assert right(one * 2.0**-150, 3.0) == (0.0, False)  # the tie of 0 and the smallest number


@pytest.fixture
def bits_used(monkeypatch):
    """The precisions at which values were rounded."""
    used = []
    plain = enclosure.rounded

    def rounded(*arguments):
        used.append(flint.ctx.prec)
        return plain(*arguments)

    monkeypatch.setattr(enclosure, "rounded", rounded)
    return used


IDENTITIES = {
    "circle": lambda v: f.sin(v) * f.sin(v) + f.cos(v) * f.cos(v) - 1,
    "angle": lambda v: f.sin(2 * v) - 2 * f.sin(v) * f.cos(v),
    "inverse": lambda v: f.cbrt(f.exp(v)) - f.exp(v / 3),
    "times": lambda v: -3 * (f.cbrt(f.exp(v)) * f.exp(-v / 3) - 1),
}

#: Differences of numbers made of the same ones.
EQUAL_TERMS = {
    "logistic": lambda v: f.logistic(v) + f.logistic(-v) - 1,
    "inverse": lambda v: f.log(f.exp(v)) - v,
    "inverses": lambda v: f.exp(f.log(abs(v))) - abs(v),
    "times": lambda v: -3 * (f.exp(v) * f.exp(-v) - 1),
    "hyperbolic": lambda v: f.cosh(v) * f.cosh(v) - f.sinh(v) * f.sinh(v) - 1,
    "sines": lambda v: f.sin(v) * f.exp(v) * v - v * f.exp(v) * f.sin(v),
}


@pytest.mark.parametrize("name", EQUAL_TERMS)
@pytest.mark.parametrize("kind", [half, double], ids=str)
def test_equal_terms_cancel_before_a_number_is_computed(name, kind, bits_used):
    for number in (0.7, -3.0, 20.0, 3e4):
        found, is_decided = right(EQUAL_TERMS[name](x), number, kind=kind)
        assert (found, math.copysign(1, found), is_decided) == (0, -1 if name == "times" else 1, True)
    assert max(bits_used) == 128


@pytest.mark.parametrize("name", IDENTITIES)
@pytest.mark.parametrize("kind", [half, brain, single, double], ids=str)
def test_what_is_zero_takes_few_bits(name, kind, bits_used):
    most = 650 if kind is not double else 2048
    for number in (0.7, -3.0, 20.0):
        found, is_decided = right(IDENTITIES[name](x), number, kind=kind)
        assert (found, math.copysign(1, found)) == (0, -1 if name == "times" else 1)
        assert not is_decided
        assert max(bits_used) <= most, bits_used


def test_signs_far_below_the_smallest_number(bits_used):
    """Zeros have the signs of what is rounded to them, by as many bits as that takes."""
    cases = [
        (f.tanh(x) - f.tanh(x + 100), 500.0, -1),
        (f.erf(x) - f.erf(x + 1), 25.0, -1),
        ((1 + f.exp(x)) - 1 - 2 * f.exp(x), -1000.0, -1),
        (f.tanh(x) - (x - x * x * x * Fraction(1, 3)), 2.0**-149, 1),
        ((x - x * x * x * Fraction(1, 3)) - f.tanh(x), 2.0**-149, -1),
        (f.exp(x) * (f.exp(y) - 1 - y), -300.0, 1),
    ]
    for root, number, sign in cases:
        found, is_decided = right(root, number, 2.0**-100)
        assert found == 0
        assert is_decided
        assert math.copysign(1, found) == sign, root
    assert max(bits_used) > 1000


def test_precision_grows_by_what_is_missing(bits_used):
    """exp(1500) has 2,165 bits before the point: three passes, not six."""
    assert right(f.cbrt(f.exp(x * 3)) - 1 - f.exp(x), 1500.0)[0] == -1
    assert len(bits_used) == 3, bits_used


def test_integers_need_no_sign_of_zero(bits_used):
    assert right(f.sin(x) * f.sin(x) + f.cos(x) * f.cos(x) - 1, 3.0, kind=short) == (0, True)
    assert max(bits_used) == 128


def test_only_the_branch_that_is_taken_is_evaluated():
    undecided = f.sin(x) * f.sin(x) + f.cos(x) * f.cos(x) - 1
    assert right(f.where(x > 0, x, f.sin(1 / undecided)), 3.0) == (3.0, True)


def test_integers_are_cut_off_once():
    assert right(x * -0.3 + 7, 10, kind=short) == (4, True)  # -0.3 as float64 is a little above -3/10
    assert right(x * Fraction(-3, 10) + 7 - Fraction(1, 10**30), 10, kind=short) == (3, True)
    assert right(x * 3, 30000, kind=short) == (32767, True)
    assert right(x * 3, 30000, kind=short, modular=True) == (90000 - 65536, True)
    assert right(f.quotient(x, y), -7, 2, kind=short) == (-3, True)
    assert right(f.bit_not(x), 5, kind=short, bits=16) == (-6, True)
    assert right(x / 0, 5, kind=short) == (32767, True)
    assert right(f.square_root(x), -1, kind=short) == (0, True)


def test_rows_are_refused():
    with pytest.raises(UnsupportedError, match="exact results: there is no rule for row_max"):
        right(ogive.softmax.formula()[0], 1.0)


def test_the_precision_of_others_is_left_alone():
    before = flint.ctx.prec
    right(f.log(f.exp(x)) - x, 3.0)
    assert flint.ctx.prec == before


BESIDE = sorted({"erf", *(row for row in OPERATIONS.values() if row.near_zero is not None)})
assert len(BESIDE) > 14


@pytest.mark.parametrize("name", BESIDE)
def test_values_are_on_that_side_of_their_fractions(name):
    """An answer that is given without any bits is so with 400."""
    context = flint.ctx
    points = [
        Fraction(sign * n, d) for sign in (1, -1) for n, d in ((1, 1), (1, 2), (99, 100), (1, 10**9), (3, 1), (9, 1))
    ]
    if name == "log1p":
        points = [q for q in points if q > -1]
    if name == "asin":
        points = [q for q in points if abs(q) <= 1]
    before, context.prec = context.prec, 400
    checked = 0
    try:
        for q in points:
            value = _rules(False, 64).rule(OPERATIONS[name])(of_number(q))
            if value.beside is not None:
                fraction, side = value.beside[:2]
                distance = (value.ball - fraction) * side
                assert distance > 0, (q, fraction, side)
                checked += 1
    finally:
        context.prec = before
    assert checked >= 3


def test_vast_numbers_that_cancel():
    """exp(8000) has 11,542 bits before the point. Beyond the most bits what no rule cancels is taken for zero, never for NaN."""
    for kind in (half, brain, single):
        assert right(f.expm1(x) - f.exp(x), 1532.0, kind=kind)[0] == -1
    assert right(f.expm1(x) - f.exp(x), 8000.0)[0] == -1
    assert right(f.cosh(x) - f.exp(x) / 2, 8000.0)[0] == 0
    assert right(f.expm1(x) - f.exp(x), 3e38) == (-1, True)
    assert right(f.cbrt(f.exp(x * 3)) - f.exp(x), 3e38)[0] == 0


#: Differences to fractions that no number of bits shows: formulas, operands, and results.
NEXT_TO_FRACTIONS = {
    "slope of a logarithm of 1 - tanh": (ogive.grad(ogive.operator(lambda x: np.log(1 - np.tanh(x)))), -2.0),
    "and of 1 - sigmoid": (ogive.grad(ogive.operator(lambda x: np.log(1 - ogive.sigmoid(x)))), -1.0),
    "and of 2 - erfc": (ogive.operator(lambda x: np.log(2 - ogive.erfc(-x)) / (x * x)), -1.0),
    "1 - ndtr": (ogive.operator(lambda x: np.log(1 - ogive.ndtr(x)) / (x * x)), -0.5),
    "a sum with 1": (ogive.operator(lambda x: np.log(1 + np.exp(-x)) * np.exp(x)), 1.0),
    "a sum and a difference": (ogive.operator(lambda x: (1.5 - np.exp(-x) - 1.5) * np.exp(x)), -1.0),
    "two numbers beside 1": (ogive.operator(lambda x: (ogive.sigmoid(x) - np.tanh(x)) * np.exp(x)), -1.0),
    "a product": (ogive.operator(lambda x: (np.tanh(x) * ogive.sigmoid(x) - 1) * np.exp(x)), -1.0),
    "a quotient": (ogive.operator(lambda x: (1 / ogive.sigmoid(x) - 1) * np.exp(x)), 1.0),
    "a root": (ogive.operator(lambda x: (np.sqrt(ogive.sigmoid(x)) - 1) * np.exp(x)), -0.5),
    "a multiple": (ogive.operator(lambda x: (3 - 3 * ogive.sigmoid(x)) * np.exp(x)), 3.0),
    "minus 1": (ogive.operator(lambda x: np.log1p(np.expm1(-x)) / x), -1.0),
    "next to zero a logarithm": (ogive.operator(lambda x: np.log(np.tanh(np.exp(-x))) / x), -1.0),
    "next to zero a difference": (
        ogive.operator(lambda x: (np.tanh(np.exp(-x)) - np.tanh(2 * np.exp(-x))) * np.exp(x)),
        -1.0,
    ),
    "next to zero two inverses": (ogive.operator(lambda x: np.log1p(np.expm1(-np.exp(-x))) * np.exp(x)), -1.0),
    "acosh": (ogive.operator(lambda x: np.arccosh(1 + np.exp(-2 * x)) * np.exp(x)), 1.4142135623730951),
}


@pytest.mark.parametrize("name", NEXT_TO_FRACTIONS)
def test_distances_from_fractions_are_numbers(name):
    op, right = NEXT_TO_FRACTIONS[name]
    for x in (1e7, 3e38):
        assert right_result(op.formula()[0], [x], {}, single) == (float(np.float32(right)), True)

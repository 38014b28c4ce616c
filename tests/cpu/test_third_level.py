"""The share left to enclosures, at 0.1 ms an element, is next to nothing: no range of inputs, and nothing of ordinary data."""

from fractions import Fraction

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.common.conversion import converted
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.enclosure import right_result
from ogive.enclosures.near_zero import leading_of
from tests.inputs import parameter_sets

SINGLE = ELEMENT_TYPES["float32"]

#: Every element-wise operator of float32, with the number of its operands.
OPERATORS_OF_FLOATS = [
    (op, len(signature.inputs))
    for op in OPERATORS.values()
    if not op.is_row_wise
    for signature in op.signatures
    if all(t is SINGLE for t in (*signature.inputs, *signature.outputs))
]


def of_every_magnitude(count, seed):
    """Random numbers of each sign and binade, subnormal ones included."""
    random = np.random.default_rng(seed)
    exponents = np.repeat(np.arange(-149, 128), 2 * count)
    signs = np.tile([1.0, -1.0], exponents.size // 2)
    return np.ldexp(signs * random.uniform(1, 2, exponents.size), exponents).astype(np.float32)


def ordinary(count, seed):
    """Activations, and such numbers on a grid."""
    random = np.random.default_rng(seed)
    return np.concatenate([random.standard_normal(count) * 3, random.integers(-512, 512, count) / 64]).astype(
        np.float32
    )


def test_there_are_operators():
    assert len(OPERATORS_OF_FLOATS) > 90


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(("op", "operands"), OPERATORS_OF_FLOATS, ids=lambda value: getattr(value, "name", None))
def test_next_to_nothing_is_left(op, operands, asked):
    """For all magnitudes up to 3 %: beyond 60, 1.5 log(1 + exp(x)) may be a tie and next to nothing more."""
    (parameters, *_) = parameter_sets(op)
    for make, count, most in ((of_every_magnitude, 4, 66), (ordinary, 8192, 8)):
        arrays = [make(count, seed) for seed in range(operands)]
        for i, array in enumerate(arrays[1:]):
            np.random.default_rng(i).shuffle(array)
        with np.errstate(all="ignore"):
            op(*arrays, **parameters)
        assert len(asked) <= most, f"{len(asked)} of {arrays[0].size}, first {list(asked.values())[:3]}"
        asked.clear()


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "quick_gelu", "silu"])
def test_far_below_zero_the_sign_is_known(name, asked):
    x = np.array([-110.0, -200.0, -3000.0, -1e5, -1e30], np.float32)
    found = getattr(ogive, name)(x)
    assert not asked
    assert np.array_equal(found, np.zeros(5))
    assert np.signbit(found).all()


def test_minus_zero_keeps_its_sign_without_a_repair(asked):
    zeros = np.array([0.0, -0.0] * 40, np.float32)
    for name in ("gelu", "gelu_tanh", "tanhshrink", "serf"):
        found = getattr(ogive, name)(zeros)
        assert np.array_equal(np.signbit(found), np.signbit(zeros))
        assert not found.any()
    assert not asked


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("gelu", {}), ("silu", {}), ("swish", {"alpha": 0.75}), ("swish", {"alpha": -1.25}), ("scaled_tanh", {})],
)
def test_tiny_numbers_are_decided_as_enclosures_do(name, parameters):
    op = getattr(ogive, name)
    random = np.random.default_rng(0)
    bits = np.concatenate([[1, 2, 3, 5], random.integers(1, 1 << 23, 30), random.integers(1, 63 << 23, 30)])
    x = np.concatenate([bits, bits | 1 << 31]).astype(np.uint32).view(np.float32)
    (root,) = op.formula()
    named = {p.name: parameters.get(p.name, p.default) for p in op.numeric_parameters}
    expected = [right_result(root, [float(v)], named, SINGLE, bits=32)[0] for v in x]
    found = op(np.repeat(x, 2), **parameters)[::2]
    assert np.array_equal(found.view(np.uint32), np.array(expected, np.float32).view(np.uint32))
    assert leading_of(root, named, (SINGLE, SINGLE)) is not None


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("op", [ogive.vjp(ogive.silu), ogive.vjp(ogive.squareplus), ogive.grad(ogive.swiglu)])
def test_tiny_numbers_beside_factors_are_decided_at_once(op, dtype, asked):
    """``g * f'(x)`` of tiny x lies beside ``g * f'(0)``, whatever g: every other subnormal result beside a tie."""
    kind, least = ELEMENT_TYPES[dtype], {"float32": 2.0**-149, "bfloat16": 2.0**-133}[dtype]
    random = np.random.default_rng(1)
    tiny = converted(random.integers(1, 1 << 20, 64) * random.choice([-1, 1], 64) * least, kind.numpy)
    factor = np.concatenate([random.integers(-99, 100, 32) * least, random.standard_normal(32)])
    factor = converted(factor, kind.numpy)
    operands = [tiny, factor] if op.name.startswith("swiglu") else [factor, tiny]
    found = op(*operands)
    assert not asked
    (root,) = op.formula()
    named = {p.name: p.default for p in op.numeric_parameters}
    expected = [
        right_result(root, [float(v) for v in pair], named, kind, bits=32)[0] for pair in zip(*operands, strict=True)
    ]
    assert found.tobytes() == np.array(expected).astype(kind.numpy).tobytes()


@ogive.operator
def third(x):
    return x * Fraction(11, 48) + Fraction(1, 2)


def test_ties_of_short_fractions_are_known_to_be_ties(asked):
    """``11 x / 48 + 1/2`` for multiples of three: every fourth is half-way between two numbers of float32."""
    k = np.arange(1 << 22, (1 << 22) + 4096)
    x = (k * 3).astype(np.float32)
    expected = [np.float32(float(Fraction(int(v)) * Fraction(11, 48) + Fraction(1, 2))) for v in x]
    found = third(x)
    assert not asked
    assert np.array_equal(found, np.array(expected))


@ogive.operator
def silu_by_hand(x):
    return x / (1 + np.exp(-x))


@ogive.operator
def share(x):
    return np.arcsin(np.sqrt(x))


@pytest.mark.parametrize("op", [silu_by_hand, share, ogive.grad(ogive.cosh), ogive.grad(ogive.erfinv), ogive.expm1])
@pytest.mark.parametrize("width", [10.0, 1e3, 1e5, 1e38])
def test_what_overflows_and_what_is_no_number_is_decided_by_the_repair(op, width, asked):
    x = np.random.default_rng(0).uniform(-width, width, 1000).astype(np.float32)
    with np.errstate(all="ignore"):
        op(x)
    assert not asked


def test_vast_numbers_keep_their_signs(asked):
    x = np.array([-3e38, -1e5, -2000, -800, -700, 800, 2000, 1e5], np.float32)
    with np.errstate(all="ignore"):
        found = silu_by_hand(x)
        assert np.array_equal(found, np.where(x < 0, 0, x))
        assert np.array_equal(np.signbit(found), x < 0)
        found = ogive.vjp(ogive.sinh)(np.where(x < -1000, np.float32(-1e-40), np.float32(1)), x)
        assert np.array_equal(found, np.where(x < -1000, -np.inf, np.inf))
    assert not asked


@pytest.mark.parametrize(
    "op",
    [
        ogive.gelu,
        ogive.vjp(ogive.gelu),
        ogive.hard_swish,
        ogive.vjp(ogive.softplus),
        ogive.vjp(ogive.sparse_plus),
        ogive.tanhshrink,
    ],
    ids=lambda op: op.name,
)
def test_subnormal_numbers_beside_ties_are_decided_by_the_repair(op, asked):
    """GELU of a subnormal number is half of that and next to nothing more."""
    random = np.random.default_rng(1)
    operands = len(op.signatures[0].inputs)
    arrays = [np.ldexp(random.integers(-1000, 1000, 400), -149).astype(np.float32) for _ in range(operands)]
    found = op(*arrays)
    assert not asked
    program = op.program(next(s for s in op.signatures if s.inputs[0] is SINGLE))
    for numbers in zip(*(a[:60] for a in arrays), range(60), strict=True):
        *numbers, place = numbers
        (right, *_) = program.decide([float(v) for v in numbers], [p.default for p in op.numeric_parameters])
        assert np.float32(right).tobytes() == found[place].tobytes(), numbers


@pytest.mark.parametrize("op", [ogive.glu, ogive.vjp(ogive.sigmoid), ogive.vjp(ogive.mish), ogive.hypot])
def test_subnormal_numbers_of_float64_are_rounded_once(op, asked):
    """They are the nearest numbers. Enclosures are asked for ties alone, of which a few are among so short numbers."""
    random = np.random.default_rng(3)
    tiny = np.ldexp(random.uniform(-2, 2, 48), random.integers(-1074, -1015, 48))
    factor = np.concatenate([random.normal(0, 2, 24), tiny[::-2]])
    for operands in ([tiny, factor], [factor, tiny]):
        found = op(*operands)
        (root,) = op.formula(for_doubles=True)
        numbers = {p.name: p.default for p in op.numeric_parameters}
        for result, *inputs in zip(found.tolist(), *(x.tolist() for x in operands), strict=True):
            right, _ = right_result(root, inputs, numbers, ELEMENT_TYPES["float64"], bits=64)
            assert result == right
    assert len(asked) <= (48 if op is ogive.glu else 4)  # the gate of glu has branches: its ties go one by one


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [np.tanh, ogive.erf, ogive.sigmoid, np.expm1, ogive.erfc])
def test_limits_at_infinities_are_exact(function, dtype, asked):
    """Half of the sums of limits and numbers of float32 are ties."""
    rng = np.random.default_rng(5)
    weight, bias = rng.integers(1, 1 << 24, (2, 500)).astype(np.float32) * np.float32(2.0**-12)
    op = ogive.operator(lambda x, weight, bias: function(x) * weight + bias * 4)
    with np.errstate(all="ignore"):
        limits = function(np.float32([np.inf, -np.inf])).astype(float)
        for x, limit in zip((np.inf, -np.inf), limits, strict=True):
            found = op(np.full(500, x, dtype), weight.astype(dtype), bias.astype(dtype))
            assert np.array_equal(found, (limit * weight.astype(float) + bias.astype(float) * 4).astype(dtype))
    assert not asked


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y: (x - y) * (x - y),
        lambda x, y: (x - 1) / np.sqrt(y * y + 1) * 3 + 0.5,
        lambda x, y: x / (1 + np.exp(-x)) * y,
        lambda x, y: -abs(np.where(x > y, x * y, x / y)),
        lambda x, y: x * (y * y + 0.25) - x / 3,
    ],
)
def test_infinities_of_float64_are_no_overflow(formula, asked):
    """Sums, products and quotients of infinite operands follow IEEE 754 in the repair."""
    x, y = (
        grid.ravel() for grid in np.meshgrid([np.inf, -np.inf, 2.5, -0.75, 300.0], [np.inf, -np.inf, 2.5, -3.0, 1e-3])
    )
    is_asked = np.isinf(x) | np.isinf(y)
    with np.errstate(all="ignore"):
        expected = formula(x, y)
        found = ogive.operator(formula)(x[is_asked], y[is_asked])
    assert not asked
    np.testing.assert_allclose(found, expected[is_asked], rtol=2.0**-50)
    numbers = ~np.isnan(found)
    assert np.array_equal(np.signbit(found[numbers]), np.signbit(expected[is_asked][numbers]))


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y: np.sqrt(x * x + y * y),
        lambda x, y: np.log(np.exp(x * 1e173) + np.exp(y * 1e173)),
        lambda x, y: (x * y + x * x) * 1e250,
    ],
)
def test_sums_of_what_is_below_the_range_of_float64_are_decided_by_the_repair(formula, asked):
    """The terms of a sum lose next to nothing beside their power of two."""
    random = np.random.default_rng(0)
    ogive.operator(formula)(*(-np.abs(random.normal(0, 1e-170, (2, 1000)))))
    assert not asked

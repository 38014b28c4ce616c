"""Every operator with every type, against formulas in float64 and exact integers that are written here."""

import math

import numpy as np
import pytest

from ogive.catalog.standards import row_of
from ogive.webnn import MLContext, MLGraph, MLGraphBuilder
from ogive.webnn.operand import DATA_TYPES, FLOATS
from ogive.webnn.operator_table import OPERATORS

erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


#: name -> (function of float64, function of whole numbers or None)
UNARY = {
    "elu": lambda x: np.where(x < 0, np.expm1(x), x),
    "gelu": lambda x: x * 0.5 * erfc(-x / math.sqrt(2)),
    "hardSigmoid": lambda x, a=0.2: np.clip(a * x + 0.5, 0, 1),
    "hardSwish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "leakyRelu": lambda x, a=0.01: np.where(x < 0, a * x, x),
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": sigmoid,
    "softplus": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanh": np.tanh,
    "abs": np.abs,
    "ceil": np.ceil,
    "cos": np.cos,
    "erf": erf,
    "exp": np.exp,
    "floor": np.floor,
    "identity": lambda x: x,
    "log": np.log,
    "neg": np.negative,
    "reciprocal": lambda x: 1 / x,
    "roundEven": np.rint,
    "sign": np.sign,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tan": np.tan,
}
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "div": lambda a, b: a / b if a.dtype.kind == "f" else truncated(a, b),
    "pow": np.power,
    "prelu": lambda x, s: np.where(x < 0, x * s, x),
}
COMPARISONS = {
    "equal": np.equal,
    "notEqual": np.not_equal,
    "greater": np.greater,
    "greaterOrEqual": np.greater_equal,
    "lesser": np.less,
    "lesserOrEqual": np.less_equal,
}
LOGICAL = {"logicalAnd": np.logical_and, "logicalOr": np.logical_or, "logicalXor": np.logical_xor}


def truncated(a, b):
    """The quotient of whole numbers, cut off."""
    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    return np.array([abs(x) // abs(y) * (1 if x * y >= 0 else -1) for x, y in pairs], a.dtype)


def types_of(name, operand=0):
    types = OPERATORS[name].operands[operand].types
    return types if isinstance(types, tuple) else types_of(name)


def numbers(kind, positive=False):
    dtype = DATA_TYPES[kind].numpy
    if dtype.kind == "f":
        values = np.array([-8, -3.5, -2.5, -1, -0.3, -0.001, 0, 0.001, 0.25, 0.5, 1, 1.5, 2.5, 3, 7.75], dtype)
    else:
        info = np.iinfo(dtype)
        values = np.array([info.min, info.max, 0, 1, 2, 3, 7, info.max // 3], dtype)
        if info.min:
            values = np.concatenate([values, np.array([-1, -2, -7, info.min + 1], dtype)])
    return np.abs(values) + dtype.type(1) if positive else values


def computed(build, **arrays):
    """The results of what ``build`` makes of a builder and inputs."""
    builder = MLGraphBuilder(MLContext())
    operands = {
        name: builder.input(name, {"dataType": array.dtype.name, "shape": array.shape})
        for name, array in arrays.items()
    }
    result = build(builder, **operands)
    outputs = {"y": result} if not isinstance(result, list) else {f"y{i}": y for i, y in enumerate(result)}
    found = builder.build(outputs)(arrays)
    for name, operand in outputs.items():
        assert (found[name].dtype.name, found[name].shape) == (operand.dataType, operand.shape)
    return found["y"] if "y" in found else list(found.values())


def assert_near(found, wanted, ulps=1):
    """Equal integers; floats to some ULP of the reference, which is computed in float64."""
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, wanted)
        return
    with np.errstate(all="ignore"):
        rounded = np.asarray(wanted, np.float64).astype(found.dtype)
        gap = np.abs(np.spacing(np.where(np.isfinite(rounded), rounded, 1))).astype(np.float64)
        error = np.abs(found.astype(np.float64) - wanted)
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    assert (same | (error <= ulps * gap)).all(), (found, rounded)


@pytest.mark.matrix("name")
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in UNARY for kind in types_of(name)])
def test_one_operand(name, kind):
    x = numbers(kind, positive=name in ("log", "sqrt", "reciprocal"))
    with np.errstate(all="ignore"):
        given = x.astype(np.float64) if kind in FLOATS else x
        more = {}
        if kind in FLOATS and name in ("hardSigmoid", "leakyRelu"):  # options are numbers of the operand's type
            more["a"] = float(x.dtype.type({"hardSigmoid": 0.2, "leakyRelu": 0.01}[name]))
        wanted = UNARY[name](given, **more)
    assert_near(computed(lambda builder, x: getattr(builder, name)(x), x=x), wanted)


@pytest.mark.matrix("name")
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in BINARY for kind in types_of(name)])
def test_two_operands(name, kind):
    a = numbers(kind)
    b = np.roll(a, 3)
    if name == "div":
        b = np.where(b == 0, b.dtype.type(3), b)
        if kind not in FLOATS:
            a, b = a[1:], b[1:]
            b = np.where(b == b.dtype.type(-1) if b.dtype.kind == "i" else False, b.dtype.type(5), b)
    if name == "pow":
        a, b = np.abs(a), np.abs(b)
        if kind not in FLOATS:
            a, b = np.array([0, 1, 2, 3, 5], a.dtype), np.array([3, 5, 6, 4, 2], a.dtype)
    if name == "prelu" and kind not in FLOATS:
        a = np.array([-5, -1, 0, 3, 7], a.dtype)
        b = np.array([3, -2, 9, 4, 1], a.dtype)
    with np.errstate(all="ignore"):
        wanted = BINARY[name](*((v.astype(np.float64) if kind in FLOATS else v) for v in (a, b)))
    assert_near(computed(lambda builder, a, b: getattr(builder, name)(a, b), a=a, b=b), wanted)


@pytest.mark.matrix("name")
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in COMPARISONS for kind in DATA_TYPES])
def test_comparisons(name, kind):
    a = numbers(kind)
    b = np.roll(a, 1)
    b[::3] = a[::3]
    if kind in FLOATS:
        a[4], b[6], a[7], b[7] = np.nan, np.nan, np.inf, np.inf
    found = computed(lambda builder, a, b: getattr(builder, name)(a, b), a=a, b=b)
    np.testing.assert_array_equal(found, COMPARISONS[name](a, b).astype(np.uint8))


@pytest.mark.parametrize("name", LOGICAL)
def test_truth_values(name):
    a, b = np.uint8([0, 0, 1, 7, 255]), np.uint8([0, 3, 0, 1, 128])
    found = computed(lambda builder, a, b: getattr(builder, name)(a, b), a=a, b=b)
    np.testing.assert_array_equal(found, LOGICAL[name](a, b).astype(np.uint8))


def test_logical_not():
    found = computed(lambda builder, a: builder.logicalNot(a), a=np.uint8([0, 1, 2, 255]))
    assert found.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("kind", FLOATS)
def test_tests(kind):
    x = np.array([np.nan, np.inf, -np.inf, 0, 1], kind)
    assert computed(lambda builder, x: builder.isNaN(x), x=x).tolist() == [1, 0, 0, 0, 0]
    assert computed(lambda builder, x: builder.isInfinite(x), x=x).tolist() == [0, 1, 1, 0, 0]


@pytest.mark.parametrize("kind", DATA_TYPES)
def test_where(kind):
    a = numbers(kind)
    condition = np.arange(a.size).astype(np.uint8) % 3
    found = computed(lambda builder, c, a, b: builder.where(c, a, b), c=condition, a=a, b=a[::-1].copy())
    np.testing.assert_array_equal(found, np.where(condition, a, a[::-1]))


@pytest.mark.parametrize("source", DATA_TYPES)
@pytest.mark.parametrize("result", DATA_TYPES)
def test_cast(source, result):
    x = numbers(source)
    row = DATA_TYPES[result]
    with np.errstate(all="ignore"):
        if source in FLOATS and result not in FLOATS:
            wanted = np.array([min(max(int(v), row.minimum), row.maximum) for v in x], row.numpy)
        else:
            wanted = x.astype(row.numpy)
    found = computed(lambda builder, x: builder.cast(x, result), x=x)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", DATA_TYPES)
def test_clamp(kind):
    x = numbers(kind)
    found = computed(lambda builder, x: builder.clamp(x, {"minValue": 1, "maxValue": 3}), x=x)
    np.testing.assert_array_equal(found, np.clip(x, 1, 3))
    np.testing.assert_array_equal(computed(lambda builder, x: builder.clamp(x), x=x), x)
    np.testing.assert_array_equal(computed(lambda builder, x: builder.clamp(x, maxValue=2), x=x), np.minimum(x, 2))


def test_bounds_of_64_bits_are_exact():
    x = np.int64([2**62 + 1, 2**53 + 1, 5])
    found = computed(lambda builder, x: builder.clamp(x, maxValue=2**53 + 1, minValue=2**53 - 1), x=x)
    assert found.tolist() == [2**53 + 1, 2**53 + 1, 2**53 - 1]


REDUCTIONS = {
    "reduceL1": lambda x: np.abs(x).sum(-1),
    "reduceL2": lambda x: np.sqrt((x * x).sum(-1)),
    "reduceLogSum": lambda x: np.log(x.sum(-1)),
    "reduceLogSumExp": lambda x: np.log(np.exp(x).sum(-1)),
    "reduceMax": lambda x: x.max(-1),
    "reduceMean": lambda x: x.mean(-1),
    "reduceMin": lambda x: x.min(-1),
    "reduceProduct": lambda x: x.prod(-1),
    "reduceSum": lambda x: x.sum(-1),
    "reduceSumSquare": lambda x: (x * x).sum(-1),
}


@pytest.mark.matrix("name")
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in REDUCTIONS for kind in types_of(name)])
@pytest.mark.parametrize("axes", [None, [2], [0, 2], [1], []])
def test_reductions(name, kind, axes):
    rng = np.random.default_rng(3)
    dtype = DATA_TYPES[kind].numpy
    x = (rng.integers(1, 9, (2, 3, 4)) / (4 if kind in FLOATS else 1)).astype(dtype)
    over = range(3) if axes is None else axes
    for keep in (False, True):
        options = {"keepDimensions": keep} | ({} if axes is None else {"axes": axes})
        found = computed(lambda builder, x, options=options: getattr(builder, name)(x, options), x=x)
        kept = [i for i in range(3) if i not in over]
        rows = x.transpose(*kept, *over).reshape(*(x.shape[i] for i in kept), -1)
        wanted = REDUCTIONS[name](rows.astype(np.float64) if kind in FLOATS else rows)
        shape = [1 if i in over else n for i, n in enumerate(x.shape) if keep or i not in over]
        with np.errstate(all="ignore"):
            assert_near(found, wanted.reshape(shape) if kind in FLOATS else wanted.astype(dtype).reshape(shape))


def test_a_product_neither_overflows_nor_underflows_on_the_way():
    x = np.float32([[1e30, 1e30, 1e30, 1e-30, 1e-30, 1e-30] * 200, [1e-30] * 600 + [1e30] * 600])
    found = computed(lambda builder, x: builder.reduceProduct(x, axes=[1]), x=x)
    up, down = (float(np.float32(v)) for v in (1e30, 1e-30))
    wanted = math.exp(600 * (math.log(up) + math.log(down)))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    for row, wanted in (([0, np.inf], np.nan), ([-0.0, 3], -0.0), ([-np.inf, 2], -np.inf)):
        found = computed(lambda builder, x: builder.reduceProduct(x), x=np.float32(row))
        np.testing.assert_array_equal(found, np.float32(wanted))
        assert np.signbit(found) == np.signbit(wanted)


@pytest.mark.parametrize("kind", DATA_TYPES)
@pytest.mark.parametrize("axis", [0, 1])
def test_places(kind, axis):
    x = np.array([[3, 1, 3], [2, 5, 0]], kind)
    for name, find in (("argMax", np.argmax), ("argMin", np.argmin)):
        for options in ({}, {"outputDataType": "int64"}, {"keepDimensions": True}):

            def build(builder, x, name=name, options=options):
                return getattr(builder, name)(x, axis, options)

            found = computed(build, x=x)
            assert found.dtype.name == options.get("outputDataType", "int32")
            np.testing.assert_array_equal(found, find(x, axis, keepdims=options.get("keepDimensions", False)))


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax(kind, axis):
    x = np.random.default_rng(1).normal(size=(3, 4, 5)).astype(kind)
    wide = np.exp(x.astype(np.float64))
    found = computed(lambda builder, x: builder.softmax(x, axis), x=x)
    assert_near(found, wide / wide.sum(axis, keepdims=True), ulps=2)  # docs/accuracy.md: 1.858 in float32


@pytest.mark.parametrize("kind", types_of("cumulativeSum"))
def test_cumulative_sum(kind):
    x = np.array([[1, 2, 3, 4]], kind)
    for options, wanted in (
        ({}, [1, 3, 6, 10]),
        ({"exclusive": True}, [0, 1, 3, 6]),
        ({"reversed": True}, [10, 9, 7, 4]),
        ({"exclusive": True, "reversed": True}, [9, 7, 4, 0]),
    ):
        assert computed(lambda builder, x, options=options: builder.cumulativeSum(x, 1, options), x=x).tolist() == [
            wanted
        ]


# ---- where elements lie


@pytest.mark.parametrize("kind", DATA_TYPES)
def test_movement(kind):
    x = np.arange(24).reshape(2, 3, 4).astype(kind)
    i = np.int32([[2, -1], [0, 1]])

    def check(wanted, build, **more):
        np.testing.assert_array_equal(computed(build, x=x, **more), wanted)

    check(x.reshape(4, 6), lambda b, x: b.reshape(x, [4, 6]))
    check(x.T, lambda b, x: b.transpose(x))
    check(x.transpose(1, 0, 2), lambda b, x: b.transpose(x, permutation=[1, 0, 2]))
    check(np.broadcast_to(x, (5, 2, 3, 4)), lambda b, x: b.expand(x, [5, 2, 3, 4]))
    check(x[:, ::-1], lambda b, x: b.reverse(x, axes=[1]))
    check(x[::-1, ::-1, ::-1], lambda b, x: b.reverse(x))
    check(x[0:1, 1:3, 0:4:3], lambda b, x: b.slice(x, [0, 1, 0], [1, 2, 4], strides=[1, 1, 3]))
    check(np.concatenate([x, x], 2), lambda b, x: b.concat([x, x], 2))
    check(np.tile(x, (1, 2, 1)), lambda b, x: b.tile(x, [1, 2, 1]))
    check(np.triu(x, 1), lambda b, x: b.triangular(x, diagonal=1))
    check(np.tril(x, -1), lambda b, x: b.triangular(x, upper=False, diagonal=-1))
    widths = [(0, 1), (1, 0), (2, 1)]
    check(np.pad(x, widths, constant_values=7), lambda b, x: b.pad(x, [0, 1, 2], [1, 0, 1], value=7))
    check(np.pad(x, widths, "edge"), lambda b, x: b.pad(x, [0, 1, 2], [1, 0, 1], mode="edge"))
    check(np.pad(x, widths, "reflect"), lambda b, x: b.pad(x, [0, 1, 2], [1, 0, 1], mode="reflection"))
    check(np.take(x, i, 1), lambda b, x, i: b.gather(x, i, axis=1), i=i)
    where = np.int64([[[1, 2, 0, 1]], [[0, 0, 2, 1]]])
    check(np.take_along_axis(x, where, 1), lambda b, x, i: b.gatherElements(x, i, axis=1), i=where)
    check(x[[1, 0], [2, 1]], lambda b, x, i: b.gatherND(x, i), i=np.uint32([[1, 2], [0, 1]]))
    parts = computed(lambda b, x: b.split(x, [1, 3], axis=2), x=x)
    np.testing.assert_array_equal(parts[1], x[..., 1:])
    parts = computed(lambda b, x: b.split(x, 3, axis=1), x=x)
    assert len(parts) == 3
    np.testing.assert_array_equal(parts[2], x[:, 2:])
    wanted = x.copy()
    wanted[1] = x[0]
    check(wanted, lambda b, x, i, u: b.scatterND(x, i, u), i=np.int32([[1]]), u=x[:1])
    updates = np.array([[[5, 6, 7, 8]], [[9, 10, 11, 12]]], kind)
    wanted = x.copy()
    np.put_along_axis(wanted, where, updates, 1)
    check(wanted, lambda b, x, i, u: b.scatterElements(x, i, u, axis=1), i=where, u=updates)


def test_views_are_not_the_callers_memory():
    x = np.arange(6, dtype=np.float32)
    found = computed(lambda b, x: b.reshape(x, [2, 3]), x=x)
    found[0, 0] = 9
    assert x[0] == 0


# ---- quantised numbers, normalisation


@pytest.mark.parametrize("zero", ["uint8", "int8", "uint32", "int32"])
@pytest.mark.parametrize("kind", FLOATS)
def test_quantisation(kind, zero):
    x = np.array([[-3.25, -0.5, 0.5, 0.75, 1.25, 60]], kind)
    scale, point = np.array([[0.5, 0.25]], kind), np.array([[3, 1]], zero)
    quantised = computed(lambda b, x, s, z: b.quantizeLinear(x, s, z), x=x, s=scale, z=point)
    s, z = np.repeat(scale, 3, 1), np.repeat(point, 3, 1).astype(np.int64)
    row = DATA_TYPES[zero]
    wanted = np.clip(np.rint(x / s).astype(np.int64) + z, row.minimum, row.maximum)
    np.testing.assert_array_equal(quantised, wanted)
    back = computed(lambda b, q, s, z: b.dequantizeLinear(q, s, z), q=quantised, s=scale, z=point)
    np.testing.assert_array_equal(back, ((wanted - z) * s.astype(np.float64)).astype(kind))


def test_dequantisation_of_32_bits_rounds_once():
    q = np.int32([2**31 - 1, -(2**31), 123456789])
    scale, zero = np.float32([0.1]), np.int32([-3])
    found = computed(lambda b, q, s, z: b.dequantizeLinear(q, s, z), q=q, s=scale, z=zero)
    exact = (q.astype(np.longdouble) - zero) * scale.astype(np.longdouble)
    np.testing.assert_array_equal(found, exact.astype(np.float32))


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("parts", [(), ("scale",), ("bias",), ("scale", "bias")])
def test_normalisation(kind, parts):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2, 3, 4, 5)).astype(kind)
    epsilon = float(np.dtype(kind).type(1e-5))

    def normal(x, axes, mean=None, variance=None):
        wide = x.astype(np.float64)
        mean = wide.mean(axes, keepdims=True) if mean is None else mean
        variance = wide.var(axes, keepdims=True) if variance is None else variance
        return (wide - mean) / np.sqrt(variance + epsilon)

    def with_parts(value, shape, given):
        if "scale" in given:
            value = value * given["scale"].astype(np.float64).reshape(shape)
        return value + given["bias"].astype(np.float64).reshape(shape) if "bias" in given else value

    def check(name, wanted, size, shape, *operands, **options):
        given = {part: rng.uniform(0.5, 2, size).astype(kind) for part in parts}
        arrays = {"x": x, **{f"o{i}": array for i, array in enumerate(operands)}, **given}

        def build(builder, x, **rest):
            named = {part: rest[part] for part in parts}
            others = [rest[f"o{i}"] for i in range(len(operands))]
            return getattr(builder, name)(x, *others, {**options, **named})

        found = computed(build, **arrays)
        reference = with_parts(wanted, shape, given)
        gap = 2 * float(np.finfo(kind).eps) * np.maximum(np.abs(reference), 1)
        assert (np.abs(found - reference) <= gap).all()

    check("layerNormalization", normal(x, (1, 2, 3)), (3, 4, 5), (3, 4, 5))
    check("layerNormalization", normal(x, (3,)), (5,), (5,), axes=[3])
    check("instanceNormalization", normal(x, (2, 3)), (3,), (3, 1, 1))
    check("instanceNormalization", normal(x, (1, 2)), (5,), (5,), layout="nhwc")
    mean, variance = rng.normal(size=3).astype(kind), rng.uniform(1, 2, 3).astype(kind)
    wide = [v.astype(np.float64).reshape(3, 1, 1) for v in (mean, variance)]
    check("batchNormalization", normal(x, (), *wide), (3,), (3, 1, 1), mean, variance)


def test_scales_of_a_layer_lie_in_the_order_of_the_axes():
    x = np.random.default_rng(2).normal(size=(2, 3)).astype(np.float32)
    scale = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    turned = computed(lambda b, x, s: b.layerNormalization(x, axes=[1, 0], scale=s), x=x, s=scale)
    plain = computed(lambda b, x, s: b.layerNormalization(x, axes=[0, 1], scale=s), x=x, s=scale.T.copy())
    np.testing.assert_array_equal(turned, plain)


ELEMENTS = [name for name, row in OPERATORS.items() if row.kind == "elements"]
assert len(ELEMENTS) > 40


@pytest.mark.parametrize("name", ELEMENTS)
def test_a_formula_of_the_catalogue_has_its_bits(name):
    """An operator that comes to the tables later is tried here too, on the first type of its operands."""
    row = row_of("webnn", name)
    operands = {}
    for i, operand in enumerate(OPERATORS[name].operands):
        kind = operand.types[0] if isinstance(operand.types, tuple) else operands[operand.types].dtype.name
        operands[operand.name] = np.roll(numbers(kind), i)[:8]
    options = {key: value for key, value in OPERATORS[name].options.items() if value is not None}
    found = computed(lambda builder, **given: getattr(builder, name)(*given.values()), **operands)
    truth = [
        x != 0 if tensor in row.operator.truth_inputs else x
        for tensor, x in zip(row.operator.tensors, operands.values(), strict=True)
    ]
    numbers_of = {key: float(found.dtype.type(value)) for key, value in options.items()}
    wanted = row.operator(*truth, **{**row.choices, **numbers_of})
    assert found.tobytes() == wanted.astype(found.dtype).tobytes()


def test_every_operator_is_tested_here():
    tested = {
        *ELEMENTS,
        *UNARY,
        *BINARY,
        *COMPARISONS,
        *LOGICAL,
        *REDUCTIONS,
        "logicalNot",
        "isNaN",
        "isInfinite",
        "where",
    }
    tested |= {"cast", "clamp", "argMax", "argMin", "softmax", "cumulativeSum", "quantizeLinear", "dequantizeLinear"}
    tested |= {"layerNormalization", "instanceNormalization", "batchNormalization"}
    tested |= {"reshape", "transpose", "expand", "reverse", "slice", "concat", "tile", "triangular", "pad", "gather"}
    tested |= {"gatherElements", "gatherND", "split", "scatterND", "scatterElements"}
    assert tested == OPERATORS.keys()
    assert all(callable(getattr(MLGraphBuilder, name)) for name in OPERATORS)


# ---- fusing


FUSED = ("gelu", "tanh", "sigmoid", "softplus", "abs", "erf", "hardSwish", "elu", "leakyRelu", "linear", "identity")


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 4, 1), (1, 1), (7,)])
def test_fused_graphs_have_the_bits_of_node_by_node(seed, shape):
    rng = np.random.default_rng(seed)
    kind = FLOATS[seed % 2]
    builder = MLGraphBuilder(MLContext())
    values = [
        builder.input("x", {"dataType": kind, "shape": shape}),
        builder.input("s", {"dataType": kind, "shape": shape[-1:]}),
    ]
    for _ in range(14):
        a, b = (values[i] for i in rng.integers(0, len(values), 2))
        pick = int(rng.integers(0, 8))
        if pick < 3:
            made = getattr(builder, FUSED[int(rng.integers(0, len(FUSED)))])(a)
        elif pick < 5:
            made = getattr(builder, ("add", "mul", "max", "sub")[int(rng.integers(0, 4))])(a, b)
        elif pick == 5:
            made = builder.softmax(a, len(a.shape) - 1)
        elif pick == 6:
            made = builder.where(builder.greater(a, b), a, builder.constant(kind, 0.5))
        else:
            made = builder.sub(a, builder.reduceMean(a, axes=[len(a.shape) - 1], keepDimensions=True))
        values.append(made)
    outputs = {"y": values[-1], "z": values[-4], "w": values[-9]}
    outputs = {name: value for name, value in outputs.items() if value._operation is not None}
    inputs = {"x": rng.normal(size=shape).astype(kind), "s": rng.normal(size=shape[-1:]).astype(kind)}
    alone, together = (MLGraph(builder._context, outputs, fuse=fuse) for fuse in (False, True))
    inputs = {name: array for name, array in inputs.items() if name in together._inputs}
    assert together._kernels <= alone._kernels
    first, second = alone(inputs), together(inputs)
    for name in outputs:
        assert first[name].tobytes() == second[name].tobytes(), name
    again = together({name: np.asfortranarray(array) for name, array in inputs.items()})
    assert all(again[name].tobytes() == second[name].tobytes() for name in outputs)


def test_a_chain_is_one_kernel():
    builder = MLGraphBuilder(MLContext())
    x = builder.input("x", {"dataType": "float32", "shape": [4, 8]})
    y = builder.gelu(builder.clamp(builder.linear(x, alpha=2, beta=1), minValue=-1))
    assert builder.build({"y": builder.where(builder.isNaN(y), x, y)})._kernels == 1


@pytest.mark.matrix(share=16, pool="slow")
def test_scalars_and_rows_of_one_element():
    x = np.array(2.5, np.float32)
    assert computed(lambda b, x: b.reduceSum(x), x=x) == 2.5
    assert computed(lambda b, x: b.layerNormalization(x), x=x) == 0
    assert computed(lambda b, x: b.layerNormalization(x), x=np.float32([1, 2])).tolist() == [0, 0]
    column = np.float32([[1], [2]])
    assert computed(lambda b, x: b.softmax(x, 1), x=column).tolist() == [[1], [1]]
    assert computed(lambda b, x: b.argMax(x, 1), x=column).tolist() == [0, 0]
    assert computed(lambda b, x: b.reduceL2(b.neg(x), axes=[1]), x=column).tolist() == [1, 2]


def test_functions_get_every_operand():
    """One that they have twice, and constants of one element."""

    def build(b, x):
        return b.concat([x, b.constant({"dataType": "float32", "shape": [1]}, [7]), x], 0)

    assert computed(build, x=np.float32([1, 2])).tolist() == [1, 2, 7, 1, 2]


def test_a_value_that_is_several_outputs():
    builder = MLGraphBuilder(MLContext())
    y = builder.tanh(builder.input("x", {"dataType": "float32", "shape": [2, 3]}))
    turned = builder.transpose(y)
    found = builder.build({"p": y, "q": y, "r": turned})({"x": np.ones((2, 3), np.float32)})
    before = found["q"].copy()
    found["p"][...] = 9
    np.testing.assert_array_equal(found["q"], before)
    np.testing.assert_array_equal(found["r"], before.T)


def test_graphs_without_inputs():
    builder = MLGraphBuilder(MLContext())
    two = builder.constant("float32", 2)
    outputs = {
        "e": builder.exp(two),
        "i": builder.reshape(builder.identity(two), [1, 1]),
        "w": builder.expand(two, [2]),
    }
    found = builder.build(outputs)()
    assert (found["i"].tolist(), found["w"].tolist()) == ([[2]], [2, 2])
    np.testing.assert_array_equal(found["e"], np.exp(np.float64(2)).astype(np.float32))


@pytest.mark.parametrize("kind", FLOATS)
def test_normalisation_without_epsilon(kind):
    """Elements of +-1 standard deviation, although their variance underflows in the type."""
    x = np.array([1, -1, 1, -1, 2, -2, 2, -2], kind).reshape(1, 2, 2, 2) * np.dtype(kind).type(2.0**-24)
    found = computed(lambda b, x: b.instanceNormalization(x, epsilon=0), x=x)
    np.testing.assert_array_equal(found, np.sign(x))


def test_numbers_of_float16_are_rounded_between_operators():
    x = np.float32([1.0003, 1.00048828125, 1.00146484375, 2049, 2051, 2.0**-25, 65519, 65520, -(2.0**-25)])
    found = computed(lambda b, x: b.cast(b.cast(x, "float16"), "float32"), x=x)
    np.testing.assert_array_equal(found, np.float32([1, 1, 1.001953125, 2048, 2052, 0, 65504, np.inf, -0.0]))
    assert np.signbit(found[-1])

"""For every operator: inputs and attributes for a node, made from its schema, and what is right.

The right results follow from the catalogue's formulas, evaluated exactly; from NumPy for what only moves,
compares and chooses elements; and from exact arithmetic on small numbers for sums.
"""

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import mpmath
import numpy as np
from onnx import helper

from ogive.catalog.standards import row_of
from ogive.common.dtypes import element_type_of
from ogive.golden.normal_rules import NORMAL_RULES
from ogive.golden.onnx_operators import of_onnx
from ogive.laboratory.accuracy import error_in_ulp as error
from ogive.laboratory.reference import correctly_rounded, evaluate_exactly, to_long_double
from ogive.onnx import schemas
from ogive.onnx.data_types import DATA_TYPES
from tests.inputs import random_values, special_values
from tests.onnx.models import tensor


@dataclass
class Case:
    """A node and its right result: an array, or exact numbers."""

    inputs: dict[str, Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    expected: Any = None
    exact: list[Any] | None = None
    modular: bool = False
    limit: float | None = None
    """The largest error in units in the last place, where it is not the usual one."""
    outputs: tuple[str, ...] = ("y",)

    def check(self, result):
        if self.exact is not None:
            check_exactly(result, self.exact, self.modular, self.limit)
            return
        assert result.dtype == self.expected.dtype
        assert result.shape == self.expected.shape
        # The bits of NaN are not looked at, those of zeros are.
        assert result.tolist() == self.expected.tolist() or np.array_equal(*map(canonical, (result, self.expected)))


def canonical(array):
    """Numbers as bits, with one NaN."""
    if array.dtype == object:
        return array
    array = np.array(array)
    if array.dtype.kind not in "biu":
        array[array != array] = np.nan
    return array.reshape(-1).view(np.uint8)


def check_exactly(result, exact, modular, limit=None):
    """Integers are equal, floats within one unit in the last place, 16-bit ones as if rounded once."""
    kind = element_type_of(result.dtype)
    if not kind.is_float:
        assert result.ravel().tolist() == [correctly_rounded(value, kind, modular=modular) for value in exact]
        return
    truth = np.array([to_long_double(mpmath.mpf(value)) for value in exact])
    errors = error(result.ravel(), truth, kind)
    assert errors.max() <= (limit or (0.501 if kind.bits == 16 else 1.0)), (errors.max(), exact[errors.argmax()])


# ---- elements


def elements(kind, shape=(6, 5), seed=0):
    """Values of a type of tensor, special ones among them."""
    if kind not in DATA_TYPES:  # a sequence or an optional value
        inner = kind.removeprefix("optional(").removeprefix("seq(").rstrip(")") + ")"
        value = small_numbers(inner) if DATA_TYPES[inner].bits and "complex" not in inner else elements(inner)
        return [value, value[:2]] if "seq(" in kind else value
    row, count = DATA_TYPES[kind], int(np.prod(shape))
    generator = np.random.default_rng(seed)
    if row.element is not None:
        special = special_values(row.element)
        chosen = special[np.linspace(0, len(special) - 1, count // 2).astype(int)]
        values = np.concatenate([chosen, random_values(row.element, count - len(chosen), seed)])
        return generator.permutation(values).reshape(shape)
    if kind == "tensor(string)":
        return np.array([f"text {i}" for i in generator.integers(0, 4, count)], object).reshape(shape)
    if kind.startswith("tensor(complex"):
        values = generator.standard_normal(count) + 1j * generator.standard_normal(count)
        return values.astype(row.numpy).reshape(shape)
    return small_numbers(kind, shape, seed)


def small_numbers(kind, shape=(6, 4), seed=0):
    """Whole numbers that every type can tell apart; their sums are exact."""
    row = DATA_TYPES[kind]
    low, high = (1, 2) if row.name == "FLOAT8E8M0" else (0, 2) if row.bits < 4 or row.name == "BOOL" else (0, 4)
    return np.random.default_rng(seed).integers(low, high, shape).astype(row.numpy)


def attribute_tensor(array):
    if array.dtype == object:
        return helper.make_tensor("value", 8, array.shape, [text.encode() for text in array.ravel()])
    return tensor("value", array)


# ---- operators of the catalogue


def from_catalogue(schema, types):
    arrays = {p.name: elements(types[p.type_str], seed=i) for i, p in enumerate(schema.inputs)}
    if schema.name == "PRelu" and schema.since_version < 7:
        arrays["slope"] = arrays["slope"][0]
    row = row_of("onnx", schema.name)
    if row is None:
        return Case(arrays)
    op = row.operator
    values = schemas.default_values(schema.name, schema.since_version)
    parameters = {p.name: values.get(p.name, p.default) for p in op.parameters}
    kinds = [element_type_of(array.dtype) for array in arrays.values()]
    choices = {p.name: parameters.pop(p.name) for p in op.parameters if p.choices}
    root = op.formula(for_integers=not any(kind.is_float for kind in kinds), **choices)[0]
    if all(kind.computes_in == "float32" for kind in kinds):
        parameters = {key: float(np.float32(value)) for key, value in parameters.items()}
    broadcast = np.broadcast_arrays(*arrays.values())
    rows = zip(*(array.ravel().tolist() for array in broadcast), strict=True)
    return Case(arrays, exact=[evaluate_exactly(root, row, parameters) for row in rows], modular=op.modular)


# ---- element-wise operators that are put together


def variadic(schema, types):
    first = elements(types["T"])
    arrays = {"data_0": first, "second": np.roll(first, 7), "third": np.roll(first, 11)}
    if schema.name in ("Max", "Min"):
        function = np.maximum if schema.name == "Max" else np.minimum
        with np.errstate(all="ignore"):
            return Case(arrays, expected=reduce(function, arrays.values()))
    rows = zip(*(array.ravel().tolist() for array in arrays.values()), strict=True)
    sums = [mpmath.fsum(row) for row in rows]
    with mpmath.workprec(300):
        return Case(arrays, exact=[s / 3 if schema.name == "Mean" else s for s in sums])


def clip(schema, types):
    data = elements(types["T"])
    low, high = (np.array(bound, data.dtype) for bound in (1, 5))
    with np.errstate(all="ignore"):
        expected = np.minimum(np.maximum(data, low), high)
    if len(schema.inputs) == 1:
        return Case({"input": data}, {"min": 1.0, "max": 5.0}, expected)
    return Case({"input": data, "min": low, "max": high}, expected=expected)


def cast(schema, types):
    source, wanted = types["T1"], types["T2"]
    data = elements(source) if DATA_TYPES[wanted].element and DATA_TYPES[source].element else small_numbers(wanted)
    data = data.astype(np.float32).astype(DATA_TYPES[source].numpy) if data.dtype != DATA_TYPES[source].numpy else data
    inputs, attributes = {"input": data}, {}
    row = DATA_TYPES[wanted]
    if schema.name == "CastLike":
        inputs["target_type"] = elements(wanted) if wanted == "tensor(string)" else small_numbers(wanted)
    else:
        attributes["to"] = row.name if schema.since_version == 1 else row.number
    if source == "tensor(string)":
        inputs["input"] = np.array([["1", "0.0", "1e0"]], object)
        return Case(
            inputs,
            attributes,
            np.array([["1", "0.0", "1e0"] if row is DATA_TYPES[source] else [1, 0, 1]]).astype(row.numpy),
        )
    if wanted == "tensor(string)":
        inputs["input"] = data = np.array([1, 0]).astype(DATA_TYPES[source].numpy)
        ending = "" if row.name == "BOOL" or "int" in source or source == "tensor(bool)" else ".0"
        return Case(inputs, attributes, np.array([f"{int(v)}{ending}" for v in data.astype(np.float64)], object))
    if row.element is None or DATA_TYPES[source].element is None:
        return Case(inputs, attributes, data.astype(np.float32).astype(row.numpy))
    exact = [number(value, row.element) for value in data.ravel().tolist()]
    are_integers = not (row.element.is_float or DATA_TYPES[source].element.is_float)
    return Case(inputs, attributes, exact=exact, modular=are_integers)


def bit_cast(schema, types):
    data = small_numbers(types["T1"])
    return Case({"input": data}, {"to": DATA_TYPES[types["T2"]].number}, data.copy())


def number(value, kind):
    if kind.name == "bool":
        return value != 0
    return mpmath.mpf(value)


# ---- row-wise operators


def row_wise(schema, types):
    """Rows of 20 elements before opset 13, of 5 from then on; -inf and numbers 1e4 apart among them."""
    kind = DATA_TYPES[types["T"]].numpy
    data = np.random.default_rng(0).standard_normal((3, 4, 5)) * 4
    data[0, 0, :3] = -np.inf, 5e3, -5e3
    data = data.astype(kind)
    rows = data.reshape(-1, 5) if schema.since_version >= 13 else data.reshape(3, -1)
    function = {"Softmax": exact_softmax, "LogSoftmax": exact_log_softmax, "Hardmax": exact_hardmax}[schema.name]
    with mpmath.workprec(300):
        exact = [value for row in rows.tolist() for value in function([mpmath.mpf(x) for x in row])]
    return Case({"input": data}, exact=exact, limit=2.5 if kind.itemsize > 2 else 0.501)


def exact_softmax(row):
    exponentials = [mpmath.exp(x) for x in row]
    return [e / mpmath.fsum(exponentials) for e in exponentials]


def exact_log_softmax(row):
    total = mpmath.log(mpmath.fsum(mpmath.exp(x) for x in row))
    return [x - total for x in row]


def exact_hardmax(row):
    return [mpmath.mpf(i == row.index(max(row))) for i in range(len(row))]


# ---- functions on arrays


def moved(function, of=(6, 5), **arguments):
    """A recipe: arguments are inputs or attributes, as the version has them."""

    def recipe(schema, types):
        data = elements(types[schema.inputs[0].type_str], of)
        formal = {p.name: p.type_str for p in schema.inputs}
        inputs = {schema.inputs[0].name: data}
        given = {}
        for name, value in arguments.items():
            if name in formal:
                kind = types.get(formal[name], formal[name])
                inputs[name] = np.array(value, DATA_TYPES[kind].numpy)
            elif name in schema.attributes:
                given[name] = value
        return Case(inputs, given, function(data))

    return recipe


def slice_(schema, types):
    if schema.since_version == 1:
        return moved(lambda x: x[1:5, -4:3], starts=[1, -4], ends=[5, 3])(schema, types)
    return moved(lambda x: x[5:1:-2, 1:], starts=[1, -1], ends=[9, 1], axes=[1, 0], steps=[1, -2])(schema, types)


def reduced(function, **axes):
    def recipe(schema, types):
        data = small_numbers(types["T"], (3, 4, 2))
        case = moved(lambda _: function(data).astype(data.dtype), **axes)(schema, types)
        case.inputs[schema.inputs[0].name] = data
        return case

    return recipe


def wide(x):
    return x.astype(np.float64) if x.dtype.kind not in "iu" else x


def place(function):
    def recipe(schema, types):
        data = small_numbers(types["T"], (3, 4, 2))
        name = schema.inputs[0].name
        return Case({name: data}, {"axis": 1}, function(data, axis=1, keepdims=True))

    return recipe


def constant(schema, types):
    value = elements(types["T"], (2, 3))
    return Case({}, {"value": attribute_tensor(value)}, value)


def constant_of_shape(schema, types):
    value = elements(types["T2"], (1,))
    return Case({"input": np.array([2, 3])}, {"value": attribute_tensor(value)}, np.full((2, 3), value[0], value.dtype))


def identity(schema, types):
    value = elements(next(iter(types.values())))
    return Case({"input": value}, expected=value)


def numbers_or_numpy(function):
    """The catalogue's formula for numbers; NumPy for what kernels have no type for."""

    def recipe(schema, types):
        if DATA_TYPES[types[schema.inputs[-1].type_str]].element is not None:
            return from_catalogue(schema, types)
        arrays = {p.name: elements(types[p.type_str], seed=i) for i, p in enumerate(schema.inputs)}
        return Case(arrays, expected=np.asarray(function(*arrays.values())))

    return recipe


# ---- data movement that copies


def given(schema, types, others, attributes, expected, of=(6, 5), make=elements):
    """A node with these inputs behind the data, which get the types that the schema says; expected of the data."""
    data = make(types[schema.inputs[0].type_str], of)
    inputs = {schema.inputs[0].name: data}
    for formal, value in zip(schema.inputs[1:], others, strict=False):
        kind = types.get(formal.type_str, formal.type_str)
        inputs[formal.name] = np.array(value, DATA_TYPES[kind].numpy)
    known = {name: value for name, value in attributes.items() if name in schema.attributes}
    result = expected(data)
    return Case(inputs, known, result)


def scattered(place):
    """The first row of the data as updates of the second."""

    def recipe(schema, types):
        data = elements(types["T"])
        updates = data[:1]
        name = "Tind" if "Tind" in types else "tensor(int64)"
        kind = DATA_TYPES[types.get("Tind", name)].numpy
        inputs = {"data": data, "indices": np.array(place, kind), "updates": updates}
        return Case(inputs, {}, np.concatenate([data[:1], data[:1], data[2:]]))

    return recipe


def copied(expected, *others, of=(6, 5), make=elements, **attributes):
    return lambda schema, types: given(schema, types, others, attributes, expected, of, make)


def concat(schema, types):
    data = elements(types["T"])
    inputs = {"first": data, "second": data[:2], "third": data[4:]}
    return Case(inputs, {"axis": 0}, np.concatenate(list(inputs.values())))


def split(schema, types):
    data = elements(types["T"])
    case = Case({"input": data}, {"axis": 1}, [data[:, :2], data[:, 2:4], data[:, 4:]], outputs=("a", "b", "c"))
    sizes = [2, 2, 1]
    if "split" in schema.attributes:
        case.attributes["split"] = sizes
    elif "num_outputs" in schema.attributes:
        case.attributes["num_outputs"] = 3
    else:
        case.inputs["split"] = np.array(sizes)
    return case


def topk(schema, types):
    data = np.array([[3, 1, 4, 1, 5], [2, 7, 1, 7, 2]]).astype(DATA_TYPES[types["T"]].numpy)
    values, places = [[5, 4], [7, 7]], [[4, 2], [1, 3]]
    case = Case({"X": data}, {"axis": -1}, [np.array(values).astype(data.dtype), np.array(places)], outputs=("v", "i"))
    if schema.since_version == 1:
        case.attributes["k"] = 2
    else:
        case.inputs["K"] = np.array([2])
    return case


def dropout(schema, types):
    data = elements(types["T"])
    kind = np.bool_ if schema.since_version >= 10 else data.dtype
    return Case({"data": data}, {}, [data, np.ones(data.shape, kind)], outputs=("y", "mask"))


def batch_normalization(schema, types):
    kinds = [DATA_TYPES[types.get(p.type_str, p.type_str)].numpy for p in schema.inputs]
    data = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(kinds[0])
    rows = [np.array(v, k) for v, k in zip(([1, 2, -1], [0, 1, 0.5], [0, 1, -1], [1, 0.25, 4]), kinds[1:], strict=True)]
    epsilon = mpmath.mpf(float(np.float32(1e-5)))
    with mpmath.workprec(300):
        exact = []
        for (_, channel, _), x in np.ndenumerate(data):
            scale, bias, mean, variance = (mpmath.mpf(float(row[channel])) for row in rows)
            exact.append((mpmath.mpf(float(x)) - mean) / mpmath.sqrt(variance + epsilon) * scale + bias)
    inputs = dict(zip((p.name for p in schema.inputs), [data, *rows], strict=True))
    return Case(inputs, {"consumed_inputs": [0]} if schema.since_version == 1 else {}, exact=exact)


def normalisation(schema, types):
    """The golden rule's first call, in fractions; of three outputs the first."""
    spec = of_onnx(schema.name, schema.since_version, types)
    _, inputs, (first, *_) = next(iter(spec.calls(0)))
    exact = [mpmath.mpf(float(value)) for value in first.reshape(-1)]
    return Case(dict(zip(spec.tensors, inputs, strict=True)), dict(spec.parameters), exact=exact, limit=2.0)


def range_(schema, types):
    kind = DATA_TYPES[types["T"]].numpy
    inputs = {"start": np.array(1, kind), "limit": np.array(8, kind), "delta": np.array(3, kind)}
    return Case(inputs, {}, np.array([1, 4, 7]).astype(kind))


def tile(schema, types):
    data = elements(types["T"])
    if schema.since_version == 1:
        kind = data.dtype
        return Case(
            {"input": data, "tiles": np.array([2], kind), "axis": np.array([1], kind)}, {}, np.tile(data, (1, 2))
        )
    return Case({"input": data, "repeats": np.array([2, 3])}, {}, np.tile(data, (2, 3)))


def pad(schema, types):
    data = elements(types["T"], (2, 3))
    expected = np.concatenate([data[:, :1], data, data[:, -1:], data[:, -1:]], axis=1)
    if "pads" in schema.attributes or "paddings" in schema.attributes:
        name = "pads" if "pads" in schema.attributes else "paddings"
        return Case({"data": data}, {name: [0, 1, 0, 2], "mode": "edge"}, expected)
    return Case({"data": data, "pads": np.array([0, 1, 0, 2])}, {"mode": "edge"}, expected)


def bit_shift(schema, types):
    data = np.array([1, 2, 7, 100]).astype(DATA_TYPES[types["T"]].numpy)
    amount = np.array([1, 3, 0, 2]).astype(data.dtype)
    return Case({"X": data, "Y": amount}, {"direction": "RIGHT"}, data >> amount)


def cumulative(function):
    def recipe(schema, types):
        data = small_numbers(types["T"], (3, 4))
        kind = DATA_TYPES[types["T2"]].numpy
        inputs = {"x": data, "axis": np.array(1, kind)}
        return Case(inputs, {}, function(data.astype(np.float64), axis=1).astype(data.dtype))

    return recipe


def one_hot(schema, types):
    is_text = types["T3"] == "tensor(string)"
    values = np.array(["a", "b"], object) if is_text else np.array([0, 1]).astype(DATA_TYPES[types["T3"]].numpy)
    places = np.array([0, 2, 1]).astype(DATA_TYPES[types["T1"]].numpy)
    depth = np.array(3).astype(DATA_TYPES[types["T2"]].numpy)
    return Case({"indices": places, "depth": depth, "values": values}, {}, values[np.eye(3, dtype=int)[[0, 2, 1]]])


def eye_like(schema, types):
    data = small_numbers(types["T1"], (3, 4))
    row = DATA_TYPES[types["T2"]]
    return Case({"input": data}, {"dtype": row.number}, np.eye(3, 4).astype(row.numpy))


def quantize(schema, types):
    kinds = {p.name: types.get(p.type_str, p.type_str) for p in schema.inputs}
    x = np.array([0, 1, 2, 3]).astype(DATA_TYPES[kinds["x"]].numpy)
    scale = np.array(1).astype(DATA_TYPES[kinds["y_scale"]].numpy)
    zero = np.array(0).astype(DATA_TYPES[kinds["y_zero_point"]].numpy)
    low_bits = DATA_TYPES[kinds["y_zero_point"]].name in ("INT2", "UINT2")
    x = np.minimum(x, np.array(1, x.dtype)) if low_bits else x
    return Case({"x": x, "y_scale": scale, "y_zero_point": zero}, {}, x.astype(np.float32).astype(zero.dtype))


def dequantize(schema, types):
    kinds = {p.name: types.get(p.type_str, p.type_str) for p in schema.inputs}
    x = np.array([0, 1, 1, 0]).astype(DATA_TYPES[kinds["x"]].numpy)
    scale = np.array(2).astype(DATA_TYPES[kinds["x_scale"]].numpy)
    zero = np.array(0).astype(x.dtype)
    follows = schema.since_version >= 19 and kinds["x_scale"] != "tensor(float8e8m0)"
    result = scale.dtype if follows else np.float32
    inputs = {"x": x, "x_scale": scale, "x_zero_point": zero}
    return Case(inputs, {}, (x.astype(np.float32) * np.float32(2)).astype(result))


RECIPES = {
    "BatchNormalization": batch_normalization,
    **dict.fromkeys(NORMAL_RULES, normalisation),
    "BitShift": bit_shift,
    "Compress": copied(lambda x: x[[0, 2]], [True, False, True], axis=0),
    "Concat": concat,
    "CumProd": cumulative(np.cumprod),
    "CumSum": cumulative(np.cumsum),
    "DepthToSpace": copied(lambda x: x.reshape(1, 1, 2, 2), of=(1, 4, 1, 1), blocksize=2),
    "DequantizeLinear": dequantize,
    "Dropout": dropout,
    "EyeLike": eye_like,
    "Gather": copied(lambda x: x[[3, 0]], [3, 0]),
    "GatherElements": copied(lambda x: x[[1, 0], [0, 1]][None], [[1, 0]], axis=0),
    "GatherND": copied(lambda x: x[[1, 0], [2, 0]], [[1, 2], [0, 0]]),
    "NonZero": copied(lambda x: np.array(np.nonzero(x))),
    "OneHot": one_hot,
    "Pad": pad,
    "QuantizeLinear": quantize,
    "Range": range_,
    "ReverseSequence": copied(lambda x: np.stack([x[[1, 0, 2], 0], x[[0, 1, 2], 1]], axis=1), [2, 1], of=(3, 2)),
    "Scatter": scattered([[1] * 5]),
    "ScatterElements": scattered([[1] * 5]),
    "ScatterND": scattered([[1]]),
    "SpaceToDepth": copied(lambda x: x.reshape(1, 4, 1, 1), of=(1, 1, 2, 2), blocksize=2),
    "Split": split,
    "Tile": tile,
    "TopK": topk,
    "Trilu": copied(lambda x: np.where(np.tri(6, 5, -1, dtype=bool), np.zeros((), x.dtype), x), of=(6, 5)),
    "BitCast": bit_cast,
    "Cast": cast,
    "CastLike": cast,
    "Clip": clip,
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Equal": numbers_or_numpy(lambda a, b: (a == b).astype(bool)),
    "Expand": moved(lambda x: np.broadcast_to(x, (2, 6, 5)), shape=[2, 1, 5]),
    "Flatten": moved(lambda x: x.reshape(2, 15), of=(2, 3, 5)),
    "GlobalAveragePool": reduced(lambda x: wide(x).mean(axis=2, keepdims=True)),
    "GlobalLpPool": reduced(lambda x: np.sqrt((wide(x) ** 2).sum(axis=2, keepdims=True))),
    "GlobalMaxPool": reduced(lambda x: x.max(axis=2, keepdims=True)),
    "Hardmax": row_wise,
    "Identity": identity,
    "IsInf": numbers_or_numpy(np.isinf),
    "IsNaN": numbers_or_numpy(np.isnan),
    "LogSoftmax": row_wise,
    "Max": variadic,
    "Mean": variadic,
    "Min": variadic,
    "ArgMax": place(np.argmax),
    "ArgMin": place(np.argmin),
    "ReduceL1": reduced(lambda x: np.abs(wide(x)).sum(axis=1, keepdims=True), axes=[1]),
    "ReduceL2": reduced(lambda x: np.sqrt((wide(x) ** 2).sum(axis=1, keepdims=True)), axes=[1]),
    "ReduceLogSum": reduced(lambda x: np.log(wide(x).sum(axis=1, keepdims=True)), axes=[1]),
    "ReduceLogSumExp": reduced(lambda x: np.log(np.exp(wide(x)).sum(axis=1, keepdims=True)), axes=[1]),
    "ReduceSumSquare": reduced(lambda x: (wide(x) ** 2).sum(axis=1, keepdims=True), axes=[1]),
    "ReduceMax": reduced(lambda x: x.max(axis=1, keepdims=True), axes=[1]),
    "ReduceMean": reduced(lambda x: x.astype(np.float64).mean(axis=1, keepdims=True), axes=[1]),
    "ReduceMin": reduced(lambda x: x.min(axis=1, keepdims=True), axes=[1]),
    "ReduceProd": reduced(lambda x: wide(x).prod(axis=1, keepdims=True), axes=[1]),
    "ReduceSum": reduced(lambda x: x.astype(np.float64).sum(axis=1, keepdims=True), axes=[1]),
    "Reshape": moved(lambda x: x.reshape(2, 15), of=(2, 3, 5), shape=[0, -1]),
    "Shape": moved(lambda x: np.array(x.shape)),
    "Size": moved(lambda x: np.array(x.size)),
    "Slice": slice_,
    "Softmax": row_wise,
    "Squeeze": moved(lambda x: x[:, 0], of=(6, 1, 5), axes=[1]),
    "Sum": variadic,
    "Transpose": moved(np.transpose),
    "Unsqueeze": moved(lambda x: x[None, :, :, None], axes=[0, 3]),
    "Where": numbers_or_numpy(np.where),
}

"""How the members of a desc become operands and parameters of a formula, for every kind of member there is."""

import re
from pathlib import Path

import numpy as np
import pytest

import ogive
import ogive.directml as dml
from ogive.catalog.standards import TABLE, rows
from tests.directml.running import DEVICE, values
from tests.directml.standard import OPERATORS, make, row, tensor
from tests.inputs import assert_same_bits


def run(desc, *arrays):
    return DEVICE.CompileOperator(DEVICE.CreateOperator(desc)).dispatch(list(arrays))[0]


def names(compiled):
    """The names of a plan's calls."""
    functions = [call.function for call in compiled._plan.calls]
    return [f.__name__ if isinstance(f, np.ufunc) else f.name for f in functions]


def canonical(array):
    """The array with the one bit pattern that results have for NaN."""
    return np.where(np.isnan(array), array.dtype.type("nan"), array) if array.dtype.kind == "f" else array


def chain(*descs):
    """A compiled graph of operators with one input each, one after the other."""
    edges = [dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(i, 0, i + 1, 0) for i in range(len(descs) - 1)]
    return DEVICE.CompileGraph(
        dml.DML_GRAPH_DESC(
            1,
            1,
            [dml.DML_OPERATOR_GRAPH_NODE_DESC(DEVICE.CreateOperator(desc)) for desc in descs],
            [dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0)],
            [dml.DML_OUTPUT_GRAPH_EDGE_DESC(len(descs) - 1, 0, 0)],
            edges,
        )
    )


# ---- bits

BITS = row("DML_OPERATOR_ELEMENT_WISE_BIT_NOT", "6_4")["InputTensor"]["types"]
assert len(BITS) == 11


@pytest.mark.parametrize("kind", BITS)
def test_bits_of_any_type(kind):
    """The type says only how wide an element is."""
    x = tensor(kind, (40,))
    data = values(kind, 40)
    result = run(dml.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC(x, x), data)
    assert_same_bits(result.view(np.uint8), ~data.view(np.uint8))
    for result_kind in ("UINT8", "UINT32"):
        result = run(dml.DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC(x, tensor(result_kind, (40,))), data)
        wanted = np.unpackbits(data.view(np.uint8).reshape(40, -1), axis=1).sum(axis=1)
        assert_same_bits(result, wanted.astype(result_kind.lower()))


def test_bits_are_not_fused_with_numbers():
    """The bits of a float are another view of the same memory: between kernels, not inside one."""
    x = tensor("FLOAT32", (40,))
    relu, complement, tanh = (
        make(f"DML_OPERATOR_{name}", types=dict.fromkeys(("InputTensor", "OutputTensor"), "FLOAT32"), sizes=(40,))
        for name in ("ACTIVATION_RELU", "ELEMENT_WISE_BIT_NOT", "ACTIVATION_TANH")
    )
    assert relu.InputTensor == x
    compiled = chain(relu, complement, complement, tanh)
    assert len(compiled._plan.calls) == 3
    data = values("FLOAT32", 40)
    assert_same_bits(compiled.dispatch([data])[0], ogive.tanh(ogive.relu(data)))


@pytest.mark.parametrize("kind", ["UINT8", "UINT16", "UINT32", "UINT64"])
def test_shifts_as_long_as_the_number_give_zero(kind):
    x = tensor(kind, (4,))
    bits = np.dtype(kind.lower()).itemsize * 8
    counts = np.array([0, bits - 1, bits, bits + 1], kind.lower())
    ones = np.full(4, -1, f"i{bits // 8}").view(kind.lower())
    left = run(dml.DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC(x, x, x), ones, counts)
    right = run(dml.DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC(x, x, x), ones, counts)
    assert left.tolist() == [2**bits - 1, 2 ** (bits - 1), 0, 0]
    assert right.tolist() == [2**bits - 1, 1, 0, 0]


# ---- truth values


@pytest.mark.parametrize("kind", ["UINT8", "UINT32"])
def test_truth_values_of_any_unsigned_type(kind):
    x = tensor(kind, (5,))
    a = np.array([0, 1, 2, 255, 0]).astype(kind.lower())
    b = np.array([0, 0, 1, 128, 7]).astype(kind.lower())
    result = run(dml.DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC(x, x, x), a, b)
    assert result.tolist() == [0, 0, 1, 1, 0]
    assert result.dtype == kind.lower()


@pytest.mark.parametrize("kind", row("DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN", "6_4")["ATensor"]["types"])
@pytest.mark.parametrize("result", ["UINT8", "UINT32"])
def test_results_that_are_truth_values(kind, result):
    x, y = tensor(kind, (60,)), tensor(result, (60,))
    a, b = values(kind, 60, 1), values(kind, 60, 2)
    found = run(dml.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC(x, x, y), a, b)
    assert_same_bits(found, (a < b).astype(result.lower()))


@pytest.mark.parametrize("kind", row("DML_OPERATOR_ELEMENT_WISE_IF", "6_4")["ATensor"]["types"])
def test_conditions(kind):
    x, c = tensor(kind, (60,)), tensor("UINT8", (60,))
    condition = np.arange(60, dtype=np.uint8) % 3 * 100
    a, b = values(kind, 60, 1), values(kind, 60, 2)
    found = run(dml.DML_ELEMENT_WISE_IF_OPERATOR_DESC(c, x, x, x), condition, a, b)
    assert_same_bits(found, canonical(np.where(condition != 0, a, b)))


# ---- numbers


@pytest.mark.parametrize("kind", row("DML_OPERATOR_ELEMENT_WISE_THRESHOLD", "6_4")["InputTensor"]["types"])
@pytest.mark.parametrize("scale", [None, dml.DML_SCALE_BIAS(-2.0, 0.5)])
def test_numbers_are_floats_whatever_the_type_of_the_tensors(kind, scale):
    """A bound of 2.75 is no integer."""
    x = tensor(kind, (60,))
    data = values(kind, 60)
    found = run(dml.DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC(x, x, scale, Min=2.75), data)
    with np.errstate(all="ignore"):
        exact = data.astype(np.float64)
        if scale is not None:
            exact = exact * -2.0 + 0.5
            if "INT" in kind:
                info = np.iinfo(kind.lower())
                exact = np.trunc(np.clip(exact, info.min, info.max))
        wanted = np.where(np.isnan(exact), np.nan, np.maximum(exact, 2.75)).astype(kind.lower())
    assert_same_bits(found, wanted)


def test_infinite_bounds_and_subnormal_numbers_are_taken():
    x = tensor("FLOAT32", (60,))
    data = values("FLOAT32", 60)
    threshold = dml.DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC(x, x, Min=float("-inf"))
    assert_same_bits(run(threshold, data), ogive.threshold(data, min=float("-inf")))
    tiny = float(np.float32(1e-40))
    with np.errstate(invalid="ignore"):  # one of the values is a signalling NaN
        wide = data.astype(np.float64)
    for desc, right in (
        (threshold.replace(Min=1e-40), ogive.threshold(data, min=tiny)),
        (threshold.replace(ScaleBias=dml.DML_SCALE_BIAS(1e-40, 0)), (wide * tiny + 0).astype(np.float32)),
        (threshold.replace(ScaleBias=dml.DML_SCALE_BIAS(1, -1e-40)), (wide - tiny).astype(np.float32)),
        (dml.DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC(x, x, Exponent=1e-40), ogive.pow(data, np.float32(tiny))),
    ):
        result, is_nan = run(desc, data), np.isnan(right)
        assert np.isnan(result[is_nan]).all()
        assert_same_bits(result[~is_nan], right[~is_nan])


CLIPPED = row("DML_OPERATOR_ELEMENT_WISE_CLIP1", "6_4")["InputTensor"]["types"]
assert len(CLIPPED) == 10


@pytest.mark.parametrize("kind", CLIPPED)
def test_exact_numbers_of_any_type(kind):
    """DML_SCALAR_UNION holds what a FLOAT cannot: 2**62 + 1."""
    x = tensor(kind, (60,))
    data, data_type = values(kind, 60), x.DataType
    low, high = (2, 2**62 + 1) if kind.endswith("INT64") else (2, 100)
    bounds = [dml.DML_SCALAR_UNION.of(number, data_type) for number in (low, high)]
    clip = dml.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(x, x, Min=bounds[0], Max=bounds[1])
    of_type = np.array([low, high]).astype(kind.lower())
    with np.errstate(invalid="ignore"):
        assert_same_bits(run(clip, data), canonical(np.clip(data, *of_type)))
    gradient = dml.DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC(x, x, x, Min=bounds[0], Max=bounds[1])
    steep = np.ones_like(data)
    with np.errstate(invalid="ignore"):
        is_outside = (data <= of_type[0]) | (data >= of_type[1])
    assert_same_bits(run(gradient, data, steep), np.where(is_outside, 0, steep))
    if "FLOAT" in kind:
        unbounded = clip.replace(Max=dml.DML_SCALAR_UNION.of(float("inf"), data_type))
        assert_same_bits(run(unbounded, data), canonical(np.maximum(data, of_type[0])))


@pytest.mark.parametrize("kind", CLIPPED)
def test_bounds_in_the_wrong_order(kind):
    """CLIP is min(Max, ...) and gives Max; CLIP1 is max(Min, ...) and gives Min."""
    x = tensor(kind, (3,))
    data = np.array([0, 4, 50]).astype(kind.lower())
    five, two = (dml.DML_SCALAR_UNION.of(number, x.DataType) for number in (5, 2))
    assert run(dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(x, x, Min=5, Max=2), data).tolist() == [2, 2, 2]
    assert run(dml.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(x, x, Min=five, Max=two), data).tolist() == [5, 5, 5]


def test_the_sign_of_nan_is_zero():
    x = tensor("FLOAT32", (5,))
    data = np.float32(["nan", "-inf", -0.0, 0.0, 3])
    assert run(dml.DML_ELEMENT_WISE_SIGN_OPERATOR_DESC(x, x), data).tolist() == [0, -1, 0, 0, 1]


INTEGERS = ["INT8", "INT16", "INT32", "UINT8", "UINT16", "UINT32"]


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("exponents", ["FLOAT32", "FLOAT16"])
def test_powers_of_integers_that_are_integers_are_exact(kind, exponents):
    """Also where the exponent is a floating number: no power is cut off because it came out a little too small."""
    info = np.iinfo(kind.lower())
    cases = [(base, power, base**power) for power in range(32) for base in range(-200, 201)]
    cases += [(root**4, power, root ** int(4 * power)) for root in range(200) for power in (0.25, 0.5, 0.75)]
    fitting = [c for c in cases if all(info.min <= number <= info.max for number in (c[0], c[2]))]
    assert len(fitting) > 100
    bases, powers, wanted = (np.array(column) for column in zip(*fitting, strict=True))
    x, e = tensor(kind, (len(fitting),)), tensor(exponents, (len(fitting),))
    found = run(
        dml.DML_ELEMENT_WISE_POW_OPERATOR_DESC(x, e, x), bases.astype(kind.lower()), powers.astype(exponents.lower())
    )
    assert_same_bits(found, wanted.astype(kind.lower()))


def test_powers_beyond_the_type():
    """For integers they wrap around; with a floating exponent they saturate, and NaN is 0."""
    x, e = tensor("INT8", (4,)), tensor("FLOAT32", (4,))
    bases = np.int8([2, 3, -3, -2])
    wrapped = run(dml.DML_ELEMENT_WISE_POW_OPERATOR_DESC(x, x, x), bases, np.int8([8, 5, 5, -1]))
    assert wrapped.tolist() == [0, 243 - 256, 256 - 243, 0]
    real = run(dml.DML_ELEMENT_WISE_POW_OPERATOR_DESC(x, e, x), bases, np.float32([8, 5, 5, 0.5]))
    assert real.tolist() == [127, 127, -128, 0]


def test_quantising_rounds_halves_to_even():
    types = {"InputTensor": "FLOAT32", "ScaleTensor": "FLOAT32", "ZeroPointTensor": "UINT8", "OutputTensor": "UINT8"}
    desc = make("DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR", types=types, sizes=(6,))
    data = np.float32([0.25, 0.75, -0.25, 1e9, -1e9, "nan"])
    assert run(desc, data, np.full(6, 0.5, np.float32), np.full(6, 10, np.uint8)).tolist() == [10, 12, 10, 255, 0, 0]


def test_rounding_modes():
    x = tensor("FLOAT32", (5,))
    data = np.float32([-2.5, -1.75, 0.5, 1.5, 2.5])
    even, zero, infinity = dml.DML_ROUNDING_MODE
    desc = dml.DML_ELEMENT_WISE_ROUND_OPERATOR_DESC(x, x)
    assert desc.RoundingMode is even
    assert run(desc, data).tolist() == [-2, -2, 0, 2, 2]
    assert run(desc.replace(RoundingMode=zero), data).tolist() == [-2, -1, 0, 1, 2]
    assert run(desc.replace(RoundingMode=infinity), data).tolist() == [-3, -2, 1, 2, 3]


# ---- tensors that may be left out


def test_tensors_that_are_left_out_are_not_bound():
    name = "DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR"
    kinds = {"InputTensor": "UINT8", "ZeroPointTensor": "UINT8", "ScaleTensor": "FLOAT32", "OutputTensor": "FLOAT32"}
    x, scale = np.uint8([0, 10, 255]), np.float32([0.5, 2, 1])
    given = make(name, types=kinds, sizes=(3,))
    assert run(given, x, scale, np.uint8([1, 1, 5])).tolist() == [-0.5, 18, 250]
    left_out = given.replace(ZeroPointTensor=None)
    compiled = DEVICE.CompileOperator(DEVICE.CreateOperator(left_out))
    assert compiled.dispatch([x, scale, None])[0].tolist() == [0, 20, 255]
    assert compiled.dispatch({"InputTensor": x, "ScaleTensor": scale})[0].tolist() == [0, 20, 255]
    with pytest.raises(dml.DMLError, match="ZeroPointTensor is bound, which the operator does not have"):
        compiled.dispatch([x, scale, x])
    table = DEVICE.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(compiled))
    table.BindInputs([np.zeros(16, np.uint8), np.zeros(4, np.float32), None])


def test_operands_of_other_sizes_end_a_group():
    """The scales of QUANTIZED_LINEAR_ADD have one element: what computes them is a kernel of its own."""
    x, one, zero = tensor("INT8", (3, 8)), tensor("FLOAT32", (1, 1)), tensor("INT8", (1, 1))
    desc = dml.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC(x, one, zero, x, one, zero, one, zero, x)
    nodes = [
        dml.DML_OPERATOR_GRAPH_NODE_DESC(DEVICE.CreateOperator(each))
        for each in (dml.DML_ACTIVATION_RELU_OPERATOR_DESC(one, one), desc)
    ]
    # Graph input 0 goes through the relu to AScaleTensor, and as it is to the other scales.
    feeds = {0: 1, 2: 3, 3: 1, 4: 0, 5: 3, 6: 0, 7: 3}
    graph = dml.DML_GRAPH_DESC(
        4,
        2,
        nodes,
        [
            dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0),
            *(dml.DML_INPUT_GRAPH_EDGE_DESC(source, 1, slot) for slot, source in feeds.items()),
        ],
        [dml.DML_OUTPUT_GRAPH_EDGE_DESC(n, 0, n) for n in (0, 1)],
        [dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(0, 0, 1, 1)],
    )
    compiled = DEVICE.CompileGraph(graph)
    assert len(compiled._plan.calls) == 2
    a = values("INT8", 24).reshape(3, 8)
    scale, offset = np.float32([[0.5]]), np.int8([[3]])
    relu, total = compiled.dispatch([scale, a, None, offset])
    assert_same_bits(relu, scale)
    assert_same_bits(total, ogive.quantized_linear_add(a, scale, offset, a, scale, offset, scale, offset))


# ---- conversions and fills


def test_conversions():
    x = tensor("FLOAT32", (6,))
    data = np.float32([1.7, -1.7, 300, -1, "nan", "inf"])
    found = run(dml.DML_CAST_OPERATOR_DESC(x, tensor("INT32", (6,))), data)
    assert found.tolist() == [1, -1, 300, -1, 0, 2**31 - 1]
    found = run(dml.DML_CAST_OPERATOR_DESC(x, tensor("UINT8", (6,))), data)
    assert found.tolist() == [1, 0, 255, 0, 0, 255]
    x = tensor("INT32", (3,))
    found = run(dml.DML_CAST_OPERATOR_DESC(x, tensor("UINT8", (3,))), np.int32([-1, 256, 511]))
    assert found.tolist() == [255, 0, 255]


@pytest.mark.parametrize("name", ["CONSTANT", "SEQUENCE"])
def test_fills_of_other_layouts(name):
    """The order is that of the sizes, not that of the strides."""
    y = tensor("INT16", (2, 3), Strides=(1, 4))
    number = dict.fromkeys(["Value", "ValueStart", "ValueDelta"], dml.DML_SCALAR_UNION(Int16=-5))
    kind = getattr(dml, f"DML_FILL_VALUE_{name}_OPERATOR_DESC")
    found = run(kind(y, **{n: v for n, v in number.items() if n in kind.__match_args__}))
    wanted = [[-5] * 3] * 2 if name == "CONSTANT" else [[-5, -10, -15], [-20, -25, -30]]
    assert found.tolist() == wanted
    assert found.strides == (2, 8)


def test_long_sequences():
    y = tensor("UINT8", (3, 100_001))
    five = dml.DML_SCALAR_UNION(UInt8=5)
    found = run(dml.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC(y, ValueStart=five, ValueDelta=five))
    assert_same_bits(found, (np.arange(1, 300_004) * 5).astype(np.uint8).reshape(3, -1))


def test_the_examples_of_sequences():
    examples = OPERATORS["DML_OPERATOR_FILL_VALUE_SEQUENCE"]["examples"]
    assert len(examples) == 2
    for example in examples:
        y = tensor(example["type"], example["sizes"])
        start, delta = (dml.DML_SCALAR_UNION.of(example[key], y.DataType) for key in ("start", "delta"))
        found = run(dml.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC(y, ValueStart=start, ValueDelta=delta))
        assert found.ravel().tolist() == example["output"]


def test_fills_in_graphs():
    x = tensor("FLOAT32", (2, 3))
    one = dml.DML_SCALAR_UNION(Float32=1.0)
    nodes = [
        dml.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC(x, Value=one),
        dml.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC(x, ValueStart=one, ValueDelta=one),
        dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(x, x, x),
    ]
    graph = dml.DML_GRAPH_DESC(
        0,
        1,
        [dml.DML_OPERATOR_GRAPH_NODE_DESC(DEVICE.CreateOperator(desc)) for desc in nodes],
        [],
        [dml.DML_OUTPUT_GRAPH_EDGE_DESC(2, 0, 0)],
        [dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(i, 0, 2, i) for i in (0, 1)],
    )
    assert DEVICE.CompileGraph(graph).dispatch([])[0].tolist() == [[2, 3, 4], [5, 6, 7]]


# ---- row-wise operators

ROWWISE = {
    "SOFTMAX": ogive.softmax,
    "LOG_SOFTMAX": ogive.log_softmax,
    "HARDMAX": ogive.hardmax,
}


@pytest.mark.parametrize("name", ROWWISE)
@pytest.mark.parametrize("axes", [None, (1,), (0, 2), (2, 0), (0, 1, 2)])
def test_rowwise_operators(name, axes):
    sizes = (1, 5, 4) if axes is None else (3, 5, 4)
    x, y = tensor("FLOAT32", sizes), tensor("FLOAT32", sizes, Strides=(1, 4, 20))
    if axes is None:
        desc = getattr(dml, f"DML_ACTIVATION_{name}_OPERATOR_DESC")(x, y)
    else:
        desc = getattr(dml, f"DML_ACTIVATION_{name}1_OPERATOR_DESC")(x, y, Axes=axes)
    data = np.random.default_rng(0).normal(size=sizes).astype(np.float32)
    wanted = ROWWISE[name](data, axis=-1 if axes is None else axes)
    assert_same_bits(np.ascontiguousarray(run(desc, data)), wanted)


def test_the_examples_of_hardmax():
    examples = OPERATORS["DML_OPERATOR_ACTIVATION_HARDMAX1"]["examples"]
    x = tensor(examples["input"]["type"], examples["input"]["sizes"])
    data = np.array(examples["input"]["data"], np.float32)
    assert len(examples["cases"]) == 3
    for case in examples["cases"]:
        desc = dml.DML_ACTIVATION_HARDMAX1_OPERATOR_DESC(x, x, Axes=case["axes"])
        assert run(desc, data).tolist() == case["output"]


def test_rowwise_operators_in_graphs():
    """Along the last axis they are fused with what comes before and after, unless that needs a repair, as tanh does."""
    x = tensor("FLOAT32", (6, 4))
    relu = dml.DML_ACTIVATION_RELU_OPERATOR_DESC(x, x)
    tanh, softmax = dml.DML_ACTIVATION_TANH_OPERATOR_DESC(x, x), dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(x, x)
    graph = dml.DML_GRAPH_DESC(
        1,
        3,
        [dml.DML_OPERATOR_GRAPH_NODE_DESC(DEVICE.CreateOperator(desc)) for desc in (relu, tanh, softmax, relu, relu)],
        [dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0)],
        [dml.DML_OUTPUT_GRAPH_EDGE_DESC(n, 0, i) for i, n in enumerate((4, 2, 2))],
        [dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(i, 0, i + 1, 0) for i in range(4)],
    )
    compiled = DEVICE.CompileGraph(graph)
    assert names(compiled) == ["relu", "tanh", "3 operators"]
    data = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    wanted = ogive.softmax(ogive.tanh(ogive.relu(data)), axis=1)
    last, first, second = compiled.dispatch([data])
    for result in (first, second):
        assert_same_bits(result, wanted)
    assert_same_bits(last, ogive.relu(wanted))


def test_rowwise_operators_along_other_axes_stay_alone():
    x = tensor("FLOAT32", (6, 4))
    tanh, softmax = dml.DML_ACTIVATION_TANH_OPERATOR_DESC(x, x), dml.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(x, x, 1, [0])
    graph = dml.DML_GRAPH_DESC(
        1,
        1,
        [dml.DML_OPERATOR_GRAPH_NODE_DESC(DEVICE.CreateOperator(desc)) for desc in (tanh, softmax, tanh)],
        [dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0)],
        [dml.DML_OUTPUT_GRAPH_EDGE_DESC(2, 0, 0)],
        [dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(i, 0, i + 1, 0) for i in range(2)],
    )
    compiled = DEVICE.CompileGraph(graph)
    assert names(compiled) == ["tanh", "softmax(axis=0)", "tanh"]
    data = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    (result,) = compiled.dispatch([data])
    assert_same_bits(result, ogive.tanh(ogive.softmax(ogive.tanh(data), axis=0)))


# ---- the tables


@pytest.mark.parametrize("name", TABLE["directml"])
def test_the_table_names_what_there_is(name):
    """Every row is about members of the operator's desc."""
    members = set(make(f"DML_OPERATOR_{name}").__match_args__)
    for known in rows("directml", name):
        assert {*known.when, *known.renamed} <= members


def test_every_mode_chooses_something():
    """Members that are enumerations have an entry for every value."""
    found = 0
    for name, entry in OPERATORS.items():
        for field in entry["fields"]:
            if field["type"] in ("DML_ROUNDING_MODE", "DML_IS_INFINITY_MODE"):
                names = {v.name.split("MODE_")[1] for v in getattr(dml, field["type"])}
                known = rows("directml", name.removeprefix("DML_OPERATOR_"))
                assert {row.when[field["name"]] for row in known} == names
                found += 1
    assert found == 2


# ---- the guide names what exists, and shows the real message. Its programs are run by tests/meta/test_blocks.py


TEXT = (Path(__file__).parents[2] / "docs" / "directml.md").read_text(encoding="utf-8")
NAMES = set(re.findall(r"`dml\.(\w+)", TEXT)) | set(re.findall(r"\b(DML_[A-Z0-9_]+)\b", TEXT))
assert NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_names_in_the_guide_exist(name):
    assert hasattr(dml, name) or any(other.startswith(name) for other in dml.__all__), name


def test_the_message_in_the_guide_is_the_real_one():
    tensor = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_INT32, Sizes=[2, 3])
    with pytest.raises(dml.DMLError) as caught:
        dml.Device("3_0").CreateOperator(dml.DML_ACTIVATION_SHRINK_OPERATOR_DESC(tensor, tensor))
    shown = re.search(r"```text\n(.*?)\n```", TEXT, re.DOTALL)[1]
    assert shown.replace("\n", " ") == str(caught.value)

"""How the members of a desc become operands and parameters of a formula, for every kind of member there is.

Where the catalogue has no operator for a kind yet, one is defined here, so that the mapping does not wait for it.
"""

from typing import Literal

import numpy as np
import pytest

import ogive
import ogive.directml as dml
from ogive import formula as f
from ogive.catalog import OPERATORS as CATALOG
from ogive.directml import computation
from ogive.dtypes import BOOLEAN, NUMBERS, UNSIGNED, element_type
from ogive.operator import Operator, Signature
from tests.directml.running import DEVICE, values
from tests.directml.standard import make, row, tensor
from tests.inputs import assert_same_bits

T = element_type


@pytest.fixture
def add_operator(monkeypatch):
    """Put an operator into the catalogue for one test, in the place of what has its DirectML name."""

    def add(operator):
        for name in [name for name, other in CATALOG.items() if other.directml == operator.directml]:
            monkeypatch.delitem(CATALOG, name)
        monkeypatch.setitem(CATALOG, "added by a test", operator)
        computation.find.cache_clear()

    yield add
    monkeypatch.undo()
    computation.find.cache_clear()


def run(desc, *arrays):
    return DEVICE.CompileOperator(DEVICE.CreateOperator(desc)).dispatch(list(arrays))[0]


@ogive.operator(types=UNSIGNED, modular=True, directml="ELEMENT_WISE_BIT_NOT")
def complement(x):
    return -x - 1


BITS = [kind for kind in row("DML_OPERATOR_ELEMENT_WISE_BIT_NOT", "6_4")["InputTensor"]["types"] if kind[0] != "I"]
assert BITS


@pytest.mark.parametrize("kind", BITS)
def test_bits_of_any_type(add_operator, kind):
    """The type says only how wide an element is: floats are computed as unsigned numbers."""
    add_operator(complement)
    x = tensor(kind, (40,))
    data = values(kind, 40)
    result = run(dml.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC(x, x), data)
    assert_same_bits(result.view(np.uint8), ~data.view(np.uint8))


def test_bits_are_not_fused_with_numbers(add_operator):
    """The bits of a float are another view of the same memory: between kernels, not inside one."""
    add_operator(complement)
    x = tensor("FLOAT32", (40,))
    nodes = [
        dml.DML_OPERATOR_GRAPH_NODE_DESC(DEVICE.CreateOperator(desc))
        for desc in (
            dml.DML_ACTIVATION_RELU_OPERATOR_DESC(x, x),
            dml.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC(x, x),
            dml.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC(x, x),
            dml.DML_ACTIVATION_TANH_OPERATOR_DESC(x, x),
        )
    ]
    graph = dml.DML_GRAPH_DESC(
        1,
        1,
        nodes,
        [dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0)],
        [dml.DML_OUTPUT_GRAPH_EDGE_DESC(3, 0, 0)],
        [dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(i, 0, i + 1, 0) for i in range(3)],
    )
    compiled = DEVICE.CompileGraph(graph)
    assert len(compiled._plan.steps) == 3
    data = values("FLOAT32", 40)
    assert_same_bits(compiled.dispatch([data])[0], ogive.tanh(ogive.relu(data)))


@ogive.operator(types=(BOOLEAN,), result=BOOLEAN, truth_inputs=("a", "b"), directml="ELEMENT_WISE_LOGICAL_AND")
def both(a, b):
    return a & b


@pytest.mark.parametrize("kind", ["UINT8", "UINT32"])
def test_truth_values_of_any_unsigned_type(add_operator, kind):
    add_operator(both)
    x = tensor(kind, (5,))
    a = np.array([0, 1, 2, 255, 0]).astype(kind.lower())
    b = np.array([0, 0, 1, 128, 7]).astype(kind.lower())
    result = run(dml.DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC(x, x, x), a, b)
    assert result.tolist() == [0, 0, 1, 1, 0]
    assert result.dtype == kind.lower()


@ogive.operator(types=NUMBERS, result=BOOLEAN, directml="ELEMENT_WISE_LOGICAL_LESS_THAN")
def smaller(a, b):
    return a < b


@pytest.mark.parametrize("kind", row("DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN", "6_4")["ATensor"]["types"])
@pytest.mark.parametrize("result", ["UINT8", "UINT32"])
def test_results_that_are_truth_values(add_operator, kind, result):
    add_operator(smaller)
    x, y = tensor(kind, (60,)), tensor(result, (60,))
    a, b = values(kind, 60, 1), values(kind, 60, 2)
    found = run(dml.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC(x, x, y), a, b)
    assert_same_bits(found, (a < b).astype(result.lower()))


@ogive.operator(types=NUMBERS, truth_inputs=("condition",), directml="ELEMENT_WISE_IF")
def choose(condition, a, b):
    return f.where(condition, a, b)


@pytest.mark.parametrize("kind", row("DML_OPERATOR_ELEMENT_WISE_IF", "6_4")["ATensor"]["types"])
def test_conditions(add_operator, kind):
    add_operator(choose)
    x, c = tensor(kind, (60,)), tensor("UINT8", (60,))
    condition = np.arange(60, dtype=np.uint8) % 3 * 100
    a, b = values(kind, 60, 1), values(kind, 60, 2)
    found = run(dml.DML_ELEMENT_WISE_IF_OPERATOR_DESC(c, x, x, x), condition, a, b)
    assert_same_bits(found, choose(condition != 0, a, b))


@ogive.operator(types=NUMBERS, directml="ELEMENT_WISE_MAX")
def larger(a, b):
    return f.maximum(a, b)


@pytest.mark.parametrize("kind", row("DML_OPERATOR_ELEMENT_WISE_THRESHOLD", "6_4")["InputTensor"]["types"])
@pytest.mark.parametrize("scale", [None, dml.DML_SCALE_BIAS(-2.0, 0.5)])
def test_a_number_in_the_place_of_a_tensor(add_operator, kind, scale):
    """THRESHOLD is max(x, Min) with a FLOAT, whatever the tensor's type: -0.75 is no integer."""
    add_operator(larger)
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


def test_numbers_that_formulas_do_not_take(add_operator):
    add_operator(larger)
    x = tensor("FLOAT32", (60,))
    data = values("FLOAT32", 60)
    threshold = dml.DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC(x, x, Min=float("-inf"))
    assert_same_bits(run(threshold, data), larger(data, np.float32("-inf")))
    for desc, member in (
        (threshold.replace(Min=1e-40), "Min"),
        (threshold.replace(ScaleBias=dml.DML_SCALE_BIAS(1e-40, 0)), "ScaleBias.Scale"),
        (threshold.replace(ScaleBias=dml.DML_SCALE_BIAS(1, -1e-40)), "ScaleBias.Bias"),
    ):
        with pytest.raises(dml.DMLError, match="is -?9.99.*e-41; allowed: 0 and magnitudes from 2") as caught:
            DEVICE.CreateOperator(desc)
        assert caught.value.member == member


@ogive.operator(types=NUMBERS, modular=True, directml="ELEMENT_WISE_CLIP1")
def between(x, min, max):  # noqa: A002  # what they are called in the desc, in snake case
    return f.maximum(f.minimum(x, max) + 100, min)  # which wraps around


@pytest.mark.parametrize("kind", row("DML_OPERATOR_ELEMENT_WISE_CLIP1", "6_4")["InputTensor"]["types"])
def test_exact_numbers_of_any_type(add_operator, kind):
    """DML_SCALAR_UNION holds what a FLOAT cannot: 2**62 + 1."""
    add_operator(between)
    x = tensor(kind, (60,))
    data = values(kind, 60)
    low, high = (2, 2**62 + 1) if kind.endswith("INT64") else (2, 100)
    data_type = x.DataType
    desc = dml.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(
        x, x, Min=dml.DML_SCALAR_UNION.of(low, data_type), Max=dml.DML_SCALAR_UNION.of(high, data_type)
    )
    found = run(desc, data)
    bounds = np.array([low, high]).astype(kind.lower())
    assert_same_bits(found, between(data, bounds[0], bounds[1]))
    if "FLOAT" in kind:
        union = dml.DML_SCALAR_UNION.of(float("inf"), data_type)
        assert_same_bits(
            run(desc.replace(Max=union), data), between(data, bounds[0], np.float64("inf").astype(kind.lower()))
        )


def test_tensors_that_are_left_out_are_zero(add_operator):
    types = [("uint8", "float32"), ("int32", "float32")]
    operator = Operator(
        lambda x, scale, zero: (x - zero) * scale,
        lambda n: [Signature((T(a), T(b), T(a)), (T(b),)) for a, b in types],
        {},
        directml="ELEMENT_WISE_DEQUANTIZE_LINEAR",
    )
    add_operator(operator)
    name = "DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR"
    kinds = {"InputTensor": "UINT8", "ZeroPointTensor": "UINT8", "ScaleTensor": "FLOAT32", "OutputTensor": "FLOAT32"}
    x, scale = np.uint8([0, 10, 255]), np.float32([0.5, 2, 1])
    assert run(make(name, types=kinds), x, scale, np.uint8([1, 1, 5])).tolist() == [-0.5, 18, 250]
    left_out = make(name, types=kinds, descs={"ZeroPointTensor": None})
    compiled = DEVICE.CompileOperator(DEVICE.CreateOperator(left_out))
    assert compiled.dispatch([x, scale, None])[0].tolist() == [0, 20, 255]
    assert compiled.dispatch({"InputTensor": x, "ScaleTensor": scale})[0].tolist() == [0, 20, 255]
    with pytest.raises(dml.DMLError, match="ZeroPointTensor is bound, which the operator does not have"):
        compiled.dispatch([x, scale, x])
    table = DEVICE.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(compiled))
    padded = np.zeros(16, np.uint8)
    table.BindInputs([padded, np.zeros(4, np.float32), None])
    wide = kinds | {"InputTensor": "INT16", "ZeroPointTensor": "INT16"}
    with pytest.raises(dml.DMLError, match="does not compute INT16, FLOAT32, INT16, FLOAT32 yet") as caught:
        DEVICE.CreateOperator(make(name, types=wide))
    assert caught.value.hresult == dml.HRESULT.E_NOTIMPL


@ogive.operator(directml="ELEMENT_WISE_ROUND")
def rounded(x, *, rounding_mode: Literal["halves_to_nearest_even", "toward_zero"] = "toward_zero"):
    return f.truncate(x) if rounding_mode == "toward_zero" else f.round_even(x)


def test_choices(add_operator):
    add_operator(rounded)
    x = tensor("FLOAT32", (4,))
    data = np.float32([-2.5, -1.75, 1.5, 2.5])
    even, zero, infinity = dml.DML_ROUNDING_MODE
    desc = dml.DML_ELEMENT_WISE_ROUND_OPERATOR_DESC(x, x)
    assert run(desc, data).tolist() == [-2, -2, 2, 2]
    assert run(desc.replace(RoundingMode=zero), data).tolist() == [-2, -1, 1, 2]
    assert desc.RoundingMode is even
    with pytest.raises(
        dml.DMLError, match="RoundingMode is DML_ROUNDING_MODE_TOWARD_INFINITY; allowed: 'halves_to_near"
    ):
        DEVICE.CreateOperator(desc.replace(RoundingMode=infinity))


def test_members_without_a_counterpart_are_named(add_operator):
    @ogive.operator(directml="ACTIVATION_HARD_SIGMOID")
    def flat(x, *, alpha=0.2):
        return x * alpha

    add_operator(flat)
    with pytest.raises(
        dml.DMLError, match="Ogive's flat does not compute it yet: it has no parameter for Beta"
    ) as caught:
        DEVICE.CreateOperator(make("DML_OPERATOR_ACTIVATION_HARD_SIGMOID"))
    assert caught.value.hresult == dml.HRESULT.E_NOTIMPL

    @ogive.operator(directml="ACTIVATION_HARD_SIGMOID")
    def three(x, y, z, *, alpha=0.2, beta=0.5):
        return x * alpha + y + z + beta

    add_operator(three)
    with pytest.raises(dml.DMLError, match="Ogive's three does not compute it yet: it takes the tensors x, y, z"):
        DEVICE.CreateOperator(make("DML_OPERATOR_ACTIVATION_HARD_SIGMOID"))


def test_operands_of_other_sizes_end_an_island(add_operator):
    """The scales of QUANTIZED_LINEAR_ADD have one element: what computes them is a kernel of its own."""
    integer, real = T("int8"), T("float32")
    inputs = (integer, real, integer, integer, real, integer, real, integer)
    operator = Operator(
        lambda a, sa, za, b, sb, zb, so, zo: ((a - za) * sa + (b - zb) * sb) / so + zo,
        lambda n: [Signature(inputs, (integer,))],
        {},
        directml="ELEMENT_WISE_QUANTIZED_LINEAR_ADD",
    )
    add_operator(operator)
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
    assert len(compiled._plan.steps) == 2
    a = values("INT8", 24).reshape(3, 8)
    scale, offset = np.float32([[0.5]]), np.int8([[3]])
    relu, total = compiled.dispatch([scale, a, None, offset])
    assert_same_bits(relu, scale)
    assert_same_bits(total, operator(a, scale, offset, a, scale, offset, scale, offset))


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
    from tests.directml.standard import OPERATORS

    examples = OPERATORS["DML_OPERATOR_ACTIVATION_HARDMAX1"]["examples"]
    x = tensor(examples["input"]["type"], examples["input"]["sizes"])
    data = np.array(examples["input"]["data"], np.float32)
    assert len(examples["cases"]) == 3
    for case in examples["cases"]:
        desc = dml.DML_ACTIVATION_HARDMAX1_OPERATOR_DESC(x, x, Axes=case["axes"])
        assert run(desc, data).tolist() == case["output"]


def test_types_that_a_rowwise_operator_does_not_have(add_operator):
    @ogive.row_operator(types=[T("float32")], directml="ACTIVATION_SOFTMAX1")
    def share(x):
        return x / f.row_sum(x)

    add_operator(share)
    x, half = tensor("FLOAT32", (4,)), tensor("FLOAT16", (4,))
    assert run(dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(x, x), np.float32([1, 2, 3, 2])).tolist() == [
        0.125,
        0.25,
        0.375,
        0.25,
    ]
    with pytest.raises(dml.DMLError, match="Ogive's share does not compute FLOAT16, FLOAT16 yet"):
        DEVICE.CreateOperator(dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(half, half))


def test_rowwise_operators_in_graphs():
    """They stay alone; what comes before and after is fused."""
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
    assert [step.name for step in compiled._plan.steps] == ["2 operators", "softmax(axis=1)", "2 operators"]
    data = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    wanted = ogive.softmax(ogive.tanh(ogive.relu(data)), axis=1)
    last, first, second = compiled.dispatch([data])
    for result in (first, second):
        assert_same_bits(result, wanted)
    assert_same_bits(last, ogive.relu(wanted))


def test_a_fused_activation_that_is_missing_is_named(monkeypatch):
    for name in [name for name, other in CATALOG.items() if other.directml == "ACTIVATION_TANH"]:
        monkeypatch.delitem(CATALOG, name)
    computation.find.cache_clear()
    x = tensor("FLOAT32", (2,))
    fused = dml.DML_ACTIVATION_TANH_OPERATOR_DESC(None, None)
    with pytest.raises(dml.DMLError, match="FusedActivation is ACTIVATION_TANH, whose formula is not in") as caught:
        DEVICE.CreateOperator(dml.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(x, x, x, fused))
    assert caught.value.hresult == dml.HRESULT.E_NOTIMPL
    computation.find.cache_clear()


def test_renamed_members_exist():
    """Every entry of the table names a member of the desc."""
    assert computation.RENAMED
    for name, members in computation.RENAMED.items():
        desc = make(f"DML_OPERATOR_{name}")
        assert set(members) <= set(desc.__match_args__)


def test_shared_formulas_are_listed_once():
    listed = [name for row in computation.SHARED for name in row]
    assert listed
    assert len(listed) == len(set(listed))
    for name in listed:
        assert make(f"DML_OPERATOR_{name}")

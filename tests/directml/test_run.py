"""Execution: the bits of the functions, for every operator that the catalogue has, in every layout."""

import inspect
import mmap
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ogive
import ogive.directml as dml
from ogive.catalog import OPERATORS as CATALOG
from ogive.operators.signature import ANY
from tests.directml.running import (
    DEVICE,
    IDS,
    NAMES,
    RUNNABLE,
    Arena,
    assert_agrees,
    bare,
    expected,
    function_of,
    keywords,
    operands,
    values,
)
from tests.directml.standard import (
    ACTIVATIONS,
    NUMPY,
    OPERATORS,
    attributes,
    desc_class,
    inputs,
    make,
    output,
    row,
    sizes_for,
    tensor,
    with_type,
)
from tests.inputs import assert_same_bits


def compiled(desc):
    return DEVICE.CompileOperator(DEVICE.CreateOperator(desc))


def present(desc):
    return [n for n in inputs(desc.FACTS.type_name) if getattr(desc, n) is not None]


def arrays_for(desc, seed=0):
    result = []
    for i, n in enumerate(present(desc)):
        given = getattr(desc, n)
        kind = given.DataType.name.removeprefix("DML_TENSOR_DATA_TYPE_")
        result.append(values(kind, int(np.prod(given.Sizes)), seed + i).reshape(given.Sizes))
    return result


def check(desc, seed=0):
    arrays = arrays_for(desc, seed)
    (result,) = compiled(desc).dispatch(dict(zip(present(desc), arrays, strict=True)))
    assert_agrees(desc, result, arrays)


def test_every_operator_of_the_catalogue_is_there():
    """An operator that the catalogue calls by a DirectML name can be created; if not, its members need an entry in RENAMED."""
    names = {op.directml for op in CATALOG.values() if op.directml}
    assert names
    assert names <= {name.removeprefix("DML_OPERATOR_") for name in NAMES}


@pytest.mark.matrix("name")
@pytest.mark.parametrize(("name", "types"), RUNNABLE, ids=IDS)
def test_the_bits_of_the_function(name, types):
    check(make(name, types=dict(types), sizes=(7, 31)), seed=1)


@pytest.mark.parametrize("name", OPERATORS)
def test_every_type_of_the_tables_is_run(name):
    for t, entry in row(name, "6_4").items():
        assert {dict(types)[t] for other, types in RUNNABLE if other == name} == set(entry["types"])


ENUMERATED = [
    (name, field["name"], value)
    for name in OPERATORS
    for field in OPERATORS[name]["fields"]
    for value in {"DML_ROUNDING_MODE": dml.DML_ROUNDING_MODE, "DML_IS_INFINITY_MODE": dml.DML_IS_INFINITY_MODE}.get(
        field["type"], ()
    )
]
assert len(ENUMERATED) == 6


@pytest.mark.parametrize(("name", "member", "value"), ENUMERATED)
@pytest.mark.parametrize("kind", ["FLOAT32", "FLOAT16"])
def test_every_mode(name, member, value, kind):
    check(make(name, types=with_type(name, "6_4", "InputTensor", kind), sizes=(7, 31), **{member: value}))


OPTIONAL = [(n, t) for n in OPERATORS for t in inputs(n) if row(n, "6_4")[t].get("optional")]
assert len(OPTIONAL) == 5


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(("name", "t"), OPTIONAL)
def test_tensors_that_are_left_out_are_zero(name, t):
    choices = [types for other, types in RUNNABLE if other == name]
    assert choices
    for types in choices:
        check(make(name, types=dict(types), sizes=(5, 13), descs={t: None}))


FLOATS = [(n, f["name"]) for n in NAMES for f in OPERATORS[n]["fields"] if f["type"] == "FLOAT"]
assert FLOATS


@pytest.mark.parametrize(("name", "member"), FLOATS)
@pytest.mark.parametrize("value", [0.1, -1.25, 3.0])
def test_numbers_reach_the_formula(name, member, value):
    check(make(name, types=dict(NAMES[name]), sizes=(5, 13), **{member: value}))


def test_numbers_are_rounded_to_float32():
    x = tensor("FLOAT32", (64,))
    data = values("FLOAT32", 64)
    (result,) = compiled(dml.DML_ACTIVATION_CELU_OPERATOR_DESC(x, x, Alpha=0.1)).dispatch([data])
    assert_same_bits(result, ogive.celu(data, alpha=float(np.float32(0.1))))


def test_numbers_without_meaning_are_refused_by_their_names():
    x = tensor("FLOAT32", (2,))
    text = r"^DML_ACTIVATION_CELU_OPERATOR_DESC: Alpha is 0.0; allowed: any finite number but 0 \(E_INVALIDARG\)$"
    with pytest.raises(dml.DMLError, match=text) as caught:
        DEVICE.CreateOperator(dml.DML_ACTIVATION_CELU_OPERATOR_DESC(x, x, Alpha=0))
    assert caught.value.member == "Alpha"
    with pytest.raises(dml.DMLError, match="Threshold is NaN; allowed: any number but NaN") as caught:
        DEVICE.CreateOperator(dml.DML_ACTIVATION_SHRINK_OPERATOR_DESC(x, x, Threshold=float("nan")))
    assert caught.value.member == "Threshold"


# ---- scale and bias

SCALED = [(n, t) for n, t in RUNNABLE if any(f["type"] == "DML_SCALE_BIAS" for f in OPERATORS[n]["fields"])]
assert SCALED


def composed(op, choices):
    """The operator ``op(x * scale_ + bias_, ...)``, with all numbers as its parameters."""

    def formula(x, *rest, scale_, bias_, **numbers):
        return op(x * scale_ + bias_, *rest, **choices, **numbers)

    keywords = ["scale_", "bias_", *(p.name for p in op.numeric_parameters)]
    formula.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in op.tensors]
        + [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in keywords]
    )
    infinite = dict.fromkeys((p.name for p in op.numeric_parameters), ANY)
    return ogive.Operator(formula, lambda n: op.signatures, infinite)


@pytest.mark.matrix("name", share=5)
@pytest.mark.parametrize(("name", "types"), SCALED, ids=[i for c, i in zip(RUNNABLE, IDS, strict=True) if c in SCALED])
def test_scale_bias(name, types):
    """Integers: rounded first. Floats: one formula, rounded once."""
    desc = make(name, types=dict(types), sizes=(5, 31), ScaleBias=dml.DML_SCALE_BIAS(-0.75, 2.5))
    if "INT" in dict(types)["InputTensor" if "InputTensor" in dict(types) else output(name)] or "_POW" in name:
        check(desc)
        return
    op, given = function_of(name), keywords(desc)
    choices = {n: v for n, v in given.items() if n not in [p.name for p in op.numeric_parameters]}
    numbers = {n: v for n, v in given.items() if n not in choices}
    arrays = arrays_for(desc)
    (result,) = compiled(desc).dispatch(arrays)
    assert_same_bits(result, composed(op, choices)(*operands(desc, arrays), scale_=-0.75, bias_=2.5, **numbers))


def test_scale_bias_is_not_rounded_in_between():
    """x * 1 - 1 in float16 near 1 keeps its digits: a rounded product would lose them."""
    x = tensor("FLOAT16", (1, 4))
    scale = dml.DML_SCALE_BIAS(float(np.float32(1 / 3)), float(np.float32(-1 / 3)))
    data = np.float16([[1.001, 0.999, 1.5, -1]])
    (result,) = compiled(dml.DML_ELEMENT_WISE_ABS_OPERATOR_DESC(x, x, scale)).dispatch([data])
    exact = np.abs(data.astype(np.float64) * scale.Scale + scale.Bias)
    assert_same_bits(result, exact.astype(np.float16))


def test_scale_bias_of_integers_is_exact_and_saturates():
    x = tensor("INT64", (4,))
    data = np.array([2**62, -(2**62), 2**53 + 1, 3])
    (result,) = compiled(dml.DML_ELEMENT_WISE_ABS_OPERATOR_DESC(x, x, dml.DML_SCALE_BIAS(2.0, 1.0))).dispatch([data])
    assert result.tolist() == [2**63 - 1, 2**63 - 1, 2**54 + 3, 7]


# ---- fused activations

FUSABLE = [
    row["operator"]
    for row in ACTIVATIONS["_fused_activation"]["activations"]
    if row["hosts"] == "all" and row["operator"] in NAMES
]
assert FUSABLE


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("name", FUSABLE)
def test_fused_activations(name, kind):
    """The bits of the sum, rounded, and then the activation."""
    x = tensor(kind, (9, 11))
    desc = dml.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(x, x, x)
    arrays = arrays_for(desc)
    (result,) = compiled(desc.replace(FusedActivation=bare(name))).dispatch(arrays)
    alone = desc_class(name)(**{inputs(name)[0]: x, output(name): x}, **attributes(name))
    assert_same_bits(result, expected(alone, [ogive.add(*arrays)]))


# ---- layouts


@st.composite
def layouts(draw, sizes, *, distinct):
    """Strides for sizes: permuted, with gaps; zeros and overlaps where the elements need not be distinct."""
    order = draw(st.permutations(range(len(sizes))))
    strides, step = [0] * len(sizes), draw(st.integers(1, 3))
    for axis in order:
        strides[axis] = step
        step = (step * sizes[axis]) + draw(st.integers(0, 3))
    if not distinct:
        strides = [draw(st.sampled_from([s, s, 0, 1])) for s in strides]
    return None if draw(st.booleans()) and draw(st.booleans()) else tuple(strides)


@st.composite
def placed(draw):
    name, types = draw(st.sampled_from(RUNNABLE))
    rowwise = any("Effective rank" in c for c in OPERATORS[name]["constraints"])
    rank = draw(st.integers(1, 2 if rowwise else 5))
    sizes = tuple(draw(st.integers(1, 6 if rank <= 3 else 3)) for _ in range(rank))
    descs = {}
    for t in [*inputs(name), output(name)]:
        own = sizes_for(name, t, rank, sizes)
        strides = draw(layouts(own, distinct=t == output(name)))
        descs[t] = {
            "Strides": strides,
            "TotalTensorSizeInBytes": None,
            "GuaranteedBaseOffsetAlignment": draw(st.sampled_from([0, 8, 64, 256])),
        }
    extra = {"Axes": (0,)} if "Axes" in [f["name"] for f in OPERATORS[name]["fields"]] else {}
    return make(name, types=dict(types), sizes=sizes, descs=descs, **extra), draw(st.integers(0, 2**31))


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=125, deadline=None)
@given(placed())
def test_layouts_offsets_and_guards(case):
    """Strided, broadcast and shifted tensors in one buffer: the right bits, and no other byte changes."""
    desc, seed = case
    arena = Arena(seed=seed)
    name = desc.FACTS.type_name
    places = {n: arena.place(getattr(desc, n)) for n in inputs(name)}
    out = arena.place(desc.output)
    for i, (n, place) in enumerate(places.items()):
        view = arena.view(getattr(desc, n), place)
        view[...] = values(getattr(desc, n).DataType.name[21:], view.size, seed % 1000 + i).reshape(view.shape)
    arrays = [arena.view(getattr(desc, n), place).copy() for n, place in places.items()]
    before = arena.memory.copy()
    compiled(desc).dispatch(list(places.values()), [out])
    assert_agrees(desc, arena.view(desc.output, out), arrays)
    changed = arena.memory != before
    assert not (changed & ~arena.elements(desc.output, out)).any()


@pytest.mark.parametrize("shift", [1, 2, 3, 5])
def test_buffers_at_odd_addresses(shift):
    """Offsets are multiples of 16, but a Python buffer may lie anywhere."""
    memory = bytearray(1024 + 4 * shift)
    window = memoryview(memory)[shift : shift + 1024]
    x = tensor("FLOAT32", (100,))
    data = values("FLOAT32", 100)
    window[16:416] = data.tobytes()
    place = dml.DML_BUFFER_BINDING(window, 16, 400)
    out = dml.DML_BUFFER_BINDING(window, 512, 400)
    compiled(dml.DML_ACTIVATION_TANH_OPERATOR_DESC(x, x)).dispatch([place], [out])
    assert_same_bits(np.frombuffer(window[512:912], np.float32), ogive.tanh(data))
    assert not any(memory[: shift + 16])
    assert not any(window[912:])


def test_kinds_of_buffers(tmp_path):
    x = tensor("FLOAT32", (64,))
    relu = compiled(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(x, x))
    data = values("FLOAT32", 64)
    wanted = ogive.relu(data).tobytes()
    path = tmp_path / "buffer"
    path.write_bytes(bytes(256))
    import array

    with path.open("r+b") as file, mmap.mmap(file.fileno(), 256) as mapped:
        outputs = [
            np.zeros(64, np.float32),
            np.zeros((8, 8), np.float32),
            np.zeros(256, np.uint8),
            bytearray(256),
            memoryview(bytearray(256)),
            array.array("f", [0] * 64),
            np.memmap(path, np.float32, "r+", shape=(64,)),
            mapped,
        ]
        for source in (data, data.tobytes(), bytearray(data.tobytes()), memoryview(data), data.view(np.uint8)):
            for target in outputs:
                relu.dispatch([source], [target])
                assert memoryview(target).tobytes() == wanted
        outputs.clear()
        del target, source
    assert path.read_bytes() == wanted


def test_readonly_inputs_are_fine():
    x = tensor("FLOAT32", (4,))
    data = np.float32([-1, 2, -3, 4])
    data.flags.writeable = False
    assert compiled(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(x, x)).dispatch([data])[0].tolist() == [0, 2, 0, 4]


# ---- in place

PAIRS = [(name, t) for name in NAMES for t in inputs(name)]
assert PAIRS


@pytest.mark.parametrize(("name", "t"), PAIRS, ids=[f"{n[13:]}-{t}" for n, t in PAIRS])
def test_in_place_exactly_where_it_is_documented(name, t):
    row = OPERATORS[name]
    allowed = row["in_place"] and t in row.get("in_place_inputs", ["InputTensor"])
    desc = make(name, types=dict(NAMES[name]), sizes=(6, 8))
    arrays = dict(zip(inputs(name), arrays_for(desc), strict=True))
    same_layout = getattr(desc, t).layout == desc.output.layout
    shared = np.zeros(4096, np.uint8)
    size = getattr(desc, t).TotalTensorSizeInBytes
    shared[256 : 256 + arrays[t].nbytes] = arrays[t].reshape(-1).view(np.uint8)
    place = dml.DML_BUFFER_BINDING(shared, 256, size)
    before = shared.copy()
    bound = [place if n == t else a for n, a in arrays.items()]
    target = dml.DML_BUFFER_BINDING(shared, 256, desc.output.TotalTensorSizeInBytes)
    operator = compiled(desc)
    if allowed and same_layout:
        (result,) = operator.dispatch(bound, [target])
        assert_agrees(desc, result, list(arrays.values()))
        assert_same_bits(shared[:256], before[:256])
        assert_same_bits(shared[256 + size :], before[256 + size :])
    else:
        with pytest.raises(dml.DMLError, match=f"{output(name)} and {t} overlap in memory|overlap in part|lies over"):
            operator.dispatch(bound, [target])
        assert_same_bits(shared, before)


WHOLE = [(n, t) for n, t in PAIRS if sizes_for(n, t, 2) != (1, 1)]


@pytest.mark.matrix("name")
@pytest.mark.parametrize(("name", "t"), WHOLE, ids=[f"{n[13:]}-{t}" for n, t in WHOLE])
@pytest.mark.parametrize("shift", [16, 32, -16])
def test_partial_overlap_is_refused(name, t, shift):
    desc = make(name, types=dict(NAMES[name]), sizes=(6, 8))
    arrays = dict(zip(inputs(name), arrays_for(desc), strict=True))
    shared = np.zeros(4096, np.uint8)
    place = dml.DML_BUFFER_BINDING(shared, 256, getattr(desc, t).TotalTensorSizeInBytes)
    target = dml.DML_BUFFER_BINDING(shared, 256 + shift, desc.output.TotalTensorSizeInBytes)
    with pytest.raises(dml.DMLError, match=f"{output(name)} and {t} overlap in (memory|part); allowed: "):
        compiled(desc).dispatch([place if n == t else a for n, a in arrays.items()], [target])
    assert not shared.any()


@pytest.mark.parametrize("strides", [(1, 6), (16, 1)])
def test_in_place_with_another_layout_is_refused(strides):
    x, y = tensor("FLOAT32", (6, 8), TotalTensorSizeInBytes=384), tensor("FLOAT32", (6, 8), Strides=strides)
    y = y.replace(TotalTensorSizeInBytes=384)
    shared = np.zeros(96, np.float32)
    relu = compiled(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(x, y))
    with pytest.raises(
        dml.DMLError, match="OutputTensor lies over InputTensor, which has another layout; allowed: equal"
    ):
        relu.dispatch([shared], [shared])
    relu = compiled(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(y, y))
    shared[:] = -1
    relu.dispatch([shared], [shared])
    assert (shared == 0).sum() == 48


BINARY = [n for n in NAMES if len(OPERATORS[n].get("in_place_inputs", ())) == 2]
assert BINARY


@pytest.mark.parametrize("name", BINARY)
def test_both_inputs_in_place(name):
    """'One or more of' takes both at once; 'one of' takes one."""
    desc = make(name, types=dict(NAMES[name]), sizes=(4, 8))
    data = arrays_for(desc)[0]
    shared = np.ascontiguousarray(data.copy())
    if "one or more of" in OPERATORS[name]["in_place_rule"]:
        compiled(desc).dispatch([shared, shared], [shared])
        assert_same_bits(shared, np.broadcast_to(expected(desc, [data, data]), data.shape))
    else:
        with pytest.raises(dml.DMLError, match="OutputTensor lies over ATensor and BTensor; allowed: one of them"):
            compiled(desc).dispatch([shared, shared], [shared])
        assert_same_bits(shared, data)


# ---- threads


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", list(NAMES)[:4])
def test_compiled_operators_run_from_several_threads(name):
    desc = make(name, types=dict(NAMES[name]), sizes=(64, 64))
    operator = compiled(desc)
    arrays = [arrays_for(desc, seed) for seed in range(8)]
    results = [None] * 8

    def work(i):
        for _ in range(20):
            (results[i],) = operator.dispatch(arrays[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(8):
        assert_agrees(desc, results[i], arrays[i])


def test_no_floating_point_warnings():
    x = tensor("FLOAT32", (64,))
    with np.errstate(all="raise"):
        compiled(dml.DML_ACTIVATION_CELU_OPERATOR_DESC(x, x, Alpha=0.5)).dispatch([values("FLOAT32", 64)])


def test_all_types_are_known_to_numpy():
    assert set(NUMPY) == {f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)} | {
        "FLOAT16",
        "FLOAT32",
        "FLOAT64",
    }

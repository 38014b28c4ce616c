"""Every cell of the support tables, at every feature level: what is listed is taken, all else is refused."""

import pytest

import ogive.directml as dml
from ogive.directml.support import rules, validate
from tests.directml.standard import (
    ACTIVATIONS,
    LEVELS,
    OPERATORS,
    TYPES,
    attributes,
    data_type,
    desc_class,
    inputs,
    least_rank,
    linked,
    make,
    output,
    refusal_of,
    row,
    sizes_for,
    tensor,
    tensors,
    with_type,
)

VALUE = {level: int(dml.DML_FEATURE_LEVEL[level]) for level in LEVELS}
CELLS = [(name, level) for name in OPERATORS for level in LEVELS if row(name, level)]
IDS = [f"{name.removeprefix('DML_OPERATOR_')}-{level}" for name, level in CELLS]
BELOW = [(name, level) for name in OPERATORS for level in LEVELS if not row(name, level)]
assert len(CELLS) > 1000
assert BELOW


def refusal(desc, level):
    """The error, or None."""
    error = refusal_of(validate, desc, VALUE[level])
    assert error is None or error.hresult == dml.HRESULT.E_INVALIDARG
    return error


def full(name, types, rank):
    descs = {t: tensor(types[t], sizes_for(name, t, rank)) for t in tensors(name)}
    kind = types[output(name)]
    return desc_class(name)(**descs, **attributes(name, kind if not kind.endswith("INT4") else "FLOAT32"))


@pytest.mark.matrix("name")
@pytest.mark.parametrize(("name", "level"), CELLS, ids=IDS)
def test_data_types(name, level):
    table, rank = row(name, level), least_rank(name, level)
    taken = 0
    for chosen in tensors(name):
        group = next(group for group in linked(name, level) if chosen in group)
        for kind in TYPES:
            types = with_type(name, level, chosen, kind)
            error = refusal(full(name, types, rank), level)
            first = next((t for t in tensors(name) if types[t] not in table[t]["types"]), None)
            if first is None:
                assert all(kind in table[t]["types"] for t in group)
                assert error is None, error
                taken += 1
            else:
                assert error is not None, (chosen, kind)
                text = str(error)
                assert text.startswith(f"{OPERATORS[name]['struct']}: {first}.DataType is {types[first]}; allowed: ")
                assert f"{', '.join(table[first]['types'])} at DML_FEATURE_LEVEL_{level}" in text
                assert error.member == f"{first}.DataType"
    assert taken


@pytest.mark.matrix("name")
@pytest.mark.parametrize(("name", "level"), CELLS, ids=IDS)
def test_dimension_counts(name, level):
    table = row(name, level)
    types = with_type(name, level, output(name), table[output(name)]["types"][0])
    taken = 0
    for rank in range(1, 9):
        error = refusal(full(name, types, rank), level)
        first = next((t for t in tensors(name) if not table[t]["min_dims"] <= rank <= table[t]["max_dims"]), None)
        if first is None:
            assert error is None, error
            taken += 1
        else:
            least, most = table[first]["min_dims"], table[first]["max_dims"]
            allowed = f"{least} to {most}" if least < most else f"{least}"
            assert f"{first}.DimensionCount is {rank}; allowed: {allowed} at DML_FEATURE_LEVEL_{level}" in str(error)
            assert ("Put sizes of 1 in front" in str(error)) == (rank < least)
    assert taken


@pytest.mark.matrix("name")
@pytest.mark.parametrize(("name", "level"), CELLS, ids=IDS)
def test_null_tensors(name, level):
    optional = {f["name"] for f in OPERATORS[name]["fields"] if f["optional"]}
    for t in tensors(name):
        error = refusal(make(name, level, descs={t: None}), level)
        may_be_null = t in optional and row(name, level)[t].get("optional", False)
        if may_be_null:
            assert error is None, error
        else:
            assert f"{t} is None; allowed: a tensor desc at DML_FEATURE_LEVEL_{level}" in str(error)


@pytest.mark.matrix("name")
@pytest.mark.parametrize(("name", "level"), BELOW, ids=[f"{n[13:]}-{level}" for n, level in BELOW])
def test_operators_are_unknown_before_their_introduction(name, level):
    introduced = OPERATORS[name]["introduced"]
    text = (
        f"{name}: it needs DML_FEATURE_LEVEL_{introduced} or later, and the device has DML_FEATURE_LEVEL_{level}. "
        f'Make a device with Device("{introduced}")'
    )
    assert text in str(refusal(make(name, "6_4"), level))


@pytest.mark.parametrize("name", OPERATORS)
def test_a_refused_type_is_told_where_it_is_taken(name):
    """The lowest level that takes a type, where the operator's own level does not."""
    lowest, first = OPERATORS[name]["introduced"], tensors(name)[0]
    for kind in TYPES:
        if kind in row(name, lowest)[first]["types"]:
            continue
        types = with_type(name, lowest, first, kind)
        text = str(refusal(full(name, types, least_rank(name, lowest)), lowest))
        since = next((level for level in LEVELS if row(name, level) and kind in row(name, level)[first]["types"]), None)
        if kind.endswith("INT4"):
            assert "belong to QUANTIZE and DEQUANTIZE alone" in text
        elif since is None:
            assert "takes it" not in text
        else:
            assert f"DML_FEATURE_LEVEL_{since} takes it" in text


# ---- what tensors must have in common

TOGETHER = [
    (name, what, t)
    for name in OPERATORS
    for what in ("DataType", "Sizes", "DimensionCount")
    for group in linked(name, "6_4", what)
    if len(group) > 1
    for t in sorted(group)
]
assert len(TOGETHER) > 400


@pytest.mark.matrix("name")
@pytest.mark.parametrize(("name", "what", "t"), TOGETHER, ids=[f"{n[13:]}-{w}-{t}" for n, w, t in TOGETHER])
def test_tensors_that_must_agree(name, what, t):
    desc = make(name, "6_4", rank=4)
    given = getattr(desc, t)
    if what == "DataType":
        kinds = [k for k in row(name, "6_4")[t]["types"] if data_type(k) != given.DataType]
        if not kinds:
            pytest.skip(f"{name} takes one type for {t}")
        changed = given.replace(DataType=data_type(kinds[0]), TotalTensorSizeInBytes=None)
    else:
        sizes = {"Sizes": (1, 1, 2, 1), "DimensionCount": (1, 1, 1, 2, 3)}[what]
        changed = given.replace(Sizes=sizes, TotalTensorSizeInBytes=None)
    other = {"MinMaxDataType": changed.DataType} if hasattr(desc, "MinMaxDataType") else {}
    error = refusal(desc.replace(**{t: changed}, **other), "6_4")
    assert error is not None
    assert "identical" in str(error) or ", as " in str(error) or "sizes of 1 only" in str(error), error


def test_a_mismatch_names_both_tensors_and_the_way_out():
    desc = make("DML_OPERATOR_ACTIVATION_PARAMETERIZED_RELU", descs={"SlopeTensor": tensor("FLOAT32", (1,))}, rank=1)
    assert str(refusal(desc, "6_4")) == (
        "DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC: SlopeTensor.Sizes is (1,); "
        "allowed: (3,), as InputTensor.Sizes. "
        "Nothing is broadcast by itself: give equal sizes and strides of 0 (E_INVALIDARG)"
    )


@pytest.mark.parametrize("name", OPERATORS)
def test_every_sentence_of_the_data_is_enforced(name):
    assert len(rules(name.removeprefix("DML_OPERATOR_"))) >= len(OPERATORS[name]["constraints"]) > 0


# ---- outputs


@pytest.mark.parametrize("name", OPERATORS)
def test_outputs_must_not_overlap_themselves(name):
    out = output(name)
    for strides in ((0, 1), (3, 0), (0, 0), (1, 1), (2, 1)):
        error = refusal(make(name, rank=2, descs={out: {"Strides": strides}}), "6_4")
        assert f"{out}.Strides is {strides} for Sizes (2, 3), which puts several elements at one place" in str(error)
    for strides in ((3, 1), (1, 2), (8, 2), (3, 2)):
        assert (
            refusal(make(name, rank=2, descs={out: {"Strides": strides, "TotalTensorSizeInBytes": None}}), "6_4")
            is None
        )
    for t in inputs(name):
        assert refusal(make(name, rank=2, descs={t: {"Strides": (0, 0)}}), "6_4") is None


@pytest.mark.parametrize("name", OPERATORS)
def test_outputs_are_not_owned_by_directml(name):
    owned = {"Flags": dml.DML_TENSOR_FLAG_OWNED_BY_DML}
    assert f"{output(name)}.Flags is DML_TENSOR_FLAG_OWNED_BY_DML" in str(
        refusal(make(name, descs={output(name): owned}), "6_4")
    )
    for t in inputs(name):
        assert refusal(make(name, descs={t: owned}), "6_4") is None


# ---- numbers

FLOATS = [(n, f["name"]) for n, r in OPERATORS.items() for f in r["fields"] if f["type"] == "FLOAT"]
SCALED = [n for n, r in OPERATORS.items() if any(f["type"] == "DML_SCALE_BIAS" for f in r["fields"])]
UNIONS = [(n, f["name"]) for n, r in OPERATORS.items() for f in r["fields"] if f["type"] == "DML_SCALAR_UNION"]
assert FLOATS
assert SCALED
assert UNIONS


@pytest.mark.parametrize(("name", "member"), FLOATS)
def test_nan_and_infinite_numbers(name, member):
    assert f"{member} is NaN; allowed: any number but NaN" in str(refusal(make(name, **{member: float("nan")}), "6_4"))
    for infinity in (float("inf"), float("-inf")):
        error = refusal(make(name, **{member: infinity}), "6_4")
        if member in ("Min", "Max"):
            assert error is None
        else:
            assert f"{member} is {infinity}; allowed: finite numbers" in str(error)


@pytest.mark.parametrize("name", SCALED)
def test_nan_and_infinite_scales(name):
    assert refusal(make(name, ScaleBias=dml.DML_SCALE_BIAS(2.0, -0.5)), "6_4") is None
    for scale, bias, member in ((float("nan"), 0, "Scale"), (1, float("inf"), "Bias")):
        error = refusal(make(name, ScaleBias=dml.DML_SCALE_BIAS(scale, bias)), "6_4")
        assert error.member == f"ScaleBias.{member}"


@pytest.mark.parametrize(("name", "member"), UNIONS)
def test_unions(name, member):
    nan = dml.DML_SCALAR_UNION(Float32=float("nan"))
    types = dict.fromkeys(tensors(name), "FLOAT32")
    error = refusal(make(name, types=types, **{member: nan}), "6_4")
    if "FILL" in name:
        assert error is None
    else:
        assert f"{member} is NaN" in str(error)
    kind = next(f["name"] for f in OPERATORS[name]["fields"] if f["type"] == "DML_TENSOR_DATA_TYPE")
    error = refusal(make(name, types=types, **{kind: dml.DML_TENSOR_DATA_TYPE_INT32}), "6_4")
    assert f"{kind} is INT32; allowed: FLOAT32, as {output(name)}.DataType" in str(error)


# ---- the rules that are not tables


@pytest.mark.parametrize("steepness", [0.5, 0.999, -1.0, 1e-3])
def test_softplus_steepness_below_one_needs_6_4(steepness):
    name = "DML_OPERATOR_ACTIVATION_SOFTPLUS"
    for level in LEVELS:
        assert refusal(make(name, level, Steepness=1.0), level) is None
        error = refusal(make(name, level, Steepness=steepness), level)
        assert (error is None) == (level == "6_4")
        if error is not None:
            assert f"allowed: 1 and above at DML_FEATURE_LEVEL_{level}. DML_FEATURE_LEVEL_6_4 takes it" in str(error)


ROWWISE = [n for n, r in OPERATORS.items() if any("Effective rank" in c for c in r["constraints"])]
WITH_AXES = [n for n, r in OPERATORS.items() if any(f["name"] == "Axes" for f in r["fields"])]
assert len(ROWWISE) == len(WITH_AXES) == 3


@pytest.mark.parametrize("name", ROWWISE)
def test_effective_rank(name):
    for sizes in ((5,), (1,), (4, 5), (1, 4, 5), (1, 1, 4, 5), (1, 1, 1, 1, 1, 1, 4, 1), (1, 1, 1)):
        assert refusal(make(name, sizes=sizes), "6_4") is None
    for sizes in ((2, 1, 1), (2, 3, 4), (1, 2, 3, 4), (1, 1, 2, 1, 3)):
        error = refusal(make(name, sizes=sizes), "6_4")
        assert "of effective rank" in str(error)
        assert f"{OPERATORS[name]['struct'].replace('_OPERATOR', '1_OPERATOR')} reduces along any axes" in str(error)


@pytest.mark.parametrize("name", WITH_AXES)
def test_axes(name):
    for axes in ((0,), (2,), (0, 2), (2, 0), (0, 1, 2)):
        assert refusal(make(name, sizes=(2, 3, 4), Axes=axes), "6_4") is None
    for axes, text in (
        ((), "Axes is empty; allowed: one axis or more"),
        ((3,), r"Axes is (3,); allowed: axes from 0 to 2, for 3 dimensions"),
        ((0, 2**32 - 1), "allowed: axes from 0 to 2"),
        ((1, 1), "Axes is (1, 1); allowed: every axis once"),
    ):
        assert text in str(refusal(make(name, sizes=(2, 3, 4), Axes=axes), "6_4"))
    error = refusal(make(name, sizes=(2, 3, 4), AxisCount=2, Axes=(1,)), "6_4")
    assert "AxisCount is 2; allowed: 1, the length of Axes" in str(error)


def test_exponents_of_another_type_need_3_0():
    name = "DML_OPERATOR_ELEMENT_WISE_POW"
    types = {"InputTensor": "FLOAT32", "ExponentTensor": "FLOAT16", "OutputTensor": "FLOAT32"}
    for level in LEVELS:
        error = refusal(make(name, level, types=types), level)
        if LEVELS.index(level) < LEVELS.index("3_0"):
            assert "ExponentTensor.DataType is FLOAT16; allowed: FLOAT32, as InputTensor.DataType" in str(error)
        else:
            assert error is None


def test_scales_of_quantisation():
    name = "DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR"
    types = {"ZeroPointTensor": "UINT8", "OutputTensor": "UINT8"}
    for given, scale in (("INT32", "FLOAT32"), ("FLOAT16", "FLOAT16"), ("FLOAT32", "FLOAT32")):
        assert refusal(make(name, types=types | {"InputTensor": given, "ScaleTensor": scale}), "6_4") is None
    for given, scale in (("INT32", "FLOAT16"), ("FLOAT16", "FLOAT32"), ("FLOAT32", "FLOAT16")):
        error = refusal(make(name, types=types | {"InputTensor": given, "ScaleTensor": scale}), "6_4")
        assert f"ScaleTensor.DataType is {scale}" in str(error)
        assert f"where InputTensor.DataType is {given}" in str(error)


def test_scales_of_quantised_sums_have_one_element():
    name = "DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD"
    for t in inputs(name):
        if "Scale" in t or "ZeroPoint" in t:
            error = refusal(make(name, rank=2, descs={t: {"Sizes": (1, 3), "TotalTensorSizeInBytes": None}}), "6_4")
            assert f"{t}.Sizes is (1, 3); allowed: sizes of 1 only" in str(error)


# ---- fused activations

HOST = "DML_OPERATOR_ELEMENT_WISE_ADD1"
FUSABLE = {
    r["operator"]: r["since"]
    for r in ACTIVATIONS["_fused_activation"]["activations"]
    if r["hosts"] == "all" or HOST in r["hosts"]
}
assert len(FUSABLE) == 17


def bare(name, **given):
    return desc_class(name)(**dict.fromkeys(tensors(name)), **attributes(name, **given))


@pytest.mark.parametrize("name", OPERATORS)
def test_fused_activations(name):
    for level in LEVELS:
        if row(HOST, level) is None:
            continue
        error = refusal(make(HOST, level, FusedActivation=bare(name)), level)
        if name not in FUSABLE:
            assert f"FusedActivation is {name[13:]}; allowed: " in str(error)
            assert "Run it as an operator of its own" in str(error)
        elif LEVELS.index(level) < LEVELS.index(FUSABLE[name]):
            assert f"allowed: DML_FEATURE_LEVEL_{FUSABLE[name]} and above" in str(error)
        else:
            assert error is None, error


@pytest.mark.parametrize("name", FUSABLE)
def test_fused_activations_have_no_tensors(name):
    for t in tensors(name):
        given = bare(name).replace(**{t: tensor("FLOAT32", (2, 3))})
        error = refusal(make(HOST, FusedActivation=given), "6_4")
        assert error.member == f"FusedActivation.{t}"
        assert "allowed: None: a fused activation has no tensors of its own" in str(error)


def test_numbers_of_fused_activations_are_checked():
    nan = bare("DML_OPERATOR_ACTIVATION_ELU", Alpha=float("nan"))
    assert "Alpha is NaN" in str(refusal(make(HOST, FusedActivation=nan), "6_4"))
    flat = bare("DML_OPERATOR_ACTIVATION_SOFTPLUS", Steepness=0.5)
    assert refusal(make(HOST, FusedActivation=flat), "6_4") is None
    assert "Steepness is 0.5" in str(refusal(make(HOST, FusedActivation=flat), "6_3"))

"""Tensor descs and the small structures: sizes, strides, total size, flags, alignment."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ogive.directml as dml
from ogive.directml.tensor import overlaps_itself
from tests.directml.standard import ACTIVATIONS, NUMPY, TYPES, data_type, tensor

BITS = {row["name"].removeprefix("DML_TENSOR_DATA_TYPE_"): row["bits"] for row in ACTIVATIONS["_tensor_data_types"][1:]}


def least_bytes(kind, sizes, strides=None):
    """The rule as it is written down, on Python's integers."""
    n = math.prod(sizes) if strides is None else 1 + sum((a - 1) * b for a, b in zip(sizes, strides, strict=True))
    return ((n * BITS[kind] + 7) // 8 + 3) & ~3


def refused(match, **members):
    with pytest.raises(dml.DMLError, match=match) as caught:
        dml.DML_BUFFER_TENSOR_DESC(**{"DataType": data_type("FLOAT32"), "Sizes": (2, 3)} | members)
    assert caught.value.hresult == dml.HRESULT.E_INVALIDARG
    assert caught.value.subject == "DML_BUFFER_TENSOR_DESC"
    assert caught.value.member.split("[")[0] in members
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("sizes", [(1,), (3,), (5,), (2, 3), (1, 1, 7), (1, 2, 3, 4, 5, 6, 7, 8)])
def test_packed_sizes(kind, sizes):
    least = least_bytes(kind, sizes)
    assert dml.DMLCalcBufferTensorSize(data_type(kind), sizes) == least
    assert tensor(kind, sizes).TotalTensorSizeInBytes == least
    assert least % 4 == 0


def test_the_examples_of_the_specification():
    assert dml.DMLCalcBufferTensorSize(data_type("FLOAT16"), [3]) == 8
    assert dml.DMLCalcBufferTensorSize(data_type("UINT4"), [5]) == 4
    assert dml.DMLCalcBufferTensorSize(data_type("UINT8"), [1]) == 4


strided = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(1, 40), min_size=n, max_size=n),
        st.lists(st.integers(0, 2**32 - 1), min_size=n, max_size=n),
    )
)


@given(st.sampled_from(TYPES), strided)
def test_strided_sizes(kind, layout):
    sizes, strides = layout
    if math.prod(sizes) >= 2**32:
        with pytest.raises(dml.DMLError, match="elements at most"):
            tensor(kind, sizes)
        return
    assert dml.DMLCalcBufferTensorSize(data_type(kind), sizes, strides) == least_bytes(kind, sizes, strides)


@given(st.lists(st.integers(-2, 2**40), max_size=10), st.none() | st.lists(st.integers(-2, 2**40), max_size=10))
def test_anything_is_accepted_or_refused(sizes, strides):
    """Unbounded integers: products that overflow any machine word are refused, not wrapped."""
    fits = all(0 <= v < 2**32 for v in [*sizes, *(strides or ())]) and 1 <= len(sizes) <= 8 and 0 not in sizes
    fits = fits and math.prod(sizes) < 2**32 and (strides is None or len(strides) == len(sizes))
    try:
        desc = tensor("FLOAT64", sizes, Strides=strides)
    except dml.DMLError:
        assert not fits or least_bytes("FLOAT64", sizes, strides) >= 2**64
    else:
        assert fits
        assert desc.TotalTensorSizeInBytes == least_bytes("FLOAT64", sizes, strides) < 2**64


def test_data_type():
    refused("DataType is DML_TENSOR_DATA_TYPE_UNKNOWN; allowed: any other", DataType=0)
    refused("DataType is 14; allowed: DML_TENSOR_DATA_TYPE_UNKNOWN, DML", DataType=14)
    refused("DataType is 'FLOAT32'; allowed: ", DataType="FLOAT32")
    assert tensor("FLOAT32", (2,)) == dml.DML_BUFFER_TENSOR_DESC(1, (2,))


def test_sizes():
    refused(r"Sizes is \(2, 0\); allowed: sizes from 1 on", Sizes=(2, 0))
    refused(r"DimensionCount \(the length of Sizes\) is 0; allowed: 1 to 8", Sizes=())
    refused("is 9; allowed: 1 to 8", Sizes=(1,) * 9)
    refused(r"Sizes\[1\] is -1; allowed: whole numbers from 0 to 4294967295", Sizes=(1, -1))
    refused(r"Sizes\[0\] is 4294967296; ", Sizes=(2**32,))
    refused("Sizes is 6; allowed: a sequence of whole numbers", Sizes=6)
    refused("makes 4294967296 elements; allowed: 4294967295 elements at most", Sizes=(2**16, 2**16))
    refused("elements at most", Sizes=(2**32 - 1,) * 8)
    assert tensor("INT8", (2**32 - 1,)).TotalTensorSizeInBytes == 2**32
    assert tensor("INT8", np.array([2, 3], np.int16)).Sizes == (2, 3)


def test_strides():
    refused(r"Strides is \(1,\) for Sizes \(2, 3\); allowed: one stride for each size", Strides=(1,))
    refused(r"Strides\[0\] is -3; allowed: whole numbers", Strides=(-3, 1))
    refused("which the tensor takes|with which the tensor takes", Sizes=(2**31,), Strides=(2**32 - 1,), DataType=9)
    assert tensor("FLOAT32", (2, 3), Strides=(0, 1)).TotalTensorSizeInBytes == 12
    assert tensor("FLOAT32", (2, 1), Strides=(1, 4000)).TotalTensorSizeInBytes == 8
    # Strides of what has one element say nothing.
    assert tensor("FLOAT32", (2, 1), Strides=(1, 4000)).layout == tensor("FLOAT32", (2, 1)).layout
    assert tensor("FLOAT32", (2, 3), Strides=(3, 1)).layout == tensor("FLOAT32", (2, 3)).layout
    assert tensor("FLOAT32", (2, 3), Strides=(1, 2)).layout != tensor("FLOAT32", (2, 3)).layout


def test_total_size():
    refused("TotalTensorSizeInBytes is 23; allowed: 24 or more", TotalTensorSizeInBytes=23)
    refused("TotalTensorSizeInBytes is 0; allowed: 24 or more .* None computes it", TotalTensorSizeInBytes=0)
    refused("TotalTensorSizeInBytes is 18446744073709551616; ", TotalTensorSizeInBytes=2**64)
    assert tensor("FLOAT32", (2, 3), TotalTensorSizeInBytes=100).TotalTensorSizeInBytes == 100
    assert "TotalTensorSizeInBytes=100" in repr(tensor("FLOAT32", (2, 3), TotalTensorSizeInBytes=100))


def test_alignment():
    for alignment in (3, 2, 1, 24, 2**31 + 1):
        refused(
            f"GuaranteedBaseOffsetAlignment is {alignment}; allowed: 0, or a power of two from 4 on, which is the size of",
            GuaranteedBaseOffsetAlignment=alignment,
        )
    for alignment in (0, 4, 8, 256, 2**31):
        assert (
            tensor("FLOAT32", (2,), GuaranteedBaseOffsetAlignment=alignment).GuaranteedBaseOffsetAlignment == alignment
        )
    assert tensor("INT4", (2,), GuaranteedBaseOffsetAlignment=1).bits == 4


def test_flags():
    assert tensor("FLOAT32", (2,), Flags=1).is_owned
    assert not tensor("FLOAT32", (2,)).is_owned
    for flags in (2, -1, 3, True, "OWNED_BY_DML", dml.DML_EXECUTION_FLAGS(1)):
        refused("Flags is .*; allowed: DML_TENSOR_FLAG_NONE, DML_TENSOR_FLAG_OWNED_BY_DML", Flags=flags)


def test_a_tensor_desc_is_a_value():
    desc = tensor("FLOAT16", (2, 3), Strides=(8, 1))
    assert desc == pickle.loads(pickle.dumps(desc))
    assert len({desc, tensor("FLOAT16", [2, 3], Strides=np.array([8, 1]))}) == 1
    assert desc != desc.replace(Strides=None, TotalTensorSizeInBytes=None)
    assert desc.DimensionCount == 2
    with pytest.raises(AttributeError, match="cannot be set"):
        desc.Sizes = (1,)
    with pytest.raises(AttributeError, match="cannot be set"):
        del desc.Sizes


# ---- overlap

small = st.integers(1, 4).flatmap(
    lambda n: st.tuples(st.tuples(*[st.integers(1, 5)] * n), st.tuples(*[st.integers(0, 12)] * n))
)


@given(small)
def test_overlap_against_trying_every_index(layout):
    sizes, strides = layout
    places = [
        sum(i * s for i, s in zip(index, strides, strict=True)) for index in itertools.product(*map(range, sizes))
    ]
    assert overlaps_itself(sizes, strides) == (len(set(places)) < len(places))


@given(strided)
def test_overlap_is_decided_quickly_for_any_strides(layout):
    sizes, strides = layout
    assert overlaps_itself(tuple(sizes), tuple(strides)) in (True, False)


def test_overlap_that_needs_a_long_search_is_refused():
    primes = (10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079)
    assert overlaps_itself((1000,) * 8, primes)


# ---- the small structures

UNION = {
    "Int8": -5,
    "Int16": -500,
    "Int32": -(2**31),
    "Int64": -(2**63),
    "UInt8": 255,
    "UInt16": 65535,
    "UInt32": 2**32 - 1,
    "UInt64": 2**64 - 1,
    "Float32": 0.5,
    "Float64": 0.1,
}


@pytest.mark.parametrize("member", UNION)
def test_scalar_union(member):
    union = dml.DML_SCALAR_UNION(**{member: UNION[member]})
    assert getattr(union, member) == UNION[member]
    assert len(union.Bytes) == 8
    assert union == dml.DML_SCALAR_UNION(union.Bytes) == pickle.loads(pickle.dumps(union))
    assert hash(union) == hash(dml.DML_SCALAR_UNION(Bytes=union.Bytes))
    assert repr(union) == f"DML_SCALAR_UNION({member}={UNION[member]})"
    for value in ("1", None, True, 2**64, -(2**63) - 1, 1j):
        if member.startswith("Float") and isinstance(value, int) and not isinstance(value, bool):
            continue
        with pytest.raises(dml.DMLError, match=f"{member} is .*; allowed: what a {member} can hold"):
            dml.DML_SCALAR_UNION(**{member: value})


@pytest.mark.parametrize("kind", NUMPY)
def test_scalar_union_of_a_data_type(kind):
    union = dml.DML_SCALAR_UNION.of(3, data_type(kind))
    assert union.value(data_type(kind)) == 3
    assert np.frombuffer(union.Bytes, NUMPY[kind])[0] == 3


def test_scalar_union_is_a_union():
    assert dml.DML_SCALAR_UNION(Int8=-1).UInt8 == 255
    assert dml.DML_SCALAR_UNION(Int8=-1).UInt64 == 255  # what is not named is zero
    assert dml.DML_SCALAR_UNION.of(1.0, data_type("FLOAT16")).UInt16 == 0x3C00
    assert dml.DML_SCALAR_UNION.of(float("inf"), data_type("FLOAT16")).UInt16 == 0x7C00
    with pytest.raises(dml.DMLError, match="allowed: what a FLOAT16 can hold, up to 65504"):
        dml.DML_SCALAR_UNION.of(1e6, data_type("FLOAT16"))
    with pytest.raises(dml.DMLError, match="allowed: types of 8 bits and more"):
        dml.DML_SCALAR_UNION.of(1, data_type("INT4"))
    with pytest.raises(dml.DMLError, match="0 members were given; allowed: one of Bytes, Int8"):
        dml.DML_SCALAR_UNION()
    with pytest.raises(dml.DMLError, match="2 members were given"):
        dml.DML_SCALAR_UNION(Int8=1, Int16=1)
    with pytest.raises(dml.DMLError, match="there is no member Float16"):
        dml.DML_SCALAR_UNION(Float16=1)
    with pytest.raises(dml.DMLError, match="allowed: 8 bytes"):
        dml.DML_SCALAR_UNION(b"123")
    with pytest.raises(AttributeError, match="has no member Half"):
        _ = dml.DML_SCALAR_UNION(Int8=1).Half
    with pytest.raises(AttributeError, match="cannot be set"):
        dml.DML_SCALAR_UNION(Int8=1).Int8 = 2


def test_scale_bias_and_sizes():
    assert repr(dml.DML_SCALE_BIAS(0.1, 2)) == "DML_SCALE_BIAS(Scale=0.1, Bias=2.0)"
    assert dml.DML_SIZE_2D(3, Height=4) == dml.DML_SIZE_2D(Width=3, Height=4)
    with pytest.raises(dml.DMLError, match="DML_SIZE_2D: Height is -1; allowed: whole numbers from 0 to 4294967295"):
        dml.DML_SIZE_2D(3, -1)
    with pytest.raises(dml.DMLError, match="DML_SCALE_BIAS: Bias is missing; allowed: FLOAT Scale; FLOAT Bias"):
        dml.DML_SCALE_BIAS(3)


def test_errors_survive_pickling():
    with pytest.raises(dml.DMLError) as caught:
        tensor("FLOAT32", ())
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.hresult, again.subject, again.member) == (
        str(caught.value),
        dml.HRESULT.E_INVALIDARG,
        "DML_BUFFER_TENSOR_DESC",
        "Sizes",
    )

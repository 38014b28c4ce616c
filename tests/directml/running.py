"""What tests that execute share: which operators there are, what their results must be, and guarded memory."""

import functools
import re

import numpy as np

import ogive.directml as dml
from ogive.catalog import OPERATORS as CATALOG
from ogive.dtypes import BOOLEAN, element_type
from tests.directml.standard import (
    NUMPY,
    OPERATORS,
    attributes,
    desc_class,
    inputs,
    make,
    output,
    row,
    try_create,
    with_type,
)
from tests.inputs import random_values, special_values

DEVICE = dml.Device("6_4")


def types_of(name):
    """Types of all tensors, one choice for each type of the first input, then for each of the output."""
    table = row(name, "6_4")
    chosen = [with_type(name, "6_4", inputs(name)[0], kind) for kind in table[inputs(name)[0]]["types"]]
    chosen += [with_type(name, "6_4", output(name), kind) for kind in table[output(name)]["types"]]
    unique = {tuple(sorted(types.items())): types for types in chosen}
    return [types for types in unique.values() if all(kind in table[t]["types"] for t, kind in types.items())]


def _runnable():
    found = []
    for name in OPERATORS:
        for types in types_of(name):
            if try_create(DEVICE, make(name, types=types)) is not None:
                found.append((name, tuple(sorted(types.items()))))
    return found


#: Every operator whose formula is in the catalogue, with every choice of types that the catalogue computes.
RUNNABLE = _runnable()
IDS = [f"{name[13:]}-{dict(types)[inputs(name)[0]]}-{dict(types)[output(name)]}" for name, types in RUNNABLE]
assert RUNNABLE

#: One choice of types for each of these operators: that of float32 where there is one.
NAMES = dict(reversed(RUNNABLE))
assert len(NAMES) >= 10

SHARED = {
    "ACTIVATION_IDENTITY": "ELEMENT_WISE_IDENTITY",
    "ACTIVATION_TANH": "ELEMENT_WISE_TANH",
    "ACTIVATION_SOFTMAX": "ACTIVATION_SOFTMAX1",
    "ACTIVATION_LOG_SOFTMAX": "ACTIVATION_LOG_SOFTMAX1",
    "ACTIVATION_HARDMAX": "ACTIVATION_HARDMAX1",
    "ELEMENT_WISE_ADD": "ELEMENT_WISE_ADD1",
    "ELEMENT_WISE_CLIP_GRAD": "ELEMENT_WISE_CLIP_GRAD1",
    "ELEMENT_WISE_POW": "ELEMENT_WISE_CONSTANT_POW",
    "ELEMENT_WISE_MAX": "ELEMENT_WISE_THRESHOLD",
}


@functools.cache
def function_of(name):
    """The catalogue's operator for a DirectML operator."""
    short = name.removeprefix("DML_OPERATOR_")
    other = {**SHARED, **{b: a for a, b in SHARED.items()}}.get(short)
    return next(op for op in CATALOG.values() if op.directml and op.directml in (short, other))


def expected(desc, arrays):
    """What the function of the same formula gives, in the desc's output type: by its own keywords."""
    name = desc.FACTS.type_name
    op = function_of(name)
    arrays = list(arrays)
    kind = NUMPY[desc.output.DataType.name.removeprefix("DML_TENSOR_DATA_TYPE_")]
    scale = getattr(desc, "ScaleBias", None)
    if scale is not None:
        arrays[0] = scaled(arrays[0], scale)
    if "BIT_" in name:
        arrays = [a.view(f"u{a.itemsize}") if a.dtype.kind == "f" else a for a in arrays]
    if hasattr(desc, "Axes"):
        return op(arrays[0], axis=tuple(desc.Axes))
    if any("Effective rank" in c for c in OPERATORS[name]["constraints"]):
        return op(arrays[0], axis=-1)
    numbers, parameters = {}, {p.name for p in op.parameters}
    for field in OPERATORS[name]["fields"]:
        if field["type"] in ("FLOAT", "DML_ROUNDING_MODE", "DML_IS_INFINITY_MODE"):
            value = getattr(desc, field["name"])
            snake = re.sub(r"(?<!^)(?=[A-Z])", "_", field["name"]).lower()
            numbers[snake] = value if isinstance(value, float) else value.name.split("MODE_")[1].lower()
    for snake in [n for n in numbers if n not in parameters]:  # called otherwise: the parameter that is left
        left = [p.name for p in op.numeric_parameters if p.name not in numbers]
        if left:
            numbers[left[0]] = numbers.pop(snake)
        else:  # a tensor of the function
            arrays.append(np.float32(numbers.pop(snake)))
    if op.signatures[0].inputs[0] is BOOLEAN:
        arrays[0] = arrays[0] != 0
        if all(t is BOOLEAN for t in op.signatures[0].inputs):
            arrays = [a != 0 for a in arrays]
    result = op(*arrays, **numbers)
    if getattr(desc, "FusedActivation", None) is not None:
        return expected(with_tensors(desc.FusedActivation, desc.output), [result])
    if "BIT_" in name and kind.kind == "f":
        return result.view(kind)
    return result.astype(kind) if result.dtype == bool else result


def with_tensors(activation, tensor):
    return activation.replace(InputTensor=tensor, OutputTensor=tensor)


def scaled(x, scale):
    """x * Scale + Bias, for integers, exactly: in Python's fractions, towards zero, saturating."""
    from fractions import Fraction

    kind = element_type(x.dtype.name)
    assert kind.is_integer
    s, b = Fraction(scale.Scale), Fraction(scale.Bias)
    values = [min(max(int(int(v) * s + b), kind.minimum), kind.maximum) for v in x.ravel()]
    return np.array(values, dtype=x.dtype).reshape(x.shape)


def values(kind, count, seed=0):
    """Special and random values of a data type, as many as are wanted."""
    row = element_type(NUMPY[kind].name)
    special = np.random.default_rng(seed).permutation(special_values(row))
    return np.concatenate([special, random_values(row, count, seed + 1)])[:count]


def bare(name, **given):
    """A desc as a fused activation has it."""
    tensors = dict.fromkeys([*inputs(name), output(name)])
    return desc_class(name)(**tensors, **attributes(name, **given))


class Arena:
    """One buffer with guards: tensors are placed in it, and nothing but their elements may change."""

    def __init__(self, size=1 << 18, seed=0):
        rng = np.random.default_rng(seed)
        self.memory = rng.integers(0, 256, size, np.uint8)
        self.end = 256
        self.rng = rng

    def place(self, desc, alignment=16):
        """A binding somewhere behind what is placed already, with a gap between."""
        step = max(alignment, desc.GuaranteedBaseOffsetAlignment)
        offset = -(-self.end // step) * step + step * int(self.rng.integers(0, 3))
        self.end = offset + desc.TotalTensorSizeInBytes + 32
        assert self.end <= self.memory.nbytes
        return dml.DML_BUFFER_BINDING(self.memory, offset, desc.TotalTensorSizeInBytes)

    def view(self, desc, binding):
        kind = NUMPY[desc.DataType.name.removeprefix("DML_TENSOR_DATA_TYPE_")]
        strides = desc.Strides
        if strides is None:
            strides = np.cumprod([1, *desc.Sizes[:0:-1]])[::-1]
        steps = tuple(int(s) * kind.itemsize if n > 1 else 0 for s, n in zip(strides, desc.Sizes, strict=True))
        return np.ndarray(desc.Sizes, kind, self.memory, binding.Offset, steps)

    def elements(self, desc, binding):
        """Which bytes of the buffer are elements of the tensor."""
        mask = np.zeros(self.memory.nbytes, bool)
        kind = NUMPY[desc.DataType.name.removeprefix("DML_TENSOR_DATA_TYPE_")]
        shape = self.view(desc, binding)
        wide = np.ndarray((*desc.Sizes, kind.itemsize), bool, mask, binding.Offset, (*shape.strides, 1))
        wide[...] = True
        return mask

"""The parts that tests that execute share: which operators there are, what their results must be, and guarded memory."""

import functools
import re

import mpmath
import numpy as np

import ogive
import ogive.directml as dml
from ogive.catalog import OPERATORS as CATALOG
from ogive.common.dtypes import element_type
from ogive.laboratory.reference import correctly_rounded, evaluate_exactly
from tests.directml.standard import NUMPY, OPERATORS, attributes, combinations, desc_class, inputs, output
from tests.inputs import assert_same_bits, random_values, special_values

mp = mpmath.MPContext()
mp.prec = 300
mpf = mp.mpf

DEVICE = dml.Device("6_4")

#: Every operator with every choice of types, at the highest feature level.
RUNNABLE = [(name, tuple(types.items())) for name in OPERATORS for types in combinations(name, "6_4")]
assert len(RUNNABLE) >= 449
IDS = [f"{name[13:]}-{'-'.join(dict.fromkeys(dict(types).values()))}" for name, types in RUNNABLE]

#: One choice of types for each operator: that of float32 where there is one.
NAMES = dict(reversed(RUNNABLE))
assert NAMES.keys() == OPERATORS.keys()

SHARED = {
    "ACTIVATION_TANH": "ELEMENT_WISE_TANH",
    "ACTIVATION_IDENTITY": "ELEMENT_WISE_IDENTITY",
    "ACTIVATION_SOFTMAX": "ACTIVATION_SOFTMAX1",
    "ACTIVATION_LOG_SOFTMAX": "ACTIVATION_LOG_SOFTMAX1",
    "ACTIVATION_HARDMAX": "ACTIVATION_HARDMAX1",
    "ELEMENT_WISE_ADD": "ELEMENT_WISE_ADD1",
    "ELEMENT_WISE_POW": "ELEMENT_WISE_CONSTANT_POW",
}

#: Keywords of a function that are not the desc's FLOAT members in snake case.
KEYWORDS = {
    "ACTIVATION_SHRINK": lambda desc: {"bias": desc.Bias, "lambd": desc.Threshold},
    "ACTIVATION_SWISH": lambda desc: {"alpha": desc.SigmoidInputScale},
    "ELEMENT_WISE_CLIP1": lambda desc: {"wins": "min"},
    "ELEMENT_WISE_CLIP_GRAD1": lambda desc: {},
    "ELEMENT_WISE_IS_INFINITY": lambda desc: (
        {},
        {"detect_negative": 0},
        {"detect_positive": 0},
    )[desc.InfinityMode],
    "ELEMENT_WISE_ROUND": lambda desc: {"mode": ("nearest_even", "truncate", "nearest_away")[desc.RoundingMode]},
    "ELEMENT_WISE_SIGN": lambda desc: {"nan": "zero"},
}

#: The tensor whose type a zero point has that is left out.
ZERO_POINTS = {
    ("DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR", "ZeroPointTensor"): "OutputTensor",
    ("DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR", "ZeroPointTensor"): "InputTensor",
    ("DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "AZeroPointTensor"): "ATensor",
    ("DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "BZeroPointTensor"): "BTensor",
    ("DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "OutputZeroPointTensor"): "OutputTensor",
}


@functools.cache
def function_of(name):
    """The catalogue's operator for a DirectML operator."""
    short = name.removeprefix("DML_OPERATOR_")
    other = {**SHARED, **{b: a for a, b in SHARED.items()}}.get(short)
    listed = {op.directml: op for op in CATALOG.values() if op.directml}
    return listed.get(short) or listed[other]


def numpy_type(given):
    return NUMPY[given.DataType.name.removeprefix("DML_TENSOR_DATA_TYPE_")]


def keywords(desc):
    """The arguments of the function of the same formula."""
    short = desc.FACTS.name
    if short in KEYWORDS:
        return KEYWORDS[short](desc)
    fields = [f["name"] for f in OPERATORS[desc.FACTS.type_name]["fields"] if f["type"] == "FLOAT"]
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(): getattr(desc, name) for name in fields}


def operands(desc, arrays):
    """The tensors that the function of the same formula is called with."""
    name, given = desc.FACTS.type_name, iter(arrays)
    found = []
    for member in inputs(name):
        if getattr(desc, member) is None:
            found.append(np.zeros((), numpy_type(getattr(desc, ZERO_POINTS[name, member]))))
        else:
            found.append(next(given))
    if hasattr(desc, "MinMaxDataType"):
        found += [np.array(bound.value(desc.MinMaxDataType), found[0].dtype) for bound in (desc.Min, desc.Max)]
    if desc.FACTS.name.startswith("ELEMENT_WISE_BIT_"):
        found = [a.view(f"u{a.itemsize}") if a.dtype.kind == "f" else a for a in found]
    op = function_of(name)
    return [a != 0 if tensor in op.truth_inputs else a for tensor, a in zip(op.tensors, found, strict=False)]


def converted(desc, x):
    """CAST, in exact numbers; between floats as NumPy does it, which knows -0."""
    kind = element_type(numpy_type(desc.output).name)
    if x.dtype.kind == "f" and not kind.is_integer:
        with np.errstate(all="ignore"):
            return np.where(np.isnan(x), np.nan, x).astype(x.dtype).astype(kind.numpy)
    modular = x.dtype.kind != "f"
    exact = [correctly_rounded(mpf(v.item()), kind, modular=modular and kind.is_integer) for v in x.ravel()]
    return np.array(exact, kind.numpy).reshape(x.shape)


def counted(desc):
    """FILL_VALUE_SEQUENCE, in exact numbers."""
    kind = element_type(numpy_type(desc.output).name)
    start, delta = (mpf(union.value(desc.ValueDataType)) for union in (desc.ValueStart, desc.ValueDelta))
    count = int(np.prod(desc.output.Sizes))
    exact = [correctly_rounded(start + index * delta, kind, modular=kind.is_integer) for index in range(count)]
    return np.array(exact, kind.numpy).reshape(desc.output.Sizes)


def filled(desc):
    return np.full(desc.output.Sizes, desc.Value.value(desc.ValueDataType), numpy_type(desc.output))


#: Operators for which Ogive has no function.
WITHOUT_FUNCTION = {"CAST": converted, "FILL_VALUE_CONSTANT": filled, "FILL_VALUE_SEQUENCE": counted}


def expected(desc, arrays):
    """The result of the function of the same formula, in the desc's output type: by its own keywords."""
    name, short = desc.FACTS.type_name, desc.FACTS.name
    if short in WITHOUT_FUNCTION:
        return WITHOUT_FUNCTION[short](desc, *arrays)
    kind = numpy_type(desc.output)
    arrays = list(arrays)
    scale = getattr(desc, "ScaleBias", None)
    if scale is not None and arrays[0].dtype.kind != "f":
        arrays[0], scale = scaled(arrays[0], scale), None
    assert scale is None, "there is no function for that"
    op, tensors = function_of(name), operands(desc, arrays)
    if hasattr(desc, "Axes"):
        return op(*tensors, axis=tuple(desc.Axes))
    if op.is_row_wise:
        return op(*tensors, axis=-1)
    result = op(*tensors, **keywords(desc))
    if getattr(desc, "FusedActivation", None) is not None:
        return expected(with_tensors(desc.FusedActivation, desc.output), [result])
    if result.dtype.kind == "u" and kind.kind == "f":
        return result.view(kind)
    if result.dtype == bool or short == "ELEMENT_WISE_BIT_COUNT":
        return result.astype(kind)
    return result


def assert_agrees(desc, result, arrays):
    """The bits of the function; of powers, whose operands no function mixes so, what the reference allows."""
    if not desc.FACTS.name.endswith("_POW"):
        assert_same_bits(result, np.ascontiguousarray(np.broadcast_to(expected(desc, arrays), desc.output.Sizes)))
        return
    low, high = powers(desc, *arrays)
    assert result.dtype == numpy_type(desc.output)
    assert result.shape == desc.output.Sizes
    with np.errstate(invalid="ignore"):
        good = ((low <= result) & (result <= high)) | (np.isnan(low) & np.isnan(result))
    assert good.all(), (result[~good][0], low[~good][0], high[~good][0])


def powers(desc, x, exponents=None):
    """The least and the greatest result that a power may be.

    Integers to integers are exact, modulo the size of the type. A float is the exact power's neighbour, and a
    real number is rounded towards zero to an integer: what is not an integer may have been rounded to one before.
    """
    kind, scale = element_type(numpy_type(desc.output).name), desc.ScaleBias
    if scale is not None and kind.is_integer:
        x, scale = scaled(x, scale), None
    x, exponents = np.broadcast_arrays(x, np.float32(desc.Exponent) if exponents is None else exponents)
    are_integers = kind.is_integer and exponents.dtype.kind != "f"
    formula = ogive.pow.formula(for_integers=are_integers)[0]
    slack = 0 if are_integers or not kind.is_integer else 2.0**-24 if kind.bits <= 16 else 2.0**-45
    low, high = np.empty(x.shape, kind.numpy), np.empty(x.shape, kind.numpy)
    for index in np.ndindex(x.shape):
        base = mpf(x[index].item())
        if scale is not None:
            base = base * mpf(scale.Scale) + mpf(scale.Bias)
        value = evaluate_exactly(formula, [base, mpf(exponents[index].item())])
        if not kind.is_integer and not base:  # mpmath has one zero and one infinity for both
            with np.errstate(all="ignore"):
                value = mpf(float(np.power(np.float64(x[index] if scale is None else 0), np.float64(exponents[index]))))
        is_whole = not mp.isfinite(value) or value == mp.nint(value)
        for array, sign in ((low, -1), (high, 1)):
            near = value if is_whole else value + sign * slack * abs(value)
            array[index] = correctly_rounded(near, kind, modular=are_integers)
    if kind.is_integer:
        return low, high
    with np.errstate(over="ignore"):
        return np.nextafter(low, kind.numpy.type("-inf")), np.nextafter(high, kind.numpy.type("inf"))


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
        """The bytes of the buffer that are elements of the tensor."""
        mask = np.zeros(self.memory.nbytes, bool)
        kind = NUMPY[desc.DataType.name.removeprefix("DML_TENSOR_DATA_TYPE_")]
        shape = self.view(desc, binding)
        wide = np.ndarray((*desc.Sizes, kind.itemsize), bool, mask, binding.Offset, (*shape.strides, 1))
        wide[...] = True
        return mask

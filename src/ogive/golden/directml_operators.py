"""Specifications of DirectML's operators: every feature level and type, by the formula that the device finds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ogive.directml import data
from ogive.directml.desc_computation import FILLS, ElementwiseDesc, computation, find, kind_of
from ogive.directml.descs import OperatorDesc, desc_class
from ogive.directml.enumerations import DML_TENSOR_DATA_TYPE
from ogive.directml.results import DMLError
from ogive.directml.scalars import DML_SCALAR_UNION
from ogive.directml.support import is_rowwise, validate
from ogive.directml.tensor import DML_BUFFER_TENSOR_DESC
from ogive.enclosures.enclosure import of_number, rounded
from ogive.golden.onnx_operators import kernel_of, steps_of
from ogive.golden.specification import FLOAT32_PARAMETERS, Call, Specification, WholeSpecification
from ogive.operators.signature import Signature

#: Values of members that have no default.
NUMBERS = {"Min": -1.0, "Max": 2.5, "Exponent": 2.0, "Alpha": 0.75, "Beta": 0.25, "Gamma": 1.25}
SCALARS = {"Min": 1, "Max": 100, "Value": 7, "ValueStart": 3, "ValueDelta": 2}


class DirectMLOperator(NamedTuple):
    """An operator at a feature level, with a type for each of its tensors."""

    operator: str
    level: str
    types: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """A line for people."""
        kinds = ", ".join(f"{name} = {kind}" for name, kind in self.types)
        return f"{self.operator} {self.level} {kinds}"


def all_of_directml() -> Iterator[DirectMLOperator]:
    """Every operator at every feature level, with every type of every tensor, the others as it needs them."""
    for full_name in data.OPERATOR_TYPES:
        name = full_name.removeprefix("DML_OPERATOR_")
        try:
            operator = data.facts(name)
        except KeyError:
            continue
        for level, value in data.FEATURE_LEVELS.items():
            row = operator.row(value)
            if row is None or value < data.FEATURE_LEVELS[operator.introduced]:
                continue
            seen = set()
            for member in operator.tensors:
                for kind in row[member.name].types:
                    types = _types_with(name, value, member.name, kind)
                    if types is not None and types not in seen:
                        seen.add(types)
                        yield DirectMLOperator(name, level, types)


@cache
def _types_with(name: str, level: int, chosen: str, kind: str) -> tuple[tuple[str, str], ...] | None:
    """Types of all tensors that the level takes, with this one for the one that is chosen."""
    operator = data.facts(name)
    row = operator.row(level)
    assert row is not None
    names = [member.name for member in operator.tensors]
    # The same type for as many tensors as can have it, then the first ones of the tables.
    options = [
        [kind] if n == chosen else [k for k in dict.fromkeys((kind, *row[n].types)) if k in row[n].types] for n in names
    ]
    for types in itertools.islice(itertools.product(*options), 4000):
        candidate = tuple(zip(names, types, strict=True))
        try:
            validate(desc_of(name, dict(candidate)), level)
        except DMLError:
            continue
        return candidate
    return None


def desc_of(
    name: str, types: Mapping[str, str], sizes: tuple[int, ...] = (1, 1, 1, 1), given: Mapping[str, Any] | None = None
) -> OperatorDesc:
    """A desc with tensors of these types, one size, and numbers for all members."""
    operator = data.facts(name)
    members: dict[str, Any] = {}
    scalar = types[operator.output.name]
    for member in operator.members:
        if given and member.name in given:
            members[member.name] = given[member.name]
        elif member.is_tensor:
            own = (1,) * len(sizes) if _is_single(name, member.name) else sizes
            kind = DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{types[member.name]}"]
            members[member.name] = DML_BUFFER_TENSOR_DESC(DataType=kind, Sizes=own)
        elif member.type == "DML_SCALAR_UNION":
            kind = DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{scalar}"]
            members[member.name] = DML_SCALAR_UNION.of(SCALARS[member.name], kind)
        elif member.name == "Axes":
            members[member.name] = (len(sizes) - 1,)
        elif member.type == "FLOAT" and member.default is None:
            members[member.name] = NUMBERS[member.name]
    return desc_class(operator.struct)(**members)


def _is_single(name: str, member: str) -> bool:
    return name == "ELEMENT_WISE_QUANTIZED_LINEAR_ADD" and member.endswith(("ScaleTensor", "ZeroPointTensor"))


def of_directml(
    name: str, level: str, types: Mapping[str, str], given: Mapping[str, Any] | None = None
) -> Specification:
    """The specification of an operator at a feature level, for tensors of these types.

    Raises DMLError where the level does not take them.
    """
    desc = desc_of(name, dict(types), given=given)
    validate(desc, data.FEATURE_LEVELS[level])
    operator = data.facts(name)
    if not operator.inputs:
        return _of_fill(name, level, types)
    tensors = tuple(member.name for member in operator.inputs)
    if is_rowwise(name):
        catalogue = find(name)
        kinds = tuple(kind_of(desc, getattr(desc, member)) for member in (*tensors, operator.output.name))
        made: Any = catalogue.computation(Signature(kinds[:-1], kinds[-1:]))
        values: tuple[float, ...] = ()
        bind: Any = catalogue
    else:
        found = computation(desc, "exact")()
        assert isinstance(found, ElementwiseDesc)
        made, values = found.formulas, found.parameters
        bind = kernel_of(name, made, values)
    steps = steps_of(made, values)
    attributes = {m.name: getattr(desc, m.name) for m in operator.members if m.type == "FLOAT"}
    return Specification(
        name,
        "directml",
        level,
        tensors[: len(made.inputs)],
        made.inputs,
        made.outputs[0],
        steps,
        attributes,
        is_row_wise=is_rowwise(name),
        parameter_rule=FLOAT32_PARAMETERS,
        bind=bind,
    )


#: Sizes of what is filled: more elements than float16 has integers that it counts to.
FILLED = ((1, 1, 3, 1000), (1, 1, 1, 1))


def _of_fill(name: str, level: str, types: Mapping[str, str]) -> Specification:
    """Operators without inputs: a number for all elements, or one after the other."""
    made = desc_of(name, dict(types))
    kind = kind_of(made, getattr(made, made.FACTS.output.name))

    def value(index: int) -> float | int:
        if name == "FILL_VALUE_CONSTANT":
            return SCALARS["Value"]
        return SCALARS["ValueStart"] + index * SCALARS["ValueDelta"]

    def calls(seed: int) -> Iterator[Call]:
        for sizes in FILLED:
            found = [rounded(of_number(value(i)), kind, True, True) for i in range(math.prod(sizes))]
            yield f"{sizes}", (), (np.array(found, kind.numpy).reshape(sizes),)

    def fill(*arrays: np.ndarray, sizes: tuple[int, ...] = FILLED[0]) -> np.ndarray:
        out = np.empty(sizes, kind.numpy)
        FILLS[name](desc_of(name, dict(types), sizes)).function(out)
        return out

    numbers = {m.name: SCALARS[m.name] for m in made.FACTS.members if m.name in SCALARS}
    return WholeSpecification(
        name, "directml", level, (), (), kind, (), numbers, parameter_rule="numbers of the type", bind=fill, calls=calls
    )

"""Specifications of operators of whole arrays, whose golden data are calls: inputs, and results by the rules.

They are what has no formula for each element or row: moved elements, casts of small types, reductions of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import onnx
from onnx import helper

from ogive.common.dtypes import ElementType
from ogive.errors import UnsupportedError, message
from ogive.golden.normal_rules import NORMAL_ATTRIBUTES, NORMAL_RULES, TRAINING_RULES
from ogive.golden.onnx_values import container_calls, element_of, name_of_type, tensor_of, type_of
from ogive.golden.specification import Call, Specification, WholeSpecification
from ogive.golden.whole_rules import ATTRIBUTES, RULES, Request
from ogive.onnx import schemas
from ogive.onnx.data_types import DATA_TYPES, DataType

__all__ = ["NORMALISATIONS", "SmallType", "model_of_whole", "of_whole"]

#: Normalisations of rows, whose scales and biases lie as the standard has them.
NORMALISATIONS = frozenset(NORMAL_RULES)

_RULES = RULES | NORMAL_RULES | TRAINING_RULES
_ATTRIBUTES = ATTRIBUTES | NORMAL_ATTRIBUTES


@dataclass(frozen=True)
class SmallType:
    """An element type that kernels do not compute with, with what golden data ask of an `ElementType`."""

    name: str
    kind: str
    bits: int
    numpy: np.dtype

    @property
    def is_float(self) -> bool:
        return self.kind == "float"


def _element(kind: DataType) -> ElementType:
    if kind.element is not None:
        return kind.element
    words = {"S": "text", "C": "complex", "U": "unsigned", "I": "signed"}
    return cast(ElementType, SmallType(kind.dtype.rstrip("_"), words.get(kind.name[0], "float"), kind.bits, kind.numpy))


def _container(kind: str) -> ElementType:
    """A sequence or an optional value, as a type with a name for files."""
    element = element_of(kind)
    assert element is not None, kind
    return cast(ElementType, SmallType(name_of_type(kind), "container", element.bits, element.numpy))


def of_whole(operator: str, version: int, types: Mapping[str, str], attributes: Mapping[str, Any]) -> Specification:
    """The specification of a version of an operator of ONNX that computes whole arrays.

    Raises UnsupportedError for operators that have no rule, and for types that no rule has, such as maps.
    """
    schema = schemas.schema_of(operator, version)
    if schema is None or operator not in _RULES:
        raise UnsupportedError(message(operator, "golden data has no rule of it", ", ".join(sorted(_RULES))))
    is_many = schema.max_input > len(schema.inputs)
    formal = list(schema.inputs) * (2 if is_many else 1)
    if operator == "Split" and version == 1:
        formal = formal[:1]
    names = tuple(p.name if not is_many else f"{p.name}_{i}" for i, p in enumerate(formal))
    input_types = tuple(types.get(p.type_str, p.type_str) for p in formal)
    result = types.get(schema.outputs[0].type_str, schema.outputs[0].type_str)
    for given in (*input_types, result):
        if given not in DATA_TYPES:
            if operator == "Identity" and element_of(given) is not None:
                return _identity_of_container(version, names, given)
            raise UnsupportedError(message(operator, f"a value is {given}", "tensors, and of Identity sequences too"))
    chosen = {n: v for n, v in _ATTRIBUTES.get(operator, {}).items() if n in schema.attributes and n not in names}
    if operator in ("Constant", "ConstantOfShape"):
        chosen["value"] = _value(DATA_TYPES[result], operator)
    if operator in ("BitCast", "Cast"):
        chosen["to"] = DATA_TYPES[result].name if version == 1 else DATA_TYPES[result].number
    if operator == "LayerNormalization":
        chosen["stash_type"] = DATA_TYPES[types[schema.outputs[1].type_str]].number
    if operator == "EyeLike":
        chosen["dtype"] = DATA_TYPES[result].number
    if operator == "Split" and "num_outputs" in chosen:
        names, input_types = names[:1], input_types[:1]
        chosen["num_outputs"] = 2
    if operator == "DequantizeLinear" and "output_dtype" in schema.attributes:
        chosen["output_dtype"] = DATA_TYPES[result].number
    chosen.update(attributes)
    every = {**schemas.default_values(operator, version), **chosen}
    kinds = {name: DATA_TYPES[t] for name, t in zip(names, input_types, strict=True)}
    output = DATA_TYPES[result]

    def calls(seed: int) -> Iterator[Call]:
        return _RULES[operator](Request(operator, version, kinds, output, every, np.random.default_rng(seed)))

    outputs = tuple(o.name for o in schema.outputs)
    result_types = tuple(types.get(o.type_str, o.type_str) for o in schema.outputs)
    if operator == "Split":
        outputs, result_types = ("first", "second"), result_types * 2
    if operator == "Dropout":
        outputs = outputs[:1]
    if len(outputs) == 1:
        outputs, result_types = ("result",), (result,)
    made: list[WholeSpecification] = []
    made.append(
        WholeSpecification(
            operator,
            "onnx",
            str(version),
            names,
            tuple(_element(kind) for kind in kinds.values()),
            _element(output),
            (),
            chosen,
            parameter_rule="attributes are those of the model",
            calls=calls,
            results=outputs,
            input_types=input_types,
            result_types=result_types,
            bind=lambda *arrays: _kernel_of(made[0])(*arrays),
        )
    )
    return made[0]


def _identity_of_container(version: int, names: tuple[str, ...], kind: str) -> Specification:
    made: list[WholeSpecification] = []
    made.append(
        WholeSpecification(
            "Identity",
            "onnx",
            str(version),
            names,
            (_container(kind),),
            _container(kind),
            (),
            parameter_rule="there are no parameters",
            calls=partial(container_calls, kind),
            input_types=(kind,),
            result_types=(kind,),
            bind=lambda *values: _kernel_of(made[0])(*values),
        )
    )
    return made[0]


def _value(kind: DataType, operator: str) -> np.ndarray:
    from ogive.golden.whole_rules import drawn

    shape = (1,) if operator == "ConstantOfShape" else (2, 3)
    return drawn(kind, shape, np.random.default_rng(4))


def model_of_whole(spec: WholeSpecification) -> onnx.ModelProto:
    """A model of one node, for tensors of any shape."""
    attributes = dict(spec.parameters)
    for name, value in attributes.items():
        if isinstance(value, np.ndarray):
            attributes[name] = tensor_of(value, name)
    node = helper.make_node(spec.operator, list(spec.tensors), list(spec.results), **attributes)

    def info(name: str, kind: str) -> onnx.ValueInfoProto:
        return helper.make_value_info(name, type_of(kind))

    graph = helper.make_graph(
        [node],
        spec.operator.lower(),
        [info(*each) for each in zip(spec.tensors, spec.input_types, strict=True)],
        [info(*each) for each in zip(spec.results, spec.result_types, strict=True)],
    )
    opset = helper.make_opsetid("", int(spec.version))
    return helper.make_model(
        graph, opset_imports=[opset], ir_version=helper.find_min_ir_version_for([opset], ignore_unknown=True)
    )


def _kernel_of(spec: WholeSpecification) -> Callable[..., Any]:
    """Ogive's own results, as a model of one node."""
    made: list[Any] = []

    def call(*arrays: np.ndarray) -> Any:
        if not made:
            from ogive.onnx.model import load

            made.append(load(model_of_whole(spec)))
        return made[0](*arrays)

    return call

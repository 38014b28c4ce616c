"""One function for each operator, and views of tensors.

A function makes the operator's desc from its arguments, and the device creates the operator at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from ogive.directml.builder.activation import FusedActivation, desc_of
from ogive.directml.builder.tensor_descs import TensorDesc, data_type_of
from ogive.directml.builder.tensor_expression import Expression, Maker
from ogive.directml.builder.vocabulary import (
    ApiArgument,
    ApiFunction,
    Variant,
    default_output_type,
    functions,
    snake_case,
)
from ogive.directml.data import out_of_scope
from ogive.directml.descs import desc_class
from ogive.directml.enumerations import DML_TENSOR_DATA_TYPE, short_name
from ogive.directml.results import refuse
from ogive.directml.scalars import DML_SCALAR_UNION, DML_SCALE_BIAS
from ogive.directml.structure import REQUIRED, short
from ogive.directml.support import identical
from ogive.directml.tensor import DML_BUFFER_TENSOR_DESC
from ogive.errors import ArgumentError, ParameterError, ShapeError, UnsupportedError, message


@cache
def function_of(name: str) -> Callable[..., Any] | None:
    """The function of that name: of an operator, or one that says that its operator is out of scope."""
    if name in out_of_scope():
        return _refusing(name)
    function = functions().get(name)
    return None if function is None else _made(function)


def _made(function: ApiFunction) -> Callable[..., Expression]:
    signature = function.signature

    def make(*args: Any, **keywords: Any) -> Expression:
        try:
            bound = signature.bind(*args, **keywords)
        except TypeError as error:
            raise ArgumentError(message(function.name, str(error), f"{function.name}{signature}")) from None
        return _expression(function, bound.arguments)

    _name(make, function.name)
    make.__signature__ = signature  # type: ignore[attr-defined]
    make.__doc__ = _documentation(function)
    return make


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse_it(*args: Any, **keywords: Any) -> NoReturn:
        raise UnsupportedError(
            message(name, "it is out of scope", "activations, element-wise operators, cast and fill_value functions")
        )

    _name(refuse_it, name)
    refuse_it.__doc__ = "Raises UnsupportedError: this operator is neither an activation nor element-wise."
    return refuse_it


def _name(function: Callable[..., Any], name: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "ogive.directml"


def _documentation(function: ApiFunction) -> str:
    """The result of the function for its arguments, and the references of its operators."""
    lines = [
        f"{' or '.join(v.facts.type_name for v in function.variants)}: ``{function.variants[0].facts.formula}``.",
        "",
    ]
    lines += [f"{argument.name}: {_meaning(argument)}." for argument in _arguments(function)]
    lines.append("")
    lines.append("Raises DMLError for what the device's feature level does not take; ShapeError, ArgumentError,")
    lines.append("ParameterError or DTypeError for what is no such argument.")
    for variant in function.variants:
        lines += ["", inspect.getdoc(desc_class(variant.facts.struct)) or ""]
    return "\n".join(lines)


def _arguments(function: ApiFunction) -> list[ApiArgument]:
    known: dict[str, ApiArgument] = {}
    for variant in function.variants:
        for argument in variant.arguments:
            known.setdefault(argument.name, argument)
    return list(known.values())


_MEANINGS = {
    "tensor": "an expression",
    "number": "a number (FLOAT)",
    "scalar": "a number of the output's type",
    "scale_bias": "(scale, bias), applied to the input first: x * scale + bias",
    "fused_activation": "a FusedActivation, applied to the result",
    "choice": "a member of the enumeration",
    "axes": "the axes that are reduced; none: the last one",
    "sizes": "the shape",
    "data_type": "the output's type, a NumPy dtype or a TensorDataType",
}


def _meaning(argument: ApiArgument) -> str:
    usual = "" if argument.default is REQUIRED else f"; default {argument.default!r}"
    return _MEANINGS[argument.kind] + usual


def call(name: str, *args: Any, **keywords: Any) -> Expression:
    """Call the function of a name."""
    function = function_of(name)
    assert function is not None
    return function(*args, **keywords)  # type: ignore[no-any-return]


# ---- from arguments to a desc


def _expression(function: ApiFunction, given: dict[str, Any]) -> Expression:
    graph = given.pop("graph", None)
    variant = _chosen(function, given)
    tensors = {a.member: given.get(a.name) for a in variant.tensors}
    for argument in variant.tensors:
        _check_tensor(function.name, argument, given.get(argument.name))
    present = [x for x in tensors.values() if x is not None]
    if function.is_source:
        if not isinstance(graph, Maker):
            raise ArgumentError(message(function.name, f"graph is {short(graph)}", "a dml.Graph"))
    else:
        graph = present[0]._graph
        for argument in variant.tensors:
            other = tensors[argument.member]
            if other is not None and other._graph is not graph:
                what = f"{argument.name} belongs to another graph than {variant.tensors[0].name}"
                raise ArgumentError(message(function.name, what, "expressions of one graph"))
        _check_agreement(function.name, variant, tensors)
    data_type = _output_type(function.name, variant, tensors, given)
    sizes = given["sizes"] if function.is_source else present[0].shape
    output = TensorDesc(data_type, sizes, tensor_policy=graph.tensor_policy)
    members: dict[str, Any] = {member: None if x is None else x.desc.structure for member, x in tensors.items()} | {
        variant.facts.output.name: output.structure
    }
    for argument in variant.keywords:
        if argument.member:
            value = given.get(argument.name, argument.default)
            members[argument.member] = _member(function.name, argument, value, data_type)
    desc = desc_class(variant.facts.struct)(**members)
    operator = graph.device.CreateOperator(desc)
    made: Expression = graph._add(operator, tuple(tensors.values()), output)
    return made


def _chosen(function: ApiFunction, given: dict[str, Any]) -> Variant:
    """The first operator that takes all arguments that were given."""
    for variant in function.variants:
        known = {a.name: a for a in variant.arguments}
        usual = {name for name, value in given.items() if name not in known and _is_left_out(value)}
        if not given.keys() - known.keys() - usual and all(
            _fits(argument, given.get(name, argument.default)) for name, argument in known.items()
        ):
            return variant
    return function.variants[0]


def _is_left_out(value: Any) -> bool:
    """Whether a value says the same as leaving the argument out."""
    return (
        value is None
        or (isinstance(value, Sequence) and not value)
        or (isinstance(value, FusedActivation) and value.desc() is None)
    )


def _fits(argument: ApiArgument, value: Any) -> bool:
    if argument.kind == "tensor":
        return isinstance(value, Expression) or (value is None and argument.default is None)
    if argument.kind in ("fused_activation", "axes"):
        return not _is_left_out(value)
    return value is not REQUIRED and not isinstance(value, Expression)


def _check_tensor(subject: str, argument: ApiArgument, value: Any) -> None:
    if isinstance(value, Expression) or (value is None and argument.default is None):
        return
    if value is None and argument.member.endswith("ZeroPointTensor"):
        return
    way_out = "Use graph.constant(array) for an array" if value is not None else ""
    raise ArgumentError(message(subject, f"{argument.name} is {short(value)}", "an expression of a graph", way_out))


def _check_agreement(subject: str, variant: Variant, tensors: dict[str, Expression | None]) -> None:
    """Sizes and types that must be equal: as the device would say, in the words of the function."""
    for group in identical(variant.facts.name, "Sizes"):
        present = [(snake_case(m), x) for m in group if (x := tensors.get(m)) is not None]
        for name, x in present[1:]:
            model, wanted = present[0][0], list(present[0][1].shape)
            if list(x.shape) != wanted:
                way_out = f"Nothing is broadcast by itself: use dml.broadcast({name}, {wanted})"
                raise ShapeError(
                    message(subject, f"{name} has shape {list(x.shape)}", f"{wanted}, as {model}", way_out)
                )
    for group in identical(variant.facts.name, "DataType"):
        present = [(snake_case(m), x) for m in group if (x := tensors.get(m)) is not None]
        for name, x in present[1:]:
            model, dtype = present[0][0], present[0][1].dtype
            if x.dtype != dtype:
                way_out = f"Nothing is converted by itself: use dml.cast({name}, dtype=...)"
                refuse(subject, f"{name} is of type {x.dtype}", f"{dtype}, as {model}", way_out, member=name)


def _output_type(subject: str, variant: Variant, tensors: dict[str, Expression | None], given: dict[str, Any]) -> Any:
    keyword = next((a for a in variant.keywords if a.kind == "data_type"), None)
    wanted = None if keyword is None else given.get(keyword.name)
    if wanted is not None:
        return data_type_of(subject, wanted)
    model = next((x for m in variant.typed_like if (x := tensors[m]) is not None), None)
    if model is not None:
        return model.desc.data_type
    if keyword is not None and keyword.default is REQUIRED:
        raise ArgumentError(message(subject, f"{keyword.name} is None", "a NumPy dtype or a TensorDataType"))
    return DML_TENSOR_DATA_TYPE[default_output_type(variant.facts.name)]


def _member(subject: str, argument: ApiArgument, value: Any, data_type: Any) -> Any:
    """An argument as the member of the desc."""
    if argument.kind == "scale_bias":
        return _scale_bias(subject, value)
    if argument.kind == "fused_activation":
        return desc_of(subject, value)
    if argument.kind == "scalar":
        return _scalar(subject, argument.name, value, data_type)
    return value


def _scale_bias(subject: str, value: Any) -> DML_SCALE_BIAS | None:
    if value is None or isinstance(value, DML_SCALE_BIAS):
        return value
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise ParameterError(message(subject, f"scale_bias is {short(value)}", "a pair (scale, bias), or None"))
    return DML_SCALE_BIAS(*value)


def _scalar(subject: str, name: str, value: Any, data_type: Any) -> DML_SCALAR_UNION:
    if isinstance(value, DML_SCALAR_UNION):
        return value
    is_integer = not short_name(data_type).startswith("FLOAT")
    if is_integer and isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        return DML_SCALAR_UNION.of(value, data_type)
    except ValueError as error:
        allowed = f"a number that {short_name(data_type)} holds"
        raise ParameterError(message(subject, f"{name} is {short(value)}", allowed)) from error


# ---- views


def _check_sequence(subject: str, name: str, value: Any) -> None:
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str):
        raise ArgumentError(message(subject, f"{name} is {short(value)}", "a sequence of whole numbers"))


def reinterpret(
    input: Expression,  # noqa: A002  # as every function calls its tensor
    sizes: Any,
    strides: Any = None,
    dtype: Any = None,
) -> Expression:
    """The operand's bytes as a tensor of other sizes, strides or another type. It is no operator and moves nothing.

    ``strides`` are in elements; without them the view is packed and must have as many bytes as the input.
    ``dtype`` is by default the input's. Microsoft's binding has it first: ``reinterpret(x, dtype, sizes, strides)``.

    >>> import numpy as np, ogive.directml as dml
    >>> graph = dml.Graph(dml.Device())
    >>> x = graph.input([2, 3])
    >>> graph.compile([dml.identity(dml.reinterpret(x, [3, 2], [1, 3]))])({x: [1, 2, 3, 4, 5, 6.0]})[0].tolist()
    [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]

    Raises ShapeError if the view leaves the input's bytes.
    """
    _check_tensor("reinterpret", ApiArgument("input", "", "tensor"), input)
    if isinstance(sizes, DML_TENSOR_DATA_TYPE):
        dtype, sizes, strides = sizes, strides, dtype  # the order of Microsoft's binding
    _check_sequence("reinterpret", "sizes", sizes)
    if strides is not None:
        _check_sequence("reinterpret", "strides", strides)
    old = input.desc.structure
    view = DML_BUFFER_TENSOR_DESC(
        DataType=old.DataType if dtype is None else data_type_of("reinterpret", dtype),
        Sizes=tuple(sizes),
        Strides=None if strides is None else tuple(strides),
        Flags=old.Flags,
        GuaranteedBaseOffsetAlignment=old.GuaranteedBaseOffsetAlignment,
    )
    is_too_large = view.TotalTensorSizeInBytes > old.TotalTensorSizeInBytes
    if is_too_large or (strides is None and old.Strides is None and view.used_bytes != old.used_bytes):
        what = f"sizes {list(view.Sizes)} of {TensorDesc.of(view).dtype} take {view.used_bytes} bytes"
        raise ShapeError(message("reinterpret", what, f"{old.used_bytes} bytes, as {input!r} has"))
    view = view.replace(TotalTensorSizeInBytes=old.TotalTensorSizeInBytes)
    return Expression(input._graph, input._node, TensorDesc.of(view))


def broadcast(input: Expression, shape: Sequence[int]) -> Expression:  # noqa: A002
    """The input repeated along axes, by NumPy's rule: a view with strides of 0, which moves nothing.

    Axes are aligned from the right; those that are missing on the left, and those of size 1, are repeated.

    >>> import numpy as np, ogive.directml as dml
    >>> graph = dml.Graph(dml.Device())
    >>> dml.broadcast(graph.input([3, 1]), [2, 3, 4]).strides
    (0, 1, 0)

    Raises ShapeError where an axis of another size would have to be repeated.
    """
    _check_tensor("broadcast", ApiArgument("input", "", "tensor"), input)
    _check_sequence("broadcast", "shape", shape)
    wanted, given = tuple(shape), input.shape
    if wanted == given:
        return input
    missing = len(wanted) - len(given)
    strides = input.desc.structure.strides
    fitting = [size in (1, target) for size, target in zip(given, wanted[max(missing, 0) :], strict=False)]
    if missing < 0 or not all(fitting):
        way_out = "Only axes of size 1 are repeated, and only on the left may some be missing"
        what = f"it cannot broadcast {list(given)} to {list(wanted)}"
        raise ShapeError(message("broadcast", what, way_out=way_out))
    repeated = [
        0 if size == 1 and target != 1 else stride
        for size, target, stride in zip(given, wanted[missing:], strides, strict=True)
    ]
    return reinterpret(input, wanted, [0] * missing + repeated)

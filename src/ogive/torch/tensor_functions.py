"""Operators as functions on tensors: what a call may say, and what is made of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, combinations
from keyword import iskeyword
from typing import Any, NoReturn, Self

import torch
from torch.compiler import assume_constant_result, is_compiling, is_dynamo_compiling

from ogive._native import TensorCall, inherit_vectorcall
from ogive.catalog import OPERATORS
from ogive.catalog.other_names import parameter_here
from ogive.errors import (
    ArgumentError,
    OgiveError,
    OutputError,
    ParameterError,
    by_position,
    described,
    message,
    suggestion,
)
from ogive.operators.operator import Operator, check_is_operator
from ogive.operators.row_operator import RowOperator
from ogive.torch.eager import call, recording
from ogive.torch.exchange import ELEMENT_TYPE_OF, call_arguments, function_modes
from ogive.torch.registry import entry, is_taken, named
from ogive.torch.tensor_operator import TensorOperator, with_operands

INTEGERS = frozenset(dtype for dtype in ELEMENT_TYPE_OF if not dtype.is_floating_point)
WHOLE = INTEGERS - {torch.bool}
#: Integers stay what they are, as in torch.
KEEP_INTEGERS = ("ceil", "floor", "round", "trunc")


def wrap(operator: Any) -> TensorFunction:
    """A function on tensors of an operator, of one's own too: with gradients, ``torch.func`` and ``torch.compile``.

    It takes the tensors of the operator, by position, its parameters by name, and ``out``. Operators over rows take
    ``dim`` (or ``axis``), the last one unless told otherwise, ``dtype``, to which tensors are converted first, and
    ``keepdim`` where they reduce rows; softmax and its kin also ``where``, a mask of the elements that take part. Tensors are dense ones on the CPU, of the element types of the operator; where
    types differ they are promoted as torch does it, and under ``torch.autocast`` they all become the type of the first.
    Integers become the default type where the operator has none. A parameter may be a tensor, which broadcasts with the others and has a gradient.

    Gradients are computed under the contract of the operator: ``wrap(ogive.gelu.fast)`` is fast in both directions.

    torch knows the operator as ``torch.ops.ogive.name``; of two different ones of a name the second is ``name_2``.

    Raises ArgumentError, DTypeError, ShapeError, ParameterError or OutputError, before anything is written.

    >>> import torch, ogive, ogive.torch
    >>> @ogive.operator
    ... def kinked(x, *, slope=0.1):
    ...     return ogive.formula.where(x >= 0, x, slope * x)
    >>> function = ogive.torch.wrap(kinked)
    >>> x = torch.tensor([-10.0, 10.0], requires_grad=True)
    >>> function(x, slope=0.5)
    tensor([-5., 10.], grad_fn=<KinkedBackward>)
    >>> torch.func.vmap(torch.func.grad(function))(x.detach())
    tensor([0.1000, 1.0000])
    """
    check_is_operator("ogive.torch.wrap", operator)
    made: TensorFunction | None = operator.__dict__.get("_on_tensors")
    if made is None or made.operator is not operator:  # that of another contract
        made = _make(operator)
        operator.__dict__["_on_tensors"] = made
    return made


def _entry_name(operator: Operator, suffix: str = "") -> str:
    """A name of torch's registry: letters, digits and underscores. torch.compile writes it into Python, so it is no keyword."""
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in operator.name).strip("_") or "operator"
    name = f"operator_{name}" if name[0].isdigit() or iskeyword(name) else name
    name, number = name + suffix, 1
    is_ours = OPERATORS.get(operator.name) is operator
    unique = name
    while not is_ours and (unique in OPERATORS or is_taken(unique)):
        number += 1
        unique = f"{name}_{number}"
    return unique


def _make(operator: Operator) -> TensorFunction:
    count = operator.inputs
    parameters = {parameter.name: parameter for parameter in operator.parameters}
    numeric = tuple(parameter.name for parameter in operator.numeric_parameters)
    defaults = {name: p.default for name, p in parameters.items() if not p.is_required}
    is_row_wise, reduces = bool(operator.is_row_wise), operator.reduces
    plain = TensorOperator(_entry_name(operator), operator, lambda: operator)
    _enter(plain)
    learned: dict[tuple[str, ...], TensorOperator] = {}
    if plain.differentiable and not is_row_wise:
        for chosen in chain.from_iterable(combinations(numeric, length) for length in range(1, len(numeric) + 1)):
            promoted = with_operands(operator, chosen)
            entry_name = f"{plain.entry_name}_of_{'_'.join(chosen)}"
            learned[chosen] = TensorOperator(entry_name, promoted, partial(_same, promoted), name=operator.name)
            _enter(learned[chosen])
    bounds, halves = getattr(operator, "rewritten", None), getattr(operator, "halves", None)
    keeps_integers = _is_one_of(operator, KEEP_INTEGERS)
    masks = operator.masks if isinstance(operator, RowOperator) else None

    record = recording(plain, lambda given: _plain_values(operator, {**defaults, **given}))

    def general(tensors: tuple[Any, ...], out: Any, given: dict[str, Any]) -> Any:
        if bounds is not None:
            tensors, given = bounds(tensors, given)
        if halves is not None and len(tensors) == 1 and operator.tensors[1] not in given:
            tensors = halves(tensors[0], _dim(operator, given)) if isinstance(tensors[0], torch.Tensor) else tensors
        if len(tensors) != count:
            tensors = _named(operator, tensors, given)
        where = given.pop("where", None) if masks else None
        if where is not None and masks:
            tensors = (_masked(operator, tensors[0], where, masks[0][0]),)
        dim = _dim(operator, given) if is_row_wise else -1
        if is_row_wise and given.get("dtype") is not None:
            tensors = tuple(_converted(operator, tensor, given["dtype"]) for tensor in tensors)
        if is_row_wise:
            given.pop("dtype", None)
        keepdim = reduces and bool(given.pop("keepdim", given.pop("keepdims", False)))
        for name in given:
            if name not in parameters:
                _refuse_keyword(operator, name)
        chosen = tuple(name for name in numeric if isinstance(given.get(name), torch.Tensor))
        if not chosen:
            operator_of, values = plain, _values(operator, given, defaults)
        else:
            operator_of = learned.get(chosen) or _refuse_learned(operator, chosen)
            values = _values(operator, given, defaults, chosen)
            tensors = (*tensors, *(given[name] for name in chosen))
        if keeps_integers and isinstance(tensors[0], torch.Tensor) and tensors[0].dtype in WHOLE:
            results: Any = [tensors[0].clone()]
            return (results if out is None else _written(operator, results, out, tensors))[0]
        operands = _operands(operator_of, tensors)
        is_number = is_row_wise and all(operand.ndim == 0 for operand in operands)
        if is_number:  # torch takes it for a row of one element
            operands = [operand.reshape(1) for operand in operands]
        if dim == -1 or dim == operands[0].ndim - 1:
            results = call(operator_of, operands, values)
        else:
            results = _over(operator_of, operands, values, dim)
        if is_number:
            results = [result.reshape(()) for result in results]
        elif reduces and not keepdim:
            axes = _axes(operator_of, dim, operands[0].ndim)
            results = [result.squeeze(axes) for result in results]
        if where is not None and masks and masks[1] is not None:
            results = [_masked(operator, result, where, masks[1]) for result in results]
        if out is not None:
            results = _written(operator, results, out, operands)
        return results[0] if len(results) == 1 else tuple(results)

    types = [dtype for dtype in plain.uniform_types if dtype.is_floating_point or not plain.promotes_integers]
    return TensorFunction(general, plain.entry_name, **call_arguments(operator, types, record))


@inherit_vectorcall
class TensorFunction(TensorCall):
    """An operator as a function on tensors. Usual calls stay in C; all others, and what torch traces, come here."""

    operator: Operator
    _general: Callable[..., Any]
    __name__: str
    __signature__: inspect.Signature

    entry_name: str

    def __new__(cls, general: Callable[..., Any], entry_name: str, *, operator: Operator, **call: Any) -> Self:
        self = super().__new__(cls, operator=operator, **call)
        self.entry_name = entry_name
        self.operator = operator
        self._general = general
        self.__name__ = operator.name
        self.__module__ = "ogive.torch"
        self.__doc__ = _documentation(operator)
        self.__signature__ = _signature(operator)
        return self

    def __call__(self, *tensors: Any, out: Any = None, **given: Any) -> Any:
        if is_dynamo_compiling() and out is None and all(map(_is_known, given.values())):
            dtypes = tuple(one.dtype if isinstance(one, torch.Tensor) and one.ndim else None for one in tensors)
            values = _written_values(self.entry_name, dtypes, tuple(given.items()))
            if values is not None:
                called = getattr(torch.ops.ogive, self.entry_name).default
                return called(*tensors, *(_read(value) for value in values.split("\n") if value))
        watching = [one for one in (*tensors, *given.values()) if _watches(one)]
        if watching or (not is_compiling() and function_modes()):
            keywords = given if out is None else {**given, "out": out}
            return torch.overrides.handle_torch_function(self, watching, *tensors, **keywords)
        return self._general(tensors, out, given)

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        """The function itself: as an attribute of a class it gets no ``self``, as torch's own functions get none."""
        return self

    def __repr__(self) -> str:
        return f"<function ogive.torch.{self.__name__}{self.__signature__}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return wrap, (self.operator,)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


#: Values by the names of parameters.
Known = tuple[tuple[str, Any], ...]


def _is_known(value: Any) -> bool:
    """Whether it is text or a number, and no symbol, while torch.compile traces."""
    if isinstance(value, str):
        return True
    from torch.fx.experimental.symbolic_shapes import has_static_value  # slow to load; torch.compile has loaded it

    return isinstance(value, int | float) and has_static_value(value)


@assume_constant_result  # type: ignore[untyped-decorator, unused-ignore]
def _written_values(name: str, dtypes: tuple[torch.dtype | None, ...], given: Known) -> str | None:
    """The values of all parameters, as text, of a call that is one of the entry, with nothing to convert or to refuse.

    torch.compile checks again at every call what it has looked at, but for what such a function does. It takes text from it.
    """
    operator = named(name)
    try:
        values = operator.base.checked_parameters(dict(given)).values()
    except OgiveError:
        return None
    usual = {dtype for dtype in operator.uniform_types if dtype.is_floating_point}
    is_usual = (
        len(dtypes) == operator.base.inputs <= 2
        and len({*dtypes}) == 1
        and usual.issuperset(dtypes)
        and not operator.base.reduces
        and not hasattr(operator.base, "rewritten")
    )
    return "\n".join(type(value).__name__[0] + str(value) for value in values) if is_usual else None


def _read(text: str) -> Any:
    """A value of such a text."""
    kind, value = text[0], text[1:]
    return value if kind == "s" else float(value) if kind == "f" else int(value) if kind == "i" else value == "True"


def _watches(operand: Any) -> bool:
    """Whether this stands for a tensor and sees what is called with it: a proxy of ``torch.fx``."""
    return not isinstance(operand, torch.Tensor) and hasattr(type(operand), "__torch_function__")


def _enter(operator: TensorOperator) -> None:
    """Make the entries now: they cannot be made while torch traces, and compiled programs on disk name them."""
    entry(operator)
    if operator.differentiable:
        entry(operator.gradient(operator.differentiable))


def _same(operator: Operator) -> Operator:
    return operator


# ---- arguments


def _named(operator: Operator, tensors: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    """Tensors that were given by name take their places."""
    left = operator.tensors[len(tensors) :]
    if len(tensors) > operator.inputs or not all(name in given for name in left):
        many = "tensor" if operator.inputs == 1 else "tensors"
        allowed = f"{operator.inputs} {many} ({', '.join(operator.tensors)})"
        names = [p.name for p in operator.parameters]
        names += ["dim" if name == "axis" else name for name in operator.keywords]
        by_name = f"Give all else by name: {', '.join(f'{name}=' for name in names)}" if names else ""
        way_out = parameter_here(operator.base.name, "") or by_name
        raise ArgumentError(message(operator.name, by_position(len(tensors)), allowed, way_out))
    return (*tensors, *(given.pop(name) for name in left))


def _refuse_keyword(operator: Operator, name: str) -> None:
    own = ("dim", "dtype") if operator.is_row_wise else ()
    own = (*own, "where") if "where" in operator.keywords else own
    own = (*own, "keepdim") if operator.reduces else own
    if name in ("dim", "axis") and hasattr(operator, "halves"):
        what, allowed = f"{name} was given with two tensors", f"{name} with one tensor, which is cut in halves along it"
        raise ArgumentError(message(operator.name, what, allowed))
    known = [*(parameter.name for parameter in operator.parameters), *own, "out"]
    way_out = parameter_here(operator.name, name) or suggestion(name, known)
    if name == "rounding" and hasattr(operator, "halves"):
        way_out = f"ogive.{operator.name} takes it, on tensors without a gradient"
    raise ArgumentError(message(operator.name, f"there is no parameter {name!r}", ", ".join(known), way_out))


def _refuse_learned(operator: Operator, names: tuple[str, ...]) -> NoReturn:
    what = f"{names[0]} is a tensor"
    reason = "rows take numbers alone" if operator.is_row_wise else "its results are no floating-point numbers"
    way_out = f"Give a number: {names[0]}=float(...)"
    raise ArgumentError(message(operator.name, f"{what}, and {reason}", "numbers", way_out))


def _values(
    operator: Operator, given: dict[str, Any], defaults: dict[str, Any], chosen: Sequence[str] = ()
) -> tuple[Any, ...]:
    """The values of all parameters, checked, but for the ``chosen`` ones, which are tensors.

    A number that torch traces may be a symbol, of which nothing is known yet: the kernel checks it when it is there.
    """
    symbols = {name: torch.sym_float(value) for name, value in given.items() if _is_symbol(operator, name, value)}
    if not given and len(operator.parameters) == len(defaults):
        return _plain_values(operator, defaults)
    checked = operator.checked_parameters({**given, **dict.fromkeys((*symbols, *chosen), 1.0)})
    return tuple(symbols.get(name, value) for name, value in checked.items() if name not in chosen)


def _is_symbol(operator: Operator, name: str, value: Any) -> bool:
    if isinstance(value, torch.SymInt | torch.SymFloat):
        return True
    # Within torch.compile symbols look like numbers.
    if not is_dynamo_compiling() or isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return any(parameter.name == name for parameter in operator.numeric_parameters)


def _plain_values(operator: Operator, given: dict[str, Any]) -> tuple[Any, ...]:
    """The values of all parameters, which are plain numbers and text, and have been checked."""
    return tuple(given[p.name] if p.choices else float(given[p.name]) for p in operator.parameters)


def _dim(operator: Operator, given: dict[str, Any]) -> Any:
    if "axis" in given and "dim" in given:
        raise ArgumentError(message(operator.name, "dim and axis were both given", "one of them: they mean the same"))
    return given.pop("dim", given.pop("axis", -1))


def _operands(operator: TensorOperator, given: Sequence[Any]) -> Sequence[torch.Tensor]:
    """The operands as tensors of equal types: promoted where they differ, but for those with a type of their own."""
    first = given[0]
    if len(given) == 1:
        if isinstance(first, torch.Tensor):
            return _floating(operator, given)
        _refuse_operand(operator, 0, first)
    model = next((one for one in given if isinstance(one, torch.Tensor)), None)
    tensors = []
    for i, one in enumerate(given):
        if isinstance(one, torch.Tensor):
            tensors.append(one)
        elif isinstance(one, bool | int | float | torch.SymInt | torch.SymFloat) and model is not None:
            tensors.append(torch.full((), one, dtype=_type_of_number(operator, i, one, model), device=model.device))
        else:
            _refuse_operand(operator, i, one)
    types = {tensor.dtype for tensor in tensors}
    if len(types) == 1 or tuple(tensor.dtype for tensor in tensors) in operator.combinations:
        return _floating(operator, tensors)
    return _floating(operator, _promoted(operator, tensors))


def _floating(operator: TensorOperator, tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Integers and truth values as numbers of the default type, where the operator has none or torch's has none."""
    if not operator.promotes_integers or any(tensor.dtype not in INTEGERS for tensor in tensors):
        return tensors
    return [tensor.to(torch.get_default_dtype()) for tensor in tensors]


def _converted(operator: Operator, tensor: Any, dtype: Any) -> Any:
    """A tensor of the type that ``dtype`` names, before rows are computed, as torch does it."""
    if not isinstance(dtype, torch.dtype):
        what = f"dtype is {described(dtype)}"
        raise ArgumentError(message(operator.name, what, "a type of torch, such as torch.float32"))
    return tensor.to(dtype) if isinstance(tensor, torch.Tensor) else tensor


def _masked(operator: Operator, tensor: Any, where: Any, value: Any) -> torch.Tensor:
    """The tensor with a value where a mask says so."""
    if not isinstance(where, torch.Tensor) or where.dtype is not torch.bool:
        kind = f"a tensor of {where.dtype}" if isinstance(where, torch.Tensor) else described(where)
        raise ArgumentError(message(operator.name, f"where is {kind}", "a tensor of truth values: True takes part"))
    if not isinstance(tensor, torch.Tensor):
        _refuse_operand(operator, 0, tensor)
    whole = tensor.to(torch.get_default_dtype()) if tensor.dtype in INTEGERS else tensor
    made: torch.Tensor = whole.masked_fill(~where, value)
    return made


def _is_one_of(operator: Operator, names: Iterable[str]) -> bool:
    """Whether it is the operator of the catalogue that has one of these names, under whichever contract."""
    name = operator.base.name
    return name in names and OPERATORS.get(name) is operator.base


def _type_of_number(operator: TensorOperator, index: int, number: float, model: torch.Tensor) -> torch.dtype:
    if operator.tensors[index] in operator.base.truth_inputs:
        return torch.bool
    if model.dtype.is_floating_point or (isinstance(number, int) and model.dtype is not torch.bool):
        return model.dtype
    return torch.get_default_dtype()


def _promoted(operator: TensorOperator, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    free = [i for i, name in enumerate(operator.tensors) if name not in operator.base.truth_inputs]
    if torch.is_autocast_enabled("cpu"):
        common = tensors[free[0]].dtype
    else:
        common = tensors[free[0]].dtype
        state: Any = tensors[free[0]]
        for i in free[1:]:
            common = torch.result_type(state, tensors[i])
            if common != state.dtype:
                state = torch.empty(state.shape, dtype=common, device="meta") if state.ndim else tensors[i].to(common)
    return [tensor.to(common) if i in free else tensor for i, tensor in enumerate(tensors)]


def _refuse_operand(operator: TensorOperator | Operator, index: int, given: Any) -> None:
    name = operator.tensors[index]
    way_out = f"Make one of it: torch.as_tensor({name})"
    raise ArgumentError(message(operator.name, f"{name} is {described(given)}", "a tensor of torch", way_out))


# ---- rows along other axes


def _over(operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...], dim: Any) -> Any:
    """The results of rows along other axes than the last: by views in which the rows are last."""
    axes = _axes(operator, dim, tensors[0].ndim)
    last = tuple(range(-len(axes), 0))
    moved = [tensor.movedim(axes, last) for tensor in tensors]
    shape = moved[0].shape
    if operator.base.reduces:
        shape = torch.Size((*shape[: -len(axes)], *(1,) * len(axes)))
    if len(axes) > 1:
        moved = [tensor.flatten(-len(axes)) for tensor in moved]
    results = call(operator, moved, values)
    return [result.reshape(shape).movedim(last, axes) for result in results]


def _axes(operator: TensorOperator, dim: Any, dimensions: int) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(dimensions))
    given = tuple(dim) if isinstance(dim, Iterable) else (dim,)
    axes = tuple(a + dimensions if isinstance(a, int) and a < 0 else a for a in given)
    if not axes or any(not isinstance(a, int) or not 0 <= a < dimensions for a in axes) or len({*axes}) < len(axes):
        what = f"dim is {dim!r} for a tensor of {dimensions} dimensions"
        allowed = f"whole numbers from {-dimensions} to {dimensions - 1}, each once"
        raise ParameterError(message(operator.name, what, allowed))
    return tuple(sorted(axes))


# ---- out


def _written(operator: Operator, results: Sequence[torch.Tensor], out: Any, operands: Sequence[Any]) -> Any:
    """The results in the tensors of ``out``. As in torch, such a call records no gradients."""
    outs = out if isinstance(out, tuple | list) else (out,)
    if len(outs) != len(results) or not all(isinstance(one, torch.Tensor) for one in outs):
        what = f"out is {described(out)}"
        raise OutputError(message(operator.name, what, f"{len(results)} tensor{'s' if len(results) > 1 else ''}"))
    if torch.is_grad_enabled() and any(one.requires_grad for one in (*operands, *outs)):
        what = "out was given, and a tensor requires a gradient: such a call cannot be recorded"
        raise OutputError(message(operator.name, what, "", "Use the result, or write within torch.no_grad()"))
    for target, result in zip(outs, results, strict=True):
        if target.shape != result.shape:
            what = f"out has the shape {tuple(target.shape)}, the result {tuple(result.shape)}"
            raise OutputError(message(operator.name, what, "equal shapes"))
        if result.dtype != target.dtype and not torch.can_cast(result.dtype, target.dtype):
            what = f"out has dtype {target.dtype}, the result {result.dtype}"
            raise OutputError(message(operator.name, what, "types that the result can be cast to"))
        target.copy_(result)
    return outs


# ---- documentation


def _signature(operator: Operator) -> inspect.Signature:
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = operator.keywords  # axis, keepdims, where
    parameters = [p for p in operator.__signature__.parameters.values() if p.name not in own]
    if operator.is_row_wise or hasattr(operator, "halves"):
        parameters.append(inspect.Parameter("dim", keyword, default=-1))
    if operator.is_row_wise:
        parameters.append(inspect.Parameter("dtype", keyword, default=None))
    if "where" in own:
        parameters.append(inspect.Parameter("where", keyword, default=None))
    if operator.reduces:
        parameters.append(inspect.Parameter("keepdim", keyword, default=False))
    return inspect.Signature([*parameters, inspect.Parameter("out", keyword, default=None)])


def _documentation(operator: Operator) -> str:
    first = (inspect.getdoc(operator.function) or operator.name).split("\n\n")[0]
    types = ", ".join(dict.fromkeys(t.name for s in operator.signatures for t in s.inputs))
    lines = [
        first,
        "",
        f"Tensors: {', '.join(operator.tensors)}, on the CPU, of shapes that broadcast. Element types: {types}.",
    ]
    for p in operator.parameters:
        default = "required" if p.is_required else f"default {p.default!r}"
        allowed = ", ".join(map(repr, p.choices)) if p.choices else f"{p.constraint.allowed}, or a tensor"
        lines.append(f"Parameter {p.name}: {allowed}; {default}.")
    lines += [f"See ogive.{operator.name} for special values." if OPERATORS.get(operator.name) is operator else ""]
    return "\n".join(lines).rstrip()

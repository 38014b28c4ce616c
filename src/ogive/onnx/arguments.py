"""The arguments of a model: inputs by place or by name, checked against what the model declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ogive.errors import ArgumentError, DTypeError, ShapeError, described, message
from ogive.onnx.checked_graph import ValueInfo
from ogive.onnx.data_types import DATA_TYPES


def named(subject: str, names: Sequence[str], args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Mapping[str, Any]:
    """The inputs of a call by name: they come in the model's order, by name, or as one mapping.

    >>> named("model", ("x", "y"), (1,), {"y": 2})
    {'x': 1, 'y': 2}
    """
    if len(args) == 1 and not keywords and isinstance(args[0], Mapping):
        return args[0]
    if len(args) > len(names):
        allowed = f"at most {len(names)}: {', '.join(names)}"
        raise ArgumentError(message(subject, f"{len(args)} inputs were given", allowed))
    found = dict(zip(names, args, strict=False))
    for name, value in keywords.items():
        if name in found:
            raise ArgumentError(message(subject, f"the input {name!r} was given twice"))
        found[name] = value
    return found


def checked_inputs(
    subject: str,
    infos: Sequence[ValueInfo],
    dtypes: Sequence[np.dtype | None],
    defaults: Mapping[str, np.ndarray] | None,
    given: Mapping[str, Any],
) -> list[Any]:
    """The value of every input, in order, as the model declares them.

    ``dtypes`` are those of the arrays that need no other check. ``defaults`` has the values of inputs that need not be
    given; where it is None, these are None.
    """
    names = [info.name for info in infos]
    for name in given:
        if name not in names:
            raise ArgumentError(message(subject, f"there is no input {name!r}", ", ".join(names)))
    values: list[Any] = []
    sizes: dict[str, tuple[int, str]] = {}
    for info, dtype in zip(infos, dtypes, strict=True):
        if info.name in given:
            value = given[info.name]
            # An argument that is right already costs no more than this question.
            if type(value) is not np.ndarray or value.dtype is not dtype:
                value = _checked_value(value, info.type, f"{subject}, input {info.name!r}")
        elif info.required:
            missing = [i.name for i in infos if i.required and i.name not in given]
            who = (
                f"the inputs {' and '.join(map(repr, missing))} are" if missing[1:] else f"the input {missing[0]!r} is"
            )
            raise ArgumentError(message(subject, f"{who} missing", way_out=f"Give {', '.join(map(str, infos))}"))
        else:
            value = None if defaults is None else defaults[info.name]
        if isinstance(value, np.ndarray) and info.shape is not None:
            _check_shape(value.shape, info, sizes, subject)
        values.append(value)
    return values


def check_order(subject: str, inputs: object, outputs: object) -> None:
    """Refuse the arguments of `Model.run` in ONNX Runtime's order, whose result is a list."""
    if not isinstance(inputs, Mapping):
        what = f"the inputs are {described(inputs)}"
        way_out = 'The inputs come first, the names of outputs second: run({"x": array}, ["y"]) returns {"y": array}'
        raise ArgumentError(message(subject, what, "a mapping of names to arrays", way_out))
    if isinstance(outputs, str):
        what = f"outputs is the text {outputs!r}"
        raise ArgumentError(message(subject, what, "a list of names", f"Write [{outputs!r}]"))


def _checked_value(value: Any, kind: str, subject: str) -> Any:
    """A value of a type as ONNX writes it: an array, a list of values, or None for an optional one."""
    if kind.startswith("optional("):
        return None if value is None else _checked_value(value, kind[len("optional(") : -1], subject)
    if kind.startswith("seq("):
        if not isinstance(value, list | tuple):
            raise DTypeError(message(subject, f"it is {described(value)}", f"a list, for {kind}"))
        inner = kind[len("seq(") : -1]
        return [_checked_value(item, inner, f"{subject}, item {i}") for i, item in enumerate(value)]
    dtype, array = DATA_TYPES[kind].numpy, np.asarray(value)
    if kind == "tensor(string)":
        return _texts(array, subject)
    if array.dtype != dtype:
        if array.dtype.kind in "OSU" and not isinstance(value, np.ndarray):  # text, None or an object
            raise DTypeError(message(subject, f"it is {described(value)}", f"an array of {dtype.name}"))
        way_out = f"Convert it first: array.astype({dtype.name!r})"
        raise DTypeError(message(subject, f"its dtype is {array.dtype}", dtype.name, way_out))
    return array if array.dtype.num == dtype.num else array.view(dtype)


def _texts(array: np.ndarray, subject: str) -> np.ndarray:
    objects = array.astype(object, copy=False)
    for item in objects.flat:
        if not isinstance(item, str):
            raise DTypeError(message(subject, f"it contains {described(item)}", "str"))
    return objects


def _check_shape(shape: tuple[int, ...], info: ValueInfo, sizes: dict[str, tuple[int, str]], model: str) -> None:
    """A shape against the declared one; ``sizes`` are those that names stand for, and where from."""
    declared = info.shape
    assert declared is not None
    fits = len(shape) == len(declared)
    for have, want in zip(shape, declared, strict=True) if fits else ():
        if isinstance(want, str):
            size, where = sizes.setdefault(want, (have, info.name))
            if size != have:
                what = f"its shape is {shape}, where {want} is {have}"
                allowed = f"{want} = {size}, as in the input {where!r}"
                raise ShapeError(message(f"{model}, input {info.name!r}", what, allowed))
        elif want is not None and want != have:
            fits = False
    if not fits:
        shown = ", ".join("?" if size is None else str(size) for size in declared)
        what = f"its shape is {shape}"
        allowed = f"shapes ({shown})" if len(declared) else "a single number"
        raise ShapeError(message(f"{model}, input {info.name!r}", what, allowed))

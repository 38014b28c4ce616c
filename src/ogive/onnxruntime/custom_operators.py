"""The shared library of custom operators: exported kernels, and C that ONNX Runtime calls (custom_operators.c)."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ogive.catalog import activations, rowwise
from ogive.common.contracts import checked
from ogive.engine.computation import under
from ogive.errors import ArgumentError, UnsupportedError, message
from ogive.exporting.building import HERE, OPTIONS, compiled, compilers
from ogive.exporting.exported import export_sources, source_of
from ogive.exporting.interface import Interface
from ogive.exporting.linked_kernels import linked_objects, linked_text, linked_thunks
from ogive.exporting.sources import ExportSource
from ogive.operators.operator import Operator

#: The domain of the operators.
DOMAIN = "ai.ogive"

#: ONNX's numbers of element types.
_TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
}  # fmt: skip

_FLOATS = ("float32", "float64", "float16", "bfloat16")


@dataclass(frozen=True)
class CustomOperator:
    """One operator for one combination of element types."""

    name: str
    sources: tuple[ExportSource, ...]
    """One for each choice."""
    parameters: tuple[tuple[str, float], ...] = ()
    """Attributes and their defaults."""
    choice: str = ""
    """The attribute that selects a source; the first is the default."""
    choices: tuple[str, ...] = ()

    @property
    def interface(self) -> Interface:
        """The interface of the first source; all have the same operands."""
        return self.sources[0].interface


def library(
    path: str | os.PathLike[str],
    what: Iterable[Any] | None = None,
    dtypes: Sequence[str] = _FLOATS,
    *,
    processor: str | None = None,
    domain: str = DOMAIN,
    accuracy: str | None = None,
) -> Path:
    """Build a library of custom operators for ONNX Runtime, and return its path.

    ``what`` are operators: the catalogue's, by ONNX's name (``Celu``), or your own, by theirs; without it the activations
    and softmax, log_softmax, hardmax. Each has the element types of ``dtypes`` that it takes. Numeric parameters are
    attributes of type float, a parameter that selects a formula is one of type string, and operators of rows have the
    attribute ``axis``. Operands are broadcast. ``processor`` is what the library may count on, x86-64-v3 for example,
    by default this machine; ``accuracy`` is the contract: exact or fast. It needs a C compiler or the package ziglang.

    Raises ArgumentError for what is no operator, ParameterError for another contract, CompileError without a compiler.

    >>> import onnxruntime  # doctest: +SKIP
    >>> options = onnxruntime.SessionOptions()  # doctest: +SKIP
    >>> options.register_custom_ops_library(str(ogive.onnxruntime.library("activations.so")))  # doctest: +SKIP
    """
    contract = checked("ogive.onnxruntime.library", accuracy)
    ops: list[Any] = list(_usual() if what is None else what)
    for op in ops:
        if not isinstance(op, Operator):
            what_is = f"what has {op!r}"
            raise ArgumentError(message("ogive.onnxruntime.library", what_is, "operators of Ogive, and your own"))
        if op.reduces:
            what_is = f"{op.name} makes one number of a row"
            raise UnsupportedError(message("ogive.onnxruntime.library", what_is, "operators with a result per element"))
    made = [custom for op in ops for dtype in dtypes for custom in _of_operator(op, dtype, contract)]
    if not made:
        what_is = f"no operator takes {', '.join(dtypes)}"
        raise ArgumentError(message("ogive.onnxruntime.library", what_is, "operators, and types that they take"))
    return build(Path(path), made, processor, domain)


def _usual() -> list[Operator]:
    """The activations that ONNX has a name for, and the operators of rows."""
    listed = [*vars(activations).values(), *vars(rowwise).values()]
    return [op for op in dict.fromkeys(op for op in listed if isinstance(op, Operator)) if op.onnx]


def _of_operator(op: Operator, dtype: str, contract: str) -> list[CustomOperator]:
    if not any({t.name for t in (*s.inputs, *s.outputs)} == {dtype} for s in op.signatures):
        return []
    selecting = [parameter for parameter in op.parameters if parameter.choices]
    parameters = tuple((p.name, 0.0 if p.is_required else float(p.default)) for p in op.numeric_parameters)
    name = op.onnx or op.name
    if len(selecting) != 1:  # none, or more than ONNX knows of
        return [CustomOperator(name, (_source(op, dtype, {}, contract),), parameters)]
    (parameter,) = selecting
    values = sorted(parameter.choices, key=lambda value: (value != parameter.default, str(value)))
    sources = tuple(_source(op, dtype, {parameter.name: value}, contract) for value in values)
    return [CustomOperator(name, sources, parameters, parameter.name, tuple(map(str, values)))]


def _source(op: Operator, dtype: str, choices: Mapping[str, Any], contract: str) -> ExportSource:
    exact = source_of(op, dtype, choices, None)
    computation = under(exact.computation, contract)
    return replace(exact, computation=computation, interface=replace(exact.interface, program=computation.program))


# ---- C


def build(path: Path, made: Sequence[CustomOperator], processor: str | None, domain: str = DOMAIN) -> Path:
    """The library of these operators."""
    sources = list({s.interface.name: s for custom in made for s in custom.sources}.values())
    exported = export_sources(sources, "kernels", self_test=False)
    common = (Path(__file__).parent / "custom_operators.c").read_text(encoding="utf-8")
    objects = linked_objects(sources, processor)
    parts = [common, '#include "kernels.h"\n', *([linked_text(sources)] if objects else [])]
    parts += [_thunks(source, is_linked=bool(objects)) for source in sources]
    parts += [_entry(number, custom, is_linked=bool(objects)) for number, custom in enumerate(made)]
    names = ", ".join(f"&op_{number}.base" for number in range(len(made)))
    parts.append(_REGISTER.replace("@operators@", names).replace("@domain@", _text(domain)))
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exported.write(folder)
        for file, data in objects.items():
            (folder / file).write_bytes(data)
        (folder / "library.c").write_text("\n".join(parts), encoding="utf-8")
        march = f"-march={processor or 'native'}"
        subject = "ogive.onnxruntime.library"
        options = [
            *OPTIONS,
            march,
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            "-o",
            "library.so",
            "library.c",
            "kernels.c",
            *objects,
            *(["-lm", "-O1"] if objects else []),  # what is in C computes single elements and rows
        ]
        compiled(subject, compilers(subject, HERE), options, folder)
        shutil.move(folder / "library.so", path)
    return path


def _text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _thunks(source: ExportSource, *, is_linked: bool) -> str:
    """The kernel's two functions, called with a task. The strided one in C of a linked kernel remains."""
    interface = source.interface
    if len(interface.operands) > 32 or len(interface.parameters) > 64:
        what = f"{interface.name} has {len(interface.operands)} operands and {len(interface.parameters)} parameters"
        raise UnsupportedError(message("ogive.onnxruntime", what, "32 operands, 64 parameters"))
    lines = []
    for strided in (True,) if is_linked else (False, True):
        number = iter(range(99))
        places = {operand.name: k for k, operand in enumerate(interface.operands)}
        arguments = []
        for kind, name in interface.arguments(strided=strided):
            base, _, ending = name.rpartition("_")
            if name in places:
                arguments.append(f"({kind.strip()})task->data[{places[name]}]")
            elif ending in ("step", "row") and base in places:
                arguments.append(f"task->{ending}[{places[base]}]")
            elif name in ("begin", "end"):
                arguments.append(name)
            elif name in ("count", "scratch"):
                arguments.append(f"task->{name}")
            else:
                arguments.append(f"task->values[{next(number)}]")
        which = "_strided" if strided else ""
        lines.append(
            f"static void run_{interface.name}{'_in_c' if is_linked else which}"
            "(const struct task *task, size_t begin, size_t end) {\n"
            f"    {interface.name}{which}({', '.join(arguments)});\n}}"
        )
    return "\n".join([*lines, *([linked_thunks(interface)] if is_linked else [])])


def _entry(number: int, custom: CustomOperator, *, is_linked: bool) -> str:
    """The row of the table."""
    interface = custom.interface
    ordered = sorted(interface.operands, key=lambda operand: not operand.is_input)
    assert list(interface.operands) == ordered
    count = sum(operand.is_input for operand in ordered)
    functions = ", ".join(
        f"{{run_{s.interface.name}, run_{s.interface.name}_strided, "
        + (
            f"{'linked_scratch_' * is_linked}{s.interface.name}{'' if is_linked else '_scratch'}}}"
            if interface.is_row_wise
            else "NULL}"
        )
        for s in custom.sources
    )
    types = ", ".join(str(_TYPES[operand.type.name]) for operand in ordered)
    sizes = ", ".join(str(operand.type.itemsize) for operand in ordered)
    of_row = ", ".join(str(int(operand.of_row)) for operand in ordered)
    names = ", ".join([*(_text(name) for name, _ in custom.parameters), "NULL"])
    defaults = ", ".join([*(_number(value) for _, value in custom.parameters), "0"])
    choices = ", ".join([*map(_text, custom.choices), "NULL"])
    return f"""
static const struct function functions_{number}[] = {{{functions}}};
static const int types_{number}[] = {{{types}}}, sizes_{number}[] = {{{sizes}}}, of_row_{number}[] = {{{of_row}}};
static const char *const names_{number}[] = {{{names}}}, *const choices_{number}[] = {{{choices}}};
static const double defaults_{number}[] = {{{defaults}}};
static struct op op_{number} = {{
    BASE, {_text(custom.name)}, {count}, {len(ordered) - count}, {int(interface.is_row_wise)}, types_{number},
    sizes_{number}, of_row_{number}, {len(custom.parameters)}, names_{number}, defaults_{number},
    {_text(custom.choice) if custom.choice else "NULL"}, {len(custom.choices)}, choices_{number}, functions_{number},
}};"""


def _number(value: float) -> str:
    return value.hex() if np.isfinite(value) else f"{'-' if value < 0 else ''}(1.0 / 0.0)"


_REGISTER = """
static struct custom_op *const operators[] = {@operators@};

#if defined(_WIN32)
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
Status *RegisterCustomOps(void *options, const struct api_base *base) {
    the_api = base->get_api(API_VERSION);
    if (the_api == NULL) {
        abort(); /* there is no table that could make a message */
    }
    api_with_threads = base->get_api(API_WITH_THREADS);
    void *domain;
    Status *status = ((Status * (*)(const char *, void **)) the_api[CREATE_DOMAIN])(@domain@, &domain);
    for (size_t i = 0; status == NULL && i < sizeof operators / sizeof *operators; i++) {
        status = ((Status * (*)(void *, struct custom_op *)) the_api[ADD_TO_DOMAIN])(domain, operators[i]);
    }
    return status != NULL ? status : ((Status * (*)(void *, void *)) the_api[ADD_DOMAIN])(options, domain);
}
"""

"""`export`: the files of a function for C."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive.common.contracts import IN_FLOAT, checked
from ogive.errors import ArgumentError, ParameterError, described, message, naming
from ogive.exporting import building
from ogive.exporting.c_source import common_files, source_text
from ogive.exporting.interface import Interface, identifiers
from ogive.exporting.sources import CalledOperator, ExportSource, source_of_operator
from ogive.operators.operator import bound_of

if TYPE_CHECKING:
    from ogive.exporting.tables import Table

_ELEMENTS = """\
 * Elements begin to end - 1 are computed, each from the operands' elements of its position. `_strided` takes beside each
 * operand the distance from an element to the next, in bytes: 0, or less than 0, is allowed for what is read."""

_ROWS = """\
 * Rows begin to end - 1 of `count` elements are computed; in the first function they follow each other without gaps.
 * `_strided` takes beside each operand the distances from a row to the next and from an element to the next, in bytes.
 * `scratch` points at as many bytes as `_scratch` says for the length of the rows, for this call alone; at any address."""


#: The forms of the code.
FORMS = ("c", *building.FORMS, "table")


_EXACT = """\
 * The caller's rounding mode, flush-to-zero and floating-point flags neither matter nor change.
 * Nothing is allocated, and no library is called. -O3 and an option for the processor (-march=native) make compilers
 * vectorise the loops; -ffast-math is refused."""

_IN_FLOAT = """\
 * The fast contract in float alone: no double, no fused multiply-add, nothing allocated, no library called. Results may be some
 * units in the last place off. The caller's rounding mode has to be to nearest; where subnormal numbers are flushed to zero,
 * results below 2**-126 are zero. -ffast-math is refused."""


#: Above a function that has elements which enclosures alone decide.
_UNDECIDED = """\
 * Results on the fixed set that no level in C decides: {}. They are not correctly rounded and may be far off; only Python
 * has the last level, enclosures."""


def header_text(
    name: str, interfaces: Sequence[Interface], digests: Mapping[str, int], undecided: Mapping[str, int]
) -> str:
    """The header of these functions."""
    (guard,) = identifiers([f"{name}_h".upper()])
    kinds = [text for text, wanted in ((_ELEMENTS, False), (_ROWS, True)) if _any(interfaces, wanted)]
    lines = [
        f"/* {name}: made by Ogive (ogive.export). {name}.c is ISO C11 for every machine.",
        " *",
        *kinds,
        " * An element's bits depend on its operands alone: not on the range, the distances or the processor. So threads may",
        " * compute ranges of their own. A result may be written over an operand of the same type and distances.",
        " * Pointers are aligned to their elements. float16 and bfloat16 are uint16_t: their bits. bool is uint8_t, 0 or 1.",
        *(text for text, real in ((_EXACT, "double"), (_IN_FLOAT, "float")) if any(i.real == real for i in interfaces)),
        " */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
    ]
    for interface in interfaces:
        title = interface.title.replace("*/", "* /")
        digest = f" * Digest of the results on the fixed set: {digests[interface.name]:016x}."
        count = undecided[interface.name]
        lines += [f"/* {title}", *([_UNDECIDED.format(count)] if count else []), f"{digest} */"]
        lines += [*interface.prototypes(), ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def _any(interfaces: Sequence[Interface], wanted: bool) -> bool:
    return any(interface.is_row_wise == wanted for interface in interfaces)


@dataclass(frozen=True)
class Exported:
    """The result of `export`: files by name, and their content."""

    name: str
    """The C name of the function; of several, of the first."""
    header: str
    """The text of the header."""
    files: Mapping[str, bytes]
    """All files, the header among them."""
    digests: Mapping[str, int]
    """For each function the digest of its results on the fixed set, which the self-test prints."""
    undecided: Mapping[str, int]
    """For each function how many of these results enclosures alone decide, so that those of C are not correctly rounded."""
    entries: tuple[str, ...]
    """The names of all functions."""
    sources: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The files in C, whatever the form."""

    def sizes(self, triple: str | None = None, processor: str | None = None) -> building.Sizes | None:
        """The bytes of code, data and stack, by the compiler for that system, with -Os; None where there is none.

        >>> import ogive
        >>> table = ogive.export(ogive.gelu, "float8_e4m3fn", form="table")
        >>> sizes = table.sizes()
        >>> sizes is None or sizes.data
        256
        """
        name = next(name for name in self.sources if name.endswith(".h")).removesuffix(".h")
        return building.measured(name, self.sources, triple or building.HERE, processor)

    def built(self, form: str, triple: str, processor: str | None = None) -> Exported:
        """The same with the C file compiled, into the form of this name."""
        name = next(name for name in self.files if name.endswith(".h")).removesuffix(".h")
        made = building.built(name, self.files, self.entries, form, triple, processor)
        kept = {file: data for file, data in self.files.items() if file in (f"{name}.h", f"{name}_test.c")}
        return replace(self, files={f"{name}.h": kept.pop(f"{name}.h"), **made, **kept})

    def write(self, folder: str | os.PathLike[str] = ".") -> list[Path]:
        """Write the files into a folder, which is made where it is missing; their paths.

        >>> import ogive, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sorted(path.name for path in ogive.export(ogive.relu, "float32").write(folder))
        ['ogive_ieee.h', 'ogive_relu_float32.c', 'ogive_relu_float32.h']
        """
        to = Path(folder)
        to.mkdir(parents=True, exist_ok=True)
        for name, data in self.files.items():
            with naming(to / name) as path:
                path.write_bytes(data)
        return [to / name for name in self.files]


def export(
    what: Any,
    dtype: str | Sequence[str] | None = None,
    *,
    form: str = "c",
    triple: str | None = None,
    processor: str | None = None,
    name: str | None = None,
    choices: Mapping[str, Any] | None = None,
    self_test: bool = False,
    accuracy: str | None = None,
    x_scale: float | None = None,
    x_zero_point: int | None = None,
    y_scale: float | None = None,
    y_zero_point: int | None = None,
    saturate: bool = True,
) -> Exported:
    """An operator, a formula of one's own or a fused ONNX model as a function that C calls.

    ``what`` is an operator; a bound one (``celu.bind(alpha=1.5)``), whose parameters become constants; a model of
    ``ogive.onnx.load`` that is one kernel; or a list of these, for one library. ``dtype`` is the element type of its
    tensors, float32 without one, or a list of the types of each input. ``form`` is c, ISO C11 for any
    compiler; what a compiler that is there makes of it: object, assembly, static or shared; or table. ``triple`` is the system
    that it compiles for (aarch64-linux-gnu, x86_64-windows-gnu, wasm32-wasi), without one this machine, and
    ``processor`` what it may count on (x86-64-v3). ``choices`` are parameters that select a formula, ``name`` is the
    function's name in C. ``self_test`` adds a C program that compares the function with the digest in its header.
    ``accuracy`` is the contract of operators, exact or fast. Fast functions compute in float alone, for processors without
    double or fused multiply-add: they branch, their name has ``fast`` in it, and their results are not those of
    ``ogive.gelu.fast``. docs/export.md has their errors.

    With ``form="table"`` the files are an array of C with the result for each input, a function that looks it up, and the
    array in NumPy's format. Operators of one tensor have tables in float8_e4m3, float8_e4m3fn, float8_e4m3fnuz,
    float8_e5m2, float8_e5m2fnuz (256 entries), bfloat16 and float16 (65,536); and in int8 and uint8 (256), whose numbers are
    ``(x - x_zero_point) * x_scale``, as in ONNX's QuantizeLinear; zero points are 0 by default. Each entry is the correctly
    rounded result. ``saturate=False`` makes results beyond the largest float of 8 bits infinities or NaN.

    The functions keep nothing, allocate nothing, and call nothing. They compute elements (or rows) ``begin`` to
    ``end``, so that threads can share an array out; the bits are those of the operator in Python, however it is cut.
    docs/export.md describes them.

    Raises ArgumentError, DTypeError or ParameterError for what cannot be exported, CompileError where a compiler is
    missing.

    >>> import ogive
    >>> exported = ogive.export(ogive.celu, "float32")
    >>> [line for line in exported.header.splitlines() if "celu_float32(" in line]
    ['void ogive_celu_float32(const float *x, float *y, size_t begin, size_t end, double alpha);']
    >>> list(exported.files)
    ['ogive_celu_float32.h', 'ogive_celu_float32.c', 'ogive_ieee.h']
    >>> table = ogive.export(ogive.sigmoid, "int8", form="table", x_scale=0.05, y_scale=1 / 256, y_zero_point=-128)
    >>> [line for line in table.header.splitlines() if line.startswith("extern const")]
    ['extern const int8_t ogive_sigmoid_quantized_int8_table[256];']
    """
    if form not in FORMS:
        raise ParameterError(message("ogive.export", f"form is {form!r}", ", ".join(FORMS)))
    if form in ("c", "table") and (triple is not None or processor is not None):
        given = f"form is {form!r} and {'triple' if triple is not None else 'processor'} is {triple or processor!r}"
        way_out = "Say it to the compiler of the file, or take form='object'"
        raise ParameterError(
            message("ogive.export", given, f"neither triple nor processor with form {form}", way_out=way_out)
        )
    several = isinstance(what, list | tuple) and not isinstance(what, CalledOperator)
    if several and not what:
        raise ParameterError(message("ogive.export", "what is an empty list", "an operator, or a list of them"))
    wanted = [with_accuracy(one, accuracy, in_float=form != "table") for one in (what if several else [what])]
    quantisation = {"x_scale": x_scale, "x_zero_point": x_zero_point, "y_scale": y_scale, "y_zero_point": y_zero_point}
    if form == "table":
        from ogive.exporting.tables import table_of

        own = None if several else name
        tables = [table_of(one, dtype, choices, own, quantisation, saturate=saturate) for one in wanted]
        return export_tables(tables, name or tables[0].name, self_test=self_test)
    of_tables = [key for key, value in quantisation.items() if value is not None] + ([] if saturate else ["saturate"])
    if of_tables:
        raise ParameterError(message("ogive.export", f"{of_tables[0]} is given with form {form}", "with form table"))
    sources = [source_of(one, dtype, choices, None if several else name) for one in wanted]
    made = export_sources(sources, name or sources[0].interface.name, self_test=self_test)
    return made if form == "c" else made.built(form, triple or building.HERE, processor)


def with_accuracy(what: Any, accuracy: str | None, *, in_float: bool) -> Any:
    """The same operator under a contract; in C the fast one computes in float alone."""
    if accuracy is not None:
        checked("ogive.export", accuracy)
    if isinstance(what, CalledOperator):
        return what._replace(operator=with_accuracy(what.operator, accuracy, in_float=in_float))
    found = bound_of(what)
    if found is None:
        if accuracy is None:
            return what
        what_is = f"accuracy is {accuracy!r}, and what is {described(what)}"
        raise ParameterError(message("ogive.export", what_is, "operators with accuracy"))
    op, values = found
    if "rounding" in values:
        what_is = f"{op.name} is bound with rounding={values['rounding']!r}"
        raise ParameterError(message("ogive.export", what_is, "'once', which functions in C have"))
    contract = accuracy or op.accuracy
    if contract == "fast" and in_float:
        contract = IN_FLOAT
    if contract == op.accuracy:
        return what
    chosen = op.under(contract)
    return chosen.bind(**values) if values else chosen


def export_tables(tables: Sequence[Table], name: str, *, self_test: bool) -> Exported:
    """The files of these tables."""
    from ogive.exporting.tables import table_files

    entries = _unique([table.name for table in tables])
    files = table_files(name, tables, self_test=self_test)
    digests = {table.name: table.digest for table in tables}
    undecided = dict.fromkeys(entries, 0)
    return Exported(tables[0].name, files[f"{name}.h"].decode(), files, digests, undecided, entries, files)


def export_sources(sources: Sequence[ExportSource], name: str, *, self_test: bool) -> Exported:
    """The files of these functions, in C."""
    interfaces = [source.interface for source in sources]
    entries = _entries(interfaces)
    digests = {source.interface.name: source.digest for source in sources}
    undecided = {source.interface.name: source.undecided for source in sources}
    header = header_text(name, interfaces, digests, undecided)
    common = {file: text.encode() for file, text in common_files(interfaces).items()}
    files = {f"{name}.h": header.encode(), f"{name}.c": source_text(name, interfaces).encode(), **common}
    if self_test:
        from ogive.exporting.self_test import self_test_text

        files[f"{name}_test.c"] = self_test_text(name, sources, digests).encode()
    return Exported(interfaces[0].name, header, files, digests, undecided, entries, files)


def _entries(interfaces: Sequence[Interface]) -> tuple[str, ...]:
    return _unique([name for interface in interfaces for name in interface.entries])


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(message("ogive.export", f"two functions are called {name}", "different functions"))
    return tuple(names)


def source_of(
    what: Any, dtype: str | Sequence[str] | None, choices: Mapping[str, Any] | None, name: str | None
) -> ExportSource:
    """The function of an operator, a bound operator or a model."""
    if isinstance(what, CalledOperator):
        numbers = {p.name: p.default for p in what.operator.numeric_parameters if not p.is_required}
        return source_of_operator(what.operator, dtype, dict(choices or {}), numbers, name, what.name)
    found = bound_of(what)
    if found is not None:
        op, values = found
        return source_of_operator(op, dtype, {} if values else dict(choices or {}), values, name)
    if type(what).__module__.startswith("ogive.onnx"):
        from ogive.exporting.one_kernel_models import source_of_model

        return source_of_model(what, name)
    raise ArgumentError(
        message(
            "ogive.export",
            f"what is {described(what)}",
            "an operator, a bound one (operator.bind()), or a model of ogive.onnx.load",
            "Put @ogive.operator before a formula of your own",
        )
    )

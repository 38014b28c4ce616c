"""Operators as tables: a result for each number of 8 or 16 bits, as an array of C and as NumPy's archive.

Nothing of a table comes from a kernel. Golden data's enclosures decide each entry, so each is the correctly rounded result.
The index is the bits of the input, taken as an unsigned integer.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ogive.common.contracts import DEFAULT
from ogive.common.dtypes import ELEMENT_TYPES, FLOATS_OF_8_BITS, ElementType
from ogive.common.forking import cached_property
from ogive.errors import ArgumentError, DTypeError, OgiveError, ParameterError, UnsupportedError, described, message
from ogive.exporting.interface import C_TYPES, identifiers
from ogive.exporting.sources import CalledOperator, fnv, with_choices
from ogive.golden.inputs import every
from ogive.golden.quantised import QUANTISED, checked, of_quantised
from ogive.golden.specification import Specification, of_operator
from ogive.operators.operator import Operator, bound_of

#: The element types that a table may have.
TABLE_TYPES = (*QUANTISED, *FLOATS_OF_8_BITS, "bfloat16", "float16")

#: The words of a call that only tables of integers have.
_QUANTISATION = ("x_scale", "x_zero_point", "y_scale", "y_zero_point")


@dataclass(frozen=True, eq=False)
class Table:
    """All results of an operator in one element type."""

    name: str
    """The name of the function in C."""
    title: str
    specification: Specification
    facts: Mapping[str, Any]
    """The numbers that it was made with."""

    @property
    def kind(self) -> ElementType:
        """The type of the inputs."""
        return self.specification.inputs[0]

    @cached_property
    def entries(self) -> np.ndarray:
        """The results in the order of the inputs' bits: integers, or the bits of floating-point numbers."""
        found = self.specification.right([every(self.kind)])
        result = self.specification.output
        return found.view(f"u{result.itemsize}") if result.is_float or result.name == "bool" else found

    @cached_property
    def digest(self) -> int:
        """FNV-1a of 64 bits over the entries' bytes, the lowest first."""
        return fnv([self.entries.astype(self.entries.dtype.newbyteorder("<"))])

    @property
    def c_types(self) -> tuple[str, str]:
        """The types of inputs and entries in C; of floating-point numbers their bits."""
        kinds = (self.kind, self.specification.output)
        x, y = (C_TYPES[k.name] if not (k.is_float and k.bits == 8) else "uint8_t" for k in kinds)
        return x, y

    @property
    def prototypes(self) -> list[str]:
        """The declarations in C."""
        x, y = self.c_types
        return [
            f"extern const {y} {self.name}_table[{self.entries.size}];",
            f"void {self.name}(const {x} *x, {y} *y, size_t begin, size_t end);",
        ]


def table_of(
    what: Any,
    dtype: str | Sequence[str] | None,
    choices: Mapping[str, Any] | None,
    name: str | None,
    quantisation: Mapping[str, Any],
    *,
    saturate: bool,
) -> Table:
    """The table of an operator, or of a bound one.

    Raises ArgumentError, DTypeError, ParameterError or UnsupportedError for what has none.
    """
    subject = "ogive.export"
    op, bound, shown = _operator_of(what)
    if op.accuracy != "exact" and DEFAULT == "exact":
        raise ParameterError(
            message(subject, "accuracy is 'fast'", "'exact' with form table: entries are rounded right")
        )
    op = op.base
    parameters = {**bound, **with_choices(op, choices)}
    kind = _kind(op, dtype)
    is_quantised = kind.name in QUANTISED
    if op.is_row_wise:
        what_is = f"{shown} takes rows, and a table has one entry for each number"
        raise UnsupportedError(
            message(subject, what_is, "operators of one tensor, element by element", "Take form='c'")
        )
    if op.inputs != 1:
        what_is = f"{shown} has {op.inputs} tensors ({', '.join(op.tensors)}), and a table one"
        raise ArgumentError(message(subject, what_is, "operators of one tensor", "Take form='c'"))
    if not any(t.name == "float32" for signature in op.signatures for t in signature.inputs):
        what_is = f"{shown} is about {', '.join(dict.fromkeys(s.inputs[0].name for s in op.signatures))}"
        raise UnsupportedError(message(subject, what_is, "operators of real numbers with form table", "Take form='c'"))
    missing = [p.name for p in op.parameters if p.is_required and p.name not in parameters]
    if missing:
        way_out = f"Bind it: {op.name}.bind({missing[0]}=...), or --parameter {missing[0]}=VALUE on the command line"
        raise ParameterError(message(subject, f"{shown} needs {missing[0]}, a number in each entry", way_out=way_out))
    given = {key: value for key, value in quantisation.items() if value is not None}
    if given and not is_quantised:
        what_is = f"{next(iter(given))} is given, and dtype is {kind.name!r}"
        raise ParameterError(message(subject, what_is, f"scales and zero points with {' and '.join(QUANTISED)}"))
    if not saturate and kind.name not in FLOATS_OF_8_BITS:
        what_is = f"saturate is False, and dtype is {kind.name!r}"
        way_out = "Integers always saturate, and floats of 16 bits have infinities"
        raise ParameterError(message(subject, what_is, ", ".join(FLOATS_OF_8_BITS), way_out))
    facts: dict[str, Any] = {}
    try:
        if is_quantised:
            x, y = (
                checked(subject, kind, tensor, given.get(f"{tensor}_scale"), given.get(f"{tensor}_zero_point", 0))
                for tensor in ("x", "y")
            )
            spec = of_quantised(op, kind.name, x, y, parameters)
            facts = dict(zip(_QUANTISATION, (x.scale, x.zero_point, y.scale, y.zero_point), strict=True))
        else:
            spec = of_operator(op, kind, parameters, saturate=saturate)
            if kind.name in FLOATS_OF_8_BITS:
                facts = {"saturate": saturate}
    except OgiveError as error:
        raise type(error)(str(error).replace("ogive.golden:", f"{subject}:", 1)) from None
    facts = {**{p.name: spec.parameters[p.name] for p in op.parameters}, **facts}
    words = ["ogive", shown, *(str(v) for p in op.parameters if p.choices and not p.is_default(v := facts[p.name]))]
    words += (["quantized"] if is_quantised else []) + [kind.name, *([] if saturate else ["unsaturated"])]
    (called,) = identifiers([name or "_".join(words)])
    title = (op.function.__doc__ or op.name).strip().splitlines()[0]
    return Table(called, title, spec, facts)


def _operator_of(what: Any) -> tuple[Operator, dict[str, Any], str]:
    if isinstance(what, CalledOperator):
        return what.operator, {}, what.name
    found = bound_of(what)
    if found is None:
        allowed = "an operator of one tensor, or a bound one (operator.bind())"
        raise ArgumentError(message("ogive.export", f"form is 'table', and what is {described(what)}", allowed))
    op, values = found
    return op, values, op.base.name


def _kind(op: Operator, dtype: str | Sequence[str] | None) -> ElementType:
    """The element type of inputs and results."""
    if dtype is None:
        raise DTypeError(message("ogive.export", "form is 'table', and there is no dtype", ", ".join(TABLE_TYPES)))
    given: Any = [dtype] if isinstance(dtype, str) or not isinstance(dtype, Sequence) else dtype
    named = [
        one if isinstance(one, str) else np.dtype(one).name if isinstance(one, type | np.dtype) else repr(one)
        for one in given
    ]
    if len(named) != 1 or named[0] not in TABLE_TYPES:
        shown = " ".join(map(str, named))
        way_out = "Longer types have too many numbers for a table: take form='c'"
        raise DTypeError(
            message("ogive.export", f"dtype is {shown!r} with form table", ", ".join(TABLE_TYPES), way_out)
        )
    kind = named[0]
    return ELEMENT_TYPES.get(kind) or FLOATS_OF_8_BITS[kind]


# ---- files

_ABOUT = """\
/* {name}: made by Ogive (ogive.export, form table). {name}.c is ISO C99 for every machine.
 *
 * An entry is the correctly rounded result for the input whose bits are the entry's index. The function looks elements
 * begin to end - 1 up; y may be x. float16, bfloat16 and floats of 8 bits are their bits.
 */
"""


def table_header(name: str, tables: Sequence[Table]) -> str:
    """The header of these tables."""
    (guard,) = identifiers([f"{name}_h".upper()])
    lines = [_ABOUT.format(name=name) + f"#ifndef {guard}", f"#define {guard}", ""]
    lines += ["#include <stddef.h>", "#include <stdint.h>", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for table in tables:
        lines.append("/* " + table.title.replace("*/", "* /"))
        lines += [f" * {line}" for line in _described(table)]
        lines.append(f" * Digest of the entries: {table.digest:016x}. */")
        lines += [*table.prototypes, ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def _described(table: Table) -> list[str]:
    """The meaning of the numbers, for people."""
    facts, lines = dict(table.facts), []
    if "x_scale" in facts:
        x_scale, x_zero, y_scale, y_zero = (facts.pop(key) for key in _QUANTISATION)
        kind = table.kind
        lines.append(f"x stands for (x - {x_zero}) * {x_scale!r}, and y for (y - {y_zero}) * {y_scale!r}: {kind.name}.")
        lines.append(f"Rounded once, halves to even; saturating from {kind.minimum} to {kind.maximum}; NaN is 0.")
    else:
        lines.append(f"From {table.kind.name} to {table.specification.output.name}, to nearest, halves to even.")
    if "saturate" in facts:
        ends = "the largest number (saturate=1 of ONNX's Cast)"
        if not facts.pop("saturate"):
            ends = "infinities, or NaN in types without (saturate=0 of ONNX's Cast)"
        lines.append(f"Results beyond the largest number are {ends}.")
    if facts:
        lines.append("Parameters: " + ", ".join(f"{key}={value!r}" for key, value in facts.items()) + ".")
    return lines


def table_files(name: str, tables: Sequence[Table], *, self_test: bool) -> dict[str, bytes]:
    """The files by name: header, C, an archive for each table; with ``self_test`` a program that checks them."""
    files = {f"{name}.h": table_header(name, tables).encode(), f"{name}.c": _c_text(name, tables).encode()}
    files |= {f"{table.name}.npz": _archive(table) for table in tables}
    if self_test:
        files[f"{name}_test.c"] = _test_text(name, tables).encode()
    return files


def _c_text(name: str, tables: Sequence[Table]) -> str:
    parts = [f'#include "{name}.h"\n']
    for table in tables:
        x, y = table.c_types
        entries, width = table.entries, 2 * table.entries.dtype.itemsize
        is_number = table.specification.output.is_integer
        words = [str(v) if is_number else f"0x{v:0{width}x}" for v in entries.tolist()]
        rows = [f"    {', '.join(words[k : k + 12])}," for k in range(0, len(words), 12)]
        parts += [f"const {y} {table.name}_table[{entries.size}] = {{", *rows, "};\n"]
        parts += [
            f"void {table.name}(const {x} *x, {y} *y, size_t begin, size_t end) {{",
            "    for (size_t i = begin; i < end; i++) {",
            f"        y[i] = {table.name}_table[(u{x.removeprefix('u')})x[i]];",
            "    }",
            "}\n",
        ]
    return "\n".join(parts)


def _archive(table: Table) -> bytes:
    facts = {
        "operator": table.specification.operator,
        "dtype": table.kind.name,
        "result": table.specification.output.name,
        "digest": f"{table.digest:016x}",
        **table.facts,
    }
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {"table": table.entries, **{key: np.array(value) for key, value in facts.items()}}
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


_TEST = """\
/* Self-test of {name}: 0 if all results have the digests of the header. Made by Ogive (ogive.export). */
#include "{name}.h"

#include <stdio.h>
#include <string.h>

static uint64_t fnv(uint64_t digest, unsigned byte) {{
    return (digest ^ byte) * UINT64_C(0x100000001B3);
}}

static int report(const char *name, uint64_t digest, uint64_t expected) {{
    printf("%s %08lx%08lx%s\\n", name, (unsigned long)(digest >> 32), (unsigned long)(digest & 0xffffffffu),
           digest == expected ? "" : " WRONG");
    return digest == expected;
}}
"""


def _test_text(name: str, tables: Sequence[Table]) -> str:
    parts = [_TEST.format(name=name)]
    for table in tables:
        x, y = table.c_types
        count, unsigned = table.entries.size, f"u{x.removeprefix('u')}"
        parts.append(
            f"""\
static int test_{table.name}(void) {{
    static {x} x[{count}];
    static {y} y[{count}];
    uint64_t digest = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < {count}; i++) {{
        const {unsigned} bits = ({unsigned})i;
        memcpy(&x[i], &bits, sizeof bits);
    }}
    {table.name}(x, y, 0, {count // 3}); /* in two parts */
    {table.name}(x, y, {count // 3}, {count});
    for (size_t i = 0; i < {count}; i++) {{
        for (unsigned byte = 0; byte < sizeof y[i]; byte++) {{
            digest = fnv(digest, ((unsigned)y[i] >> (8 * byte)) & 0xffu);
        }}
    }}
    return report("{table.name}", digest, UINT64_C(0x{table.digest:016x}));
}}
"""
        )
    calls = [f"    good &= test_{table.name}();" for table in tables]
    return "\n".join([*parts, "int main(void) {", "    int good = 1;", *calls, "    return good ? 0 : 1;", "}", ""])

"""A C program that compares exported functions with the digests in their header, and their entries with each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ogive.exporting.interface import C_TYPES, Operand
from ogive.exporting.sources import ELEMENTS, FORMATS, ROWS, ExportSource

_START = """\
/* Self-test of %(name)s: 0 if all results have the digests of the header. Made by Ogive (ogive.export). */
#include "%(name)s.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SplitMix64. */
static uint64_t mixed(uint64_t number) {
    uint64_t z = number * UINT64_C(0x9E3779B97F4A7C15) + UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* kind: f of a floating-point format, i signed, u unsigned, b truth values */
static void fill(void *to, char kind, int bytes, int bias, int mantissa, uint64_t operand, size_t count, size_t step) {
    for (size_t i = 0; i < count; ++i) {
        uint64_t bits = mixed(i + ((operand + 1) << 32));
        if (kind == 'b') {
            bits &= 1;
        } else if (i %% 2 != 0) {
            if (kind == 'f') {
                const uint64_t fraction = (bits >> 4) & ((UINT64_C(1) << mantissa) - 1);
                const uint64_t exponent = (uint64_t)(bias - 8) + (bits & 15);
                bits = (bits >> 63) << (8 * bytes - 1) | exponent << mantissa | fraction;
            } else {
                bits = bits %% 17 - (kind == 'i' ? 8u : 0u);
            }
        }
        for (int b = 0; b < bytes; ++b) {
            ((unsigned char *)to)[i * step + (size_t)b] = (unsigned char)(bits >> (8 * b));
        }
    }
}

static uint64_t fnv(uint64_t digest, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        digest = (digest ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001B3);
    }
    return digest;
}

static void *room(size_t bytes) {
    void *found = malloc(bytes + 1);
    if (found == NULL) {
        fprintf(stderr, "no memory\\n");
        exit(2);
    }
    memset(found, 0x5a, bytes + 1);
    return found;
}

static int report(const char *name, uint64_t digest, uint64_t expected, int same) {
    printf("%%s %%08lx%%08lx%%s%%s\\n", name, (unsigned long)(digest >> 32), (unsigned long)(digest & 0xffffffffu),
           digest == expected ? "" : " WRONG", same ? "" : " and other bits from parts or from strided arrays");
    return digest == expected && same;
}
"""


def self_test_text(name: str, sources: Sequence[ExportSource], digests: Mapping[str, int]) -> str:
    """The program for these functions."""
    tests = [_test(source, digests[source.interface.name]) for source in sources]
    calls = [f"    good &= test_{source.interface.name}();" for source in sources]
    main = ["int main(void) {", "    int good = 1;", *calls, "    return good ? 0 : 1;", "}", ""]
    return "\n".join([_START % {"name": name}, *tests, *main])


def _test(source: ExportSource, digest: int) -> str:
    interface = source.interface
    shapes = ROWS if interface.is_row_wise else ((1, ELEMENTS),)
    lines = [
        f"static int test_{interface.name}(void) {{",
        "    uint64_t digest = UINT64_C(0xCBF29CE484222325);",
        "    int same = 1;",
        f"    static const size_t shapes[][2] = {{{', '.join(f'{{{r}, {c}}}' for r, c in shapes)}}};",
        f"    for (size_t s = 0; s < {len(shapes)}; ++s) {{",
        "        const size_t rows = shapes[s][0], count = shapes[s][1];",
        *(f"        {line}" for line in _body(source)),
        "    }",
        f'    return report("{interface.name}", digest, UINT64_C(0x{digest:016x}), same);',
        "}",
        "",
    ]
    return "\n".join(lines)


def _filled(operand: Operand, number: int, variable: str, step: str) -> str:
    kind = operand.type
    letter = {"float": "f", "signed": "i", "unsigned": "u", "boolean": "b"}[kind.kind]
    bias, mantissa = FORMATS.get(kind.name, (0, 0))
    items = "rows" if operand.of_row else "rows * count"
    return f"fill({variable}, '{letter}', {kind.itemsize}, {bias}, {mantissa}, {number}, {items}, {step});"


def _c_number(value: float) -> str:
    return repr(value) if math.isfinite(value) else f"{'-' if value < 0 else ''}INFINITY"


#: From an element to the next in the arrays that lie apart, in elements: of what is read, and of what is written.
_READ_APART, _WRITTEN_APART = 3, 2


def _body(source: ExportSource) -> list[str]:
    interface = source.interface
    lines, number = [], 0
    for operand in interface.operands:
        kind, size, name = C_TYPES[operand.type.name], operand.type.itemsize, operand.name
        items = "rows" if operand.of_row else "rows * count"
        apart = _READ_APART if operand.is_input else _WRITTEN_APART
        lines += [
            f"{kind} *{name} = room({items} * {size}), *{name}_2 = room({items} * {size} * {apart});",
            f"const ptrdiff_t {name}_step = {size * apart};",
        ]
        if operand.is_input:
            lines += [
                _filled(operand, number, name, str(size)),
                _filled(operand, number, f"{name}_2", str(size * apart)),
            ]
            number += 1
    scratch = []
    if interface.is_row_wise:
        lines.append(f"void *scratch = room({interface.name}_scratch(count));")
        scratch = ["scratch"]
    values = [_c_number(value) for value in source.values]
    end = "rows" if interface.is_row_wise else "count"
    length = ["count"] if interface.is_row_wise else []
    names = [operand.name for operand in interface.operands]
    # In two parts; then from and to arrays whose elements lie apart.
    for begin, stop in (("0", f"{end} / 3"), (f"{end} / 3", end)):
        given = ", ".join([*names, begin, stop, *length, *values, *scratch])
        lines.append(f"{interface.name}({given});")
    apart_arguments = []
    for operand in interface.operands:
        apart_arguments.append(f"{operand.name}_2")
        step = f"{operand.name}_step"
        if interface.is_row_wise:
            apart_arguments.append(step if operand.of_row else f"{step} * (ptrdiff_t)count")
        if not operand.of_row:
            apart_arguments.append(step)
    given = ", ".join([*apart_arguments, "0", end, *length, *values, *scratch])
    lines.append(f"{interface.name}_strided({given});")
    for operand in interface.operands:
        if operand.is_input:
            continue
        items = "rows" if operand.of_row else "rows * count"
        size = operand.type.itemsize
        lines += [
            f"digest = fnv(digest, {operand.name}, {items} * {size});",
            f"for (size_t i = 0; i < {items}; ++i) {{",
            f"    same &= memcmp({operand.name} + i, {operand.name}_2 + {_WRITTEN_APART} * i, {size}) == 0;",
            "}",
        ]
    freed = [f"free({name}); free({name}_2);" for name in names] + (["free(scratch);"] if scratch else [])
    return [*lines, *freed]

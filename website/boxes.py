"""An input box on an operator's page: the exported C of the operator as WebAssembly, which the browser calls.

The module of an operator computes it in float32, float16 and bfloat16, correctly rounded, and in float64, which has nine
more digits than float32. clang makes it, with the target wasm32 and the linker lld. Without these the pages have no boxes.
"""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import ogive
from ogive.catalog import OPERATORS
from ogive.errors import OgiveError
from ogive.operators.operator import Operator
from website.naive import naive

__all__ = ["box", "can_compile", "write_modules"]

#: Types that a box offers: names of the page, with the bits of each.
TYPES = {"float32": 32, "float16": 16, "bfloat16": 16}

_OPTIONS = [
    "--target=wasm32-unknown-unknown",
    "-O1",
    "-nostdlib",
    "-ffreestanding",
    "-fno-builtin",
    "-ffp-contract=off",
]
_LINKED = ["-Wl,--no-entry", "-Wl,--export=__heap_base", "-Wl,--strip-all"]

#: Headers of C that the exported code includes and a bare target lacks.
_HEADERS = {
    "string.h": (
        "#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\nvoid *memset(void *, int, size_t);\n"
        "#define memcpy __builtin_memcpy\n#define memset __builtin_memset\n"
    ),
    "math.h": "#define fma __builtin_fma\n#define fabs __builtin_fabs\n#define sqrt __builtin_sqrt\n",
}


#: The two functions of C's library that clang calls by itself.
_MEMORY = """#include <stddef.h>
void *memcpy(void *to, const void *from, size_t n) {
    for (size_t i = 0; i < n; i++) ((volatile unsigned char *)to)[i] = ((const unsigned char *)from)[i];
    return to;
}
void *memset(void *to, int value, size_t n) {
    for (size_t i = 0; i < n; i++) ((volatile unsigned char *)to)[i] = (unsigned char)value;
    return to;
}
"""


@cache
def can_compile() -> bool:
    """Whether clang and its linker for WebAssembly are there."""
    return shutil.which("clang") is not None and any(
        map(shutil.which, ("wasm-ld", "wasm-ld-14", "wasm-ld-15", "wasm-ld-16"))
    )


def takes_a_box(op: Operator) -> bool:
    """Whether it is an operator of one tensor that has all these types."""
    types = {signature.inputs[0].name for signature in op.signatures if signature.inputs == signature.outputs}
    is_bound = not any(p.is_required for p in op.parameters)
    return op.inputs == 1 and not op.is_row_wise and is_bound and types >= {*TYPES, "float64"}


def box(op: Operator, sentence: str) -> list[str]:
    """The part of the page; nothing where there is no module."""
    if not can_compile() or not takes_a_box(op):
        return []
    defaults = {p.name: p.default for p in op.parameters if not p.choices}
    plain = naive(sentence, op.tensors, defaults) or ""
    facts = html.escape(json.dumps({"name": op.name, "naive": plain}), quote=True)
    options = "".join(f"<option>{name}</option>" for name in TYPES)
    numbers = ", ".join(f"{name} = {value:g}" for name, value in defaults.items())
    about = f" with {numbers}" if numbers else ""
    rows = [("result", "result"), ("bits", "bits"), ("exact", "exact value")]
    if plain:
        rows.append(("naive", "naive float32 formula"))
    cells = "".join(f'<dt>{title}</dt><dd class="og-{key}"></dd>' for key, title in rows)
    return [
        "## Try it",
        (
            f'<form class="og-try" data-facts="{facts}"><label>x <input name="x" value="-6" autocomplete="off" spellcheck="false"></label> '
            f'<label>type <select name="type">{options}</select></label>'
            f'<p class="og-about">{op.name}(x){about}, computed here by <a href="../export.html">exported C</a> as WebAssembly.</p>'
            f'<dl aria-live="polite">{cells}</dl></form>'
        ),
    ]


def write_modules(folder: Path, names: list[str]) -> None:
    """The modules of these operators, as NAME.wasm in a folder."""
    chosen = [OPERATORS[name] for name in names if takes_a_box(OPERATORS[name])]
    if not can_compile() or not chosen:
        return
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as workers:
        for op, data in zip(chosen, workers.map(_module, chosen), strict=True):
            (folder / f"{op.name}.wasm").write_bytes(data)


def _module(op: Operator) -> bytes:
    """The operator in all types, and erf in float32, which naive formulas use, in one module."""
    defaults = {p.name: p.default for p in op.parameters}
    bound = op.bind(**defaults) if defaults else op
    functions = [ogive.export(bound, dtype, name=f"y_{dtype}") for dtype in (*TYPES, "float64")]
    functions.append(ogive.export(ogive.erf, "float32", name="y_erf"))
    with tempfile.TemporaryDirectory(prefix="ogive-") as place:
        for name, text in _HEADERS.items():
            (Path(place) / name).write_text(text, encoding="utf-8")
        (Path(place) / "memory.c").write_text(_MEMORY, encoding="utf-8")
        sources = ["memory.c"]
        for exported in functions:
            exported.write(place)
            sources += [name for name in exported.files if name.endswith(".c")]
        exports = [f"-Wl,--export={exported.name}" for exported in functions]
        command = ["clang", *_OPTIONS, f"-I{place}", *_LINKED, *exports, "-o", "module.wasm", *sources]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OgiveError(f"{op.name}: clang makes no WebAssembly: {done.stderr[:300]}")
        return (Path(place) / "module.wasm").read_bytes()

"""A C header: bits of the inputs and of the expected results as arrays of unsigned integers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ogive.golden.specification import bits_of
from ogive.golden.vectors import Vectors

__all__ = ["write"]


def write(vectors: Vectors, folder: Path) -> list[Path]:
    """Write one file: the elements of the first case."""
    spec, case = vectors.specification, vectors.cases[0]
    name = re.sub(r"\W", "_", vectors.name)
    shape = np.broadcast_shapes(*(x.shape for x in case.inputs))
    lines = [
        f"/* {spec.title}: expected results, correctly rounded.",
        *(f"   {key} = {value}" for key, value in spec.parameters.items()),
        f"   {spec.parameter_rule}.",
        f"   sha256:{vectors.digest} */",
        f"#ifndef OGIVE_{name.upper()}_H",
        f"#define OGIVE_{name.upper()}_H",
        "#include <stdint.h>",
        f"#define {name.upper()}_COUNT {int(np.prod(shape))}",
    ]
    arrays = [np.broadcast_to(x, shape) for x in case.inputs]
    for tensor, x in zip((*spec.tensors, "expected"), (*arrays, case.expected), strict=True):
        bits = bits_of(np.ascontiguousarray(x)).reshape(-1)
        width = 8 * x.dtype.itemsize
        lines.append(f"static const uint{width}_t {name}_{tensor}[] = {{ /* bits of {x.dtype.name} */")
        digits = x.dtype.itemsize * 2
        texts = [f"0x{int(value):0{digits}x}{'u' if width < 64 else 'ull'}" for value in bits]
        lines += [f"    {', '.join(texts[i : i + 8])}," for i in range(0, len(texts), 8)]
        lines.append("};")
    lines.append("#endif")
    path = folder / f"{vectors.name}.h"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [path]

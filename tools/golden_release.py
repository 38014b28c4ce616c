"""Golden data as one archive, with digests and a licence of its own: ``python -m tools.golden_release``.

    python -m tools.golden_release --output dist            # all operators
    python -m tools.golden_release --operator gelu --output dist

The archive is made of numbers, names and the order of both alone: equal sources and equal packages give equal bytes.
docs/golden.md describes what is in it.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import FLOATS_OF_8_BITS, ElementType, element_type
from ogive.errors import OgiveError
from ogive.golden import make, of_operator, regimes
from ogive.golden.formats import write
from ogive.golden.formats.webnn_format import OPERATORS as OF_WEBNN
from ogive.golden.formats.webnn_nodes import specifications
from ogive.golden.formats.xsref_format import FUNCTIONS as OF_XSREF
from ogive.golden.inputs import every
from ogive.golden.specification import Specification, bits_of
from ogive.operators.operator import Operator

__all__ = ["archive", "files"]

HERE = Path(__file__).parent

#: The date of all files of the archive.
DATE = (2026, 1, 1, 0, 0, 0)

#: The types of which every input is there.
WHOLE = ("bfloat16", "float16")


def files(names: Sequence[str]) -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """(path, content, facts) of the data of these operators; of all: with those of whole arrays, which WebNN has."""
    if set(names) == set(OPERATORS):
        for spec in specifications():
            yield from _by_writer(spec, "webnn")
    for name in names:
        op = OPERATORS[name]
        if op.is_row_wise or len(op.formula(**_choices(op))) != 1:
            continue
        yield from _of_elements(op)
    for name in names:
        if name in OF_WEBNN:
            types = [s.inputs[0].name for s in OPERATORS[name].signatures]
            yield from _by_writer(_spec(name, "float32" if "float32" in types else types[0]), "webnn")
        if name in OF_XSREF:
            for dtype in ("float32", "float64"):
                yield from _by_writer(_spec(name, dtype), "xsref")


def _choices(op: Operator) -> dict[str, Any]:
    return {p.name: p.default for p in op.parameters if p.choices}


def _of_elements(op: Operator) -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    types = {s.inputs[0].name for s in op.signatures}
    for parameters in regimes(op)[: 1 + sum(len(p.choices) - 1 for p in op.parameters if p.choices)]:
        chosen = [str(v) for p in op.parameters if p.choices and not p.is_default(v := parameters[p.name])]
        name = "-".join([op.name, *chosen])
        if op.inputs == 1:
            for dtype in WHOLE:
                if dtype in types:
                    yield _whole(op, element_type(dtype), parameters, name)
            if "float32" in types:
                for kind in FLOATS_OF_8_BITS.values():
                    for saturate in (True, False):
                        yield _whole(op, kind, parameters, name, saturate=saturate)
        if "float32" in types:
            yield _hard(op, parameters, name)


def _whole(
    op: Operator, kind: ElementType, parameters: dict[str, Any], name: str, *, saturate: bool = True
) -> tuple[str, bytes, dict[str, Any]]:
    """All results in the order of the inputs' bits."""
    spec = of_operator(op, kind, parameters, saturate=saturate)
    right = spec.right([every(kind)])
    folder = kind.name if saturate else f"{kind.name}-unsaturated"
    facts = {"operator": op.name, "parameters": parameters, "dtype": kind.name, "result": spec.output.name}
    return f"whole/{folder}/{name}.bin", _little(bits_of(right, canonical=True)), {**facts, "entries": right.size}


def _hard(op: Operator, parameters: dict[str, Any], name: str) -> tuple[str, bytes, dict[str, Any]]:
    """Rows of 32-bit words: the bits of the inputs, and of the result."""
    vectors = make(of_operator(op, "float32", parameters))
    spec = vectors.specification
    arrays = np.broadcast_arrays(*vectors.inputs, vectors.expected)
    columns = [bits_of(x, canonical=x is arrays[-1]).astype(np.uint32).reshape(-1) for x in arrays]
    facts = {
        "operator": op.name,
        "parameters": parameters,
        "dtype": "float32",
        "tensors": dict(zip(spec.tensors, (t.name for t in spec.inputs), strict=True)),
        "result": spec.output.name,
        "entries": columns[0].size,
        "columns": len(columns),
    }
    return f"hard/float32/{name}.bin", _little(np.stack(columns, axis=1)), facts


def _little(bits: np.ndarray) -> bytes:
    if bits.dtype == bool:
        bits = bits.astype(np.uint8)
    return np.ascontiguousarray(bits.astype(bits.dtype.newbyteorder("<"))).tobytes()


def _spec(name: str, dtype: str) -> Specification:
    return of_operator(OPERATORS[name], dtype, regimes(OPERATORS[name])[0])


def _by_writer(spec: Specification, form: str) -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """The files of a format of other people; nothing where it has no such type."""
    try:
        vectors = make(spec)
        with tempfile.TemporaryDirectory() as folder:
            *paths, _ = write(vectors, form, Path(folder))
            made = [(path.relative_to(folder), path.read_bytes()) for path in paths]
    except OgiveError as error:
        print(f"{spec.operator}, {spec.kind.name}: left out of {form}: {error}", file=sys.stderr)
        return
    for path, data in made:
        if spec.standard == "onnx" and spec.output.name != spec.kind.name:  # several casts of one type
            path = path.with_stem(f"{path.stem}-{spec.output.name}")
        yield f"{form}/{path}", data, {"operator": spec.operator, "dtype": spec.kind.name, "result": spec.output.name}


def archive(names: Sequence[str]) -> bytes:
    """The archive of these operators."""
    found = {path: (data, facts) for path, data, facts in files(names)}
    index = {
        "made_by": f"ogive {ogive.__version__}",
        "ruler": "correctly rounded: the nearest number, of two equally near ones the even one; NaN is one quiet NaN",
        "files": {path: facts for path, (_, facts) in sorted(found.items())},
    }
    texts = {
        "LICENSE": (HERE / "CC0-1.0.txt").read_bytes(),
        "README.md": (HERE.parent / "docs" / "golden.md").read_bytes(),
        "index.json": (json.dumps(index, indent=1, sort_keys=True) + "\n").encode(),
    }
    contents = {**{path: data for path, (data, _) in found.items()}, **texts}
    sums = [f"{hashlib.sha256(data).hexdigest()}  {path}" for path, data in sorted(contents.items())]
    contents["SHA256SUMS"] = ("\n".join(sums) + "\n").encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for path, data in sorted(contents.items()):
            info = zipfile.ZipInfo(path, DATE)
            info.compress_type, info.external_attr, info.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            made.writestr(info, data)
    return buffer.getvalue()


def main() -> None:
    """Write the archive, and print its size and digest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operator", action="append", choices=sorted(OPERATORS), help="these alone")
    parser.add_argument("--output", type=Path, default=Path("dist"), help="the folder; default: dist")
    given = parser.parse_args()
    data = archive(given.operator or sorted(OPERATORS))
    given.output.mkdir(parents=True, exist_ok=True)
    path = given.output / f"ogive-golden-{ogive.__version__}.zip"
    path.write_bytes(data)
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        sizes: dict[str, list[int]] = {}
        for info in made.infolist():
            row = sizes.setdefault("/".join(info.filename.split("/")[:-1]) or "texts", [0, 0, 0])
            row[0], row[1], row[2] = row[0] + 1, row[1] + info.file_size, row[2] + info.compress_size
    for folder, (count, size, packed) in sorted(sizes.items()):
        print(f"{folder}: {count} files, {size:,} bytes, {packed:,} packed")
    print(f"wrote {path}  {len(data):,} bytes")
    print(f"sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()

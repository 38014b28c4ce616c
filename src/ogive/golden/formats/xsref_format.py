"""The parquet tables of scipy/xsref: ``NAME/In_f-f.parquet`` and ``NAME/Out_f-f.parquet``, for functions that both have.

A column ``in0`` or ``out0`` for each argument and result, and ``fallback``, which says of a result that it is not independent: none
is. The letters are those of NumPy's types. The table of results has the digest of the other file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from ogive.errors import UnsupportedError, message, naming
from ogive.golden.specification import find_operator
from ogive.golden.vectors import Vectors

#: Ogive's name -> that of xsref.
FUNCTIONS = {
    "cbrt": "cbrt",
    "erf": "erf",
    "erfc": "erfc",
    "exp2": "exp2",
    "expm1": "expm1",
    "log1p": "log1p",
    "log_sigmoid": "log_expit",
    "logit": "logit",
    "ndtr": "ndtr",
    "round": "round",
    "sigmoid": "expit",
}

#: The letters of element types.
_LETTERS = {"float32": "f", "float64": "d"}


def write(vectors: Vectors, folder: Path) -> list[Path]:
    """Write both tables."""
    spec = vectors.specification
    function = FUNCTIONS.get(spec.catalogue)
    if function is None:
        what = f"xsref has no function {spec.operator}"
        raise UnsupportedError(message(spec.operator, what, ", ".join(sorted(FUNCTIONS))))
    letter = _LETTERS.get(spec.kind.name)
    if letter is None:
        raise UnsupportedError(message(spec.operator, f"xsref has no {spec.kind.name}", ", ".join(_LETTERS)))
    for parameter in find_operator(spec.catalogue).parameters:
        value = spec.parameters[parameter.name]
        if not parameter.is_default(value):
            what = f"{parameter.name} is {value!r}"
            raise UnsupportedError(message(spec.operator, what, f"{parameter.default!r}, which xsref means"))
    import ogive

    place = folder / function
    place.mkdir(parents=True, exist_ok=True)
    given, results = (place / f"{side}_{letter}-{letter}.parquet" for side in ("In", "Out"))
    (x,), right = vectors.inputs, vectors.expected
    facts = {"in": letter, "out": letter, "function": function}
    _write(given, {"in0": x}, facts)
    with naming(given) as path:
        checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    made_by = f"ogive {ogive.__version__}: correctly rounded, by enclosures"
    columns = {"out0": right, "fallback": np.zeros(right.shape, bool)}
    _write(results, columns, {**facts, "input_checksum": checksum, "made_by": made_by})
    return [given, results]


def _write(path: Path, columns: dict[str, np.ndarray], facts: dict[str, str]) -> None:
    table = pa.table({name: pa.array(np.ascontiguousarray(x)) for name, x in columns.items()})
    with naming(path):
        parquet.write_table(table.replace_schema_metadata(facts), path, compression="zstd", compression_level=22)

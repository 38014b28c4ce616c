"""The lowered programs that a change alters: ``python -m tools.programs``.

tests/programs.txt has a line for each program of the catalogue, its choices, its derivatives, the fast contract, and of
formulas of the tests: its name and the digest of its text, the repair's included. tests/free/test_programs.py compares.

    python -m tools.programs                        # name the programs that differ from the file
    python -m tools.programs --write                # and write the file anew: 50 s
    python -m tools.programs --write '*/gelu *'     # the programs of these names alone
    python -m tools.programs --diff HEAD 'fast/*'   # how their texts differ from a commit's
    python -m tools.programs --keep build/kept.zip  # keep all texts, for --diff build/kept.zip
"""

from __future__ import annotations

import argparse
import difflib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile
from zlib import crc32

if TYPE_CHECKING:
    from ogive.graph.expression import Expression
    from ogive.lowering.program import Program
    from ogive.operators.operator import Operator

__all__ = ["COMMAND", "FAMILIES", "PARTS", "altered", "digests", "kept", "programs"]

ROOT = Path(__file__).parents[1]
FILE = ROOT / "tests" / "programs.txt"
COMMAND = "python -m tools.programs --write"

#: Tests look at the programs in so many parts, which their names tell apart.
PARTS = 8

#: A name, and what lowers its program.
Named = tuple[str, Callable[[], "Program"]]


# ---- the programs


def _of_operator(op: Operator, name: str, *, bound: bool = False) -> Iterator[Named]:
    """A program for each combination of types and choices; with ``bound`` also one of bound numbers, as models have them.

    The fast contract's are of float16 and float32. It computes bfloat16 as float16, and other types as the exact one does.
    """
    selecting = [[(p.name, choice) for choice in p.choices] for p in op.parameters if p.choices]
    numbers = {p.name: 1.5 if p.is_required else p.default for p in op.numeric_parameters}
    for signature in op.signatures:
        if op.accuracy == "fast" and not any(t.name in ("float16", "float32") for t in signature.outputs):
            continue
        types = "->".join(",".join(t.name for t in side) for side in signature)
        for chosen in product(*selecting):
            shown = "".join(f" {key}={choice!r}" for key, choice in chosen)
            yield f"{name} {types}{shown}", partial(op.program, signature, **dict(chosen))
            if bound and numbers:
                yield f"{name} {types}{shown} bound", partial(op.program, signature, **numbers, **dict(chosen))


def _catalog() -> Iterator[Named]:
    from ogive.catalog import OPERATORS

    for op in OPERATORS.values():
        yield from _of_operator(op.exact, op.name, bound=True)


def _fast() -> Iterator[Named]:
    from ogive.catalog import OPERATORS

    for op in OPERATORS.values():
        yield from _of_operator(op.fast, op.name, bound=True)


def _derivatives(accuracy: str) -> Iterator[Named]:
    import ogive
    from ogive.catalog import OPERATORS
    from ogive.errors import ArgumentError, DTypeError

    for op in OPERATORS.values():
        arguments = [*op.tensors, *(p.name for p in op.numeric_parameters)]
        makers: list[tuple[str, Callable[[Operator], Operator]]] = [("vjp", ogive.vjp)]
        makers += [(f"grad of {name}", partial(ogive.grad, wrt=name)) for name in arguments]
        for what, make in makers:
            try:
                derived = make(getattr(op, accuracy))
            except (ArgumentError, DTypeError):  # operators over rows have no grad, and truth values no derivative
                continue
            yield from _of_operator(derived, f"{op.name} {what}")


def _of_formula(
    place: int, name: str, root: Expression, inputs: int, *, parameters: int = 0, of_rows: bool = False
) -> Iterator[Named]:
    """Its programs in float32, float64 and, of the two types of 16 bits, one in turn; and in float32 under the fast contract."""
    from ogive.common.dtypes import ELEMENT_TYPES
    from ogive.engine.computation import Formula

    of_16_bits = ("float16", "bfloat16")[place % 2]
    for dtype, accuracy in product(("float32", "float64", of_16_bits), ("exact", "fast")):
        if accuracy == "exact" or dtype == "float32":
            kind = ELEMENT_TYPES[dtype]
            formula = Formula(
                *((root,), (kind,) * inputs, (kind,)),
                parameter_count=parameters,
                is_row_wise=of_rows,
                accuracy=accuracy,
            )
            yield f"{name} {dtype} {accuracy}", partial(getattr, formula, "program")


def _drawn() -> Iterator[Named]:
    import numpy as np

    from tests.random_formulas import grown

    for seed in range(50):
        root = grown(np.random.default_rng(seed), 2 + seed % 7)
        yield from _of_formula(seed, f"{seed:02}", root, 2, parameters=1)


def _rows() -> Iterator[Named]:
    import numpy as np

    from tests.random_formulas import grown_of_rows

    for seed in range(30):
        root = grown_of_rows(np.random.default_rng(seed), seed % 4)
        yield from _of_formula(seed, f"{seed:02}", root, 2, parameters=1, of_rows=True)


def _textbooks() -> Iterator[Named]:
    from ogive import formula as f
    from ogive.graph.expression import lift
    from tests.random_formulas import WRITTEN, X, Y
    from tests.textbooks import TEXTBOOKS

    for place, (name, root) in enumerate(WRITTEN.items()):
        yield from _of_formula(place, f"{name}, as written", lift(root), 2)
    for place, (name, book) in enumerate(TEXTBOOKS.items()):
        root, inputs = lift(book.formula(f, *(X, Y)[: len(book.domains)])), len(book.domains)
        yield from _of_formula(place, name, root, inputs)


FAMILIES: Mapping[str, Callable[[], Iterator[Named]]] = {
    "catalog": _catalog,
    "fast": _fast,
    "derivatives": lambda: _derivatives("exact"),
    "fast derivatives": lambda: _derivatives("fast"),
    "drawn": _drawn,
    "rows": _rows,
    "textbooks": _textbooks,
}


def programs(family: str) -> Iterator[Named]:
    """The programs of a family by name, in no order. A program is lowered where it is called."""
    for name, make in FAMILIES[family]():
        yield f"{family}/{name}", make


# ---- the file


def _is_of_part(name: str, part: int | None) -> bool:
    return part is None or crc32(name.encode()) % PARTS == part


def digests(family: str, part: int | None = None, patterns: Sequence[str] = ("*",)) -> dict[str, str]:
    """The digest of each program of a family, or of one part of them, of names like the patterns."""
    found = {}
    for name, make in programs(family):
        if not _is_of_part(name, part) or not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        try:
            found[name] = make().digest[:12]
        except Exception as error:
            error.add_note(f"raised by the program {name!r}")
            raise
    return found


def kept(family: str = "", part: int | None = None) -> dict[str, str]:
    """The digests that the file has: of a family or one part of it, or all."""
    lines = [line.rsplit(" ", 1) for line in FILE.read_text().splitlines()] if FILE.exists() else []
    begin = f"{family}/" if family else ""
    return {name: digest for name, digest in lines if name.startswith(begin) and _is_of_part(name, part)}


def altered(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """A line for each program that differs, is new or is gone."""
    marks = {
        name: "new: " if name not in before else "gone: " if name not in after else "" for name in {**before, **after}
    }
    return [f"{marks[name]}{name}" for name in sorted(marks) if before.get(name) != after.get(name)]


# ---- texts, here and of another commit


def _texts(patterns: list[str]) -> Iterator[tuple[str, str]]:
    for family in FAMILIES:
        for name, make in programs(family):
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                yield name, make().text


def _keep(target: Path, patterns: list[str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(target, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, text in _texts(patterns):
            archive.writestr(name, text)


#: In a process of its own: the sources of a commit, with this script, this checkout's formulas and its native extension.
_THERE = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "_ogive_editable_loader"]
import os
sys.path[:0] = sys.argv[1].split(os.pathsep)
from pathlib import Path
from tools import programs
programs._keep(Path(sys.argv[2]), sys.argv[3:])
"""


def _keep_of_commit(commit: str, target: Path, patterns: list[str]) -> None:
    from ogive import _native

    made = subprocess.run(["git", "archive", commit, "src/ogive"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
            archive.extractall(folder, filter="data")
        sources = Path(folder, "src")
        shutil.copy(_native.__file__, sources / "ogive")
        there = [
            sys.executable,
            "-c",
            _THERE,
            os.pathsep.join([str(sources), str(ROOT)]),
            str(target.resolve()),
            *patterns,
        ]
        subprocess.run(there, check=True, cwd=folder)


def _differences(against: str, patterns: list[str]) -> Iterator[str]:
    """The texts that differ from those of a commit, or of a file of --keep, as unified diffs."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path(against)
        if not before.is_file():
            before = Path(folder, "kept.zip")
            _keep_of_commit(against, before, patterns)
        with ZipFile(before) as archive:
            names = {name for name in archive.namelist() if any(fnmatchcase(name, pattern) for pattern in patterns)}
            for name, text in _texts(patterns):
                old = archive.read(name).decode() if name in names else ""
                names.discard(name)
                if old != text:
                    yield from difflib.unified_diff(
                        old.splitlines(), text.splitlines(), f"{against}:{name}", name, lineterm=""
                    )
            yield from (f"gone: {name}" for name in sorted(names))


def main(arguments: list[str] | None = None) -> int:
    """Name the programs that differ; 1 if there are some and the file is not written."""
    parser = argparse.ArgumentParser(prog="python -m tools.programs", description="Which programs a change alters.")
    parser.add_argument("names", nargs="*", default=["*"], metavar="NAME", help="patterns such as 'catalog/gelu *'")
    parser.add_argument("--write", action="store_true", help=f"write {FILE.relative_to(ROOT)} anew")
    parser.add_argument("--diff", metavar="COMMIT", help="show how texts differ from a commit's, or a kept file's")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep all texts in a ZIP archive")
    given = parser.parse_args(arguments)
    if given.keep is not None:
        _keep(given.keep, given.names)
        return 0
    if given.diff is not None:
        differs = False
        for line in _differences(given.diff, given.names):
            print(line)
            differs = True
        return int(differs)
    before: dict[str, Any] = kept()
    others = {n: d for n, d in before.items() if not any(fnmatchcase(n, pattern) for pattern in given.names)}
    before = {name: digest for name, digest in before.items() if name not in others}
    after: dict[str, str] = {}
    for number, family in enumerate(FAMILIES, 1):
        found = digests(family, patterns=given.names)
        print(f"{number} of {len(FAMILIES)}: {family}, {len(found):,} programs", file=sys.stderr, flush=True)
        after |= found
    lines = altered(before, after)
    print(*lines, f"{len(lines)} of {len(after)} programs differ", sep="\n")
    if given.write:
        FILE.write_text("".join(f"{name} {digest}\n" for name, digest in sorted((others | after).items())))
    return int(bool(lines) and not given.write)


if __name__ == "__main__":
    sys.exit(main())

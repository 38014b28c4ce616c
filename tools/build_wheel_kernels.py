"""Make packs: the catalogue's kernels of a target in one file, which a wheel carries (runtime/wheel_kernels.py reads it).

    python -m tools.build_wheel_kernels build FOLDER [TARGET...]    TARGET.pack in a folder
    python -m tools.build_wheel_kernels add WHEEL... [--to FOLDER]  the packs of its platform into a wheel

The wheel must have the sources of the package that is installed.

Needs llvmlite. Kernels are cross-compiled: packs for every platform can be made on any of them. The same sources and
the same LLVM give the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.backends.target import TARGETS, Target, host_target
from ogive.catalog import OPERATORS
from ogive.catalog.aliases import ALIASES, named
from ogive.common.contracts import CONTRACTS
from ogive.engine.computation import Formula, kernel_of, make_ufunc, under
from ogive.errors import OgiveError, message
from ogive.runtime import wheel_kernels
from ogive.runtime.engine_files import engine_files, is_of_engine
from ogive.runtime.kernels import first_level, identity_of_columns, identity_of_level, kept_or_made

if TYPE_CHECKING:
    from ogive.lowering.program import Program

__all__ = ["add_to_wheel", "catalogue", "make_pack", "targets_of_wheel"]

#: A wheel's files have this time, so that it is the same wheel whenever it is made.
_WHEN = (1980, 1, 1, 0, 0, 0)


def catalogue() -> Iterator[Formula]:
    """The computations of the operators of the catalogue: each combination of types, each choice, each contract; once each.

    Names with numbers filled in, such as `relu6`, are operators of their own.
    """
    seen = set()
    for op in (*OPERATORS.values(), *(named(name) for name, alias in ALIASES.items() if alias.values)):
        selecting = [parameter for parameter in op.parameters if parameter.choices]
        for chosen in product(*(sorted(p.choices, key=str) for p in selecting)):
            choices = {p.name: choice for p, choice in zip(selecting, chosen, strict=True)}
            values = op.checked_parameters(choices) if not any(p.is_required for p in op.parameters) else choices
            for signature in op.signatures:
                usual = choices if values is choices else op.constants(signature, values)
                for contract, constants in (*((contract, choices) for contract in CONTRACTS), ("exact", usual)):
                    formula = under(op.computation(signature, **constants), contract)
                    if formula.identity not in seen:
                        seen.add(formula.identity)
                        yield formula


def later_kernels(formulas: Iterable[Formula]) -> dict[str, int]:
    """How many kernels there are work for behind the first, by formulas' identities: those of one tensor of 16 bits.

    All inputs are tried. A program leaves the same results undecided on every target. With parameters none is known.
    """
    found = {}
    for formula in formulas:
        if len(formula.inputs) == 1 and formula.inputs[0].bits == 16 and not formula.parameter_count:
            if formula.is_row_wise or not formula.program.later:
                continue
            ufunc = make_ufunc("kernel", formula, [])
            before = kernel_of(formula).counts
            with np.errstate(all="ignore"):
                ufunc(np.arange(1 << 16, dtype=np.uint16).view(formula.inputs[0].numpy))
            after = kernel_of(formula).counts
            elements, retried, repaired = (b - a for a, b in zip(before[:3], after[:3], strict=True))
            assert elements == 1 << 16
            later = first_level(formula.program, host_target()).later
            # The first undecided elements skip the retries, and with them what they would have decided.
            retries = sum(not level.has_mask for level in later) if retried else 0
            found[formula.identity] = len(later) if repaired else retries
    return found


#: A line of progress for so many formulas.
_LINE_EVERY = 100


def make_pack(
    target: Target, formulas: Sequence[Formula] | None = None, later_of: Mapping[str, int] = MappingProxyType({})
) -> bytes:
    """The pack of a target: the kernels of the catalogue, or of these formulas, and those that belong to them.

    ``later_of`` says how many kernels behind the first are taken, of some formulas by their identities; of others all.
    """
    kernels, repairs = list[wheel_kernels.Packed](), list[wheel_kernels.Packed]()
    wanted = list(formulas or catalogue())
    for number, formula in enumerate(wanted):
        if number % _LINE_EVERY == 0 and formulas is None:
            print(f"{target.name}: {number:,} of {len(wanted):,} formulas", file=sys.stderr, flush=True)
        program, identity = first_level(formula.program, target), formula.identity
        known = _add(kernels, identity, program, target)
        count = later_of.get(identity) if program is first_level(formula.program, host_target()) else None
        for place, level in enumerate(program.later[:count], 1):
            _add(repairs, identity_of_level(identity, place), level.make(), target)
        if known["columns"]:
            _add(kernels, identity_of_columns(formula.identity), program, target, of_columns=True)
    files = {name: Path(path).read_bytes() for name, path in engine_files().items()}
    return wheel_kernels.packed(target, by_likeness(kernels), by_likeness(repairs), files)


def by_likeness(kernels: Sequence[wheel_kernels.Packed]) -> list[wheel_kernels.Packed]:
    """The kernels, each behind the one that it is most like. A block of them is a tenth shorter so, compressed."""
    alike: dict[bytes, list[wheel_kernels.Packed]] = {}
    for kernel in kernels:
        alike.setdefault(kernel[2].code, []).append(kernel)
    left = {code: _marks(code) for code in alike}
    ordered, before = list[wheel_kernels.Packed](), frozenset[int]()
    while left:
        nearest = max(
            left, key=lambda code: len(before & left[code]) / (len(before | left[code]) or 1)
        )  # the first of equals
        ordered += alike[nearest]
        before = left.pop(nearest)
    return ordered


def _marks(code: bytes) -> frozenset[int]:
    """One in 64 of the words of eight bytes at all places, by their product with a large odd number."""
    if len(code) < 8:
        return frozenset()
    words = np.lib.stride_tricks.sliding_window_view(np.frombuffer(code, np.uint8), 8).copy().view("<u8").ravel()
    mixed = words * np.uint64(0x9E3779B97F4A7C15)
    return frozenset(mixed[mixed >> np.uint64(58) == 0].tolist())


def _add(
    to: list[wheel_kernels.Packed], identity: str, program: Program, target: Target, *, of_columns: bool = False
) -> Mapping[str, Any]:
    known, image = kept_or_made(None, lambda: program, target, of_columns=of_columns)
    note = {name: value for name, value in known.items() if name != "image"}  # that is the cache's name for it
    to.append((identity, repr(dict(sorted(note.items()))), image))
    return known


def targets_of_wheel(name: str) -> list[Target]:
    """The targets of a wheel's platform, by its file name.

    >>> [target.name for target in targets_of_wheel("ogive-0.1.0-cp311-cp311-musllinux_1_2_x86_64.whl")]
    ['x86-64', 'x86-64-v3', 'x86-64-v4']
    >>> targets_of_wheel("ogive-0.1.0-cp312-abi3-win_arm64.whl")[0].triple
    'aarch64-pc-windows-msvc-elf'
    """
    platform = name.removesuffix(".whl").rpartition("-")[2]
    architectures = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
    found = [of for ending, of in architectures.items() if platform.endswith(ending)]
    if not found:
        allowed = ", ".join(architectures)
        raise OgiveError(
            message("build_wheel_kernels", f"the platform of {name} is {platform}", f"one that ends in {allowed}")
        )
    system = "pc-windows-msvc-elf" if platform.startswith("win") else "unknown-linux-gnu"
    return [
        replace(target, only_triple=f"{target.architecture}-{system}")
        for target in TARGETS.values()
        if target.architecture == found[0]
    ]


def add_to_wheel(wheel: Path, to: Path, packs: Mapping[str, bytes] | None = None) -> Path:
    """A copy of a wheel in another folder, with the packs of its platform; these, or made here."""
    with zipfile.ZipFile(wheel) as archive:
        files = {info.filename: (archive.read(info), info.external_attr) for info in archive.infolist()}
    own = {name: Path(path).read_bytes() for name, path in engine_files().items()}
    theirs = {
        name.removeprefix("ogive/"): data
        for name, (data, _) in files.items()
        if name.startswith("ogive/") and is_of_engine(name.removeprefix("ogive/"))
    }
    if wheel_kernels.digest_of_files(own) != wheel_kernels.digest_of_files(theirs):
        different = sorted(name for name in {*own, *theirs} if own.get(name) != theirs.get(name))
        what = f"{wheel.name} was built from other sources: {', '.join(different[:3])}"
        raise OgiveError(message("build_wheel_kernels", what, way_out="Run this command with the sources of the wheel"))
    if packs is None:
        later_of = later_kernels(catalogue())
        packs = {target.name: make_pack(target, None, later_of) for target in targets_of_wheel(wheel.name)}
    for name, data in packs.items():
        files[f"ogive/{wheel_kernels.FOLDER}/{name}.pack"] = data, 0o644 << 16
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    rows = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for name, (data, _) in files.items()
        if name != record
    ]
    files[record] = "\n".join([*sorted(rows), f"{record},,", ""]).encode(), 0o644 << 16
    to.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(to / wheel.name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        # The facts about the wheel come last, as the standard wants it.
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            info = zipfile.ZipInfo(name, _WHEN)
            info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3
            info.external_attr = files[name][1]
            archive.writestr(info, files[name][0])
    return to / wheel.name


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.build_wheel_kernels", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="write packs into a folder")
    build.add_argument("folder", type=Path)
    build.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(TARGETS)}; all without one")
    add = commands.add_parser("add", help="put packs into wheels")
    add.add_argument("wheels", nargs="+", type=Path, metavar="WHEEL")
    add.add_argument("--to", type=Path, default=Path("dist"), help="where the new wheel goes: dist")
    given = parser.parse_args(arguments)
    os.environ["OGIVE_PACKS"] = "off"
    later_of = later_kernels(catalogue())
    if given.command == "build":
        for name in given.targets or TARGETS:
            if name not in TARGETS:
                parser.error(f"{name} is no target: {', '.join(TARGETS)}")
            given.folder.mkdir(parents=True, exist_ok=True)
            data = make_pack(TARGETS[name], None, later_of)
            (given.folder / f"{name}.pack").write_bytes(data)
            print(f"{hashlib.sha256(data).hexdigest()}  {given.folder / name}.pack  {len(data):,} bytes")
    else:
        made: dict[tuple[str, ...], dict[str, bytes]] = {}
        for wheel in given.wheels:
            targets = targets_of_wheel(wheel.name)
            key = tuple(target.triple for target in targets)
            if key not in made:
                with ProcessPoolExecutor() as processes:
                    packs = processes.map(partial(make_pack, later_of=later_of), targets)
                    made[key] = dict(zip([t.name for t in targets], packs, strict=True))
            new = add_to_wheel(wheel, given.to, made[key])
            print(f"{hashlib.sha256(new.read_bytes()).hexdigest()}  {new}  {new.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

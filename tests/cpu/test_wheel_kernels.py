"""Kernels that come with the package (runtime/wheel_kernels.py), and what makes them (tools/build_wheel_kernels.py)."""

import base64
import hashlib
import os
import random
import struct
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ogive
from ogive.backends.link import IMPORTS, Image
from ogive.backends.target import TARGETS, host_target
from ogive.common.contracts import CONTRACTS
from ogive.engine import computation
from ogive.errors import MissingPackageError, OgiveError
from ogive.runtime import kernels, wheel_kernels
from ogive.runtime.engine_files import engine_files
from tools import build_wheel_kernels

X = np.float32([-2.0, 0.5, 3.0])


def formulas():
    """A pack of two operators; the second's results are repaired."""
    return [
        op.computation(signature, **op.constants(signature, op.checked_parameters({})))
        for op in (ogive.relu, ogive.celu)
        for signature in op.signatures
        if signature.inputs[0].name == "float32"
    ]


def levels(formula):
    """The identities of its kernels, from the first level on."""
    first = kernels.first_level(formula.program, host_target())
    later = (kernels.identity_of_level(formula.identity, place) for place in range(1, len(first.later) + 1))
    return [formula.identity, *later]


@pytest.fixture(scope="module")
def made():
    return build_wheel_kernels.make_pack(host_target(), formulas())


@pytest.fixture
def installed(tmp_path, monkeypatch, made):
    """A package folder with the pack, as the pack's reader sees it."""
    monkeypatch.delenv("OGIVE_PACKS", raising=False)
    (tmp_path / wheel_kernels.FOLDER).mkdir()
    file = tmp_path / wheel_kernels.FOLDER / f"{host_target().name}.pack"
    file.write_bytes(made)
    monkeypatch.setattr(wheel_kernels, "__file__", str(tmp_path / "runtime" / "wheel_kernels.py"))
    forget()
    yield file
    forget()


def forget():
    """Have the pack opened anew."""
    if wheel_kernels._opened.cache_info().currsize and (opened := wheel_kernels._opened(host_target().name)):
        opened.close()
    wheel_kernels._opened.cache_clear()


def load(formula):
    return wheel_kernels.load(formula.identity, host_target())


def test_a_kernel_of_the_pack_needs_no_compiler_and_no_cache(installed, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("it was compiled")

    monkeypatch.setattr(kernels, "kept_or_made", refuse)
    computation._kernels.clear()
    for op in (ogive.operator(ogive.celu.function), ogive.operator(ogive.relu.function)):
        assert np.array_equal(op(X), getattr(ogive, op.name)(X))


def test_a_kernel_comes_with_those_that_compute_its_results_again(installed):
    celu = next(f for f in formulas() if f.program.undecided is not None)
    identities = levels(celu)
    assert len(identities) == (3 if host_target().has_tables else 2)
    loaded = [wheel_kernels.load(identity, host_target()) for identity in identities]
    assert [note["later"] for note, _ in loaded] == [*reversed(range(len(loaded)))]
    assert len({image.code for _, image in loaded}) == len(loaded)


def test_what_is_not_in_the_pack(installed):
    assert load(ogive.mish.computation(ogive.mish.signatures[0])) is None
    assert wheel_kernels.load(formulas()[0].identity, TARGETS["aarch64"]) is None


def test_packs_can_be_switched_off(installed, monkeypatch):
    monkeypatch.setenv("OGIVE_PACKS", "off")
    assert load(formulas()[0]) is None


def test_the_same_sources_make_the_same_bytes(made):
    assert build_wheel_kernels.make_pack(host_target(), formulas()) == made


#: All bits, in place of a sample of those behind the index: some 15 minutes.
EVERY_BIT = os.environ.get("OGIVE_EVERY_BIT", "") == "1"


@pytest.mark.matrix(share=16, pool="slow")
def test_no_bit_of_a_pack_can_change_what_is_loaded(installed, made):
    """Each kernel is as it was, or it is not there and is compiled anew. Nothing is raised."""
    identities = [identity for formula in formulas() for identity in levels(formula)]
    expected = [wheel_kernels.load(identity, host_target()) for identity in identities]
    opened = wheel_kernels._opened(host_target().name)
    index = 8 * opened._begin
    behind = range(index, 8 * len(made))
    bits = [*range(index), *(behind if EVERY_BIT else random.Random(1).sample(behind, 1500))]
    missing = 0
    for bit in bits:
        data = bytearray(made)
        data[bit // 8] ^= 1 << bit % 8
        installed.write_bytes(data)
        forget()
        found = [wheel_kernels.load(identity, host_target()) for identity in identities]
        assert all(now is None or now == before for now, before in zip(found, expected, strict=True)), bit
        lost = [before is not None and now is None for now, before in zip(found, expected, strict=True)]
        assert bit >= index or all(lost), bit
        missing += sum(lost)
    assert len(bits) > 3500
    assert missing > len(identities) * index


@pytest.mark.parametrize("keep", [0, 1, 80, 100, 150, 300, 500, -3000, -1])
def test_a_pack_that_was_cut_off(installed, made, keep):
    expected = {formula.identity: load(formula) for formula in formulas()}
    forget()
    installed.write_bytes(made[:keep])
    for formula in formulas():
        assert load(formula) in (None, expected[formula.identity])
    assert keep < 0 or load(formulas()[0]) is None


def test_a_pack_whose_index_is_wrong_though_its_checksum_fits(installed, made):
    """The places lead out of the blocks: the digest of each kernel, and the blocks' own bounds, are asked as well."""
    at, size = wheel_kernels._HEAD.size + wheel_kernels._CHECKSUM_BYTES, wheel_kernels._PLACE.size
    count, blocks = struct.unpack_from("<II", made, wheel_kernels._HEAD.size - 8)
    places = at + count * wheel_kernels._KEY_BYTES
    for field in range(6):
        for value in (1, 7, 1 << 31, (1 << 32) - 1):
            data = bytearray(made)
            for row in range(count):
                struct.pack_into("<I", data, places + row * size + 4 * field, value)
            index = bytes(data[at : places + count * size + 4 * blocks])
            data[at - wheel_kernels._CHECKSUM_BYTES : at] = wheel_kernels._checksum(
                data[: wheel_kernels._HEAD.size] + index
            )
            installed.write_bytes(data)
            forget()
            found = [load(formula) for formula in formulas()]
            assert wheel_kernels._opened(host_target().name) is not None
            assert None in found


def test_damage_is_compiled_anew(installed, made, monkeypatch):
    compiled = []
    original = kernels.kept_or_made
    monkeypatch.setattr(kernels, "kept_or_made", lambda *a, **k: compiled.append(1) or original(*a, **k))
    data = bytearray(made)
    data[300] ^= 1
    installed.write_bytes(data)
    computation._kernels.clear()
    op = ogive.operator(ogive.celu.function)
    assert np.array_equal(op(X), ogive.celu(X))
    assert compiled


def test_a_pack_that_is_replaced_under_a_running_process(installed, made):
    """The index that was read belongs to the old file."""
    expected = load(formulas()[0])
    other = installed.with_suffix(".new")
    other.write_bytes(made[::-1])
    other.replace(installed)
    assert [load(formula) is not None for formula in formulas()] == [True, True]
    assert load(formulas()[0]) == expected


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors of POSIX")
@pytest.mark.parametrize("reused", [False, True])
def test_a_daemon_closes_all_descriptors(installed, tmp_path, reused):
    """The pack is opened anew, and whatever has its number now is left alone."""
    expected = load(formulas()[1])
    descriptor = wheel_kernels._opened(host_target().name)._descriptor
    os.close(descriptor)
    (tmp_path / "other").write_bytes(bytes(100_000))
    with (tmp_path / "other").open("rb") as other:
        assert other.fileno() == descriptor
        if not reused:
            other.close()
        assert load(formulas()[1]) == expected
        assert reused != other.closed


@pytest.mark.parametrize("at", [0, 60])  # what it is; the sizes of the engine's files
def test_a_pack_of_something_else_has_no_kernels(installed, made, at):
    data = bytearray(made)
    data[at] ^= 1
    installed.write_bytes(data)
    assert [load(formula) for formula in formulas()] == [None] * len(formulas())


def test_a_damaged_kernel_is_not_run(installed, monkeypatch):
    monkeypatch.setattr(wheel_kernels, "_BLOCK_BYTES", (1, 1))  # each image in a block of its own
    data = bytearray(build_wheel_kernels.make_pack(host_target(), formulas()))
    data[-1] ^= 1  # of the last kernel, which repairs
    installed.write_bytes(data)
    celu = next(f for f in formulas() if f.program.undecided is not None)
    assert load(celu) is not None
    assert wheel_kernels.load(levels(celu)[-1], host_target()) is None


def test_half_a_pack_has_no_kernels(installed, made):
    installed.write_bytes(made[:40])
    assert load(formulas()[0]) is None


def test_a_pack_of_other_sources_has_no_kernels(installed, made, monkeypatch):
    """Newer files of the same sizes are read: what is in them counts, not when they were written."""
    files = {name: Path(path) for name, path in engine_files().items()}
    copies = installed.parent.parent / "copies"
    for name, path in files.items():
        (copies / name).parent.mkdir(parents=True, exist_ok=True)
        (copies / name).write_bytes(path.read_bytes())
    monkeypatch.setattr(wheel_kernels, "engine_files", lambda: {name: str(copies / name) for name in files})
    monkeypatch.setattr(wheel_kernels, "_SECONDS_OF_INSTALLING", -1e9)
    assert load(formulas()[0]) is not None
    text = (copies / "backends" / "llvm.py").read_bytes()
    (copies / "backends" / "llvm.py").write_bytes(text[:-1] + b" ")
    forget()
    assert load(formulas()[0]) is None
    (copies / "backends" / "llvm.py").write_bytes(text + b" ")
    forget()
    assert load(formulas()[0]) is None


@pytest.mark.matrix(share=16, pool="slow")
def test_without_llvmlite_kernels_of_the_pack_compute_and_others_say_what_is_missing(tmp_path, made):
    package = tmp_path / "ogive"
    package.mkdir()
    for part in Path(ogive.__file__).parent.iterdir():
        if part.name != wheel_kernels.FOLDER:
            (package / part.name).symlink_to(part)
    # A package that asks for its own file finds the original.
    code = f"""
import sys
sys.modules.update(dict.fromkeys(["llvmlite", "mpmath", "click", "rich", "onnx", "platformdirs"]))
import numpy as np, ogive
from ogive.runtime import wheel_kernels
wheel_kernels.__file__ = {str(package / "runtime" / "wheel_kernels.py")!r}
print(ogive.celu(np.float32([-1, 2])).tolist())
try:
    ogive.mish(np.float32([1]))
except ogive.errors.MissingPackageError as error:
    print(error)
"""
    (package / wheel_kernels.FOLDER).mkdir()
    (package / wheel_kernels.FOLDER / f"{host_target().name}.pack").write_bytes(made)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert run.stdout.splitlines() == [
        "[-0.6321205496788025, 2.0]",
        (
            "llvmlite: kernels that did not come with Ogive (formulas of your own, fused models) need this package. "
            "Install it: pip install 'ogive[compile]'"
        ),
    ], run.stderr
    assert issubclass(MissingPackageError, ImportError)


@pytest.mark.parametrize(
    ("name", "targets", "triple"),
    [
        ("ogive-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", 3, "x86_64-unknown-linux-gnu"),
        ("ogive-1-cp311-cp311-macosx_11_0_arm64.whl", 1, "aarch64-unknown-linux-gnu"),
        ("ogive-1-cp311-cp311-win_amd64.whl", 3, "x86_64-pc-windows-msvc-elf"),
    ],
)
def test_the_targets_of_a_wheel(name, targets, triple):
    found = build_wheel_kernels.targets_of_wheel(name)
    assert (len(found), found[0].triple) == (targets, triple)


def test_a_wheel_of_no_known_processor():
    with pytest.raises(
        OgiveError,
        match=r"^build_wheel_kernels: the platform of a-1-py3-none-any.whl is any; allowed: one that ends in x86_64",
    ):
        build_wheel_kernels.targets_of_wheel("a-1-py3-none-any.whl")


def wheel(folder, change=b""):
    path = folder / "ogive-1-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, file in engine_files().items():
            archive.writestr(
                f"ogive/{name}", Path(file).read_bytes() + (change if name == "lowering/program.py" else b"")
            )
        archive.writestr("ogive-1.dist-info/RECORD", "")
    return path


@pytest.mark.matrix(share=16, pool="slow")
def test_packs_are_put_into_a_wheel(tmp_path):
    new = build_wheel_kernels.add_to_wheel(wheel(tmp_path), tmp_path / "dist", {"x86-64": b"kernels"})
    again = build_wheel_kernels.add_to_wheel(wheel(tmp_path), tmp_path / "again", {"x86-64": b"kernels"})
    assert new.read_bytes() == again.read_bytes()
    with zipfile.ZipFile(new) as archive:
        assert archive.read("ogive/kernels/x86-64.pack") == b"kernels"
        rows = archive.read("ogive-1.dist-info/RECORD").decode().splitlines()
        assert len(rows) == len(archive.namelist())
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"kernels").digest()).rstrip(b"=").decode()
    assert f"ogive/kernels/x86-64.pack,sha256={digest},7" in rows


def test_a_wheel_of_other_sources_is_refused(tmp_path):
    with pytest.raises(
        OgiveError, match=r"was built from other sources: lowering/program\.py\. Run this command with the sources"
    ):
        build_wheel_kernels.add_to_wheel(wheel(tmp_path, b"#"), tmp_path / "dist", {})


def test_the_catalogue_has_each_formula_once():
    identities = [formula.identity for formula in build_wheel_kernels.catalogue()]
    assert len(identities) == len(set(identities)) > 600


@pytest.mark.matrix(share=16, pool="slow")
def test_windows_makes_room_for_large_frames():
    """Its code calls a function of C where a frame is larger than a page; the loader fills in where that is."""
    repair = ogive.softmax.computation(ogive.softmax.signatures[0]).program.later[-1].make()
    windows = replace(TARGETS["x86-64"], only_triple="x86_64-pc-windows-msvc-elf")
    image = kernels.compiled(repair, windows)[1]
    assert IMPORTS.index("__chkstk") in {index for _, index in image.imports}


@pytest.mark.matrix(share=16, pool="slow")
def test_the_catalogue_has_every_public_operator():
    """A wheel has the kernels of `catalogue`: of every name of the package, under both contracts."""
    known = {formula.identity for formula in build_wheel_kernels.catalogue()}
    names = [name for name in ogive.__all__ if isinstance(getattr(ogive, name), ogive.Operator)]
    assert {"relu6", "hardtanh", "silu"} < set(names)
    for name in names:
        for contract in CONTRACTS:
            op = getattr(getattr(ogive, name), contract)
            for signature in op.signatures:
                assert computation.under(op.computation(signature), contract).identity in known, name


def test_later_kernels_are_left_out_that_no_input_needs():
    """For all numbers of bfloat16, the first kernel of tanh decides every one, and log needs all three."""
    tanh, log = (
        op.computation(next(s for s in op.signatures if s.inputs[0].name == "bfloat16"))
        for op in (ogive.tanh, ogive.log)
    )
    later_of = build_wheel_kernels.later_kernels([tanh, log])
    assert later_of == {tanh.identity: 0, log.identity: 2}
    assert [len(kernels.first_level(one.program, host_target()).later) for one in (tanh, log)] == [2, 2]
    packs = [build_wheel_kernels.make_pack(host_target(), [tanh], chosen) for chosen in (later_of, {})]
    assert len(packs[0]) < len(packs[1])


def test_kernels_that_are_alike_lie_together():
    generator = random.Random(1)
    families = [generator.randbytes(4000) for _ in range(3)]
    codes = [family + generator.randbytes(400) for _ in range(4) for family in families]
    kernels = [(str(i), "", Image(code, (0,))) for i, code in enumerate(codes)]
    ordered = build_wheel_kernels.by_likeness([*kernels, ("again", "", kernels[5][2])])
    assert [families.index(image.code[:4000]) for _, _, image in ordered] == [0] * 4 + [1] * 4 + [2] * 5
    assert {identity for identity, _, _ in ordered} == {*map(str, range(12)), "again"}
    assert build_wheel_kernels.by_likeness([("short", "", Image(b"", (0,)))])[0][0] == "short"

"""Files that `ogive judge --results` is given: right in whatever way NumPy wrote them, or refused with the file and the reason."""

import io
import json
import os
import re
import sys
import zipfile

import numpy as np
import pytest

from ogive.common.array_files import read_npy, read_npz, read_raw
from ogive.common.documents.document import read_document
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.errors import ModelError, OgiveError
from ogive.golden import vectors
from ogive.golden.formats import write
from ogive.judge.budget import load
from ogive.judge.judging import judge
from ogive.judge.reports import of_results


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    for kind in ("float32", "bfloat16", "int8"):
        write(vectors("relu", kind), "npz", folder)
    return folder


def right_of(made, kind):
    with np.load(made / f"relu-{kind}.npz") as archive:
        return archive["elements/expected"]


def judged(folder, made):
    return [judge(s, spec, inputs=inputs) for spec, s, inputs in of_results(folder, made)]


@pytest.mark.parametrize(("kind", "as_type"), [("float32", "<f4"), ("float32", ">f4"), ("float32", "=u4"), ("float32", ">u4"), ("bfloat16", "<u2"), ("bfloat16", ">u2"), ("int8", "|i1")])  # fmt: skip
def test_right_results_in_every_order_of_bytes(made, tmp_path, kind, as_type):
    right = right_of(made, kind)
    is_bits = np.dtype(as_type).kind == "u"
    result = right.view(f"u{right.itemsize}").astype(as_type) if is_bits else right.astype(as_type)
    np.save(tmp_path / f"relu-{kind}.npy", result)
    (found,) = judged(tmp_path, made)
    assert found.within_budget


@pytest.mark.parametrize("as_type", ["<i4", "<f8", "<f2", "<c8", "<U1", "?", "<M8[s]", "V4"])
def test_other_types_are_no_bits(made, tmp_path, as_type):
    np.save(tmp_path / "relu-float32.npy", np.zeros(right_of(made, "float32").shape, as_type))
    with pytest.raises(ModelError, match=r"relu-float32\.npy: its elements are of type .*; allowed: float32, or uint32 for its bits"):  # fmt: skip
        judged(tmp_path, made)


def test_results_that_saturate(made, tmp_path):
    """The judge looks where an implementation begins to saturate by further calls, which results alone cannot answer."""
    np.save(tmp_path / "relu-float32.npy", np.minimum(right_of(made, "float32"), np.float32(100)))
    (found,) = judged(tmp_path, made)
    assert not found.within_budget
    assert "saturation" in [cause.name for cause in found.causes]


def saved(save, *arrays, **named):
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


def damaged_results(right):
    npy, npz = saved(np.save, right), saved(np.savez_compressed, **{"elements/result": right})
    huge = npy.replace(b"(%d,)" % right.size, b"(9999999999999,)")
    yield from (
        (".npy", data) for data in (b"", npy[:9], npy[:-1], npy[:40] + b"\xff" + npy[41:], huge, b"\0" * 400, npz)
    )
    yield ".npy", npy.replace(b"<f4", b"|O8")
    yield from ((".npz", data) for data in (b"", npz[:60], npz[:-30], npz[:80] + b"\0\0\0\0" + npz[84:], npy))
    for inner in (huge, npy[:9], b"", npy.replace(b"<f4", b"|O8"), npy.replace(b"<f4", b"<f0")):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("elements/result.npy", inner)
        yield ".npz", file.getvalue()
    yield ".npz", saved(np.savez, other=right)
    yield ".bin", right.tobytes()[:-1]
    yield ".bin", b""


@pytest.mark.matrix(share=16, pool="slow")
def test_damaged_results(made, tmp_path):
    cases = list(damaged_results(right_of(made, "float32")))
    assert len(cases) > 15
    for end, data in cases:
        path = tmp_path / f"relu-float32{end}"
        path.write_bytes(data)
        with pytest.raises(ModelError, match=re.escape(str(tmp_path / "relu-float32"))):
            judged(tmp_path, made)
        path.unlink()


def changes(facts):
    for name in ("operator", "tensors", "parameters"):
        yield {k: v for k, v in facts.items() if k != name}
        yield from (
            {**facts, name: wrong} for wrong in (0, None, "x", [], "../x", True, -1.5, ["a"], {"x": "x"}, {"": {}})
        )
    yield from ([], 3, None, "x")


def test_damaged_manifests(made, tmp_path):
    facts = json.loads((made / "relu-float32.json").read_text())
    results, folder = tmp_path / "results", tmp_path / "vectors"
    results.mkdir()
    folder.mkdir()
    np.save(results / "relu-float32.npy", right_of(made, "float32"))
    (folder / "relu-float32.npz").write_bytes((made / "relu-float32.npz").read_bytes())
    path = folder / "relu-float32.json"
    texts = [json.dumps(one).encode() for one in changes(facts)]
    texts += [b"", b"{", b"\xff\xfe", b"[" * 5000, b'{"operator": 1e999}', b"{" * 10, b'{"operator": 1, "operator": 2}']
    for text in texts:
        path.write_bytes(text)
        if json_of(text) == {**facts, "parameters": {}}:
            continue
        with pytest.raises(OgiveError, match="relu-float32"):
            judged(results, folder)


def json_of(text):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_floats(path):
    return read_raw(path, ELEMENT_TYPES["float32"])


@pytest.mark.parametrize("read", [read_npy, read_npz, read_floats, read_document, load])
def test_what_is_no_regular_file(tmp_path, read):
    with pytest.raises(ModelError, match="it is not a regular file"):
        read(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelError, match="pipe: it is not a regular file"):
            read(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "x")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere a file with a hole takes space")
@pytest.mark.parametrize(("read", "most"), [(read_floats, 1 << 33), (read_document, 1 << 30), (load, 1 << 30)])
def test_files_that_are_too_large(tmp_path, read, most):
    path = tmp_path / "x"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(ModelError, match=rf"^\S*x: it has {1 << 40} bytes; allowed: up to {most}"):
        read(path)


def says_sizes(archive, size):
    """The archive, whose directory says that each member has so many bytes."""
    data, at = bytearray(archive), 0
    while (at := data.find(b"PK\x01\x02", at) + 1) > 0:
        data[at + 23 : at + 27] = size.to_bytes(4, "little")
    return bytes(data)


def test_an_archive_of_more_than_8_gib(tmp_path):
    """Two members of nearly 4 GiB each fit, as far as the directory says; three do not, and are refused before they are read."""
    for count in (2, 3):
        path = tmp_path / f"{count}.npz"
        np.savez_compressed(path, **{f"x{n}": np.zeros(8) for n in range(count)})
        path.write_bytes(says_sizes(path.read_bytes(), 0xFFFFFFFE))
    assert list(read_npz(tmp_path / "2.npz")) == ["x0", "x1"]
    with pytest.raises(ModelError, match="its arrays have 12884901882 bytes; allowed: up to 8589934592"):
        read_npz(tmp_path / "3.npz")


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 5000, "budgets: " + "[" * 5000])
def test_a_budget_that_is_nested_too_deeply(tmp_path, text):
    path = tmp_path / "budget.yml"
    path.write_text(text)
    with pytest.raises(ModelError, match="nested too deeply; allowed: two levels"):
        load(path)

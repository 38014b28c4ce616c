"""Golden data of sequences and optional values: ONNX's files, run by ONNX's own runner, ONNX Runtime and Ogive."""

import re

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test import BackendTest
from onnx.backend.test.case.test_case import TestCase as Case
from onnx.reference import ReferenceEvaluator

import ogive.onnx
import ogive.onnx.backend
from ogive.cli import _status
from ogive.errors import UnsupportedError
from ogive.golden.formats import write
from ogive.golden.onnx_operators import all_of_onnx, of_onnx
from ogive.golden.onnx_values import element_of, name_of_type, type_of
from ogive.golden.vectors import arrays_in, make
from ogive.onnx.data_types import type_of_proto

#: Every version and type of Identity whose values are no tensors.
CONTAINERS = [row for row in all_of_onnx() if any(not k.startswith("tensor(") for k in row.types.values())]


def test_there_are_all():
    assert len(CONTAINERS) == 285
    assert {row.operator for row in CONTAINERS} == {"Identity"}


@pytest.mark.parametrize("kind", ["seq(tensor(float))", "optional(tensor(string))", "optional(seq(tensor(bool)))"])
def test_types(kind):
    assert type_of_proto(type_of(kind)) == kind
    assert element_of(kind).text in kind


def test_names_and_what_has_no_elements():
    assert name_of_type("seq(tensor(string))") == "seq_text"
    assert element_of("map(string, tensor(float))") is None


def _read(path, kind):
    if kind.startswith("seq("):
        sequence = onnx.SequenceProto()
        sequence.ParseFromString(path.read_bytes())
        return numpy_helper.to_list(sequence)
    optional = onnx.OptionalProto()
    optional.ParseFromString(path.read_bytes())
    return numpy_helper.to_optional(optional)


def _same(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_same, a, b))
    if a.dtype == object or b.dtype == object:  # text
        return a.shape == b.shape and a.astype(str).tolist() == b.astype(str).tolist()
    return (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())


@pytest.mark.parametrize("row", CONTAINERS[::7], ids=lambda row: row.label)
def test_files_run_in_onnxruntime_the_reference_and_ogive(tmp_path, row):
    (kind,) = row.types.values()
    golden = make(of_onnx(*row))
    write(golden, "onnx", tmp_path)
    folder = tmp_path / golden.name
    model = onnx.load(folder / "model.onnx")
    onnx.checker.check_model(model)
    runners = {"ogive": ogive.onnx.load(model)}
    if row.version <= 23:
        reference = ReferenceEvaluator(model)
        runners["onnx"] = lambda x: reference.run(None, {"input": x})[0]
    if "complex" not in kind and row.version <= 21:
        ort = pytest.importorskip("onnxruntime", reason="the runner in question is ONNX Runtime")
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        runners["onnxruntime"] = lambda x: session.run(None, {"input": x})[0]
    written = [case for case in golden.cases if case.expected is not None]
    folders = sorted(folder.glob("test_data_set_*"))
    assert len(folders) == len(written) >= 3
    for data, case in zip(folders, written, strict=True):
        given, right = (_read(data / f"{part}_0.pb", kind) for part in ("input", "output"))
        assert _same(given, case.inputs[0])
        assert _same(right, case.expected)
        for name, run in runners.items():
            assert _same(run(given), right), name


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.filterwarnings("ignore::RuntimeWarning:onnx")
def test_onnx_own_runner(tmp_path):
    """It compares all that are no text: it asks words for their shape."""
    runner = BackendTest(ogive.onnx.backend, __name__)
    names = []
    for row in CONTAINERS:
        golden = make(of_onnx(*row))
        if "string" in "".join(row.types.values()):
            continue
        write(golden, "onnx", tmp_path)
        names.append(f"test_{golden.name}")
        folder = str(tmp_path / golden.name)
        case = Case(names[-1], golden.name, None, folder, None, None, "Node", rtol=0, atol=0)
        runner._add_model_test(case, "Node")
    tests = runner.test_cases["OnnxBackendNodeModelTest"]
    for name in names:
        getattr(tests(f"{name}_cpu"), f"{name}_cpu")()
    assert len(names) == 285 // 15 * 14


def test_a_value_that_is_not_there():
    golden = make(of_onnx("Identity", 16, {"V": "optional(tensor(float))"}))
    case = golden.cases[-1]
    assert (case.name, case.inputs, case.expected, case.elements) == ("no value", (None,), None, 0)
    assert arrays_in(case.expected) == []
    assert golden.specification.bind(None) is None
    assert golden.manifest["cases"][-1] == {"name": "no value", "shapes": [None], "elements": 0}


def test_other_formats_refuse(tmp_path):
    golden = make(of_onnx("Identity", 25, {"V": "seq(tensor(float))"}))
    for form in ("npz", "csv", "c", "dxdispatch", "webnn"):
        what = f"Identity: {form} has arrays, and its values are of type seq_float32; allowed: onnx"
        with pytest.raises(UnsupportedError, match=what):
            write(golden, form, tmp_path)


def test_digests_tell_values_apart():
    digests = {make(of_onnx(*row)).digest for row in CONTAINERS if row.version == 16}
    assert len(digests) == 45


def test_the_command(capsys, tmp_path):
    arguments = ["vectors", "Identity", "--standard", "onnx", "--format", "onnx", "--output", str(tmp_path)]
    assert _status([*arguments, "--type", "optional(seq(tensor(string)))"]) == 0
    assert "Identity-25-optional_seq_text: " in capsys.readouterr().out
    assert _status([*arguments, "--type", "seq(seq(tensor(float)))"]) == 2
    assert "Identity-25 has no type seq(seq(tensor(float))); allowed: tensor(float), " in capsys.readouterr().err
    assert _status(["vectors", "relu", "--type", "tensor(float)"]) == 2
    assert "--type is a type of ONNX; allowed: with --standard onnx" in capsys.readouterr().err
    assert _status(["vectors", "GELU", "--standard", "directml", "--type", "tensor(float)"]) == 2
    assert "allowed: with --standard onnx, and --dtype with directml" in capsys.readouterr().err


def test_arrays_in():
    x = np.zeros(3)
    assert [a is x for a in arrays_in([x, x])] == [True, True]


@pytest.mark.parametrize("batches", [0, 1])
def test_gathering_with_and_without_batches(batches):
    types = {"T": "tensor(float)", "tensor(int64)": "tensor(int64)"}
    ((_, (x, index), (found,)),) = of_onnx("GatherND", 13, types, {"batch_dims": batches}).calls(0)
    places = [(batch, *row) if batches else tuple(row) for batch, row in enumerate(index.tolist())]
    np.testing.assert_array_equal(found, [x[place] for place in places])


@pytest.mark.parametrize("mode", ["reflect", "edge"])
def test_attributes_change_results(mode):
    types = {"T": "tensor(float)"}
    _, inputs, (found,) = next(iter(of_onnx("Pad", 13, types, {"mode": mode}).calls(0)))
    top, left, bottom, right = inputs[1]
    np.testing.assert_array_equal(found, np.pad(inputs[0], ((top, bottom), (left, right)), mode))


def test_attributes_that_inputs_do_not_fit():
    specification = of_onnx("Concat", 13, {"T": "tensor(float)"}, {"axis": 0})
    words = "Concat: the inputs of its golden data have no result with the attributes {'axis': 0}; allowed: attributes that fit"
    with pytest.raises(UnsupportedError, match=re.escape(words)):
        list(specification.calls(0))

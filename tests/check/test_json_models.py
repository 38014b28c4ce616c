"""Checks of models in the JSON format of DxDispatch."""

import pytest
from onnx import save

import ogive.directml as dml
from ogive.check import check
from ogive.directml.data import FEATURE_LEVELS
from ogive.errors import ModelError
from tests.directml.standard import OPERATORS, make
from tests.dxdispatch.models import DELETE, MODEL, TENSOR, changed, written
from tests.dxdispatch.test_descs import abbreviated, members
from tests.onnx.models import text_model


def findings(folder, dispatchables, level="6_4"):
    model = {"resources": {}, "dispatchables": dispatchables, "commands": []}
    return check(written(folder, model), level).findings


@pytest.mark.parametrize("name", OPERATORS)
def test_the_lowest_level_is_the_one_whose_device_creates_the_operator(tmp_path, name):
    desc = make(name)

    def creates(level):
        try:
            dml.Device(level).CreateOperator(desc)
        except dml.DMLError:
            return False
        return True

    taking = [level for level in FEATURE_LEVELS if creates(level)]
    written_desc = {"type": name, "desc": members(desc, abbreviated)}
    for level in ("1_0", "3_0", "6_4"):
        (finding,) = findings(tmp_path, {"op": written_desc}, level)
        assert finding.place == "/dispatchables/op"
        assert finding.directml == name.removeprefix("DML_OPERATOR_")
        assert finding.lowest_level == taking[0]
        assert finding.verdict == ("taken" if level in taking else "refused")
        assert bool(finding.reasons) == (level not in taking)


def test_reasons_are_those_of_the_device(tmp_path):
    desc = {"type": "ACTIVATION_SHRINK", "InputTensor": TENSOR, "OutputTensor": TENSOR, "Bias": 0, "Threshold": 0}
    (finding,) = findings(tmp_path, {"s": desc}, "2_0")
    assert finding.verdict == "refused"
    assert "InputTensor.DimensionCount is 1; allowed: 4 to 5 at DML_FEATURE_LEVEL_2_0" in finding.reasons[0]


def test_graphs_came_later(tmp_path):
    tensor = {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 3]}
    relu = {"type": "ACTIVATION_RELU", "InputTensor": tensor, "OutputTensor": tensor}
    assert findings(tmp_path, {"r": relu}, "2_0")[0].verdict == "taken"
    (finding,) = findings(tmp_path, {"r": relu | {"dmlCompileType": "DmlCompileGraph"}}, "2_0")
    assert (finding.verdict, finding.lowest_level) == ("refused", "2_1")
    assert finding.reasons == ("CompileGraph was introduced in 2_1",)


def test_what_no_level_takes(tmp_path):
    relu = {"type": "ACTIVATION_RELU", "InputTensor": TENSOR, "OutputTensor": TENSOR}
    for member, value, text in (
        ("OutputTensor", TENSOR | {"Sizes": [4]}, "OutputTensor.Sizes is"),
        ("InputTensor", TENSOR | {"Sizes": [0]}, "sizes from 1 on"),
        ("InputTensor", TENSOR | {"Strides": [1, 1]}, "one stride for each size"),
    ):
        (finding,) = findings(tmp_path, {"r": relu | {member: value}})
        assert (finding.verdict, finding.lowest_level) == ("refused", None)
        assert text in finding.reasons[0]


@pytest.mark.parametrize("name", ["hlsl", "dmlSerializedGraph", "DML_OPERATOR_CONVOLUTION", "ELEMENT_WISE_AD"])
def test_what_is_outside_is_said_to_be(tmp_path, name):
    (finding,) = findings(tmp_path, {"op": {"type": name, "desc": {}}})
    assert finding[:5] == ("/dispatchables/op", name, None, "outside", None)
    assert "are not run" in finding.reasons[0] or "Ogive has no DirectML operator" in finding.reasons[0]
    assert ("Did you mean ELEMENT_WISE_ADD?" in finding.reasons[0]) == (name == "ELEMENT_WISE_AD")


def test_onnx_models_in_json_models(tmp_path):
    save(text_model("t (int32[2] x) => (int32[2] y) { y = Relu(x) }"), tmp_path / "relu.onnx")
    (finding,) = findings(tmp_path, {"m": {"type": "onnx", "sourcePath": "relu.onnx"}}, "1_0")
    assert finding.place == "/dispatchables/m: y"
    assert finding.verdict == "refused"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ((("dispatchables",), DELETE), "/: dispatchables is missing"),
        ((("dispatchables", "clip", "desc", "Min"), "x"), 'line .*/desc/Min: it is "x"'),
        ((("dispatchables", "clip", "desc", "Max"), DELETE), "line .*/desc: Max is missing"),
        ((("dispatchables", "clip", "dmlCompileType"), "?"), "line .*/clip/dmlCompileType"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path, change, text):
    with pytest.raises(ModelError, match=text):
        check(written(tmp_path, changed(change, model=MODEL)))

"""Checks of ONNX models, against the support tables."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, save

from ogive.catalog import OPERATORS
from ogive.check import check
from ogive.check.mapping import _TABLE, NO_OPERATOR, candidates, outside
from ogive.directml.data import FEATURE_LEVELS, OPERATOR_TYPES, facts
from ogive.errors import ModelError, OgiveError, ParameterError
from tests.onnx.models import text_model


@pytest.fixture
def checked(tmp_path):
    def run(text, level="6_4"):
        save(text if not isinstance(text, str) else text_model(text), tmp_path / "m.onnx")
        return check(tmp_path / "m.onnx", level)

    return run


def one_node(operator, kind, rank, opset=22, **attributes):
    """A model of one node that takes and returns a tensor of that type and rank."""
    shape = [2] * rank
    x = helper.make_tensor_value_info("x", kind, shape)
    y = helper.make_tensor_value_info("y", kind, shape)
    node = helper.make_node(operator, ["x"], ["y"], **attributes)
    graph = helper.make_graph([node], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


KINDS = {"FLOAT32": TensorProto.FLOAT, "FLOAT16": TensorProto.FLOAT16, "INT32": TensorProto.INT32}
UNARY = sorted(
    op.onnx
    for op in OPERATORS.values()
    if op.onnx
    and op.directml in OPERATOR_TYPES
    and len(facts(op.directml).inputs) == 1
    and not candidates(op.onnx, {}, is_two_dimensional=True)[1:]
)


@pytest.mark.parametrize("operator", UNARY)
def test_the_lowest_level_is_that_of_the_tables(checked, operator):
    """Found here by reading the tables from the other side: for each level, what it takes."""
    described = facts(candidates(operator, {})[0].directml)
    member, output = described.inputs[0].name, described.output.name
    same = [
        kind
        for kind in KINDS
        if kind in described.support[-1][2][member].types and kind in described.support[-1][2][output].types
    ]
    assert same or operator in ("IsInf", "IsNaN", "Not")
    for kind in same:
        for rank in (1, 4, 5, 8):
            report = checked(one_node(operator, KINDS[kind], rank), "1_0")
            (finding,) = report.findings
            taking = [
                name
                for _, name, row in described.support
                if all(kind in row[t].types and rank <= row[t].maximum_dimensions for t in (member, output))
            ]
            first = max(taking[0], described.introduced, key=list(FEATURE_LEVELS).index)
            assert finding.lowest_level == report.lowest_level == first
            assert finding.verdict == ("taken" if first == "1_0" else "refused")
            assert bool(finding.reasons) == (first != "1_0")


def test_there_are_many_unary_operators():
    assert len(UNARY) > 25


def test_reasons_name_the_member_what_it_is_and_what_is_allowed(checked):
    report = checked("t (int32[2] x) => (int32[2] y) { y = Shrink(x) }", "3_0")
    (finding,) = report.findings
    assert finding == ("y", "Shrink", "ACTIVATION_SHRINK", "refused", "5_1", finding.reasons)
    assert finding.reasons == (
        "InputTensor is INT32; allowed: FLOAT32, FLOAT16 at 3_0. 5_1 takes it",
        "OutputTensor is INT32; allowed: FLOAT32, FLOAT16 at 3_0. 5_1 takes it",
    )
    report = checked("t (float[1, 1, 1, 1, 1, 2] x) => (float[1, 1, 1, 1, 1, 2] y) { y = Relu(x) }", "2_0")
    assert report.findings[0].reasons[0] == "InputTensor has 6 dimensions; allowed: up to 5 at 2_0. 3_0 takes it"
    report = checked("t (float[2] x) => (float[2] y) { y = Gelu(x) }", "5_0")
    assert report.findings[0].reasons == ("ACTIVATION_GELU was introduced in 5_1",)
    assert report.refused == report.findings
    assert checked("t (float[2] x) => (float[2] y) { y = Gelu(x) }", "DML_FEATURE_LEVEL_5_1").refused == ()


def test_all_tensors_have_the_rank_of_the_result(checked):
    """Nothing is broadcast by itself: the scalar has as many dimensions as what it is added to."""
    text = "t (float[2,1,1,1,1,2] x, float w) => (float[2,1,1,1,1,2] y) { y = Add(x, w) }"
    assert [reason.split()[0] for reason in checked(text, "2_0").findings[0].reasons] == [
        "ATensor",
        "BTensor",
        "OutputTensor",
    ]


def test_truth_values_are_bytes(checked):
    report = checked("t (bool[2] x, bool[2] w) => (bool[2] y) { y = And(x, w) }")
    assert report.findings[0].verdict == "taken"
    text = "t (bool[2] c, int64[2] x, int64[2] w) => (int64[2] y) { y = Where(c, x, w) }"
    assert checked(text).findings[0].directml == "ELEMENT_WISE_IF"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("t (bfloat16[2] x) => (bfloat16[2] y) { y = Relu(x) }", "DirectML has no data type for BFLOAT16"),
        ("t (float[2, 0] x) => (float[2, 0] y) { y = Relu(x) }", "a size is 0; allowed: sizes from 1 on"),
        ("t (float[65536, 65536] x) => (float[65536, 65536] y) { y = Relu(x) }", "a tensor has 4294967296 elements"),
    ],
)
def test_what_no_level_takes(checked, text, reason):
    report = checked(text)
    assert report.lowest_level is None
    (finding,) = report.refused
    assert finding.lowest_level is None
    assert finding.reasons[0].startswith(reason)


def test_what_the_model_does_not_say_is_not_known(checked):
    report = checked("t (float x) => (float y) { a = com.example.Op(x) y = Relu(a) }")
    first, second = report.findings
    assert first[1:5] == ("com.example.Op", None, "outside", None)
    assert second.verdict == "unknown"
    assert second.reasons == ("the model does not say the type of InputTensor",)
    model = text_model("t (float[2] x) => (float[2] y) { y = Relu(x) }")
    for info in (*model.graph.input, *model.graph.output):
        info.type.tensor_type.ClearField("shape")
    assert checked(model).findings[0].reasons == ("the model does not say the rank of InputTensor, OutputTensor",)
    # A known fact is refused all the same.
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    assert checked(model).findings[0].verdict == "refused"


@pytest.mark.parametrize(
    ("body", "directml"),
    [
        ("Mod(x, x)", "ELEMENT_WISE_MODULUS_FLOOR"),
        ("Mod<fmod=1>(x, x)", "ELEMENT_WISE_MODULUS_TRUNCATE"),
        ("Gelu(x)", "ACTIVATION_GELU"),
        ('Gelu<approximate="tanh">(x)', None),
        ("Softmax(x)", "ACTIVATION_SOFTMAX1"),
        ("Max(x)", "ELEMENT_WISE_MAX"),
        ("Mean(x, x, x)", "ELEMENT_WISE_MEAN"),
        ("Sum(x, x, x)", "ELEMENT_WISE_ADD"),
        ("Tanh(x)", "ACTIVATION_TANH"),
        ("Neg(x)", "ELEMENT_WISE_NEGATE"),
        ("Identity(x)", "ELEMENT_WISE_IDENTITY"),
        ("Clip(x)", "ELEMENT_WISE_CLIP"),
        ("HardSwish(x)", "ACTIVATION_HARD_SWISH"),
        ("Transpose(x)", "ELEMENT_WISE_IDENTITY"),
        ("Cast<to=1>(x)", "CAST"),
        ("Mish(x)", None),
        ("MatMul(x, x)", "GEMM"),
        ("Reshape(x, x)", None),
    ],
)
def test_mapping(checked, body, directml):
    (finding,) = checked(f"t (float[2, 2] x) => (float[2, 2] y) {{ y = {body} }}").findings
    assert finding.directml == directml
    assert (finding.verdict == "taken") == (directml in OPERATOR_TYPES)


def test_older_operators_stand_in_where_they_can(checked):
    """ACTIVATION_SOFTMAX knows no axes: it takes the last one of what can be seen as a matrix."""
    text = "t (float[2, 3, 4, 5, 6, 7] x) => (float[2, 3, 4, 5, 6, 7] y) {{ y = Softmax{}(x) }}"
    assert checked(text.format(""), "1_0").findings[0][2:5] == ("ACTIVATION_SOFTMAX", "taken", "1_0")
    assert checked(text.format("<axis=5>"), "1_0").findings[0].verdict == "taken"
    (finding,) = checked(text.format("<axis=1>"), "5_0").findings
    assert finding[2:5] == ("ACTIVATION_SOFTMAX1", "refused", "5_1")
    assert checked(text.format(""), "5_1").findings[0].directml == "ACTIVATION_SOFTMAX1"
    # NEGATE is from 5_0; IDENTITY with a scale of -1 is older.
    negated = "t (float[2] x) => (float[2] y) { y = Neg(x) }"
    assert checked(negated, "4_0").findings[0][2:5] == ("ELEMENT_WISE_IDENTITY", "taken", "1_0")


def test_what_needs_no_operator(checked):
    text = "t (float[2, 2] x) => (float[4] y) { s = Constant<value_ints=[4]>() y = Reshape(x, s) }"
    report = checked(text, "1_0")
    assert [finding.verdict for finding in report.findings] == ["nothing", "nothing"]
    assert report.checked == report.refused == ()
    assert report.lowest_level is None


def test_shapes_are_inferred(checked):
    text = "t (float[2,1,1,1,1,2] x) => (float z) { a = Relu(x) b = Exp(a) z = ReduceSum<keepdims=0>(b) }"
    findings = checked(text, "2_0").findings
    assert [finding.verdict for finding in findings] == ["refused", "refused", "outside"]
    assert findings[2].directml == "REDUCE"


def test_graphs_in_attributes_are_checked(checked):
    x = helper.make_tensor_value_info("x", TensorProto.INT32, [2])
    y = helper.make_tensor_value_info("y", TensorProto.INT32, [2])
    c = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    branch = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "b", [], [y])
    node = helper.make_node("If", ["c"], ["z"], name="choice", then_branch=branch, else_branch=branch)
    z = helper.make_tensor_value_info("z", TensorProto.INT32, [2])
    model = helper.make_model(helper.make_graph([node], "g", [c, x], [z]), opset_imports=[helper.make_opsetid("", 14)])
    report = checked(model, "1_0")
    assert sorted(finding.place for finding in report.findings) == [
        "choice",
        "choice/else_branch/y",
        "choice/then_branch/y",
    ]
    assert len(report.refused) == 2


def test_names_of_the_tables_are_directml_s():
    """Every operator that the table maps to is either in the data or reported as outside of it."""
    assert len(_TABLE) > 15
    for row in _TABLE:
        attributes = dict(row.when)
        names = [candidate.directml for candidate in candidates(row.onnx, attributes)]
        assert names or outside(row.onnx)
        assert row.onnx not in NO_OPERATOR


def test_every_operator_of_both_standards_is_mapped():
    both = [op for op in OPERATORS.values() if op.onnx and op.directml in OPERATOR_TYPES]
    assert len(both) > 50
    for op in both:
        assert candidates(op.onnx, {}), op.onnx


def test_wrong_calls(tmp_path):
    with pytest.raises(ParameterError, match=r"feature_level is '7_0'; allowed: 1_0, .*6_4"):
        check(tmp_path / "m.onnx", "7_0")
    with pytest.raises(FileNotFoundError):
        check(tmp_path / "m.onnx")
    (tmp_path / "m.onnx").write_bytes(b"no model at all")
    with pytest.raises(ModelError, match=r"m\.onnx"):
        check(tmp_path / "m.onnx")


DATA = text_model(
    "t (float[2, 2] x) => (float[2, 2] y) { a = Softmax(x) b = Mod<fmod=1>(a, x) y = Clip(b) }"
).SerializeToString()


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, len(DATA) - 1), piece=st.binary(max_size=4), removed=st.integers(0, 4))
def test_any_bytes_are_checked_or_refused(tmp_path, position, piece, removed):
    file = tmp_path / "m.onnx"
    file.write_bytes(DATA[:position] + piece + DATA[position + removed :])
    try:
        report = check(file, "1_0")
    except OgiveError:
        return
    assert all(np.isin(finding.lowest_level, [None, *FEATURE_LEVELS]) for finding in report.findings)


def test_what_only_computes_sizes_is_nothing_to_run(checked):
    """Runtimes compute sizes on the processor: int64 there is refused by no device."""
    report = checked(
        """t (float[N, 4] x, int64[1] k) => (float[M, 2] y, float[N, 4] z, int64[1] s) {
            shape = Shape(x)
            first = Constant <value_ints = [0]> ()
            size = Gather(shape, first)
            two = Constant <value_ints = [2]> ()
            double = Mul(size, two)
            half = Div(double, two)
            sizes = Concat <axis = 0> (double, two)
            y = Reshape(x, sizes)
            e = Expand(x, shape)
            z = Slice(e, first, half)
            s = Sub(k, two)
        }""",
        "3_0",
    )
    verdicts = {finding.place: (finding.verdict, finding.reasons[:1]) for finding in report.findings}
    for place in ("size", "double", "half", "sizes"):
        assert verdicts[place] == ("nothing", ("it only computes sizes",))
    assert verdicts["e"][0] == "taken"
    assert verdicts["s"][0] == "refused"  # an output, so data
    assert verdicts["z"][0] == "outside"


def test_data_that_a_size_reads_too_is_data(checked):
    """A tensor that another node, an output or a body reads is computed on the device."""
    report = checked(
        """t (int64[2] s, float[4] x, bool c) => (float[A, B] y, int64[2] z, float[C] w) {
            d = Div(s, s)
            y = Reshape(x, d)
            z = Identity(d)
            f = Div(s, s)
            v = Reshape(x, f)
            w = If (c) <then_branch = t () => (float[C] p) { q = Cast <to = 1> (f) p = Identity(q) },
                        else_branch = e () => (float[C] p) { p = Flatten(v) }>
        }""",
        "3_0",
    )
    verdicts = {finding.place: finding.verdict for finding in report.findings}
    assert verdicts["d"] == verdicts["f"] == "refused"


def test_the_order_of_sizes_makes_no_difference(checked):
    report = checked("t (float[4] x, int64[2] s) => (float[A, B] y) { d = Neg(s) e = Neg(d) y = Reshape(x, e) }", "3_0")
    assert [finding.verdict for finding in report.findings] == ["nothing"] * 3

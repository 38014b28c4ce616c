"""Every desc, enumeration, field order, value and default agrees with the data."""

import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ogive.directml as dml
from ogive.directml.data import out_of_scope
from ogive.errors import MissingNameError, UnsupportedError
from tests.directml.standard import (
    ACTIVATIONS,
    CONVERSION,
    ELEMENTWISE,
    FOLDER,
    LEVELS,
    OPERATORS,
    TYPES,
    attributes,
    desc_class,
    make,
    tensors,
)

# ---- enumerations


def test_data_types():
    assert len(TYPES) == 13
    for row in ACTIVATIONS["_tensor_data_types"]:
        assert getattr(dml, row["name"]) == row["value"]
        assert dml.DML_TENSOR_DATA_TYPE(row["value"]).name == row["name"]
    assert len(dml.DML_TENSOR_DATA_TYPE) == len(ACTIVATIONS["_tensor_data_types"])


def test_feature_levels():
    assert len(LEVELS) == 15
    for row in ACTIVATIONS["_feature_levels"]:
        assert getattr(dml, row["enum"]) == int(row["enum_value"], 16)
    assert len(dml.DML_FEATURE_LEVEL) == len(LEVELS)


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_types(name):
    value = OPERATORS[name].get("enum_value") or ACTIVATIONS["_operator_type_values"][name]
    assert getattr(dml, name) == value
    assert dml.DML_OPERATOR_TYPE(value).name == name


#: The enums that api-model lists besides: names in the header's spelling, with their values.
OTHERS = {
    "DML_TENSOR_TYPE": {"DML_TENSOR_TYPE_INVALID": 0, "DML_TENSOR_TYPE_BUFFER": 1},
    "DML_TENSOR_FLAGS": {"DML_TENSOR_FLAG_NONE": 0, "DML_TENSOR_FLAG_OWNED_BY_DML": 1},
    "DML_EXECUTION_FLAGS": {
        "DML_EXECUTION_FLAG_NONE": 0,
        "DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION": 1,
        "DML_EXECUTION_FLAG_DISABLE_META_COMMANDS": 2,
        "DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE": 4,
    },
    "DML_CREATE_DEVICE_FLAGS": {"DML_CREATE_DEVICE_FLAG_NONE": 0, "DML_CREATE_DEVICE_FLAG_DEBUG": 1},
    "DML_BINDING_TYPE": {"DML_BINDING_TYPE_NONE": 0, "DML_BINDING_TYPE_BUFFER": 1, "DML_BINDING_TYPE_BUFFER_ARRAY": 2},
    "DML_FEATURE": {"DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT": 0, "DML_FEATURE_FEATURE_LEVELS": 1},
    "DML_GRAPH_NODE_TYPE": {
        "DML_GRAPH_NODE_TYPE_INVALID": 0,
        "DML_GRAPH_NODE_TYPE_OPERATOR": 1,
        "DML_GRAPH_NODE_TYPE_CONSTANT": 2,
    },
    "DML_GRAPH_EDGE_TYPE": {
        "DML_GRAPH_EDGE_TYPE_INVALID": 0,
        "DML_GRAPH_EDGE_TYPE_INPUT": 1,
        "DML_GRAPH_EDGE_TYPE_OUTPUT": 2,
        "DML_GRAPH_EDGE_TYPE_INTERMEDIATE": 3,
    },
    "DML_ROUNDING_MODE": {
        "DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN": 0,
        "DML_ROUNDING_MODE_TOWARD_ZERO": 1,
        "DML_ROUNDING_MODE_TOWARD_INFINITY": 2,
    },
    "DML_IS_INFINITY_MODE": {
        "DML_IS_INFINITY_MODE_EITHER": 0,
        "DML_IS_INFINITY_MODE_POSITIVE": 1,
        "DML_IS_INFINITY_MODE_NEGATIVE": 2,
    },
    "DML_PADDING_MODE": {
        "DML_PADDING_MODE_CONSTANT": 0,
        "DML_PADDING_MODE_EDGE": 1,
        "DML_PADDING_MODE_REFLECTION": 2,
        "DML_PADDING_MODE_SYMMETRIC": 3,
        "DML_PADDING_MODE_WRAP": 4,
    },
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_enumerations(name):
    kind = getattr(dml, name)
    assert {member: int(kind[member]) for member in OTHERS[name]} == OTHERS[name]
    full = {member for member in kind.__members__ if member.startswith("DML_")}
    assert full == set(OTHERS[name])
    for member, value in OTHERS[name].items():
        assert getattr(dml, member) is kind(value)
        assert repr(kind(value)) == member


def test_short_names_are_aliases():
    assert dml.DML_TENSOR_DATA_TYPE.FLOAT32 is dml.DML_TENSOR_DATA_TYPE_FLOAT32
    assert dml.DML_FEATURE_LEVEL["5_1"] is dml.DML_FEATURE_LEVEL_5_1
    assert str(dml.DML_EXECUTION_FLAGS(6)).count("|") == 1


def test_constants():
    assert dml.DML_TENSOR_DIMENSION_COUNT_MAX == 5
    assert dml.DML_TENSOR_DIMENSION_COUNT_MAX1 == 8
    assert dml.DML_TEMPORARY_BUFFER_ALIGNMENT == dml.DML_PERSISTENT_BUFFER_ALIGNMENT == 256
    assert dml.DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT == 16


# ---- descs


@pytest.mark.parametrize("name", OPERATORS)
def test_members_and_defaults(name):
    row, kind = OPERATORS[name], desc_class(name)
    assert kind.__name__ == row["struct"]
    assert list(kind.__match_args__) == [f["name"] for f in row["fields"]]
    desc = make(name)
    given = {t: getattr(desc, t) for t in tensors(name)} | attributes(name)
    made = kind(**given)
    for field in row["fields"]:
        value, default = getattr(made, field["name"]), field["typical_default"]
        if field["name"] in given:
            assert value == given[field["name"]]
        elif field["type"] == "FLOAT":
            assert value == float(np.float32(default))
        elif field["name"] == "AxisCount":
            assert value == len(given["Axes"])
        elif field["optional"]:
            assert value is None
        elif default == "OutputTensor.DataType":
            assert value == desc.output.DataType
        else:
            assert value is getattr(dml, default)
    assert made.Type is getattr(dml, name)


@pytest.mark.parametrize("name", OPERATORS)
def test_construction_by_position_and_keyword(name):
    desc = make(name)
    names = [f["name"] for f in OPERATORS[name]["fields"]]
    values = [getattr(desc, n) for n in names]
    kind = type(desc)
    assert kind(*values) == desc == kind(**dict(zip(names, values, strict=True)))
    assert hash(kind(*values)) == hash(desc)
    assert pickle.loads(pickle.dumps(desc)) == desc == copy.deepcopy(desc)
    for member in names:
        assert f"{member}=" in repr(desc) or getattr(desc, member) is None
    with pytest.raises(
        dml.DMLError, match=f"{kind.__name__}: {len(names) + 1} values were given; allowed: .*{names[0]}"
    ):
        kind(*values, 1)
    with pytest.raises(dml.DMLError, match=f"{kind.__name__}: there is no member Gain; allowed: "):
        kind(*values, Gain=1)
    with pytest.raises(dml.DMLError, match=f"{names[0]} was given twice"):
        kind(*values, **{names[0]: values[0]})
    with pytest.raises(dml.DMLError, match=f"{names[0]} is missing; allowed: DML_TENSOR_DESC {names[0]}"):
        kind()
    with pytest.raises(AttributeError, match=r"cannot be set. Use replace\("):
        setattr(desc, names[0], None)


def test_descs_differ_by_value_and_by_type():
    shrink = make("DML_OPERATOR_ACTIVATION_SHRINK")
    assert shrink != shrink.replace(Bias=1.0)
    assert shrink.replace(Bias=1.0).replace(Bias=0.0) == shrink
    assert make("DML_OPERATOR_ACTIVATION_RELU") != make("DML_OPERATOR_ACTIVATION_TANH")


def test_a_readable_repr_that_makes_the_desc_again():
    desc = make("DML_OPERATOR_ACTIVATION_SHRINK", Bias=0.1)
    x = "DML_BUFFER_TENSOR_DESC(DataType=DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=(3,))"
    text = f"DML_ACTIVATION_SHRINK_OPERATOR_DESC(InputTensor={x}, OutputTensor={x}, Bias=0.1, Threshold=0.5)"
    assert repr(desc) == text
    scope = {name: getattr(dml, name) for name in dml.__all__}
    assert eval(text, scope) == desc


FLOATS = [(n, f["name"]) for n, r in OPERATORS.items() for f in r["fields"] if f["type"] == "FLOAT"]


@pytest.mark.parametrize(("name", "member"), FLOATS)
def test_floats_are_float32(name, member):
    for value in (0.1, 1 / 3, 16777217, np.float64(0.7), np.float32(0.7), np.int8(3)):
        assert getattr(make(name, **{member: value}), member) == float(np.float32(value))
    for value in ("1", None, b"1", True, np.ones(1), 1j, [1.0]):
        with pytest.raises(dml.DMLError, match=rf"{member} is .*; allowed: a number \("):
            make(name, **{member: value})
    for value in (1e39, -(10**40), 10**400):
        with pytest.raises(dml.DMLError, match="allowed: magnitudes that float32 can hold"):
            make(name, **{member: value})


def test_members_of_other_types():
    relu, tensor = dml.DML_ACTIVATION_RELU_OPERATOR_DESC, make("DML_OPERATOR_ACTIVATION_RELU").InputTensor
    wrapped = dml.DML_TENSOR_DESC(dml.DML_TENSOR_TYPE_BUFFER, tensor)
    assert relu(wrapped, wrapped) == relu(tensor, tensor)
    with pytest.raises(
        dml.DMLError, match="DML_TENSOR_DESC: Type is DML_TENSOR_TYPE_INVALID; allowed: DML_TENSOR_TYPE_BUF"
    ):
        dml.DML_TENSOR_DESC(dml.DML_TENSOR_TYPE_INVALID, tensor)
    with pytest.raises(dml.DMLError, match="InputTensor is 3; allowed: DML_BUFFER_TENSOR_DESC"):
        relu(3, tensor)
    softmax = "DML_OPERATOR_ACTIVATION_SOFTMAX1"
    assert make(softmax, Axes=np.array([1, 0])).Axes == (1, 0)
    for axes in (3, "01", None, {0: 1}, iter([0]), [[0]], [0.0], [-1], [2**32], [True], np.zeros((1, 1), int)):
        with pytest.raises(
            dml.DMLError, match=r"Axes(\[0\])? is .*; allowed: (a sequence of whole numbers|whole numbers)"
        ):
            make(softmax, Axes=axes)
    rounding = "DML_OPERATOR_ELEMENT_WISE_ROUND"
    assert make(rounding, RoundingMode=2).RoundingMode is dml.DML_ROUNDING_MODE_TOWARD_INFINITY
    for mode in (3, -1, True, "TOWARD_ZERO", dml.DML_TENSOR_TYPE_BUFFER, 1.0):
        with pytest.raises(
            dml.DMLError, match="RoundingMode is .*; allowed: DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN, "
        ):
            make(rounding, RoundingMode=mode)
    with pytest.raises(dml.DMLError, match="ScaleBias is 2; allowed: DML_SCALE_BIAS"):
        make("DML_OPERATOR_ELEMENT_WISE_EXP", ScaleBias=2)
    with pytest.raises(dml.DMLError, match="Min is 1; allowed: a DML_SCALAR_UNION"):
        make("DML_OPERATOR_ELEMENT_WISE_CLIP1", Min=1)


def test_operator_descs():
    relu = make("DML_OPERATOR_ACTIVATION_RELU")
    wrapped = dml.DML_OPERATOR_DESC(dml.DML_OPERATOR_ACTIVATION_RELU, relu)
    assert wrapped.Desc is relu
    with pytest.raises(
        dml.DMLError, match="Type is DML_OPERATOR_ACTIVATION_TANH for a DML_ACTIVATION_RELU_OPERATOR_DESC"
    ):
        dml.DML_OPERATOR_DESC(dml.DML_OPERATOR_ACTIVATION_TANH, relu)
    fused = make("DML_OPERATOR_ELEMENT_WISE_ADD1", FusedActivation=wrapped)
    assert fused == make("DML_OPERATOR_ELEMENT_WISE_ADD1", FusedActivation=relu)


# ---- documents


@pytest.mark.parametrize("name", OPERATORS)
def test_docstrings_state_the_facts(name):
    row, doc = OPERATORS[name], inspect.getdoc(desc_class(name))
    for fact in (
        row["formula"],
        row["source"],
        f"Introduced in DML_FEATURE_LEVEL_{row['introduced']}",
        *row["constraints"],
    ):
        assert fact in doc
    for support in row["support"]:
        for tensor, entry in support["tensors"].items():
            dimensions = f"{entry['min_dims']} to {entry['max_dims']} dimensions"
            assert f"From {support['feature_level']} on, {tensor}: {dimensions}; {', '.join(entry['types'])}." in doc
    in_place = next(line for line in doc.splitlines() if line.startswith("In place: "))
    assert (in_place == "In place: no.") == (not row["in_place"])
    for field in row["fields"]:
        assert f"{field['name']} ({field['kind']}): {field['type']}" in doc


def test_conflicts_are_decided():
    """Whatever a note calls a conflict has a decision, in the docstring and in the guide."""
    from ogive.directml.data import DECISIONS

    guide = (Path(__file__).parents[2] / "docs" / "tables" / "directml.md").read_text(encoding="utf-8")
    conflicts = [name for name, row in OPERATORS.items() if any("conflict" in n.lower() for n in row.get("notes", ()))]
    assert len(conflicts) >= 6
    for name in conflicts:
        assert DECISIONS.get(name.removeprefix("DML_OPERATOR_")), name
    for short, rows in DECISIONS.items():
        assert not short or f"DML_OPERATOR_{short}" in OPERATORS
        for decision in rows:
            assert f"| {decision.question} | {decision.holds} |" in guide, decision
            if short:
                assert decision.holds in inspect.getdoc(desc_class(f"DML_OPERATOR_{short}"))


@pytest.mark.parametrize("name", dml.__all__)
def test_everything_exported_is_there_and_documented(name):
    thing = getattr(dml, name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert inspect.getdoc(thing), name


def test_all_and_dir_list_the_descs():
    names = set(dml.__all__)
    assert {row["struct"] for row in OPERATORS.values()} <= names
    assert set(OPERATORS) <= names
    assert names <= set(dir(dml))
    assert not hasattr(dml, "DML_GEMM_OPERATOR_DESC")
    assert not hasattr(dml, "no_such_name")
    assert not {"gemm", "convolution", "gru", "reduce"} & names  # they only raise
    assert hasattr(dml, "gemm")


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("DML_GEMM_OPERATOR_DESC", "dir(ogive.directml) lists them"),
        ("DML_OPERATOR_GEMM", "dir(ogive.directml) lists them"),
        ("DML_MATRIX_TRANSFORM_NONE", "dir(ogive.directml) lists them"),
        ("DML_OPERATOR_ACTIVATION_CELLU", "Did you mean DML_OPERATOR_ACTIVATION_CELU?"),
        ("DML_TENSOR_DATA_TYPE_FLOAT23", "Did you mean DML_TENSOR_DATA_TYPE_FLOAT32?"),
    ],
)
def test_names_of_directml_that_are_not_there(name, way_out):
    with pytest.raises(MissingNameError) as caught:
        getattr(dml, name)
    allowed = "the names of DirectML's activation and element-wise operators"
    assert str(caught.value) == f"ogive.directml: there is no {name}; allowed: {allowed}. {way_out}"
    assert isinstance(caught.value, AttributeError)
    assert isinstance(caught.value, UnsupportedError)
    assert not hasattr(dml, name)


@pytest.mark.matrix(share=16, pool="slow")
def test_asking_for_a_name_loads_no_builder():
    code = """
import sys, ogive.directml as dml
assert not hasattr(dml, "x") and not hasattr(dml, "builder_") and not hasattr(dml, "DML_GEMM_OPERATOR_DESC")
assert "gelu" not in dir(dml) and "activation_gelu" in dir(dml)
assert not [name for name in sys.modules if "builder" in name and name.startswith("ogive")]
dml.activation_gelu
from ogive.directml import descs, graph_plan  # modules of the package that are found by `import`
print(hasattr(dml, "TensorDataType"), dml.ReduceFunction.SUM, "ogive.directml.builder.operator_functions" in sys.modules)
"""
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (completed.stdout, completed.stderr) == ("True 10 True\n", "")


def test_no_name_is_that_of_a_module():
    """It would be the one or the other, depending on what was asked for first."""
    modules = {path.stem for path in Path(dml.__file__).parent.iterdir()}
    assert "tensor" in modules
    assert not modules & {*dml.__all__, *out_of_scope()}


def test_the_data_files_are_whole():
    assert {path.name for path in FOLDER.iterdir()} == {
        "activations.json",
        "elementwise.json",
        "conversion.json",
        "decisions.json",
        "python.json",
    }
    assert len([name for name in ACTIVATIONS if name.startswith("DML_")]) == 27
    assert len(ELEMENTWISE) == 65
    assert len(CONVERSION) == 3


def test_importing_the_package_reads_no_data():
    script = "import sys, ogive.directml; print([m for m in sys.modules if m.startswith('ogive.directml.')])"
    listed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert listed.strip() == "[]"


# ---- members that are structures or unions

#: Plain values that are no structure.
PLAIN = (0.5, 3, "1", True, [1.0], {"Scale": 1.0}, object())

#: The kind that a refusal says a member takes, by the type of the member.
WANTED = {
    "DML_TENSOR_DESC": "allowed: DML_BUFFER_TENSOR_DESC",
    "DML_SCALE_BIAS": "allowed: DML_SCALE_BIAS",
    "DML_SCALAR_UNION": "allowed: a DML_SCALAR_UNION, such as DML_SCALAR_UNION(Float32=1.0)",
    "DML_OPERATOR_DESC": "allowed: OperatorDesc",
}


def test_plain_values_are_refused_where_structures_are_wanted():
    tested = set()
    for name in OPERATORS:
        cls = desc_class(name)
        right = make(name)
        for member in cls.MEMBERS:
            if member.type not in WANTED:
                assert not member.type.endswith(("_DESC", "_UNION", "_BIAS", "_2D")), member
                continue
            tested.add(member.type)
            for value in PLAIN:
                with pytest.raises(dml.DMLError) as caught:
                    right.replace(**{member.name: value})
                assert caught.value.member == member.name
                assert str(caught.value).startswith(f"{cls.__name__}: {member.name} is "), str(caught.value)
                assert WANTED[member.type] in str(caught.value)
    assert tested == WANTED.keys()


@pytest.mark.matrix(share=16, pool="slow")
def test_a_plain_number_for_a_union_in_a_fresh_process():
    """The first structure of a process that is made knows all types of members."""
    code = (
        "import ogive.directml as dml\n"
        "tensor = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, [4])\n"
        "try:\n"
        "    dml.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(tensor, tensor, None, dml.DML_TENSOR_DATA_TYPE_FLOAT32, 0.0, 6.0)\n"
        "except dml.DMLError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC: Min is 0.0; allowed: a DML_SCALAR_UNION, such as "
        "DML_SCALAR_UNION(Float32=1.0) (E_INVALIDARG)\n"
    )

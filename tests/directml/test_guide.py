"""The guide names what exists, and shows the real message. Its programs are run by tests/meta/test_blocks.py."""

import re
from pathlib import Path

import pytest

import ogive.directml as dml

TEXT = (Path(__file__).parents[2] / "docs" / "directml.md").read_text(encoding="utf-8")
NAMES = set(re.findall(r"`dml\.(\w+)", TEXT)) | set(re.findall(r"\b(DML_[A-Z0-9_]+)\b", TEXT))
assert NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_names_in_the_guide_exist(name):
    assert hasattr(dml, name) or any(other.startswith(name) for other in dml.__all__), name


def test_the_message_in_the_guide_is_the_real_one():
    tensor = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_INT32, Sizes=[2, 3])
    with pytest.raises(dml.DMLError) as caught:
        dml.Device("3_0").CreateOperator(dml.DML_ACTIVATION_SHRINK_OPERATOR_DESC(tensor, tensor))
    shown = re.search(r"```text\n(.*?)\n```", TEXT, re.DOTALL)[1]
    assert shown.replace("\n", " ") == str(caught.value)

"""Numbers become those of ml_dtypes through ogive.common.conversion alone: NumPy rounds float64 twice on the way."""

import ast
from pathlib import Path

import pytest

import ogive

ROOT = Path(ogive.__file__).parent

#: The makers of inputs: any numbers do there.
INPUTS = {
    *(
        "laboratory/accuracy/measure.py",
        "laboratory/accuracy/misrounded.py",
        "golden/inputs.py",
        "golden/vectors.py",
        "golden/requests.py",
        "golden/whole_rules.py",
    ),
    "golden/normal_rules.py",
    *("judge/causes.py", "judge/judging.py"),  # candidates that round as others do
    "jax/array_functions.py",  # arrays of JAX, which XLA converts
}
FILES = [path for path in sorted(ROOT.rglob("*.py")) if path.name != "conversion.py"]


def names_an_element_type(node):
    """Whether this is `kind.numpy`, the dtype of one of Ogive's element types, or a type of ml_dtypes."""
    if isinstance(node, ast.Attribute):
        return node.attr == "numpy" or (isinstance(node.value, ast.Name) and node.value.id == "ml_dtypes")
    return (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(("bfloat", "float8"))
    )


def conversions(text):
    """The lines that convert by NumPy: x.astype(kind.numpy)."""
    for node in ast.walk(ast.parse(text)):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "astype"
        given = [*node.args, *(keyword.value for keyword in node.keywords)] if is_call else []
        if any(map(names_an_element_type, given)):
            yield node.lineno


def test_there_are_files():
    assert len(FILES) > 200
    assert all((ROOT / name).exists() for name in INPUTS)


@pytest.mark.matrix(share=16, pool="slow")
def test_conversions_go_through_one_function():
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        if "astype" in text and str(path.relative_to(ROOT)) not in INPUTS:
            lines = list(conversions(text))
            assert not lines, f"{path}: write converted(x, kind.numpy) of ogive.common.conversion in lines {lines}"


def test_what_is_found():
    assert list(conversions("x.astype(kind.numpy)\ny.astype(dtype=ml_dtypes.bfloat16)\nz.astype('bfloat16')")) == [
        1,
        2,
        3,
    ]
    assert not list(conversions("x.astype(np.float64)\nconverted(x, kind.numpy)"))

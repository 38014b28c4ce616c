"""The names of other libraries lead to operators that do what the library does."""

import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.catalog.aliases import ALIASES, Own
from ogive.catalog.other_names import OTHER_NAMES, WITHOUT, advice, called, names_of
from tools import operators_page
from tools.names_page import markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables" / "names.md"
X = np.array([-30.0, -6.5, -3.0, -1.0, -0.5, -0.3, -0.0, 0.0, 0.2, 0.5, 0.51, 1.0, 2.5, 3.0, 6.0, 8.0])


def test_the_document_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run: make pages"
    operators = PAGE.parents[1] / "operators" / "index.md"
    assert operators.read_text(encoding="utf-8") == operators_page.markdown(), "run: make pages"
    assert operators_page.markdown().count("\n| `") == len(OPERATORS) > 0


@pytest.mark.parametrize("name", ALIASES)
def test_aliases_name_operators(name):
    alias, found = ALIASES[name], getattr(ogive, name)
    base = OPERATORS[alias.operator]
    assert name not in OPERATORS
    assert name in dir(ogive)
    assert found is getattr(ogive, name)
    assert pickle.loads(pickle.dumps(found)) is found
    assert inspect.getdoc(found)
    if not alias.values:
        assert found is base
        return
    assert {p.name: p.default for p in found.parameters} == alias.parameters
    assert {value.name for value in alias.values.values() if isinstance(value, Own)} == set(alias.parameters)
    assert found.signatures == base.signatures
    assert f"Another name of `{base.name}`" in found.__doc__


@pytest.mark.parametrize("library", OTHER_NAMES)
def test_libraries_names_lead_to_operators(library):
    assert OTHER_NAMES[library]
    for name, theirs in OTHER_NAMES[library].items():
        ours = theirs if isinstance(theirs, str) else theirs[0]
        assert ours in OPERATORS or ours in ALIASES, (name, ours)
        assert ours in called(name)


def stated(name):
    """Whether a name of another library is answered: it is an operator's, or a table says what to do instead."""
    return bool(advice(name)) or name in dir(ogive)


def test_names_without_an_operator_are_no_names_of_operators():
    names = [name for listed in WITHOUT.values() for name in listed.split()]
    assert len(names) == len(set(names))
    assert not {name for name in names if called(name) or name in OPERATORS or name in ALIASES}
    assert advice("floor_divide") == "It works in formulas of your own: write NumPy's function of that name"
    assert advice("silu_and_more") == ""


#: The arguments that are added to NumPy's function so that a formula of one result takes it.
CALLS = {
    "divmod": lambda x, y: np.divmod(x, y)[1],
    "floor_divide": np.floor_divide,
    "modf": lambda x, y: np.modf(x)[0] + y,
    "nan_to_num": lambda x, y: np.nan_to_num(x, posinf=1.0, neginf=-1.0) + y,
    "signbit": lambda x, y: np.where(np.signbit(x), x, y),
}
IN_FORMULAS, IN_MODELS, IN_WEBNN = (
    next(names.split() for sentence, names in WITHOUT.items() if word in sentence)
    for word in ("NumPy", "ogive.onnx", "ogive.webnn")
)


@pytest.mark.parametrize("name", IN_FORMULAS)
def test_what_is_said_to_work_in_formulas_works_there(name):
    of_two = CALLS.get(name, lambda x, y: getattr(np, name)(x) + y)
    made = ogive.operator(lambda x, y: of_two(x, y))
    np.testing.assert_allclose(made(X, X[::-1] + 0.75), of_two(X, X[::-1] + 0.75), rtol=1e-13)


def test_what_is_said_to_work_in_models_and_graphs_is_there():
    from ogive.onnx.bodies import _MICROSOFT, _ONNX
    from ogive.onnx.composed import COMPOSED
    from ogive.onnx.node_support import supported
    from ogive.webnn.operator_table import OPERATORS as OF_WEBNN

    onnx = pytest.importorskip("onnx", reason="needs ONNX's schemas")
    functions = {
        schema.name
        for schema in onnx.defs.get_all_schemas()
        if schema.has_function or schema.has_context_dependent_function
    }
    known = {row.operator for row in supported()} | {*_ONNX, *_MICROSOFT, *COMPOSED} | functions
    assert not {name for name in IN_MODELS if name[0].isupper()} - known
    assert not {*IN_WEBNN} - {*OF_WEBNN}


def test_every_name_of_these_lists_is_answered():
    from ogive.webnn.operator_table import OPERATORS as OF_WEBNN
    from ogive.webnn.operator_table import OUT_OF_SCOPE

    of_numpy = {
        name for name in np.__all__ if isinstance(getattr(np, name), np.ufunc)
    }  # numexpr adds some to the module
    names = of_numpy | {*OF_WEBNN, *OUT_OF_SCOPE}
    assert of_numpy
    assert not {name for name in names if not stated(name)}


def test_every_activation_of_pytorch_is_answered():
    torch = pytest.importorskip("torch", reason="reads PyTorch's names")
    module = torch.nn.modules.activation
    names = {name for name in module.__all__ if not name.startswith("_")}
    assert len(names) > 25
    assert not {name for name in names if not stated(name)}


def test_every_name_of_jax_is_answered():
    jax = pytest.importorskip("jax", reason="reads JAX's names")
    others = {"initializers", "get_scaled_dot_general_config", "scaled_dot_general"}  # no functions of elements
    assert not {name for name in dir(jax.nn) if not name.startswith("_") and not stated(name)} - others


def test_names_of_an_operator():
    assert names_of("swish") == ("silu",)
    assert names_of("hard_swish") == ("hardSwish", "hard_silu", "hardswish")
    assert names_of("tan") == ()


@pytest.mark.matrix(share=16, pool="slow")
def test_numbers_of_aliases_are_exact():
    """1/6 is no float32, and in float64 it is not the float32 next to it."""
    expected = np.clip(X / 6 + 0.5, 0, 1)
    np.testing.assert_allclose(ogive.hardsigmoid(X), expected, rtol=2e-16, atol=1e-16)
    np.testing.assert_allclose(ogive.quick_gelu(X), X / (1 + np.exp(-1.702 * X)), rtol=1e-14)


def test_aliases_work_in_formulas():
    op = ogive.operator(lambda x: ogive.relu6(x) + ogive.hardtanh(x, min_val=-2.0, max_val=0.5))
    assert np.array_equal(op(X), np.clip(X, 0, 6) + np.clip(X, -2, 0.5))


def test_aliases_compute_integers():
    assert ogive.relu6(np.int8([-5, 3, 100])).tolist() == [0, 3, 6]
    assert ogive.softshrink(np.int16([-5, 0, 3]), lambd=2).tolist() == [-3, 0, 1]


OF_TORCH = (
    *("celu", "elu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "logsigmoid", "mish", "relu", "relu6"),
    *("selu", "sigmoid", "silu", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "leaky_relu", "gelu"),
)


@pytest.mark.parametrize("name", OF_TORCH)
def test_names_mean_what_they_mean_in_torch(name):
    torch = pytest.importorskip("torch", reason="compares with PyTorch")
    theirs = getattr(torch.nn.functional, name)(torch.from_numpy(X)).numpy()
    rtol = 1e-7 if name == "selu" else 1e-13  # its constants are float32's; torch's softplus is a line above 20
    np.testing.assert_allclose(getattr(ogive, name)(X), theirs, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("name", ["softmin", "softmax", "log_softmax"])
def test_rows_mean_what_they_mean_in_torch(name):
    torch = pytest.importorskip("torch", reason="compares with PyTorch")
    theirs = getattr(torch.nn.functional, name)(torch.from_numpy(X.reshape(4, 4)), dim=0).numpy()
    np.testing.assert_allclose(getattr(ogive, name)(X.reshape(4, 4), axis=0), theirs, rtol=1e-12)


@pytest.mark.matrix(share=16, pool="slow")
def test_logsumexp_means_what_it_means_elsewhere():
    rows, kept = X.reshape(4, 4), {"axis": 0, "keepdims": True}
    special = pytest.importorskip("scipy.special", reason="compares with SciPy")
    np.testing.assert_allclose(ogive.logsumexp(rows, axis=None), special.logsumexp(rows), rtol=1e-14)
    np.testing.assert_allclose(ogive.logsumexp(rows, **kept), special.logsumexp(rows, **kept), rtol=1e-14)
    torch = pytest.importorskip("torch", reason="compares with PyTorch")
    theirs = torch.logsumexp(torch.from_numpy(rows), 1).numpy()
    np.testing.assert_allclose(ogive.logsumexp(rows), theirs, rtol=1e-14)


@pytest.mark.parametrize(
    "name", ["sparse_plus", "sparse_sigmoid", "squareplus", "log_sigmoid", "hard_silu", "hard_tanh"]
)
def test_names_mean_what_they_mean_in_jax(name):
    jax = pytest.importorskip("jax", reason="compares with JAX")
    theirs = np.asarray(getattr(jax.nn, name)(X.astype(np.float32)))
    np.testing.assert_allclose(getattr(ogive, name)(X.astype(np.float32)), theirs, rtol=2e-6, atol=1e-6)


OF_SCIPY = {
    **dict.fromkeys(("expit", "logit", "ndtr", "erfinv"), np.linspace(0.01, 0.99, 99)),
    **dict.fromkeys(("log_expit", "log_ndtr", "erfc", "cbrt", "exp2", "expm1"), np.linspace(-20, 20, 99)),
    "log1p": np.linspace(-0.9, 20, 99),
}


@pytest.mark.parametrize("name", OF_SCIPY)
def test_names_mean_what_they_mean_in_scipy(name):
    special = pytest.importorskip("scipy.special", reason="compares with SciPy")
    x = OF_SCIPY[name]
    np.testing.assert_allclose(getattr(ogive, name)(x), getattr(special, name)(x), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["copysign", "hypot", "logaddexp"])
def test_names_of_two_mean_what_they_mean_in_numpy(name):
    a, b = np.meshgrid(X, X)
    np.testing.assert_allclose(getattr(ogive, name)(a, b), getattr(np, name)(a, b), rtol=1e-14)

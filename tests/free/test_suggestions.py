"""A misspelt name is answered with the one that is near to it, wherever names are looked up."""

import inspect

import numpy as np
import pytest

import ogive
import ogive.directml as dml
from ogive import errors
from ogive.errors import OgiveError, suggestion

X = np.float32([1, 2])


def tensor():
    return dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=[2])


def builder():
    from ogive.webnn import MLContext, MLGraphBuilder

    made = MLGraphBuilder(MLContext())
    return made, made.input("x", {"dataType": "float32", "shape": [2]})


def elu():
    made, x = builder()
    return made.elu(x, {"alhpa": 1})


WRONG = {
    "an operator": (lambda: ogive.sofmax, "module 'ogive' has no attribute 'sofmax'. Did you mean softmax?"),
    "another name": (lambda: ogive.sillu, "module 'ogive' has no attribute 'sillu'. Did you mean silu?"),
    "a part": (lambda: ogive.onx, "module 'ogive' has no attribute 'onx'. Did you mean onnx?"),
    "PyTorch's modules": (
        lambda: ogive.nn.gelu,
        (
            "module 'ogive' has no attribute 'nn'. "
            "Use ogive.torch.nn for PyTorch's modules, and ogive.torch for its functions"
        ),
    ),
    "PyTorch's functions": (
        lambda: ogive.functional.gelu,
        "module 'ogive' has no attribute 'functional'. Use ogive.torch for PyTorch's functions",
    ),
    "a parameter": (
        lambda: ogive.celu(X, alpah=2),
        (
            "celu: there is no parameter 'alpah'; allowed: alpha, out, where, casting, order, dtype, subok, signature. "
            "Did you mean alpha?"
        ),
    ),
    "another library's parameter": (
        lambda: ogive.leaky_relu(X, negative_slope=0.2),
        (
            "leaky_relu: there is no parameter 'negative_slope'; allowed: alpha, out, where, casting, order, dtype, subok, "
            "signature. Write alpha for the negative_slope of PyTorch"
        ),
    ),
    "another library's way to compute in place": (
        lambda: ogive.silu(X, inplace=True),
        (
            "swish: there is no parameter 'inplace'; allowed: alpha, out, where, casting, order, dtype, subok, signature. "
            "Write out=x to compute in place"
        ),
    ),
    "another library's name": (
        lambda: ogive.roundEven,
        "module 'ogive' has no attribute 'roundEven'. It is called round here",
    ),
    "a reduction": (
        lambda: ogive.max(X),
        "max: 1 argument was given by position; allowed: 2 tensors (a, b). Write max.reduce(a, axis=0) for one array",
    ),
    "a function of DirectML under the name of another library": (
        lambda: dml.silu,
        "module 'ogive.directml' has no attribute 'silu'. Did you mean activation_swish?",
    ),
    "a function of DirectML without its prefix": (
        lambda: dml.softmax,
        "module 'ogive.directml' has no attribute 'softmax'. Did you mean activation_softmax?",
    ),
    "elements of a row that must not count": (
        lambda: ogive.standardize(X, where=X > 0),
        (
            "standardize: where is not taken, because a row is computed as a whole. Give rows of what must count: "
            "standardize(x[mask])"
        ),
    ),
    "a name that no operator has": (
        lambda: ogive.matmul,
        (
            "module 'ogive' has no attribute 'matmul'. Ogive has no products of matrices, convolutions, pooling by windows, "
            "attention and networks with a state"
        ),
    ),
    "a pooling of everything": (
        lambda: ogive.global_average_pool,
        (
            "module 'ogive' has no attribute 'global_average_pool'. For one result a channel write "
            "average(x, axis=(2, 3), keepdims=True)"
        ),
    ),
    "a parameter that is bound": (
        lambda: ogive.celu.bind(alfa=0),
        (
            "celu: there is no parameter 'alfa'; allowed: alpha, out, where, casting, order, dtype, subok, signature. "
            "Did you mean alpha?"
        ),
    ),
    "an out of too short a type": (
        lambda: ogive.relu(X, out=np.empty(2, np.int8)),
        (
            "relu: out has dtype int8, which cannot take the result for float32; allowed: float16, float32, float64, bfloat16. "
            "Give casting='unsafe' to cut the result to any dtype"
        ),
    ),
    "the fast contract": (
        lambda: ogive.fast.sofmax,
        "ogive.fast: there is no operator 'sofmax'; allowed: the operators of the catalogue. Did you mean softmax?",
    ),
    "a name of another library": (
        lambda: ogive.fast.layer_norm,
        (
            "ogive.fast: there is no operator 'layer_norm'; allowed: the operators of the catalogue. "
            "It is called layer_normalization here"
        ),
    ),
    "golden data": (
        lambda: ogive.vectors("cellu"),
        "ogive.golden: there is no operator 'cellu'; allowed: the names of `ogive list`. Did you mean celu?",
    ),
    "a desc": (
        lambda: dml.DML_ACTIVATION_CELLU_OPERATOR_DESC,
        (
            "ogive.directml: there is no DML_ACTIVATION_CELLU_OPERATOR_DESC; allowed: the names of DirectML's activation and "
            "element-wise operators. Did you mean DML_ACTIVATION_CELU_OPERATOR_DESC?"
        ),
    ),
    "a function of the builder": (
        lambda: dml.activation_cellu,
        "module 'ogive.directml' has no attribute 'activation_cellu'. Did you mean activation_celu?",
    ),
    "a class": (lambda: dml.Divice, "module 'ogive.directml' has no attribute 'Divice'. Did you mean Device?"),
    "a member": (
        lambda: dml.DML_ACTIVATION_CELU_OPERATOR_DESC(InputTensor=tensor(), OutputTensor=tensor(), Alpah=1.5),
        (
            "DML_ACTIVATION_CELU_OPERATOR_DESC: there is no member Alpah; allowed: DML_TENSOR_DESC InputTensor; "
            "DML_TENSOR_DESC OutputTensor; FLOAT Alpha = 1.0. Did you mean Alpha? (E_INVALIDARG)"
        ),
    ),
    "a member that is required": (
        lambda: dml.DML_SCALE_BIAS(Scail=1.0, Bias=2.0),
        "DML_SCALE_BIAS: there is no member Scail; allowed: FLOAT Scale; FLOAT Bias. Did you mean Scale? (E_INVALIDARG)",
    ),
    "a method of WebNN": (
        lambda: builder()[0].softmaxx,
        "'MLGraphBuilder' object has no attribute 'softmaxx'. Did you mean softmax?",
    ),
    "an option of WebNN": (elu, "elu: there is no option 'alhpa'; allowed: label, alpha. Did you mean alpha?"),
    "a descriptor of WebNN": (
        lambda: builder()[0].input("y", {"datatype": "float32", "shape": [2]}),
        "input: the descriptor has a member 'datatype'; allowed: dataType, shape. Did you mean dataType?",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_the_near_name_is_said(what):
    call, expected = WRONG[what]
    with pytest.raises((OgiveError, AttributeError)) as error:
        call()
    assert str(error.value) == expected


@pytest.mark.parametrize("part", ["torch", "jax"])
def test_functions_of_frameworks(part):
    pytest.importorskip(part, reason=f"{part} is not installed")
    module = getattr(ogive, part)
    with pytest.raises(AttributeError) as error:
        module.sofmax  # noqa: B018
    assert str(error.value) == (
        f"ogive.{part}: there is no operator 'sofmax'; allowed: the operators of the catalogue. Did you mean softmax?"
    )


def test_functions_of_torch_say_what_parameters_are_called_here():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(OgiveError) as error:
        ogive.torch.softplus(torch.ones(2), beta=2.0)
    assert str(error.value) == (
        "softplus: there is no parameter 'beta'; allowed: steepness, out. Write steepness for the beta of PyTorch"
    )
    with pytest.raises(OgiveError, match=r"relu: there is no parameter 'inplace'; allowed: out\. Write out=x"):
        ogive.torch.relu(torch.ones(2), inplace=True)


def test_functions_of_torch_have_their_other_names():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.tensor([-1.0, 0.5, 9.0])
    assert ogive.torch.silu is ogive.torch.swish
    assert torch.equal(ogive.torch.relu6(x), torch.nn.functional.relu6(x))
    assert torch.equal(ogive.torch.fast.silu(x), ogive.torch.fast.swish(x))


@pytest.mark.matrix(share=16, pool="slow")
def test_functions_of_jax_have_their_other_names():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    x = jax.numpy.array([-1.0, 0.5, 9.0])
    assert (ogive.jax.relu6(x) == jax.nn.relu6(x)).all()
    assert (ogive.jax.silu(x) == ogive.jax.swish(x)).all()


def test_other_names_elsewhere():
    assert ogive.fast.silu is ogive.fast.swish
    assert ogive.golden.vectors("silu", "float16")


def test_names_far_from_all_get_no_suggestion():
    assert suggestion("zzzz", ["relu", "softmax"]) == ""
    with pytest.raises(AttributeError, match="^module 'ogive' has no attribute 'zzzzzz'$"):
        ogive.zzzzzz  # noqa: B018


# ---- the rest


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name[0].isupper() and name != "OgiveError"])
def test_every_error_is_also_a_builtin_error(name):
    kind = getattr(errors, name)
    assert issubclass(kind, errors.OgiveError)
    builtins = [base for base in kind.__mro__ if base.__module__ == "builtins"]
    assert builtins[0] is not Exception, f"{name} derives from no built-in that says more than Exception"
    assert inspect.getdoc(kind)


def test_message():
    assert errors.message("celu", "alpha is 0") == "celu: alpha is 0"
    full = errors.message("celu", "alpha is 0", "any number but 0", "Use relu instead")
    assert full == "celu: alpha is 0; allowed: any number but 0. Use relu instead"


def test_no_suggestion_is_the_name_that_was_given():
    """A name that is known, and not where it was asked for, is answered with another one or with the way out."""
    assert suggestion("relu", ["relu", "relu6"], "ask") == "Did you mean relu6?"
    assert suggestion("relu", ["relu", "tanh"], "ask") == "ask"

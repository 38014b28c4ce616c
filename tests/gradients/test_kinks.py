"""The tables of docs/tables/derivatives.md say what derivatives are at kinks: all of it is computed here, and in PyTorch."""

from pathlib import Path

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "tables" / "derivatives.md"


def rows():
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 5 and cells[0] in OPERATORS:
            point = {name: float(value) for name, value in (part.split(" = ") for part in cells[2].split(", "))}
            yield cells[0], cells[1], point, float(cells[3]), cells[4]


ROWS = [pytest.param(*row, id=f"{row[0]} {row[1]} {row[2]}") for row in rows()]

#: Operators whose formulas have a kink, or branches that meet smoothly.
BENT = {
    *("abs", "celu", "clamp", "clip", "elu", "gelu", "hard_sigmoid", "hard_swish", "leaky_relu", "max", "min", "mish"),
    *("parametric_hard_swish", "parametric_softplus", "prelu", "relu", "selu", "shrink", "sign", "softplus"),
    *("softsign", "swish", "swiglu", "threshold", "thresholded_relu", "floor", "ceil", "round", "mod"),
    *("modulus_floor", "modulus_truncate", "atan2", "pow", "relu_grad", "clamp_grad", "clip_grad"),
    *("fmax", "fmin", "heaviside"),
}


def test_every_operator_with_a_kink_is_in_the_tables():
    assert {row[0] for row in rows()} == BENT
    assert set(OPERATORS) >= BENT


@pytest.mark.matrix("name", share=3)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("name", "wrt", "point", "expected", "peer"), ROWS)
def test_the_derivative_is_as_documented(name, wrt, point, expected, peer, dtype):
    op = OPERATORS[name]
    kind = element_type(dtype).numpy
    for zero in (0.0, -0.0):  # a zero of either sign is the same point
        tensors = [np.array(point[tensor] or zero, kind) for tensor in op.tensors]
        parameters = {key: value for key, value in point.items() if key not in op.tensors}
        found = ogive.grad(op, wrt)(*tensors, **parameters)
        assert found.dtype == kind
        assert float(found) == float(np.array(expected, kind)), (name, wrt, point)
        beside = ogive.vjp(op, wrt)(*[np.array(1, kind)] * op.nout, *tensors, **parameters)
        assert float(beside) == float(np.array(expected, kind))


def peers():
    """By the name in the table and the operator: the function in PyTorch, and where its kink is for one of ours."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    nn = torch.nn.functional

    def clamp(x, min=None, max=None):  # noqa: A002
        return torch.clamp(x, min, max)

    return {
        "relu": lambda x: nn.relu(x),
        "leaky_relu": lambda x, alpha: nn.leaky_relu(x, alpha.item()),
        "prelu": lambda x, slope: nn.prelu(x.reshape(1), slope.reshape(1)).sum(),
        "threshold": lambda x, alpha: nn.threshold(x, alpha.item(), 0.0),
        "elu": lambda x, alpha: nn.elu(x, alpha.item()),
        "celu": lambda x, alpha: nn.celu(x, alpha.item()),
        "selu": lambda x, alpha, gamma: gamma.detach() * nn.elu(x, alpha.item()),
        "hardsigmoid": lambda x, alpha: nn.hardsigmoid(x * 1.5),
        "hardswish": lambda x, alpha=None: (
            nn.hardswish(x if alpha is None else x * 1.5) / (1 if alpha is None else 1.5)
        ),
        "hardshrink": lambda x: nn.hardshrink(x, 0.5),
        "softshrink": lambda x, bias: nn.softshrink(x, 0.5) * (1 + 0 * bias),
        "clamp": clamp,
        "abs": torch.abs,
        "maximum": lambda a, b: torch.maximum(a, b),
        "fmax": lambda a, b: torch.fmax(a, b),
        "fmin": lambda a, b: torch.fmin(a, b),
        "minimum": lambda a, b: torch.minimum(a, b),
        "sign": torch.sign,
        "floor": torch.floor,
        "ceil": torch.ceil,
        "round": torch.round,
        "remainder": lambda a, b: torch.remainder(a, b),
        "fmod": lambda a, b: torch.fmod(a, b),
        "atan2": lambda y, x: torch.atan2(y, x),
        "pow": lambda x, exponent: torch.pow(x, exponent),
        "softplus": lambda x, **parameters: nn.softplus(x),
        "gelu": nn.gelu,
        "mish": lambda x: nn.mish(x),
        "softsign": lambda x: nn.softsign(x),
        "silu": lambda x=None, a=None, b=None: nn.silu(x if a is None else a),
    }


@pytest.mark.parametrize(("name", "wrt", "point", "expected", "peer"), [row for row in ROWS if row.values[4] != "-"])
def test_the_derivative_is_that_of_pytorch(name, wrt, point, expected, peer):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    arguments = {key: torch.tensor(value, requires_grad=True) for key, value in point.items()}
    arguments.setdefault(wrt, torch.tensor(0.0, requires_grad=True))
    peers()[peer](**arguments).backward()
    assert arguments[wrt].grad.item() == pytest.approx(expected, abs=1e-7)


@pytest.mark.matrix(share=16, pool="slow")
def test_comparisons_in_formulas_of_ones_own_are_decided_from_the_left():
    f = ogive.formula
    for formula, expected in {
        "abs": (lambda x: abs(x), -1.0),
        "step": (lambda x: f.where(x < 0, x, 3 * x), 1.0),
        "maximum": (lambda x: f.maximum(2 * x, x), 1.0),
        "larger": (lambda x: f.larger(x, 2 * x), 1.0),
        "smaller": (lambda x: f.smaller(x, 2 * x), 2.0),
        "equal": (lambda x: f.where(x == 0, 0, x * x + x), 1.0),
        "smooth": (lambda x: f.where(x > 0, x, 0) + f.log1p(f.exp(-abs(x))), 0.5),
        "scaled": (lambda x: f.where(-2 * x < 0, 5 * x, 7 * x), 7.0),
    }.values():
        slope = ogive.grad(ogive.operator(formula))
        assert slope([0.0, -0.0]).tolist() == [expected, expected]


def test_the_order_of_slopes_is_asked_where_it_is_not_a_constant():
    f = ogive.formula
    slope = ogive.grad(ogive.operator(lambda x, *, k=1.0: f.where(k * x < 0, 5 * x, 7 * x)))
    assert (slope(0.0, k=2.0), slope(0.0, k=-2.0)) == (5.0, 7.0)


@pytest.mark.matrix(share=16, pool="slow")
def test_operands_that_are_nan():
    nan = float("nan")
    assert ogive.grad(ogive.relu)(nan) == 1
    assert ogive.grad(ogive.leaky_relu)(nan, alpha=0.25) == 0.25
    assert ogive.grad(ogive.clamp)(nan, min=-1, max=1) == 0
    for op in (ogive.celu, ogive.elu, ogive.gelu, ogive.mish, ogive.tanh, ogive.softplus, ogive.swish, ogive.softsign):
        assert np.isnan(ogive.grad(op)(nan)), op

"""No data are a cliff: of each family next to no element is left to enclosures. The times are those of benchmarks/cliffs.py."""

import math
from fractions import Fraction

import numpy as np
import pytest

import ogive
from benchmarks.cliffs import functions
from ogive.catalog import OPERATORS
from ogive.cli.deciding_levels import drawn, numbers_of, signature_of
from ogive.common.dtypes import element_type
from ogive.engine.computation import kernel_of

FUNCTIONS = functions()
COUNT = 2048
#: An enclosure takes 0.1 ms, and 50 ns an element are allowed.
MOST = COUNT // 500

#: One function for each kind of data that once was a cliff, in float32 and bfloat16.
ONCE = {
    "log((1 + exp(u)) / (1 + exp(v)))": ("softclip", "normal, width 1e4"),
    "exp(u) / (1 + exp(u))": ("sigmoid by quotient", "huge"),
    "tanh by exponentials": ("tanh by exponentials", "normal, width 1e4"),
    "exp(u) - 1": ("elu, formula", "subnormal"),
    "log((1 + u) / (1 - u))": ("Fisher's z", "subnormal"),
    "log(1 + u)": ("mu-law", "subnormal"),
    "log1p(exp(u))": ("mish, formula", "huge"),
    "u + sqrt(u * u + c)": ("squareplus, formula", "huge"),
    "a difference of roots": ("difference of roots", "huge"),
    "a quotient by a vast number": ("Planck", "huge"),
    "vast powers": ("vjp(pow)", "normal, width 1e4"),
    "comparisons that do not matter": ("grad(pow)", "huge"),
    "signs of underflowed numbers": ("grad(gelu)", "saturated"),
    "signs of underflowed sums": ("vjp(serf)", "huge"),
    "0/0": ("vjp(mod)", "one-hot"),
    "a number by zero": ("vjp(cbrt)", "one-hot"),
    "divided by zero": ("vjp(log10)", "one-hot"),
    "a comparison of what is exact here": ("vjp(hypot)", "one-hot"),
    "products of three beside ties": ("vjp(geglu)", "integers"),
    "and of a gate by exponentials": ("vjp(swiglu)", "integers"),
    "beside a product of factors": ("grad(swiglu)", "subnormal"),
    "zero factors": ("vjp(scaled_tanh)", "one-hot"),
    "products that are exact here and there": ("vjp(selu)", "integers"),
    "exact logarithms of exact quotients": ("Nernst", "integers"),
    "exact values at zero": ("vjp(gelu)", "integers"),
    "infinities that cancel": ("Langevin", "subnormal"),
    "next to zero a constant": ("third term of the exponential", "subnormal"),
    "the infinite by the huge": ("third term of the exponential", "huge"),
    "multiples of huge angles": ("radians of degrees", "huge"),
    "sums with huge angles": ("inverse Gudermannian", "huge"),
    "log((1 + u) / (1 + v))": ("divergence of two coins", "subnormal"),
    "whole powers": ("vjp(pow)", "integers"),
    "second derivatives that underflow": ("grad(grad(gelu))", "saturated"),
    "and those of gates by exponentials": ("grad(grad(mish))", "huge"),
    "and of two exponentials": ("grad(grad(logaddexp2))", "normal, width 1e4"),
    "and of powers with whole exponents": ("grad(grad(pow))", "integers"),
    "and of a gate inside an operator": ("grad(grad(clipped_gelu))", "normal, width 1e4"),
    "and of roots": ("grad(grad(squareplus))", "huge"),
    "and of quotients by expm1": ("grad(grad(log1mexp))", "normal, width 1e4"),
    "beside a product of parameters": ("parametric_softplus", "normal, width 1e4"),
    "beside a multiple of parameters": ("vjp(parametric_softplus)", "subnormal"),
}

#: The same in float64.
ONCE_IN_FLOAT64 = {
    "signs of underflowed products": ("glu", "normal, width 1e4"),
    "underflowed exponentials": ("Gumbel density", "normal, width 1e4"),
    "zeros that products become": ("vjp(star_relu)", "subnormal"),
    "zeros of exact sums": ("mean", "integers"),
    "divided by exact zeros": ("vjp(asin)", "integers"),
    "infinite squares": ("vjp(erfinv)", "integers"),
    "vast operands of exponentials": ("exp", "huge"),
    "what vanishes times a computed factor": ("grad(grad(gelu))", "normal, width 1e4"),
    "limits at infinities beside vast numbers": ("grad(grad(mish))", "huge"),
    "tails below all numbers": ("grad(log_ndtr)", "saturated"),
    "differences of vast exponents": ("grad(grad(log_ndtr))", "saturated"),
    "ties of two words times a parameter": ("huber_loss", "normal, width 10"),
    "infinite quotients by zero": ("vjp(rsqrt)", "one-hot"),
}


#: How many short calls go to a retry at once, after one that did (RETRIED_AT_ONCE in runtime/native/repair.c).
MOST_SKIPPED = 15


def check(name, family, dtype, asked):
    op = FUNCTIONS[name]()
    signature = None if op is None or op.is_row_wise else signature_of(op, dtype)
    if signature is None:
        return
    with np.errstate(all="ignore"):
        op(*drawn(family, signature, COUNT, 1), **numbers_of(op))
    assert len(asked) <= MOST, f"{len(asked)} of {COUNT}, first {list(asked.values())[:3]}"
    asked.clear()


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", ONCE)
def test_what_once_was_a_cliff_is_none(kind, dtype, asked):
    check(*ONCE[kind], dtype, asked)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", ONCE_IN_FLOAT64)
def test_what_once_was_a_cliff_of_float64_is_none(kind, asked):
    check(*ONCE_IN_FLOAT64[kind], "float64", asked)


#: Operators that were left to the last level, which takes a microsecond an element or more, for huge data of float64.
FAR = {
    "a quotient by an exponential": lambda x: 1 / np.exp(x),
    "a product with one": lambda x: -x * np.exp(x),
    "one of two signs": lambda x: x / np.exp(abs(x)),
    "exponents that add up to few bits": lambda x: np.exp(x) / (1 + np.exp(x)) ** 2 * x,
    "terms of one sign": lambda x: (1 - np.exp(-x)) / x,
    "roots": lambda x: np.sqrt(np.exp(x)) * 3,
    "powers": lambda x: x * np.power(3.0, x),
    "choices": lambda x: abs(np.where(x > 0, -np.exp(x), x)),
    "hyperbolic": lambda x: x * np.cosh(x),
    "vjp(exp2)": ogive.vjp(ogive.exp2),
    "a function times one": lambda x: np.tanh(x) * np.exp(-x),
    "grad(gelu)": ogive.grad(ogive.gelu),
    "swish": ogive.swish,
    "glu": ogive.glu,
    "softplus": ogive.softplus,
    "vjp(atan2)": ogive.vjp(ogive.atan2),
    "grad(snake)": ogive.grad(ogive.snake),
    "grad(clipped_gelu)": ogive.grad(ogive.clipped_gelu),
    "squareplus": ogive.squareplus,
    "derf": ogive.derf,
}


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("width", [1e150, 1e300])
@pytest.mark.parametrize("name", FAR)
def test_huge_doubles_are_decided_by_kernels(name, width):
    formula = FAR[name]
    op = formula if isinstance(formula, ogive.Operator) else ogive.operator(formula)
    operands = list(np.random.default_rng(2).normal(0, width, (op.inputs, COUNT)))
    kernel = kernel_of(op.computation(signature_of(op, "float64")))
    with np.errstate(all="ignore"):
        op(*operands)
        before = kernel.counts
        op(*operands)
    assert kernel.counts[0] - before[0] == COUNT
    assert kernel.counts[3] == before[3]


@pytest.mark.parametrize("op", [ogive.erf, ogive.expm1], ids=["erf", "expm1"])
def test_subnormal_results_of_functions_are_decided_by_kernels(op):
    x = np.random.default_rng(2).normal(0, 1e-310, COUNT)
    kernel = kernel_of(op.computation(signature_of(op, "float64")))
    op(x)
    before = kernel.counts
    op(x)
    assert kernel.counts[3] == before[3]


@pytest.mark.parametrize("op", [ogive.rrelu, ogive.operator(lambda x: -abs(x * 11 / 48))], ids=["rrelu", "-abs"])
def test_ties_of_multiples_by_fractions_are_decided(op, asked):
    """One of 24 is a tie, and was left to enclosures in float64."""
    x = -np.abs(np.random.default_rng(1).normal(size=COUNT))
    assert op(x).tolist() == [float(Fraction(v) * 11 / 48) for v in x.tolist()]
    assert not asked


#: Operators and derivatives that are known at zero: of arrays with many zeros no element asks for a later level.
ZEROS = {
    "gelu": ogive.gelu,
    "derf": ogive.derf,
    "atan2": ogive.atan2,
    "vjp(serf)": ogive.vjp(ogive.serf),
    "vjp(squareplus)": ogive.vjp(ogive.squareplus),
    "vjp(quick_gelu)": ogive.vjp(ogive.quick_gelu),
    "vjp(snake)": ogive.vjp(ogive.snake),
    "silu": ogive.silu,
    "mish": ogive.mish,
    "softplus": ogive.softplus,
    "swiglu": ogive.swiglu,
    "gelu by tanh, twice": ogive.operator(lambda x: 2 * ogive.gelu(x, approximate="tanh")),
    "-silu": ogive.operator(lambda x: -ogive.silu(x)),
    "vjp(exp)": ogive.vjp(ogive.exp),
    "vjp(gelu)": ogive.vjp(ogive.gelu),
    "vjp(swiglu)": ogive.vjp(ogive.swiglu),
}


#: Products with zero that are repaired in float64: slower by a few times, and no cliff.
REPAIRED = {("vjp(quick_gelu)", "float64"), ("vjp(snake)", "float64")}

#: Operands at 0 are a case of the retry: of atan2, and of what begins with moderate float32, for which it takes 1.1 times as long.
RETRIED = {("atan2", "float32"), ("atan2", "float64"), ("vjp(serf)", "float32")}


@pytest.mark.parametrize(
    ("name", "dtype"), [(n, d) for n in ZEROS for d in ("float32", "float64") if (n, d) not in REPAIRED]
)
def test_zeros_ask_for_no_repair(name, dtype):
    op = ZEROS[name]
    signature = next(s for s in op.signatures if {t.name for t in s.inputs} == {dtype})
    kernel, zeros = kernel_of(op.computation(signature)), [np.zeros(COUNT, dtype) for _ in signature.inputs]
    for _ in range(1 + MOST_SKIPPED):  # the first few skip the retry, and calls before send more there
        op(*zeros)
    before = kernel.counts
    found = op(*zeros)
    assert np.all(np.asarray(found) == np.dtype(dtype).type(math.log(2) if name == "softplus" else 0))
    assert kernel.counts[2] == before[2]
    assert kernel.counts[1] == before[1] or (name, dtype) in RETRIED


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_comparisons_that_a_known_one_outweighs_ask_for_no_repair(dtype):
    """Where a gate is clipped its slope is asked for its sign, which has underflowed."""
    op, x = ogive.grad(ogive.grad(ogive.clipped_gelu)), np.linspace(-300, 300, COUNT).astype(element_type(dtype).numpy)
    kernel = kernel_of(op.computation(signature_of(op, dtype)))
    for _ in range(1 + MOST_SKIPPED):
        op(x)
    before = kernel.counts
    op(x)
    assert kernel.counts[2] - before[2] <= MOST


#: Data of which many elements are alike, as padding, masks and what has overflowed are: of 8,192 elements.
ALIKE = {
    "NaN": lambda: np.full(8192, math.nan),
    "infinities": lambda: np.where(np.arange(8192) % 3 == 0, -math.inf, math.inf),
    "zeros": lambda: np.where(np.arange(8192) % 3 == 0, -0.0, 0.0),
    "one-hot": lambda: np.where(np.arange(8192) % 64 == 7, np.arange(8192) / 8192, 0.0),
    "a twentieth NaN": lambda: np.where(np.arange(8192) % 20 == 7, math.nan, np.arange(8192) / 8192),
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["logit", "log1mexp", "tanhshrink", "atan2"])
@pytest.mark.parametrize("kind", ALIKE)
def test_equal_operands_of_a_chunk_are_computed_once(kind, name, dtype):
    op = getattr(ogive, name)
    operands = [ALIKE[kind]().astype(dtype)] * op.inputs
    kernel = kernel_of(op.computation(next(s for s in op.signatures if s.inputs[0].name == dtype)))
    with np.errstate(all="ignore"):
        singly = np.concatenate([op(*(x[i : i + 8] for x in operands)) for i in range(0, 8192, 8)])
        before = kernel.counts
        found, in_place = op(*operands), operands[0].copy()
        later = [number - b for number, b in zip(kernel.counts[1:3], before[1:3], strict=True)]
        op(in_place, *operands[1:], out=in_place)
    assert found.tobytes() == singly.tobytes() == in_place.tobytes()
    assert max(later) <= 8192 // 16


@pytest.mark.parametrize("name", ["rsqrt", "logit", "log1mexp", "pow", "batch_normalization", "acosh", "log1p"])
def test_nan_outside_of_a_domain_is_decided_at_once(name):
    """In float64, inside of a formula, too."""
    op, x = getattr(ogive, name), -np.linspace(1.5, 40.25, COUNT)
    operands = [x] * op.inputs
    kernel = kernel_of(op.computation(next(s for s in op.signatures if s.inputs[0].name == "float64")))
    with np.errstate(all="ignore"):
        op(*operands)
        before = kernel.counts
        found = op(*operands)
    assert np.isnan(found).all()
    assert kernel.counts[1:3] == before[1:3]


#: Operators of elements with parameters. Every fifth result of huber_loss is a tie, which is why it is none of them.
WITH_PARAMETERS = [
    name
    for name, op in OPERATORS.items()
    if op.numeric_parameters and not op.is_row_wise and op.signatures[0].inputs[0].is_float
    if name != "huber_loss" and all(isinstance(p.default, float | int) for p in op.numeric_parameters)
]


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("derived", [False, True], ids=["", "vjp"])
@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_default_parameters_leave_few_ordinary_results_open(name, derived, dtype):
    """The first level of 16 bits supposes that parameters are moderate: those that people have are."""
    op, random = ogive.vjp(OPERATORS[name]) if derived else OPERATORS[name], np.random.default_rng(4)
    data = [(random.uniform(0.1, 2.5, COUNT) * random.choice([-1, 1], COUNT)).astype(dtype) for _ in range(op.inputs)]

    def counted() -> np.ndarray:
        """Elements, and how many went to the retry and to the repair, of all kernels of the operator."""
        rows = [row[2:5] for row in ogive.runtime.statistics() if row.operator == op.__name__]
        return np.sum([(0, 0, 0), *rows], axis=0)

    op(*(x[:8] for x in data))
    before = counted()
    op(*data)
    elements, *left = counted() - before
    assert elements in (0, COUNT)  # 0: one level decides all
    # The gradient of star_relu is a sum of zeros for negative numbers: its sign as a factor is asked of the repair in float32.
    assert max(left) <= elements // (20 if name != "star_relu" else 1)


#: Derivatives over rows, by how many weights they have beside the gradient and the row.
OF_ROWS = {
    "softmax": 0,
    "softmin": 0,
    "log_softmax": 0,
    "standardize": 0,
    "lp_normalization": 0,
    "mean_variance_normalization": 0,
    "rms_normalization": 1,
    "layer_normalization": 2,
}


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows_of_zero_gradients_ask_for_no_repair(name):
    """In float64, where a result may have underflowed that is zero: masked positions have such gradients."""
    op, x = ogive.vjp(getattr(ogive, name)), np.random.default_rng(3).normal(size=(32, 64))
    operands = (np.where(x > 0, -0.0, 0.0), x[::-1], *(np.ones((32, 64)) for _ in range(OF_ROWS[name])))
    kernel = kernel_of(op.computation(next(s for s in op.signatures if s.inputs[0].name == "float64")))
    op(*operands)
    before = kernel.counts
    found = op(*operands)
    assert kernel.counts[0] > before[0]
    assert kernel.counts[1:3] == before[1:3]
    assert np.all(np.concatenate(found if isinstance(found, tuple) else (found,)) == 0)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    "name", ["huber_loss", "vjp(pow)", "vjp(erfinv)", "vjp(mod)", "vjp(modulus_truncate)", "vjp(star_relu)"]
)
def test_ties_zeros_and_nan_of_few_operations_are_decided_at_once(name, dtype):
    """Each made a fifth of ordinary results, or more, go on to the repair."""
    op = ogive.vjp(OPERATORS[name[4:-1]]) if name.startswith("vjp(") else OPERATORS[name]
    signature = next(s for s in op.signatures if {t.name for t in s.inputs} == {dtype})
    operands = list(np.random.default_rng(3).normal(0, 2, (len(signature.inputs), COUNT)).astype(dtype))
    kernel = kernel_of(op.computation(signature))
    with np.errstate(all="ignore"):
        for _ in range(1 + MOST_SKIPPED):
            op(*operands)
        before = kernel.counts
        op(*operands)
    assert kernel.counts[1] == before[1]
    assert kernel.counts[2] - before[2] <= COUNT // 50

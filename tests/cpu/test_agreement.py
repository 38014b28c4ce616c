"""Every operator on every combination of its types, against the reference evaluator."""

import math

import ml_dtypes  # noqa: F401  (registers bfloat16)
import mpmath
import numpy as np
import pytest

from ogive.common.dtypes import ElementType
from ogive.laboratory.accuracy import error_in_ulp as error
from ogive.laboratory.reference import correctly_rounded, evaluate, evaluate_exactly, to_long_double
from tests.inputs import CASE_IDS, CASES, operands, parameter_sets

#: The largest error in units in the last place. float16 and bfloat16 are rounded as if once.
LIMITS = {"float16": 0.501, "bfloat16": 0.501, "float32": 1.0, "float64": 1.0}

INTEGER_CASES = [(op, s) for op, s in CASES if not any(t.is_float for t in s.inputs)]
FLOAT_CASES = [(op, s) for op, s in CASES if all(t.is_float or t.name == "bool" for t in s.inputs)]
MIXED_CASES = [case for case in CASES if case not in INTEGER_CASES and case not in FLOAT_CASES]


def ids(cases):
    return [CASE_IDS[CASES.index(case)] for case in cases]


def as_compute_format(parameters, kind: ElementType):
    """A kernel rounds its parameters to the format that it computes in."""
    if kind.computes_in == "float32":
        return {name: float(np.float32(v)) if isinstance(v, float) else v for name, v in parameters.items()}
    return parameters


def numeric(op, parameters):
    return {p.name: parameters.get(p.name, p.default) for p in op.numeric_parameters}


def choices(op, parameters):
    return {p.name: parameters.get(p.name, p.default) for p in op.parameters if p.choices}


@pytest.mark.matrix("op.name")
@pytest.mark.parametrize(("op", "signature"), INTEGER_CASES, ids=ids(INTEGER_CASES))
def test_integers_are_exact(op, signature):
    arrays = operands(signature, 60)
    kind = signature.outputs[0]
    for parameters in parameter_sets(op):
        result = op(*arrays, **parameters)
        assert result.dtype == kind.numpy
        root = op.formula(for_integers=True, **choices(op, parameters))[0]
        values = as_compute_format(numeric(op, parameters), signature.inputs[-1])
        for row in zip(*(array.tolist() for array in arrays), result.tolist(), strict=True):
            *given, got = row
            exact = evaluate_exactly(root, given, values, bits=signature.inputs[0].bits)
            assert got == correctly_rounded(exact, kind, modular=op.modular), (given, parameters)


#: For float64, where these operators' sums of two cancel: units in the last place of the larger part.
CANCELS = dict.fromkeys(("logaddexp", "logaddexp2"), max)


def steps_of_batch_normalization(x, scale, bias, mean, variance, epsilon):
    """The numbers that it computes on the way, in many digits."""
    away = mpmath.mpf(x) - mpmath.mpf(mean)
    quotient = away / mpmath.sqrt(mpmath.mpf(variance) + epsilon)
    return away, quotient, quotient * scale, quotient * scale + bias


#: Results of float64 that have an overflow or underflow on the way are no better than that (docs/accuracy.md).
STEPS = {"batch_normalization": steps_of_batch_normalization}


def is_within_range(steps):
    return all(step == 0 or 2.0**-960 < abs(step) < 2.0**1020 for step in steps)


@pytest.mark.matrix("op.name", share=3)
@pytest.mark.parametrize(("op", "signature"), FLOAT_CASES, ids=ids(FLOAT_CASES))
def test_floats_are_accurate(op, signature):
    arrays = operands(signature, 2000)
    kind = signature.inputs[-1]
    wide = np.longdouble if kind.name == "float64" else np.float64
    for parameters in parameter_sets(op):
        result = op(*arrays, **parameters)
        assert result.dtype == signature.outputs[0].numpy
        root = op.formula(**choices(op, parameters))[0]
        values = as_compute_format(numeric(op, parameters), kind)
        exact = evaluate(root, arrays, values, dtype=wide)
        if not signature.outputs[0].is_float:
            assert np.array_equal(result, exact)
            continue
        errors = error(result, exact, kind)
        # The reference in a longer format has an error of its own; what looks wrong is looked at exactly.
        for index in np.flatnonzero(errors > LIMITS[kind.name])[:20]:
            given = [array[index] for array in arrays]
            if kind.name == "float64" and op.name in STEPS:
                numbers = [float(value) for value in given]
                if not is_within_range(STEPS[op.name](*numbers, *values.values())):
                    continue
            truth = evaluate_exactly(root, [float(value) for value in given], values)
            long = np.array([to_long_double(truth)]).astype(wide)
            off = error(result[index : index + 1], long, kind)[0]
            if kind.name == "float64" and op.name in CANCELS:
                part = abs(float(CANCELS[op.name](*given)))
                off *= np.spacing(abs(float(truth))) / np.spacing(max(part, abs(float(truth))))
            assert off <= LIMITS[kind.name], (given, parameters, result[index], truth)


@pytest.mark.matrix("op.name")
@pytest.mark.parametrize(("op", "signature"), MIXED_CASES, ids=ids(MIXED_CASES))
def test_numbers_of_several_kinds_are_computed_as_one(op, signature):
    arrays = operands(signature, 1000)
    kind = signature.outputs[0]
    result = op(*arrays)
    assert result.dtype == kind.numpy
    root = op.formula()[0]
    checked = 0
    for *given, got in zip(*(array.tolist() for array in arrays), result.tolist(), strict=True):
        # mpmath has no NaN that compares and no division by zero: test_special_values has them.
        if not all(map(math.isfinite, given)) or any(scale == 0.0 for scale in given if isinstance(scale, float)):
            continue
        checked += 1
        exact = correctly_rounded(evaluate_exactly(root, given), kind)
        assert got == exact, given
    assert checked > 100


HALF_CASES = [(op, s) for op, s in FLOAT_CASES if len(s.inputs) == 1 and s.inputs[0].bits == s.outputs[0].bits == 16]


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize(("op", "signature"), HALF_CASES, ids=ids(HALF_CASES))
def test_all_halves_are_rounded_as_if_once(op, signature):
    kind = signature.inputs[0]
    x = np.arange(0, 65536, 9 if op.name == "erfinv" else 1, dtype=np.uint16).view(kind.numpy)  # 0.1 ms an element
    for parameters in parameter_sets(op):
        result = op(x, **parameters)
        values = as_compute_format(numeric(op, parameters), kind)
        with np.errstate(all="ignore"):
            exact = evaluate(op.formula(**choices(op, parameters))[0], [x], values)
        errors = error(result, exact, kind)
        assert errors.max() <= 0.501, (parameters, x[errors.argmax()])
        if parameters == parameter_sets(op)[0]:  # the defaults; others can have results that all but tie
            wrong = errors > 0.5
            assert wrong.sum() <= (8 if kind.name == "float16" else 0), x[wrong][:5]


def test_there_are_cases_of_every_kind():
    assert INTEGER_CASES
    assert FLOAT_CASES
    assert MIXED_CASES
    assert HALF_CASES

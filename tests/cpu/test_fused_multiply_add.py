"""``a * b + c`` with one rounding, where the processor has no instruction for it: the bits of the instruction."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ogive.backends.target import TARGETS, host_target
from ogive.dtypes import element_type
from ogive.expression import Format, node
from ogive.program import Program
from ogive.runtime.kernels import make_ufunc
from tests.inputs import special_values

FORMATS = {"float32": Format.F32, "float64": Format.F64}
COUNT = 100_000


def function(name, target):
    kind, form = element_type(name), FORMATS[name]
    operands = tuple(node("input", (), k, form) for k in range(3))
    return make_ufunc("fma", Program((kind,) * 3, (kind,), (node("fma", operands, None, form),)), target)


def in_software(name):
    """On the lowest level where there are several, so that the code of short registers is tested."""
    target = TARGETS["x86-64"] if host_target().architecture == "x86_64" else host_target()
    return function(name, replace(target, tables=(*target.tables, "fma in software")))


def hard_cases(name):
    """Any bits; sums that cancel; products and sums near the ends of the format; ties; special values."""
    kind = element_type(name).numpy
    info, generator = np.finfo(kind), np.random.default_rng(1)

    def any_bits():
        return generator.integers(0, 256, (COUNT, kind.itemsize), dtype=np.uint8).view(kind)[:, 0].copy()

    def ordinary(spread):
        numbers = generator.standard_normal(COUNT) * 2.0 ** generator.integers(-spread, spread, COUNT)
        return numbers.astype(kind)

    def short():
        return (generator.integers(-8, 9, COUNT) * 2.0 ** generator.integers(-30, 30, COUNT)).astype(kind)

    yield any_bits(), any_bits(), any_bits()
    yield ordinary(5), ordinary(5), ordinary(60)
    a, b = ordinary(5), ordinary(5)
    yield a, b, -(a * b) * (1 + generator.integers(-3, 4, COUNT) * info.eps).astype(kind)
    low = kind.type(2.0 ** (info.minexp // 2))
    yield ordinary(20) * low, ordinary(20) * low, ordinary(20) * info.tiny
    yield short() * low, short() * low * info.eps, short() * info.smallest_subnormal
    high = kind.type(2.0 ** (info.maxexp // 2))
    yield (
        ordinary(6) * high,
        ordinary(6) * high / 4,
        ordinary(6) * high * high.dtype.type(2.0 ** (info.maxexp // 2 - 3)),
    )
    yield short(), short(), short() * np.exp2(generator.integers(-60, 60, COUNT)).astype(kind)
    special = special_values(element_type(name))
    for a in special:
        yield np.full(len(special) ** 2, a), np.repeat(special, len(special)), np.tile(special, len(special))


@pytest.mark.parametrize("name", FORMATS)
def test_the_bits_of_the_instruction(name):
    software, instruction = in_software(name), function(name, host_target())
    subnormal = 0
    with np.errstate(all="ignore"):
        for a, b, c in hard_cases(name):
            found, expected = software(a, b, c), instruction(a, b, c)
            unsigned = f"u{found.itemsize}"
            same = (found.view(unsigned) == expected.view(unsigned)) | (np.isnan(found) & np.isnan(expected))
            wrong = np.flatnonzero(~same)
            assert not len(wrong), [x[wrong[0]].hex() for x in (a, b, c, found, expected)]
            subnormal += np.count_nonzero((expected != 0) & (np.abs(expected) < np.finfo(expected.dtype).tiny))
    assert subnormal > 10_000


def test_the_exact_result():
    """Without any instruction: fractions, rounded once."""
    generator = np.random.default_rng(2)
    a, b = (generator.standard_normal(2000) for _ in range(2))
    c = -(a * b) * (1 + generator.integers(-2, 3, 2000) * 2.0**-52)
    found = in_software("float64")(a, b, c)
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a, b, c, strict=True)]
    assert found.tolist() == exact

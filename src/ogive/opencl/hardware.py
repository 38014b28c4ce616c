"""Whether an OpenCL device can compute with Ogive's bits.

A device is asked for what it has, and then tried: a kernel computes sums, products, quotients and roots whose bits show
whether they are rounded once, are not fused, and keep subnormal numbers.
"""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pyopencl as cl

from ogive.backends.dialects import OPENCL

#: OpenCL C 1.2, which every device compiles. Quotients and roots of float32 are rounded correctly if they are asked for.
OPTIONS = ("-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt")

#: Properties of float32 (of float64 OpenCL asks for all of them), and what a device without them lacks.
NEEDED = {
    cl.device_fp_config.ROUND_TO_NEAREST: "does not round float32 to nearest",
    cl.device_fp_config.DENORM: "has no subnormal numbers in float32",
    cl.device_fp_config.INF_NAN: "has no infinities and no NaN in float32",
    cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT: "does not round quotients and roots of float32 correctly",
}


@lru_cache(maxsize=64)
def why_not(device: cl.Device) -> str:
    """Why a device cannot compute with Ogive's bits, as a part of a sentence; empty if it can."""
    if not (device.available and device.compiler_available):
        return "is not available, or has no compiler"
    if not device.endian_little:
        return "has another order of bytes"
    if not device.double_fp_config:
        return "has no double precision"
    lacking = next((words for flag, words in NEEDED.items() if not device.single_fp_config & flag), "")
    return lacking or _tried(device)


def build(context: cl.Context, device: cl.Device, text: str) -> cl.Program:
    """The compiled text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)  # that the compiler has printed something
        return cl.Program(context, text).build(options=list(OPTIONS), devices=[device])


#: The trials of a type: for a, b, c the results of `_tried`, in this order.
_TRIED = """
__kernel void tried_{name}(__global const {name} *a, __global const {name} *b, __global const {name} *c,
                          __global {name} *sum, __global {name} *quotient, __global {name} *root, __global {name} *fused) {{
    const size_t i = get_global_id(0);
    const {name} product = a[i] * b[i];
    sum[i] = product + c[i];
    quotient[i] = a[i] / b[i];
    root[i] = sqrt(fabs(a[i]));
    fused[i] = fma(a[i], b[i], -product);
}}
"""


def _tried(device: cl.Device) -> str:
    """The part of these that a device computes with other bits than IEEE 754's; empty if nothing."""
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    try:
        program = build(context, device, OPENCL.before + _TRIED.format(name="float") + _TRIED.format(name="double"))
        for name, dtype in (("float", np.dtype(np.float32)), ("double", np.dtype(np.float64))):
            given = _numbers(dtype)
            wanted = _expected(*given)
            for what, found, right in zip(
                ("fuses or misrounds a product and a sum", "misrounds quotients", "misrounds roots", "misrounds fma"),
                _computed(queue, getattr(program, f"tried_{name}"), given),
                wanted,
                strict=True,
            ):
                if found.tobytes() != right.tobytes():
                    return f"{what} of {dtype}"
    except cl.Error as error:
        return f"does not run a small kernel ({first_line(error)})"
    return ""


def first_line(error: Exception) -> str:
    """The message of OpenCL, in one line: the first error of a compiler, where it is one's."""
    lines = str(error).splitlines() or [type(error).__name__]
    found = next((line for line in lines if "error:" in line), lines[0].partition(" - ")[0])
    return " ".join(found.split())


def _numbers(dtype: np.dtype[Any]) -> list[np.ndarray]:
    """Numbers of all magnitudes whose products, sums and quotients are inexact, many of them subnormal."""
    generator = np.random.default_rng(754)
    info = np.finfo(dtype)
    span = int(info.maxexp) // 2 - 2
    mantissas = generator.uniform(1, 2, (3, 2048))
    powers = generator.integers(-span, span, (3, 2048))
    powers[0, ::2] = int(info.minexp) + generator.integers(-4, 3, 1024)  # subnormal quotients, products, operands
    powers[1, ::2] = generator.integers(-2, 3, 1024)
    a, b, c = np.ldexp(mantissas, powers).astype(dtype)
    with np.errstate(all="ignore"):
        c[1::4] = -(a * b)[1::4]  # what a fused sum would leave is not zero
    return [a, b, c]


def _expected(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        product = a * b
        fused = np.array([_rest(*three) for three in zip(a, b, product, strict=True)], a.dtype)
        return [product + c, a / b, np.sqrt(a), fused]


def _rest(a: Any, b: Any, product: Any) -> float:
    """``a * b - product`` rounded once."""
    exact = Fraction(float(a)) * Fraction(float(b)) - Fraction(float(product))
    smallest = Fraction(1, 1 << (149 if a.dtype == np.float32 else 1074))  # subnormal numbers are multiples of it
    is_subnormal = abs(exact) < smallest * (1 << (23 if a.dtype == np.float32 else 52))
    near = float(round(exact / smallest) * smallest if is_subnormal else exact)  # of float32 exact: at most 24 bits
    return math.copysign(near, exact)


def _computed(queue: cl.CommandQueue, kernel: cl.Kernel, given: list[np.ndarray]) -> list[np.ndarray]:
    flags, results = cl.mem_flags, [np.empty_like(given[0]) for _ in range(4)]
    read = [cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=one) for one in given]
    written = [cl.Buffer(queue.context, flags.WRITE_ONLY, one.nbytes) for one in results]
    kernel(queue, (given[0].size,), None, *read, *written)
    for one, buffer in zip(results, written, strict=True):
        cl.enqueue_copy(queue, one, buffer)
    return results

"""The languages that kernels and exported functions are written in: a `Dialect` each.

A new one is one more `Dialect`. A device also needs a driver of five functions (``Driver`` in ogive.devices.kernels), as
ogive.opencl has one. ``device_text.py`` shows what its kernels look like; how expressions are written (``c_like.py``) is the
same for all languages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ogive.expression import Format

__all__ = ["CUDA", "ISO_C", "OPENCL", "STDINT", "Dialect", "KernelWords"]


@dataclass(frozen=True)
class KernelWords:
    """The form of kernels in a language of devices."""

    head: str
    """The words before a kernel's name."""
    pointer: str
    """The words before the type of a pointer to the device's memory."""
    number: str
    """The position of this work item."""
    append: str
    """Adds one to a counter; what it was."""


@dataclass(frozen=True)
class Dialect:
    """A language: its types, and the names of what IEEE 754 and machines have."""

    name: str
    types: Mapping[Format, str]
    before: str
    """The beginning of a text: that sums and products stay apart, and the types."""
    function: str
    """The words before the result of a function of the text's own."""
    names: Mapping[str, str]
    """Functions by the name that `ROWS` gives them, where the language has them. The others are of c_support.py."""
    table: str
    """The beginning of the definition of a table of constants."""
    arithmetic: Mapping[str, str]
    """The operations of floating-point numbers: ``{0} + {1}`` and its kin, by operation and letter of the type (``add f``)."""

    static: str = "static "
    """The words before the result of a function that is not to be inlined."""
    restrict: str = "restrict "
    long: str = "ll"
    """The suffix of an integer of 64 bits."""
    kernel: KernelWords | None = None
    """The parts that only a language of devices has."""

    def type(self, form: Format) -> str:
        """The type of a value."""
        return self.types[form]


STDINT = {
    Format.F32: "float",
    Format.F64: "double",
    Format.F16: "uint16_t",
    Format.BF16: "uint16_t",
    Format.BIT: "int",
    **{
        Format(f"{sign}{bits}"): f"{'u' if sign == 'u' else ''}int{bits}_t" for sign in "iu" for bits in (8, 16, 32, 64)
    },
}

_OF_OPENCL = {8: "char", 16: "short", 32: "int", 64: "long"}

_OPENCL_TYPES = STDINT | {
    Format.F16: "ushort",
    Format.BF16: "ushort",
    **{Format(f"i{bits}"): name for bits, name in _OF_OPENCL.items()},
    **{Format(f"u{bits}"): f"u{name}" for bits, name in _OF_OPENCL.items()},
}

_CUDA_TYPES = STDINT | {
    Format.F16: "unsigned short",
    Format.BF16: "unsigned short",
    **{
        Format(f"{sign}{bits}"): f"{'unsigned' if sign == 'u' else 'signed'} {name}"
        for sign in "iu"
        for bits, name in {8: "char", 16: "short", 32: "int", 64: "long long"}.items()
    },
}


def _both(name: str, single: str, double: str) -> dict[str, str]:
    return {f"{name}_f": single, f"{name}_d": double}


#: C11 (and C++): gcc, clang and MSVC. An operation that the language has no operator for is a function of the text's own, so that
#: neither a library nor its version can reach the bits.
ISO_C = Dialect(
    "ISO C",
    STDINT,
    """\
#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bits are those of IEEE 754: each operation is rounded once, and none is fused or reordered. */
#if defined(__FAST_MATH__) || (defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0)
#error "compile without -ffast-math, for a target that computes float in float and double in double"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__SANITIZE_THREAD__) /* which sees nothing behind this: give it -ffp-contract=off */
#pragma GCC optimize("fp-contract=off", "no-trapping-math", "no-tree-pre")
#elif defined(_MSC_VER)
#include <math.h>
#pragma fp_contract(off)
#pragma float_control(precise, on)
#endif
/* Some functions are for processors without fused multiply-add, and are not called on others. */
#if defined(__GNUC__)
#define OGIVE_INLINE static inline __attribute__((unused))
#define OGIVE_APART __attribute__((noinline))
#define OGIVE_RARE __attribute__((cold))
#else
#define OGIVE_INLINE static inline
#define OGIVE_APART
#define OGIVE_RARE
#endif
""",
    "OGIVE_INLINE",
    {},
    "static const",
    {},
)

OPENCL = Dialect(
    "OpenCL C",
    _OPENCL_TYPES,
    """\
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
""",
    "static inline",
    {
        name: known
        for rows in (
            _both("fabs", "fabs", "fabs"),
            _both("sqrt", "sqrt", "sqrt"),
            _both("floor", "floor", "floor"),
            _both("ceil", "ceil", "ceil"),
            _both("trunc", "trunc", "trunc"),
            _both("rint", "rint", "rint"),
            _both("copysign", "copysign", "copysign"),
            _both("fma", "fma", "fma"),
            {
                "float_of_bits": "as_float",
                "bits_of_float": "as_uint",
                "double_of_bits": "as_double",
                "bits_of_double": "as_ulong",
                "bit_count": "popcount",
            },
        )
        for name, known in rows.items()
    },
    "__constant",
    {},
    long="l",  # long has 64 bits
    kernel=KernelWords("__kernel void", "__global ", "get_global_id(0)", "atomic_inc({0})"),
)

#: By intrinsic functions, which no option of the compiler fuses. The functions of c_support.py are written with operators, and
#: add no product, so there is nothing to fuse in them (tools/compile_cuda.py counts).
CUDA = Dialect(
    "CUDA C++",
    _CUDA_TYPES,
    "typedef long long intptr_t; /* NVIDIA's compiler as a library has no headers */\n",
    "static __device__ inline",
    {
        name: known
        for rows in (
            _both("fabs", "fabsf", "fabs"),
            _both("sqrt", "__fsqrt_rn", "__dsqrt_rn"),
            _both("floor", "floorf", "floor"),
            _both("ceil", "ceilf", "ceil"),
            _both("trunc", "truncf", "trunc"),
            _both("rint", "rintf", "rint"),
            _both("copysign", "copysignf", "copysign"),
            _both("fma", "__fmaf_rn", "__fma_rn"),
            {
                "float_of_bits": "__uint_as_float",
                "bits_of_float": "__float_as_uint",
                "double_of_bits": "__longlong_as_double",
                "bits_of_double": "__double_as_longlong",
                "bit_count": "__popcll",
            },
        )
        for name, known in rows.items()
    },
    "static __device__ const",
    {
        f"{operation} {letter}": f"__{prefix}{word}_rn({{0}}, {{1}})"
        for operation, word in {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div"}.items()
        for letter, prefix in {"f": "f", "d": "d"}.items()
    },
    static="static __device__ ",
    restrict="__restrict__ ",
    kernel=KernelWords(
        'extern "C" __global__ void',
        "",
        "blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x",
        "atomicAdd({0}, 1u)",
    ),
)

"""The languages that kernels and exported functions are written in: a `Dialect` each.

A new one is one more `Dialect`. A device also needs a driver of five functions (``Driver`` in ogive.devices.kernels), as
ogive.opencl has one. ``device_text.py`` shows what its kernels look like; how expressions are written (``c_like.py``) is the
same for all languages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ogive.graph.expression import Format


@dataclass(frozen=True)
class KernelWords:
    """The words for kernels that one language of devices has."""

    head: str
    """Stands before a kernel's name."""
    pointer: str
    """Stands before the type of a pointer to the device's memory."""
    number: str
    """The position of this work item."""
    append: str
    """Adds one to a counter, and is its value before."""


@dataclass(frozen=True)
class Dialect:
    """A language: its types, and the names of what IEEE 754 and machines have."""

    name: str
    types: Mapping[Format, str]
    before: str
    """The beginning of a text: that sums and products stay apart, and the types."""
    function: str
    """Stands before the result of a function of the text's own."""
    names: Mapping[str, str]
    """Functions by the name that `ROWS` gives them, where the language has them. The others are of c_support.py."""
    table: str
    """Begins the definition of a table of constants."""
    arithmetic: Mapping[str, str]
    """``{0} + {1}`` and its kin of floating-point numbers, by operation and letter of the type (``add f``)."""

    static: str = "static "
    """Stands before the result of a function that is not to be inlined."""
    restrict: str = "restrict "
    long: str = "ll"
    """The suffix of an integer of 64 bits."""
    kernel: KernelWords | None = None
    """The words for kernels, in a language of devices."""

    def type(self, form: Format) -> str:
        """The type of a value."""
        return self.types[form]


def _types(signed: str, unsigned: str) -> dict[Format, str]:
    """The types: the names of integers of 8, 16, 32 and 64 bits, separated by commas. 16-bit numbers are their bits."""
    names = {"i": signed.split(", "), "u": unsigned.split(", ")}
    integers = {Format(f"{sign}{8 << k}"): name for sign in "iu" for k, name in enumerate(names[sign])}
    short = integers[Format.U16]
    return {
        Format.F32: "float",
        Format.F64: "double",
        Format.F16: short,
        Format.BF16: short,
        Format.BIT: "int",
        **integers,
    }


def _names(bits: str, **known: str) -> dict[str, str]:
    """Functions by the name that `ROWS` gives them: those of bits, in this order; and those of float32 and float64."""
    words = ("float_of_bits", "bits_of_float", "double_of_bits", "bits_of_double", "bit_count")
    both = {f"{name}_{letter}": texts.split()[k] for name, texts in known.items() for k, letter in enumerate("fd")}
    return both | dict(zip(words, bits.split(), strict=True))


STDINT = _types("int8_t, int16_t, int32_t, int64_t", "uint8_t, uint16_t, uint32_t, uint64_t")

#: C11 (and C++): gcc, clang and MSVC. The text has functions of its own where the language has no operator, so that
#: neither a library nor its version can reach the bits.
ISO_C = Dialect(
    "ISO C",
    STDINT,
    """\
#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bits are those of IEEE 754: each operation is rounded once, and none is fused or reordered. Where FLT_EVAL_METHOD is 16,
 * the processor has _Float16, which this does not use: float and double are what they are at 0. */
#if defined(__FAST_MATH__) || (defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16)
#error "compile without -ffast-math, for a target that computes float in float and double in double"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__SANITIZE_THREAD__) /* which sees nothing behind this: give it -ffp-contract=off */
#pragma GCC optimize("fp-contract=off", "no-trapping-math", "no-tree-pre", "no-thread-jumps")
#elif defined(_MSC_VER)
#include <math.h>
#pragma fp_contract(off)
#pragma float_control(precise, on)
#endif
/* Some functions are for processors without fused multiply-add, and are not called on others. */
/* Before loops, for gcc: lanes stay together, which it would take apart; a turn alone reads and writes its element. clang
 * warns of loops that it cannot vectorise where something is said of them. */
#if defined(__GNUC__) && !defined(__clang__)
#define OGIVE_LANES _Pragma("GCC unroll 1")
#define OGIVE_EACH_APART _Pragma("GCC ivdep")
#else
#define OGIVE_LANES
#define OGIVE_EACH_APART
#endif
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
    _types("char, short, int, long", "uchar, ushort, uint, ulong"),
    """\
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
""",
    "static inline",
    _names(
        "as_float as_uint as_double as_ulong popcount",
        **{name: f"{name} {name}" for name in ("fabs", "sqrt", "floor", "ceil", "trunc", "rint", "copysign", "fma")},
    ),
    "__constant",
    {},
    long="l",  # long has 64 bits
    kernel=KernelWords("__kernel void", "__global ", "get_global_id(0)", "atomic_inc({0})"),
)

#: By intrinsic functions, which no option of the compiler fuses. The functions of c_support.py are written with operators, and
#: add no product, so there is nothing to fuse in them (tools/compile_cuda.py counts).
CUDA = Dialect(
    "CUDA C++",
    _types(
        "signed char, signed short, signed int, signed long long",
        "unsigned char, unsigned short, unsigned int, unsigned long long",
    ),
    "typedef long long intptr_t; /* NVIDIA's compiler as a library has no headers */\n",
    "static __device__ inline",
    _names(
        "__uint_as_float __float_as_uint __longlong_as_double __double_as_longlong __popcll",
        **{name: f"{name}f {name}" for name in ("fabs", "floor", "ceil", "trunc", "rint", "copysign")},
        sqrt="__fsqrt_rn __dsqrt_rn",
        fma="__fmaf_rn __fma_rn",
    ),
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

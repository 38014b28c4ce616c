"""The error functions on arrays and in 300 bits: NumPy has none, and the C library's serve where they are good enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ogive.errors import needed


@cache
def context(bits: int = 300) -> Any:
    """Arithmetic in 300 bits, or so many."""
    with needed("results in 300 bits", "'ogive[exact]'", "mpmath"):
        import mpmath
    found = mpmath.MPContext()
    found.prec = bits
    return found


def to_long_double(value: Any) -> np.longdouble:
    """A number of mpmath in NumPy's longest format, to its last bit or two."""
    mp = context()
    if not mp.isfinite(value) or value == 0:
        return np.longdouble(float(value))
    mantissa, exponent = mp.frexp(value)
    high = float(mantissa)
    low = float(mantissa - high)
    with np.errstate(over="ignore", under="ignore"):  # beyond the format
        result: np.longdouble = np.ldexp(
            np.longdouble(high) + np.longdouble(low), max(min(int(exponent), 1 << 15), -1 << 15)
        )
    return result


#: The operand from which on the error functions are as good as constant: what is left is below 2**-(10**9), and mpmath overflows.
FAR = 30_000

#: Above it, which is beyond every element type, the tail is taken for nothing: its exponent is too long a number.
VAST = 2**1100


def exact(name: str, x: Any) -> Any:
    """``erf`` or ``erfc`` of a number of mpmath."""
    mp = context()
    is_tail = name == "erfc" and FAR < x < VAST  # tiny, but times infinity it is infinite
    if abs(x) > FAR and not is_tail:
        return mp.sign(x) if name == "erf" else 1 - mp.sign(x)
    return getattr(mp, name)(x)


def erfc_of_ball(ball: Any) -> Any:
    """``erfc`` of a ball of Arb. Far out it is computed of the ends: Arb bounds a wide ball by zero on one side there."""
    return ball.lower().erfc().union(ball.upper().erfc()) if ball > 100 else ball.erfc()


def on_array(name: str, x: Any) -> Any:
    """``erf`` or ``erfc``: SciPy's where it is installed (float64 only), else that of the C library."""
    x = np.asarray(x)
    if x.dtype == np.longdouble:
        compiled = compiled_error_function(name, np.longdouble)
        if compiled is not None:
            return compiled(x)
        found = [exact(name, context().mpf(str(v))) for v in x.ravel()]
        return np.array(list(map(to_long_double, found))).reshape(x.shape)
    try:
        from scipy import special
    except ImportError:
        return np.vectorize(getattr(math, name), otypes=[np.float64])(x)
    return getattr(special, name)(x)


def normal_tail_on_array(x: Any) -> Any:
    """In the tail erfc magnifies what its argument lacks after rounding; its derivative makes up for that."""
    # sqrt(1/2) in two parts: the product with the first, of 11 bits, is exact.
    high, low = x * 0.70703125, x * np.asarray(x).dtype.type("7.553118654752440084436210484903928e-5")
    argument = high + low
    missing = (high - argument) + low
    missing = np.where(np.isfinite(argument), missing, 0)
    return on_array("erfc", argument) / 2 - np.exp(-argument * argument) * missing / np.sqrt(np.pi)


def exact_erfinv(x: Any) -> Any:
    """The inverse of erf of a number of mpmath between -1 and 1."""
    mp = context()
    if abs(x) == 1:
        return mp.inf * x
    if abs(x) < mp.mpf(2) ** -40:  # mpmath has too few digits of small ones
        root = x * mp.sqrt(mp.pi) / 2
        square = root * root
        # The series in the square of its first term.
        terms = (mp.mpf(1), mp.mpf(1) / 3, mp.mpf(7) / 30, mp.mpf(127) / 630, mp.mpf(4369) / 22680)
        return root * mp.fsum(term * square**n for n, term in enumerate(terms))
    return mp.erfinv(x)


def exact_log_ndtr(x: Any) -> Any:
    """The logarithm of the normal distribution function of a number of mpmath."""
    mp = context()
    if mp.isinf(x):
        return mp.mpf(0) if x > 0 else -mp.inf
    if mp.isnan(x):
        return x
    if x > 0:
        return mp.log1p(-exact("erfc", x / mp.sqrt(2)) / 2)
    if x > -1000:
        return mp.log(exact("erfc", -x / mp.sqrt(2)) / 2)
    u = 1 / (x * x)
    total, term = mp.mpf(0), mp.mpf(1)
    for n in range(1, 60):
        total, term = total + term, -term * (2 * n - 1) * u
    return -x * x / 2 - mp.log(-x * mp.sqrt(2 * mp.pi)) + mp.log(total)


def erfinv_on_array(x: Any) -> Any:
    """One by one, in 300 bits: no library has a good one for long double."""
    return _one_by_one(exact_erfinv, x, lambda v: abs(v) <= 1)


def log_ndtr_on_array(x: Any) -> Any:
    """One by one, in 300 bits."""
    return _one_by_one(exact_log_ndtr, x, lambda v: not math.isnan(v))


def _one_by_one(function: Callable[[Any], Any], x: Any, has_result: Callable[[Any], bool]) -> Any:
    mp, given = context(), np.asarray(x)

    def of(value: Any) -> np.longdouble:
        if not has_result(value):
            return np.longdouble("nan")
        if value == 0 and function is exact_erfinv:
            return np.longdouble(value)
        if not np.isfinite(value):
            return to_long_double(function(mp.mpf(float(value))))
        high = float(value)
        return to_long_double(function(mp.mpf(high) + mp.mpf(float(value - np.longdouble(high)))))

    found = np.array([of(value) for value in given.ravel()], dtype=np.longdouble).reshape(given.shape)
    return found.astype(given.dtype) if given.dtype == np.longdouble else found.astype(np.float64)


#: A loop over an array, which calls the C library.
_LOOP = """
declare TYPE @NAME(TYPE)
define void @apply(ptr %x, ptr %y, i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr TYPE, ptr %x, i64 %i
  %to = getelementptr TYPE, ptr %y, i64 %i
  %value = load TYPE, ptr %from, align ALIGN
  %result = call TYPE @NAME(TYPE %value)
  store TYPE %result, ptr %to, align ALIGN
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


@cache
def compiled_error_function(name: str, dtype: Any) -> Callable[[np.ndarray], np.ndarray] | None:
    """The C library's function on arrays of float64 or long double, a thousand times as fast as mpmath.

    None where it is not. Python reaches it with float64 only, one number at a time. Only glibc's is known to be good
    enough, and long double only in the format of x87.
    """
    import platform

    if platform.libc_ver()[0] != "glibc" or platform.machine() != "x86_64":
        return None
    import ctypes

    with needed("erf and erfc for references", "'ogive[exact]'", "llvmlite"):
        import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    is_long = dtype is np.longdouble
    text = _LOOP.replace("TYPE", "x86_fp80" if is_long else "double").replace("ALIGN", "16" if is_long else "8")
    module = llvm.parse_assembly(text.replace("NAME", f"{name}l" if is_long else name))
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    apply = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
        engine.get_function_address("apply")
    )

    def compute(x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x)
        result = np.zeros_like(x)
        if x.size:
            apply(x.ctypes.data, result.ctypes.data, x.size)
        assert engine is not None  # it owns the code
        return result

    return compute

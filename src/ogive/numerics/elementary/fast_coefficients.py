"""The polynomials of the fast contract, lowest power first, as exact hexadecimal numbers of float32.

Written by accuracy/derive_fast_coefficients.py, which says how they are derived; change that, not this.
"""

from __future__ import annotations

__all__ = [
    "EXP",
    "EXPM1",
    "LOG1P",
    "NORMAL_TAIL",
]

#: (exp(r) - 1 - r) / r**2 on |r| <= log(2) / 2; the error is relative to exp(r). Largest error 2**-28.2.
EXP = (
    float.fromhex("0x1.fffffc0000000p-2"),
    float.fromhex("0x1.5554920000000p-3"),
    float.fromhex("0x1.5558b20000000p-5"),
    float.fromhex("0x1.1239940000000p-7"),
    float.fromhex("0x1.6a4c560000000p-10"),
)

#: (expm1(r) - r) / r**2 on |r| <= log(2) / 2; the error is relative to expm1(r). Largest error 2**-31.1.
EXPM1 = (
    float.fromhex("0x1.0000000000000p-1"),
    float.fromhex("0x1.5555540000000p-3"),
    float.fromhex("0x1.5554f80000000p-5"),
    float.fromhex("0x1.1112d60000000p-7"),
    float.fromhex("0x1.6d3a5a0000000p-10"),
    float.fromhex("0x1.9e77e80000000p-13"),
)

#: log1p(x) / x on [0, 1]; relative error. Largest error 2**-27.5.
LOG1P = (
    float.fromhex("0x1.0000000000000p+0"),
    float.fromhex("-0x1.ffffd20000000p-2"),
    float.fromhex("0x1.554dda0000000p-2"),
    float.fromhex("-0x1.ff25540000000p-3"),
    float.fromhex("0x1.9355540000000p-3"),
    float.fromhex("-0x1.3a66e80000000p-3"),
    float.fromhex("0x1.b53b180000000p-4"),
    float.fromhex("-0x1.d7ed360000000p-5"),
    float.fromhex("0x1.4a8fa00000000p-6"),
    float.fromhex("-0x1.b226ce0000000p-9"),
)

#: exp(a**2 / 2) erfc(a / sqrt(2)) / 2 on [0, 12.9]; relative error; above and below the line. Largest error 2**-25.2.
NORMAL_TAIL = (
    (
        float.fromhex("0x1.5b1db40000000p+6"),
        float.fromhex("0x1.2ddb3c0000000p+6"),
        float.fromhex("0x1.f5adf00000000p+4"),
        float.fromhex("0x1.b9b99c0000000p+2"),
        float.fromhex("0x1.6268d80000000p-1"),
    ),
    (
        float.fromhex("0x1.5b1db40000000p+7"),
        float.fromhex("0x1.2168520000000p+8"),
        float.fromhex("0x1.9db0240000000p+7"),
        float.fromhex("0x1.4133e40000000p+6"),
        float.fromhex("0x1.14d4de0000000p+4"),
        float.fromhex("0x1.bc2e080000000p+0"),
    ),
)

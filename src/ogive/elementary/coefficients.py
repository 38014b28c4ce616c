"""The polynomials of the elementary functions, lowest power first, as exact hexadecimal numbers.

Written by accuracy/derive_coefficients.py, which says how they are derived; change that, not this.
"""

from __future__ import annotations

from ogive.expression import Format

__all__ = ["EXPM1", "LOG1P"]
#: (expm1(r) - r) / r**2 on |r| <= log(2) / 2; the error is relative to expm1(r).
EXPM1 = {
    # largest error 2**-31.1
    Format.F32: (
        float.fromhex("0x1.0000000000000p-1"),
        float.fromhex("0x1.5555540000000p-3"),
        float.fromhex("0x1.5554f80000000p-5"),
        float.fromhex("0x1.1112d60000000p-7"),
        float.fromhex("0x1.6d3a5a0000000p-10"),
        float.fromhex("0x1.9e77e80000000p-13"),
    ),
    # largest error 2**-65.0
    Format.F64: (
        float.fromhex("0x1.0000000000000p-1"),
        float.fromhex("0x1.5555555555555p-3"),
        float.fromhex("0x1.5555555555555p-5"),
        float.fromhex("0x1.1111111111351p-7"),
        float.fromhex("0x1.6c16c16c16b80p-10"),
        float.fromhex("0x1.a01a019edcd14p-13"),
        float.fromhex("0x1.a01a01a330cebp-16"),
        float.fromhex("0x1.71de3f208ada1p-19"),
        float.fromhex("0x1.27e4e4efbdc90p-22"),
        float.fromhex("0x1.ae535ee2960e7p-26"),
        float.fromhex("0x1.1f620a527d04cp-29"),
        float.fromhex("0x1.77daa9c8819a9p-33"),
    ),
}

#: (log1p(f) - f + f**2 / 2) / f**3 on sqrt(1/2) <= 1 + f <= sqrt(2); the error is relative to log1p(f).
LOG1P = {
    # largest error 2**-30.3
    Format.F32: (
        float.fromhex("0x1.5555480000000p-2"),
        float.fromhex("-0x1.0000080000000p-2"),
        float.fromhex("0x1.99a4780000000p-3"),
        float.fromhex("-0x1.555b8c0000000p-3"),
        float.fromhex("0x1.233af80000000p-3"),
        float.fromhex("-0x1.fc3e2a0000000p-4"),
        float.fromhex("0x1.e6dcca0000000p-4"),
        float.fromhex("-0x1.dd99d60000000p-4"),
        float.fromhex("0x1.13c0520000000p-4"),
    ),
    # largest error 2**-59.3
    Format.F64: (
        float.fromhex("0x1.555555555556bp-2"),
        float.fromhex("-0x1.ffffffffffe7cp-3"),
        float.fromhex("0x1.9999999994d57p-3"),
        float.fromhex("-0x1.555555556b122p-3"),
        float.fromhex("0x1.249249275fc04p-3"),
        float.fromhex("-0x1.fffffff3af4c2p-4"),
        float.fromhex("0x1.c71c702d3c835p-4"),
        float.fromhex("-0x1.99999a9ebf2d1p-4"),
        float.fromhex("0x1.745d58e895bf9p-4"),
        float.fromhex("-0x1.555576f740c3ep-4"),
        float.fromhex("0x1.3b0d775725a2ap-4"),
        float.fromhex("-0x1.248947595a0dap-4"),
        float.fromhex("0x1.116a0c7a9404cp-4"),
        float.fromhex("-0x1.00cfd88602a9dp-4"),
        float.fromhex("0x1.dc9774f3a6dc9p-5"),
        float.fromhex("-0x1.b45c2aed9a278p-5"),
        float.fromhex("0x1.bbabbfd89a92bp-5"),
        float.fromhex("-0x1.01095712550ecp-4"),
        float.fromhex("0x1.d2b7b463c8823p-5"),
        float.fromhex("-0x1.8dc29ff24fd83p-6"),
    ),
}

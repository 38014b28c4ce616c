"""The polynomials of float64's own kernels, lowest power first: sums of two float64 as far as that shows.

Written by accuracy/derive_word_coefficients.py, which says how they are derived; change that, not this.
"""

from __future__ import annotations

__all__ = [
    "ASIN",
    "ATAN",
    "COS",
    "COSH",
    "ERF",
    "ERFC",
    "EXP",
    "LOG",
    "SIN",
    "SINH",
]

#: exp(r) in r, abs(r) <= log(2) / 2.
EXP = (
    (float.fromhex("0x1.0000000000000p+0"), float.fromhex("0x0.0p+0")),
    (float.fromhex("0x1.0000000000000p+0"), float.fromhex("0x0.0p+0")),
    (float.fromhex("0x1.0000000000000p-1"), float.fromhex("0x0.0p+0")),
    (float.fromhex("0x1.5555555555555p-3"), float.fromhex("0x1.555555555556bp-57")),
    (float.fromhex("0x1.5555555555556p-5"),),
    (float.fromhex("0x1.1111111111111p-7"),),
    (float.fromhex("0x1.6c16c16c162c3p-10"),),
    (float.fromhex("0x1.a01a01a019b21p-13"),),
    (float.fromhex("0x1.a01a01a6e1a43p-16"),),
    (float.fromhex("0x1.71de3a5909fb5p-19"),),
    (float.fromhex("0x1.27e4db47938d1p-22"),),
    (float.fromhex("0x1.ae64342b3c272p-26"),),
    (float.fromhex("0x1.1f733f411b727p-29"),),
    (float.fromhex("0x1.61b2f75519e60p-33"),),
)

#: log1p(f) / s in s**2, s = f / (1 + f / 2), sqrt(1/2) <= 1 + f <= sqrt(2).
LOG = (
    (float.fromhex("0x1.0000000000000p+0"), float.fromhex("0x0.0p+0")),
    (float.fromhex("0x1.5555555555555p-4"), float.fromhex("0x1.5555555555555p-58")),
    (float.fromhex("0x1.999999999999ap-7"),),
    (float.fromhex("0x1.2492492492523p-9"),),
    (float.fromhex("0x1.c71c71c6ea34fp-12"),),
    (float.fromhex("0x1.745d177af5a52p-14"),),
    (float.fromhex("0x1.3b1395aa36ffcp-16"),),
    (float.fromhex("0x1.1118d05c4c72cp-18"),),
    (float.fromhex("0x1.df7b03bbfc5c4p-21"),),
    (float.fromhex("0x1.e040ef6d0ea22p-23"),),
)

#: sin(x) / x in x**2, abs(x) <= pi / 4.
SIN = (
    (float.fromhex("0x1.0000000000000p+0"), float.fromhex("0x0.0p+0")),
    (float.fromhex("-0x1.5555555555555p-3"), float.fromhex("-0x1.5555555555555p-57")),
    (float.fromhex("0x1.1111111111111p-7"), float.fromhex("0x1.1111111111111p-63")),
    (float.fromhex("-0x1.a01a01a01a01ap-13"),),
    (float.fromhex("0x1.71de3a556c6f6p-19"),),
    (float.fromhex("-0x1.ae64567f30286p-26"),),
    (float.fromhex("0x1.612460bdba736p-33"),),
    (float.fromhex("-0x1.ae7db8de52f7ap-41"),),
    (float.fromhex("0x1.92fbaacf6595ap-49"),),
)

#: cos(x) in x**2, abs(x) <= pi / 4.
COS = (
    (float.fromhex("0x1.0000000000000p+0"), float.fromhex("0x0.0p+0")),
    (float.fromhex("-0x1.0000000000000p-1"), float.fromhex("0x0.0p+0")),
    (float.fromhex("0x1.5555555555555p-5"), float.fromhex("0x1.5555555555555p-59")),
    (float.fromhex("-0x1.6c16c16c16c17p-10"),),
    (float.fromhex("0x1.a01a01a019f89p-16"),),
    (float.fromhex("-0x1.27e4fb775f0ddp-22"),),
    (float.fromhex("0x1.1eed8e6b6b1a4p-29"),),
    (float.fromhex("-0x1.93957c18b4315p-37"),),
    (float.fromhex("0x1.abe57d6de4ee8p-45"),),
)

#: sinh(x) / x in x**2, abs(x) <= log(2) / 2.
SINH = (
    (float.fromhex("0x1.0000000000000p+0"), float.fromhex("0x0.0p+0")),
    (float.fromhex("0x1.5555555555555p-3"), float.fromhex("0x1.5555555555555p-57")),
    (float.fromhex("0x1.1111111111111p-7"),),
    (float.fromhex("0x1.a01a01a01a01ap-13"),),
    (float.fromhex("0x1.71de3a556c4f8p-19"),),
    (float.fromhex("0x1.ae645681cdb86p-26"),),
    (float.fromhex("0x1.61244d67cf8efp-33"),),
    (float.fromhex("0x1.af11a041201fap-41"),),
)

#: cosh(x) in x**2, abs(x) <= log(2) / 2.
COSH = (
    (float.fromhex("0x1.0000000000000p+0"), float.fromhex("0x0.0p+0")),
    (float.fromhex("0x1.0000000000000p-1"), float.fromhex("0x0.0p+0")),
    (float.fromhex("0x1.5555555555555p-5"),),
    (float.fromhex("0x1.6c16c16c16c17p-10"),),
    (float.fromhex("0x1.a01a01a019b5bp-16"),),
    (float.fromhex("0x1.27e4fb7a2b0a5p-22"),),
    (float.fromhex("0x1.1eed79ef1d02cp-29"),),
    (float.fromhex("0x1.9432d58e2a2c4p-37"),),
)

#: asin(x) / x in x**2, abs(x) <= 1/2.
ASIN = (
    (float.fromhex("0x1.0000000000000p+0"), float.fromhex("0x0.0p+0")),
    (float.fromhex("0x1.5555555555555p-3"), float.fromhex("0x1.5555555555555p-57")),
    (float.fromhex("0x1.3333333333333p-4"), float.fromhex("0x1.999999999999ap-59")),
    (float.fromhex("0x1.6db6db6db6db7p-5"),),
    (float.fromhex("0x1.f1c71c71c71b1p-6"),),
    (float.fromhex("0x1.6e8ba2e8bbc64p-6"),),
    (float.fromhex("0x1.1c4ec4eb9405dp-6"),),
    (float.fromhex("0x1.c99999f2f5825p-7"),),
    (float.fromhex("0x1.7a877ab168d2dp-7"),),
    (float.fromhex("0x1.3fdf83d434d39p-7"),),
    (float.fromhex("0x1.12dba9921c2fbp-7"),),
    (float.fromhex("0x1.e0fcc33ad569dp-8"),),
    (float.fromhex("0x1.9833a206b65e7p-8"),),
    (float.fromhex("0x1.cb8c6d19dae95p-8"),),
    (float.fromhex("-0x1.91f5707013d63p-15"),),
    (float.fromhex("0x1.384bd3f26afa5p-6"),),
    (float.fromhex("-0x1.535504040b70fp-6"),),
    (float.fromhex("0x1.abd6318c1a947p-6"),),
)

#: atan(x) / x in x**2, abs(x) <= tan(pi / 8).
ATAN = (
    (float.fromhex("0x1.0000000000000p+0"), float.fromhex("0x0.0p+0")),
    (float.fromhex("-0x1.5555555555555p-2"), float.fromhex("-0x1.5555555555555p-56")),
    (float.fromhex("0x1.999999999999ap-3"), float.fromhex("-0x1.999999999999ap-57")),
    (float.fromhex("-0x1.2492492492492p-3"),),
    (float.fromhex("0x1.c71c71c71c6a2p-4"),),
    (float.fromhex("-0x1.745d1745c91f2p-4"),),
    (float.fromhex("0x1.3b13b13784fedp-4"),),
    (float.fromhex("-0x1.11111047a8d76p-4"),),
    (float.fromhex("0x1.e1e1ad231a106p-5"),),
    (float.fromhex("-0x1.af2405951c0a2p-5"),),
    (float.fromhex("0x1.85da1cb22d702p-5"),),
    (float.fromhex("-0x1.61d9fb5b67635p-5"),),
    (float.fromhex("0x1.38bf4b2394253p-5"),),
    (float.fromhex("-0x1.e049e776c3e50p-6"),),
    (float.fromhex("0x1.c77a0a53497c9p-7"),),
)

#: erf(x) / x in x**2, abs(x) <= 1/2.
ERF = (
    (float.fromhex("0x1.20dd750429b6dp+0"), float.fromhex("0x1.1ae3a859d7611p-56")),
    (float.fromhex("-0x1.812746b0379e7p-2"), float.fromhex("0x1.ee19786e49f2ap-57")),
    (float.fromhex("0x1.ce2f21a042be2p-4"), float.fromhex("-0x1.323db575bf668p-58")),
    (float.fromhex("-0x1.b82ce31288b4ep-6"),),
    (float.fromhex("0x1.565bcd0e6a386p-8"),),
    (float.fromhex("-0x1.c02db4002d188p-11"),),
    (float.fromhex("0x1.f9a326f0dcd60p-14"),),
    (float.fromhex("-0x1.f4d2599bb80afp-17"),),
    (float.fromhex("0x1.b9e643f2ad0dep-20"),),
    (float.fromhex("-0x1.5f629509cede0p-23"),),
    (float.fromhex("0x1.f9d34a5f409f1p-27"),),
    (float.fromhex("-0x1.2d3725a13a93ap-30"),),
)

#: (1 + 3/4 a) exp(a**2) erfc(a) in t = (a - 11/4) / (a + 3), a <= 27.5.
ERFC = (
    (float.fromhex("0x1.2fa983c635a80p-1"), float.fromhex("0x1.1c58983b42130p-55")),
    (float.fromhex("-0x1.1d16d9f6159bap-2"), float.fromhex("-0x1.3fcc337d7494ep-56")),
    (float.fromhex("0x1.3ba94446c52a6p-3"), float.fromhex("0x1.ff67866bd5500p-57")),
    (float.fromhex("-0x1.a2f03a36ba241p-5"), float.fromhex("-0x1.501bc187d12eep-59")),
    (float.fromhex("-0x1.70956709c1713p-9"), float.fromhex("0x1.89da9f3a8c480p-63")),
    (float.fromhex("0x1.e89cd890c740cp-7"), float.fromhex("-0x1.1b1151a11cfc9p-63")),
    (float.fromhex("-0x1.19478f7de7eabp-7"), float.fromhex("0x1.cadb7bd811bc9p-62")),
    (float.fromhex("0x1.bba6d7e1c9f08p-10"),),
    (float.fromhex("0x1.42c4916b04d73p-11"),),
    (float.fromhex("-0x1.9062529976577p-12"),),
    (float.fromhex("-0x1.d43a90096026ap-16"),),
    (float.fromhex("0x1.092355a136ca2p-14"),),
    (float.fromhex("0x1.7e205b0994f09p-21"),),
    (float.fromhex("-0x1.6fa8bf959a8a6p-17"),),
    (float.fromhex("-0x1.9e1b4dade58dep-22"),),
    (float.fromhex("0x1.10d7c111876cdp-19"),),
    (float.fromhex("0x1.203a75ee51573p-22"),),
    (float.fromhex("-0x1.92319b8257c23p-22"),),
    (float.fromhex("-0x1.e8875c86a1026p-24"),),
    (float.fromhex("0x1.fca5c6f51e868p-25"),),
    (float.fromhex("0x1.371ba63546c0cp-25"),),
    (float.fromhex("-0x1.70ad6848ff436p-28"),),
    (float.fromhex("-0x1.26852e257216ep-27"),),
    (float.fromhex("-0x1.34c0e2d0cf8c9p-31"),),
    (float.fromhex("0x1.569d9e6d9566ap-30"),),
    (float.fromhex("0x1.e2cb02aaebcb7p-33"),),
    (float.fromhex("-0x1.e9f2da1c69188p-35"),),
)

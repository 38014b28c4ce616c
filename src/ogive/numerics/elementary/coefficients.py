"""The polynomials of the elementary functions, lowest power first, as exact hexadecimal numbers.

Written by accuracy/derive_coefficients.py, which says how they are derived; change that, not this.
"""

from __future__ import annotations

from fractions import Fraction

from ogive.expression import Format
from ogive.numerics.machine import LONG

__all__ = [
    "ASIN",
    "ATAN",
    "ATANH",
    "ATANH_SHORT",
    "ATAN_QUOTIENT",
    "CBRT_START",
    "COS",
    "COSH",
    "COTH",
    "ERF",
    "ERFINV_FAR",
    "ERFINV_NEAR",
    "EXP",
    "EXP_ADAPTED",
    "LOG1P",
    "LOG1P_QUOTIENT",
    "LOG1P_TO_ONE",
    "NORMAL_TAIL",
    "SIN",
    "SINH",
    "TWO_OVER_PI",
]

#: 2 / pi, its first 1198 bits.
TWO_OVER_PI = Fraction(
    int(
        "28be60db9391054a7f09d5f47d4d377036d8a5664f10e4107f9458eaf7aef1586dc91b8e909374b801924bba827464873f87"
        "7ac72c4a69cfba208d7d4baed1213a671c09ad17df904e64758e60d4ce7d272117e2ef7e4a0ec7fe25fff7816603fbcbc462"
        "d6829b47db4d9fb3c9f2c26dd3d18fd9a797fa8b5d49eeb1faf97c5ecf41ce7de294a4ba9afed7ec47e357421580cc11bf1e",
        16,
    ),
    1 << 1198,
)

#: (expm1(r) - r) / r**2 on |r| <= log(2) / 2, shorter; the error is relative to exp(r).
EXP = {
    # largest error 2**-28.2
    Format.F32: (
        float.fromhex("0x1.fffffc0000000p-2"),
        float.fromhex("0x1.5554920000000p-3"),
        float.fromhex("0x1.5558b20000000p-5"),
        float.fromhex("0x1.1239940000000p-7"),
        float.fromhex("0x1.6a4c560000000p-10"),
    ),
    # largest error 2**-57.9
    Format.F64: (
        float.fromhex("0x1.000000000000ap-1"),
        float.fromhex("0x1.55555555554ffp-3"),
        float.fromhex("0x1.5555555550688p-5"),
        float.fromhex("0x1.11111111266adp-7"),
        float.fromhex("0x1.6c16c184891a5p-10"),
        float.fromhex("0x1.a01a0131af4d0p-13"),
        float.fromhex("0x1.a0199921aa7b0p-16"),
        float.fromhex("0x1.71df1484e19c7p-19"),
        float.fromhex("0x1.28ae3de7cdd0fp-22"),
        float.fromhex("0x1.ad9ab1034f57dp-26"),
    ),
}

#: s coth(s) in s**2, |s| <= log(2) / 4; relative error.
COTH = {
    # largest error 2**-39.4
    LONG: (
        float.fromhex("0x1.000000000178cp+0"),
        float.fromhex("0x1.5555553ccfa8cp-2"),
        float.fromhex("-0x1.6c15c22cf98c5p-6"),
        float.fromhex("0x1.13bd7811225ebp-9"),
    ),
}

#: (log1p(f) - f + f**2 / 2) / f**3 on sqrt(1/2) <= 1 + f <= sqrt(2); the error is relative to log1p(f).
LOG1P = {
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

#: (erf(x) / x - 2 / sqrt(pi)) / x**2 in x**2, abs(x) <= 1/2; the error is relative to erf(x) / x.
ERF = {
    # largest error 2**-50.2
    LONG: (
        float.fromhex("-0x1.812746b0368d8p-2"),
        float.fromhex("0x1.ce2f219e8e507p-4"),
        float.fromhex("-0x1.b82ce2264d76cp-6"),
        float.fromhex("0x1.565b905fc2674p-8"),
        float.fromhex("-0x1.c01cffd2127f5p-11"),
        float.fromhex("0x1.f719c76c56a9bp-14"),
        float.fromhex("-0x1.c136c7b7028c8p-17"),
    ),
}

#: What sin(x) has beyond x**1, divided by x**3: in x**2, abs(x) <= pi / 4; relative to sin(x).
SIN = {
    # largest error 2**-47.5
    LONG: (
        float.fromhex("-0x1.55555555521c2p-3"),
        float.fromhex("0x1.1111110c7e513p-7"),
        float.fromhex("-0x1.a019f92d0a9b0p-13"),
        float.fromhex("0x1.71d7667410fcdp-19"),
        float.fromhex("-0x1.a95f34ee1213ap-26"),
    ),
}

#: What cos(x) has beyond x**2, divided by x**4: in x**2, abs(x) <= pi / 4; relative to cos(x).
COS = {
    # largest error 2**-53.2
    LONG: (
        float.fromhex("0x1.5555555552d75p-5"),
        float.fromhex("-0x1.6c16c16717926p-10"),
        float.fromhex("0x1.a019fa55f59bfp-16"),
        float.fromhex("-0x1.27e007178cb86p-22"),
        float.fromhex("0x1.1bbd1f74fb841p-29"),
    ),
}

#: What asin(x) has beyond x**1, divided by x**3: in x**2, abs(x) <= 1/2; relative to asin(x).
ASIN = {
    # largest error 2**-47.9
    LONG: (
        float.fromhex("0x1.555555554127cp-3"),
        float.fromhex("0x1.333333513545ap-4"),
        float.fromhex("0x1.6db6cc0155ab1p-5"),
        float.fromhex("0x1.f1cb061c537cdp-6"),
        float.fromhex("0x1.6e42fde59bda5p-6"),
        float.fromhex("0x1.1f8a98762aa51p-6"),
        float.fromhex("0x1.9b1080d5f648ep-7"),
        float.fromhex("0x1.26396e5658f6bp-6"),
        float.fromhex("-0x1.e4a9124c48cfcp-8"),
        float.fromhex("0x1.02bfb9274684bp-5"),
    ),
    # largest error 2**-63.7
    Format.F64: (
        float.fromhex("0x1.5555555555553p-3"),
        float.fromhex("0x1.33333333339fap-4"),
        float.fromhex("0x1.6db6db6d4ac97p-5"),
        float.fromhex("0x1.f1c71ca7b8c06p-6"),
        float.fromhex("0x1.6e8b9af8fcea0p-6"),
        float.fromhex("0x1.1c4f857a863efp-6"),
        float.fromhex("0x1.c980d27da19b9p-7"),
        float.fromhex("0x1.7ba53c48bfc9bp-7"),
        float.fromhex("0x1.36b8df2657076p-7"),
        float.fromhex("0x1.4847cc3dbed52p-7"),
        float.fromhex("0x1.5428b8d9c05d8p-11"),
        float.fromhex("0x1.981c576fd57fcp-6"),
        float.fromhex("-0x1.ae5f4f688bfa4p-6"),
        float.fromhex("0x1.14386092b5183p-5"),
    ),
}

#: What atan(x) has beyond x**1, divided by x**3: in x**2, abs(x) <= tan(pi / 8); relative to atan(x).
ATAN = {
    # largest error 2**-63.8
    Format.F64: (
        float.fromhex("-0x1.5555555555554p-2"),
        float.fromhex("0x1.9999999999594p-3"),
        float.fromhex("-0x1.24924924701a9p-3"),
        float.fromhex("0x1.c71c71b4cb6e9p-4"),
        float.fromhex("-0x1.745d14624ac05p-4"),
        float.fromhex("0x1.3b1366a3c9512p-4"),
        float.fromhex("-0x1.110c05b93d2e2p-4"),
        float.fromhex("0x1.e169cd1f7a9f6p-5"),
        float.fromhex("-0x1.ab498ab9ec5b2p-5"),
        float.fromhex("0x1.701cf11782f50p-5"),
        float.fromhex("-0x1.1058d686077b0p-5"),
        float.fromhex("0x1.ea65b1f02ffb7p-7"),
    ),
}

#: What sinh(x) has beyond x**1, divided by x**3: in x**2, abs(x) <= log(2) / 2; relative to sinh(x).
SINH = {
    # largest error 2**-49.4
    LONG: (
        float.fromhex("0x1.5555555552202p-3"),
        float.fromhex("0x1.111111214bb29p-7"),
        float.fromhex("0x1.a0199b9f35aeap-13"),
        float.fromhex("0x1.72dab807d7fd2p-19"),
    ),
}

#: What cosh(x) has beyond x**2, divided by x**4: in x**2, abs(x) <= log(2) / 2; relative to cosh(x).
COSH = {
    # largest error 2**-57.3
    LONG: (
        float.fromhex("0x1.5555555553193p-5"),
        float.fromhex("0x1.6c16c17ce8b36p-10"),
        float.fromhex("0x1.a019aab2a08fdp-16"),
        float.fromhex("0x1.28a0099c4b71fp-22"),
    ),
}

#: What atanh(x) has beyond x**5, divided by x**7: in x**2, abs(x) <= 3 - sqrt(8); relative to atanh(x).
ATANH = {
    # largest error 2**-58.1
    LONG: (
        float.fromhex("0x1.2492492a02425p-3"),
        float.fromhex("0x1.c71c6575bc833p-4"),
        float.fromhex("0x1.7462567f065c2p-4"),
        float.fromhex("0x1.3a03e9224844ap-4"),
        float.fromhex("0x1.2b44a431cf67dp-4"),
    ),
    # largest error 2**-80.1
    Format.F64: (
        float.fromhex("0x1.2492492492489p-3"),
        float.fromhex("0x1.c71c71c71f25ap-4"),
        float.fromhex("0x1.745d174347431p-4"),
        float.fromhex("0x1.3b13b28224942p-4"),
        float.fromhex("0x1.1110afb7b32fap-4"),
        float.fromhex("0x1.e20540680c85ep-5"),
        float.fromhex("0x1.ab50405ef170fp-5"),
        float.fromhex("0x1.c071fbb3aa92fp-5"),
    ),
}

#: x ** (-1/3) on sqrt(1/2) <= x <= sqrt(2), roughly; relative error.
CBRT_START = {
    # largest error 2**-20.1
    Format.F64: (
        float.fromhex("0x1.0e1224abaf12ep+1"),
        float.fromhex("-0x1.935ca722cca3ep+1"),
        float.fromhex("0x1.1bfe0819326c2p+2"),
        float.fromhex("-0x1.02a9eb2cedccbp+2"),
        float.fromhex("0x1.2065cdbdb71e6p+1"),
        float.fromhex("-0x1.66cb3a1d9cf94p-1"),
        float.fromhex("0x1.7de9f7c4eaa8cp-4"),
    ),
}

#: erfinv(x) / x in w = -log(1 - x**2), 0 <= w <= 6.25, roughly; relative error.
ERFINV_NEAR = {
    # largest error 2**-27.4
    Format.F64: (
        float.fromhex("0x1.c5bf8944f5ba4p-1"),
        float.fromhex("0x1.db29da9e79733p-3"),
        float.fromhex("0x1.7a83810ffbcb2p-7"),
        float.fromhex("-0x1.32e1d7924498dp-9"),
        float.fromhex("-0x1.ef470dc77629ep-14"),
        float.fromhex("0x1.3976bd9680208p-15"),
        float.fromhex("0x1.ebbfc84111a6ap-18"),
        float.fromhex("-0x1.89f028e5a6818p-19"),
        float.fromhex("0x1.9f10c19daaf14p-22"),
        float.fromhex("-0x1.a624dc29aa2fdp-26"),
        float.fromhex("0x1.5ead32d741de0p-31"),
    ),
}

#: erfinv(x) / x in sqrt(w) - 4, w = -log(1 - x**2), 6.25 <= w <= 37, roughly; relative error.
ERFINV_FAR = {
    # largest error 2**-23.7
    Format.F64: (
        float.fromhex("0x1.eb7e08af5d683p+1"),
        float.fromhex("0x1.026e42aa6a72bp+0"),
        float.fromhex("0x1.4a940ca984af6p-10"),
        float.fromhex("-0x1.cd5b3b9c945b9p-11"),
        float.fromhex("0x1.4dcab136e08c9p-12"),
        float.fromhex("-0x1.98573c0788f56p-14"),
        float.fromhex("0x1.c8a400c6a5c93p-15"),
        float.fromhex("-0x1.91d23ed26ddf8p-15"),
        float.fromhex("0x1.8bd8557497d6ep-16"),
        float.fromhex("-0x1.47f54916805e4p-18"),
        float.fromhex("0x1.17f8371e2b07dp-22"),
    ),
}

#: What atanh(x) has beyond x**1, divided by x**3: in x**2, abs(x) <= 0.2005; relative to atanh(x).
ATANH_SHORT = {
    # largest error 2**-49.0
    LONG: (
        float.fromhex("0x1.55555555497d9p-2"),
        float.fromhex("0x1.999999c6154fdp-3"),
        float.fromhex("0x1.24922d5d5ac64p-3"),
        float.fromhex("0x1.c72c5ae721606p-4"),
        float.fromhex("0x1.72124bc412c58p-4"),
        float.fromhex("0x1.6423f8ab4e46ep-4"),
    ),
}

#: 1 + r + r**2 P(r), P longer than EXP: of_ninth_degree (numerics/elementary/adapted.py).
EXP_ADAPTED = {
    LONG: (
        float.fromhex("0x1.a000000000000p+1"),
        float.fromhex("0x1.7109577b316cdp-19"),
        float.fromhex("-0x1.d1edabc071174p-15"),
        float.fromhex("-0x1.7594230a5a32dp+7"),
        float.fromhex("0x1.121dcdcde267ep-7"),
        float.fromhex("-0x1.cc066ce96aec2p+0"),
        float.fromhex("0x1.c46ba9c7a6a04p-6"),
        float.fromhex("-0x1.69491b6d800ddp+2"),
        float.fromhex("-0x1.0125e6c9b5463p-1"),
        float.fromhex("-0x1.6e777d39c3663p+4"),
        float.fromhex("0x1.0d30663492366p+3"),
    ),
}

#: log1p(x) / x, sqrt(1/2) <= 1 + x <= sqrt(2) and a little beyond; relative error; a Quotient.
LOG1P_QUOTIENT = {
    # largest error 2**-29.9
    Format.F32: (
        (
            float.fromhex("0x1.1925ef64c4dd1p+3"),
            float.fromhex("0x1.5570b9bb17746p+3"),
            float.fromhex("0x1.761fb40089118p+1"),
            float.fromhex("0x1.f946a3e92933cp-5"),
        ),
        (
            float.fromhex("0x1.1925ef64b0b35p+3"),
            float.fromhex("0x1.e203b1c933a14p+3"),
            float.fromhex("0x1.e1a4ecd4a6509p+2"),
            float.fromhex("0x1.0000000000000p+0"),
        ),
    ),
    # largest error 2**-39.0
    LONG: (
        (
            float.fromhex("0x1.96190bfbbd304p+4"),
            float.fromhex("0x1.5dbca98f5ebf7p+5"),
            float.fromhex("0x1.68a967b728b51p+4"),
            float.fromhex("0x1.afed30b273a66p+1"),
            float.fromhex("0x1.434ea4ee3baddp-5"),
        ),
        (
            float.fromhex("0x1.96190bfbbd366p+4"),
            float.fromhex("0x1.c342ec8e2598ap+5"),
            float.fromhex("0x1.524752cdd1519p+5"),
            float.fromhex("0x1.81e7e74e45610p+3"),
            float.fromhex("0x1.0000000000000p+0"),
        ),
    ),
}

#: log1p(x) / x, 0 <= x <= 1 and a little beyond; relative error; a Quotient.
LOG1P_TO_ONE = {
    # largest error 2**-39.0
    LONG: (
        (
            float.fromhex("0x1.6cba514a88c49p+5"),
            float.fromhex("0x1.1722eaf4e7b04p+6"),
            float.fromhex("0x1.e9cc8f600cc73p+4"),
            float.fromhex("0x1.d14cf9ab48f77p+1"),
            float.fromhex("0x1.d80c732330787p-6"),
        ),
        (
            float.fromhex("0x1.6cba514a8afb8p+5"),
            float.fromhex("0x1.72517f4661f05p+6"),
            float.fromhex("0x1.eda456e115d62p+5"),
            float.fromhex("0x1.e0d22b075e169p+3"),
            float.fromhex("0x1.0000000000000p+0"),
        ),
    ),
}

#: exp(a**2 / 2) erfc(a / sqrt(2)) / 2 in a, 0 <= a <= 38; relative error; a Quotient.
NORMAL_TAIL = {
    # largest error 2**-42.4
    LONG: (
        (
            float.fromhex("0x1.15f6a26a5226cp+12"),
            float.fromhex("0x1.6ef34eedc370ap+12"),
            float.fromhex("0x1.dbcf24bf7f647p+11"),
            float.fromhex("0x1.7d4cb50695746p+10"),
            float.fromhex("0x1.93f48860df39dp+8"),
            float.fromhex("0x1.1ab87ea4855d7p+6"),
            float.fromhex("0x1.e7d7a168ce452p+2"),
            float.fromhex("0x1.98845339647e8p-2"),
        ),
        (
            float.fromhex("0x1.15f6a26a525aap+13"),
            float.fromhex("0x1.265dd790807a1p+14"),
            float.fromhex("0x1.1c54fc6a8c5e0p+14"),
            float.fromhex("0x1.489d359448ecap+13"),
            float.fromhex("0x1.f3c8fd611f79ep+11"),
            float.fromhex("0x1.01eb04c9be286p+10"),
            float.fromhex("0x1.64567cb1c1032p+7"),
            float.fromhex("0x1.31b5b751399a7p+4"),
            float.fromhex("0x1.0000000000000p+0"),
        ),
    ),
}

#: atan(x) / x in x**2, abs(x) <= 1; relative error; a Quotient.
ATAN_QUOTIENT = {
    # largest error 2**-48.1
    LONG: (
        (
            float.fromhex("0x1.2814635128cd3p+8"),
            float.fromhex("0x1.2f19cfcdf75b3p+9"),
            float.fromhex("0x1.a0c3776deae3dp+8"),
            float.fromhex("0x1.b9b66d59168d7p+6"),
            float.fromhex("0x1.2e0d390f2ae6bp+3"),
            float.fromhex("0x1.d5c9d397251d4p-4"),
        ),
        (
            float.fromhex("0x1.2814635128ce4p+8"),
            float.fromhex("0x1.60728b0628245p+9"),
            float.fromhex("0x1.28419bdbb5c0dp+9"),
            float.fromhex("0x1.a2803c2002f72p+7"),
            float.fromhex("0x1.c7d005973188fp+4"),
            float.fromhex("0x1.0000000000000p+0"),
        ),
    ),
}

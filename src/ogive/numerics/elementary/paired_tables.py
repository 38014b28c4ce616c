"""The tables of float32 pairs.

Written by accuracy/derive_paired_tables.py, which says how they are derived; change that, not this.
"""

from __future__ import annotations

__all__ = ["POWERS", "POWERS_LACK"]

#: 2**(j / 32) with j taken off its bits.
POWERS = (
    float.fromhex("0x1.0000000000000p-64"),
    float.fromhex("0x1.fd9b0e0000000p-65"),
    float.fromhex("0x1.fb55860000000p-65"),
    float.fromhex("0x1.f9301e0000000p-65"),
    float.fromhex("0x1.f72b840000000p-65"),
    float.fromhex("0x1.f548740000000p-65"),
    float.fromhex("0x1.f387a60000000p-65"),
    float.fromhex("0x1.f1e9e00000000p-65"),
    float.fromhex("0x1.f06fe00000000p-65"),
    float.fromhex("0x1.ef1a740000000p-65"),
    float.fromhex("0x1.edea640000000p-65"),
    float.fromhex("0x1.ece0860000000p-65"),
    float.fromhex("0x1.ebfdae0000000p-65"),
    float.fromhex("0x1.eb42b60000000p-65"),
    float.fromhex("0x1.eab07e0000000p-65"),
    float.fromhex("0x1.ea47ec0000000p-65"),
    float.fromhex("0x1.ea09e60000000p-65"),
    float.fromhex("0x1.e9f75e0000000p-65"),
    float.fromhex("0x1.ea11480000000p-65"),
    float.fromhex("0x1.ea589a0000000p-65"),
    float.fromhex("0x1.eace540000000p-65"),
    float.fromhex("0x1.eb737c0000000p-65"),
    float.fromhex("0x1.ec49180000000p-65"),
    float.fromhex("0x1.ed503c0000000p-65"),
    float.fromhex("0x1.ee89fa0000000p-65"),
    float.fromhex("0x1.eff7700000000p-65"),
    float.fromhex("0x1.f199be0000000p-65"),
    float.fromhex("0x1.f3720e0000000p-65"),
    float.fromhex("0x1.f5818e0000000p-65"),
    float.fromhex("0x1.f7c9740000000p-65"),
    float.fromhex("0x1.fa4afa0000000p-65"),
    float.fromhex("0x1.fd07660000000p-65"),
)

#: What these powers lack, relative to them.
POWERS_LACK = (
    float.fromhex("0x0.0p+0"),
    float.fromhex("-0x1.9474140000000p-25"),
    float.fromhex("0x1.8d96d40000000p-25"),
    float.fromhex("-0x1.dda2fc0000000p-25"),
    float.fromhex("-0x1.9c0c220000000p-27"),
    float.fromhex("-0x1.a2fbb20000000p-25"),
    float.fromhex("0x1.9649040000000p-25"),
    float.fromhex("-0x1.2b0dbc0000000p-25"),
    float.fromhex("0x1.1250020000000p-25"),
    float.fromhex("-0x1.cde8ce0000000p-26"),
    float.fromhex("0x1.370be40000000p-25"),
    float.fromhex("0x1.336de20000000p-30"),
    float.fromhex("-0x1.0a35500000000p-25"),
    float.fromhex("-0x1.c541b40000000p-26"),
    float.fromhex("-0x1.00d8ac0000000p-27"),
    float.fromhex("-0x1.6cb2840000000p-25"),
    float.fromhex("0x1.26055c0000000p-26"),
    float.fromhex("0x1.8b2bb80000000p-26"),
    float.fromhex("-0x1.05cb440000000p-25"),
    float.fromhex("-0x1.1c21420000000p-26"),
    float.fromhex("0x1.67a1ca0000000p-28"),
    float.fromhex("-0x1.348e560000000p-25"),
    float.fromhex("0x1.a3b5e40000000p-28"),
    float.fromhex("-0x1.0b7ec80000000p-25"),
    float.fromhex("-0x1.f9c3040000000p-27"),
    float.fromhex("-0x1.e4c8860000000p-26"),
    float.fromhex("-0x1.6961b40000000p-28"),
    float.fromhex("-0x1.b5151e0000000p-28"),
    float.fromhex("-0x1.a5217c0000000p-28"),
    float.fromhex("-0x1.ab71320000000p-26"),
    float.fromhex("0x1.61428e0000000p-28"),
    float.fromhex("-0x1.2ad5f80000000p-27"),
)

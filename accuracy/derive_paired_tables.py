"""Derive the tables of float32 pairs: run it and compare, or --write the table.

    python accuracy/derive_paired_tables.py [--write]

The powers 2**(j / 32), rounded to float32, and what these lack, relative to them. In the table of powers j has been taken off
the bits already, in the place where the rule adds ``n + 2048`` to them, whose lowest five bits are j.
"""

from __future__ import annotations

import struct
import sys

import mpmath as mp
from derived_tables import Sections, write_or_compare_tables

COUNT = 32

#: How far n is shifted to be added, and the offset that it has.
SHIFT, OFFSET = 18, 2048


def single(value: mp.mpf) -> float:
    return float(struct.unpack("<f", struct.pack("<f", float(value)))[0])


def taken_off(power: float, j: int) -> float:
    (bits,) = struct.unpack("<I", struct.pack("<f", power))
    return float(struct.unpack("<f", struct.pack("<I", (bits - ((j + OFFSET) << SHIFT)) % (1 << 32)))[0])


def derived() -> Sections:
    mp.mp.prec = 200
    exact = [mp.mpf(2) ** (mp.mpf(j) / COUNT) for j in range(COUNT)]
    powers = list(map(single, exact))
    lacks = [single(y / mp.mpf(x) - 1) for x, y in zip(powers, exact, strict=True)]
    taken = [taken_off(x, j) for j, x in enumerate(powers)]
    return {
        "pairs": {
            "POWERS": {"what": "2**(j / 32) with j taken off its bits", "F32": taken},
            "POWERS_LACK": {"what": "What these powers lack, relative to them", "F32": lacks},
        }
    }


if __name__ == "__main__":
    sys.exit(write_or_compare_tables(__doc__, derived))

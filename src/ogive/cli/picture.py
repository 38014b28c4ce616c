"""A small picture of a distribution, drawn with characters."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["picture"]

#: Rows of a picture, and columns: one a bin.
HEIGHT, WIDTH = 3, 60

#: From empty to full, for one character.
_BLOCKS, _ASCII = " ▁▂▃▄▅▆▇█", " .:|"


def picture(counts: Sequence[int], low: float, high: float, encoding: str | None) -> list[str]:
    r"""The lines of a histogram, with the ends of its range below. Heights are logarithms of the counts.

    >>> print("\n".join(picture([1, 10, 1000, 0, 1], -1, 1, "utf-8")))
      █
      █
    ▂██ ▂
    -1  1
    """
    blocks = _BLOCKS if _can_write(_BLOCKS, encoding) else _ASCII
    full, largest = len(blocks) - 1, max(counts, default=0)
    # One element is still seen: its height is that of the smallest step, or more.
    scale = HEIGHT * full / math.log1p(largest) if largest else 0
    heights = [max(1, round(math.log1p(count) * scale)) if count else 0 for count in counts]
    lines = [
        "".join(blocks[min(max(height - row * full, 0), full)] for height in heights).rstrip()
        for row in reversed(range(HEIGHT))
    ]
    left, right = f"{low:.6g}", f"{high:.6g}"
    return [*lines, left + right.rjust(max(len(counts) - len(left), len(right) + 2))]


def _can_write(text: str, encoding: str | None) -> bool:
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True

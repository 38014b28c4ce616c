"""The parts that run compiled code: the native extension, threads, the cache of compiled kernels, and how many elements cost more.

>>> import ogive.runtime
>>> ogive.runtime.statistics()  # doctest: +SKIP
[Statistics(operator='softmax', types='float32 -> float32', elements=8192, retried=0, repaired=4096, enclosed=0, seconds=0.0)]
"""

from __future__ import annotations

from ogive.runtime.counting import Statistics, statistics

__all__ = ["Statistics", "statistics"]

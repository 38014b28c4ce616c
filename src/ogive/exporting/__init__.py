"""Kernels without Python: an operator, a formula of one's own or a fused model as functions that C calls.

The result is a header, one file of ISO C, and headers that all such files share. It needs nothing: no run-time library, no
mathematical one, no memory but the caller's. `interface.py` says how its functions look, `c_source.py` writes them, and `building.py` has them compiled.
"""

from ogive.exporting.exported import Exported, export
from ogive.exporting.in_process import address

__all__ = ["Exported", "address", "export"]

"""Kernels without Python: an operator, a formula of one's own or a fused model as functions that C calls.

What comes out is a header and an object file (or assembly, LLVM IR, a static or shared library) that needs nothing: no
run-time library, no mathematical one, no memory but the caller's. `interface.py` says how its functions look, `module.py`
writes them, with the loops of `driver.py` and `row_driver.py`.
"""

from ogive.exporting.exported import Exported, export
from ogive.exporting.in_process import address

__all__ = ["Exported", "address", "export"]

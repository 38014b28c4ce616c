"""Models in the JSON format of Microsoft's DxDispatch, run without Windows and without a GPU.

>>> import sys, ogive.dxdispatch
>>> ogive.dxdispatch.load("model.json").run(sys.stdout.write)  # doctest: +SKIP
"""

from ogive.dxdispatch.model import Model, load

__all__ = ["Model", "load"]

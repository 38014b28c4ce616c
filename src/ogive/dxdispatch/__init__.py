"""Models in the JSON format of Microsoft's DxDispatch, run without Windows and without a GPU.

`load` checks a model and `Model.run` runs it; on the command line it is ``ogive run model.json``.
"""

from ogive.dxdispatch.loaded_model import Model, load

__all__ = ["Model", "load"]

"""How many bytes a model may have."""

from __future__ import annotations

from ogive.dxdispatch.place import Place
from ogive.errors import ParameterError, message
from ogive.runtime.memory import available_memory

__all__ = ["Budget"]


class Budget:
    """The bytes that are left for the buffers of a model; asked for before any of them is made."""

    def __init__(self, limit: int | None) -> None:
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            what = f"memory_limit is {limit!r}"
            raise ParameterError(message("ogive.dxdispatch.load", what, "a whole number of bytes from 1 on, or None"))
        self.limit = available_memory() if limit is None else limit
        self._left = self.limit

    def take(self, place: Place, size: int, what: str) -> None:
        """Refuse, for what stands at that place, if so many bytes are not left. ``what`` wants them."""
        if size > self._left:
            allowed = f"{self._left}, which is left of the memory limit of {self.limit} bytes"
            place.refuse(f"{what}: {size} bytes", allowed, "Raise memory_limit if the machine has more")
        self._left -= size

"""What all objects have in common: a name, private data, and the device that they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from ogive.directml.errors import HRESULT, refuse
from ogive.errors import described

if TYPE_CHECKING:
    from ogive.directml.device import Device

__all__ = ["DeviceChild", "Object"]


class Object:
    """IDMLObject: a name for messages, and data of the caller's under GUIDs."""

    INTERFACE: ClassVar[str] = "IDMLObject"

    def __init__(self) -> None:
        self._name = ""
        self._private: dict[UUID, Any] = {}

    def SetName(self, name: str) -> None:
        """Name the object, for ``repr``."""
        self._name = str(name)

    def SetPrivateData(self, guid: UUID, data: bytes | None) -> None:
        """Keep a copy of some bytes under a GUID; None removes them."""
        self._put("SetPrivateData", guid, None if data is None else bytes(data))

    def SetPrivateDataInterface(self, guid: UUID, data: object) -> None:
        """Keep a reference to an object under a GUID; None removes it."""
        self._put("SetPrivateDataInterface", guid, data)

    def GetPrivateData(self, guid: UUID) -> Any:
        """What was kept under a GUID; DMLError (DXGI_ERROR_NOT_FOUND) if nothing was."""
        if guid not in self._private:
            subject = f"{self.INTERFACE}::GetPrivateData"
            refuse(subject, f"there is nothing under {guid}", hresult=HRESULT.DXGI_ERROR_NOT_FOUND, member="guid")
        return self._private[guid]

    def _put(self, method: str, guid: Any, data: Any) -> None:
        if not isinstance(guid, UUID):
            subject = f"{self.INTERFACE}::{method}"
            refuse(subject, f"guid is {described(guid)}", "a uuid.UUID", member="guid")
        if data is None:
            self._private.pop(guid, None)
        else:
            self._private[guid] = data

    def __repr__(self) -> str:
        name = f" {self._name!r}" if self._name else ""
        return f"<{self.INTERFACE}{name}{self._described()}>"

    def _described(self) -> str:
        return ""


class DeviceChild(Object):
    """IDMLDeviceChild: an object that a device has made."""

    INTERFACE = "IDMLDeviceChild"

    def __init__(self, device: Device) -> None:
        super().__init__()
        self._device = device

    def GetDevice(self) -> Device:
        """The device that made this object."""
        return self._device

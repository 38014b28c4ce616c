"""The common part of all objects: a name, private data, and the device that they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from uuid import UUID

from ogive.devices.device_plan import Device as Adapter
from ogive.directml.results import HRESULT, DMLError, refuse
from ogive.errors import described


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
        """The data kept under a GUID; DMLError (DXGI_ERROR_NOT_FOUND) if nothing was."""
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


class Parent(Object):
    """The facts that the objects of a device ask for: its contract, whether it is removed, and whether others are its own."""

    INTERFACE = "IDMLDevice"

    def __init__(self, accuracy: str, adapter: Adapter | None = None) -> None:
        super().__init__()
        self._accuracy = accuracy
        self._adapter = adapter
        self._removed: DMLError | None = None

    @property
    def accuracy(self) -> str:
        """The accuracy contract of its element-wise operators: "exact" or "fast"."""
        return self._accuracy

    @property
    def adapter(self) -> Any:
        """The place where kernels run: a device, as `ogive.device` gives it; None for the processor."""
        return self._adapter

    def GetDeviceRemovedReason(self) -> HRESULT:
        """S_OK, or the result of the mistake that removed the device."""
        return HRESULT.S_OK if self._removed is None else self._removed.hresult

    def _require(self) -> None:
        """Refuse if the device is removed."""
        if self._removed is not None:
            reason = str(self._removed)
            hresult = HRESULT.DXGI_ERROR_DEVICE_REMOVED
            refuse("IDMLDevice", f"it has been removed, because {reason}", way_out="Make another one", hresult=hresult)

    def _require_own(self, subject: str, child: DeviceChild) -> None:
        if child.GetDevice() is not self:
            refuse(subject, f"{child!r} belongs to another device", "objects of this device")

    @contextmanager
    def _removed_by_misuse(self) -> Iterator[None]:
        """For what returns nothing in C: a mistake is raised, and removes the device."""
        self._require()
        try:
            yield
        except DMLError as error:
            self._removed = error
            raise


class DeviceChild(Object):
    """IDMLDeviceChild: an object that a device has made."""

    INTERFACE = "IDMLDeviceChild"

    def __init__(self, device: Parent) -> None:
        super().__init__()
        self._device = device

    def GetDevice(self) -> Any:
        """The device that made this object, a `Device`."""
        return self._device

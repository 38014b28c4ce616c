"""DMLError, and the HRESULTs that it carries."""

from __future__ import annotations

import enum
from typing import NoReturn

from ogive.errors import OgiveError, message


class HRESULT(enum.IntEnum):
    """The results of DirectML's methods that occur here, by their names in the Windows headers."""

    S_OK = 0
    E_NOINTERFACE = 0x80004002
    E_OUTOFMEMORY = 0x8007000E
    E_INVALIDARG = 0x80070057
    DXGI_ERROR_NOT_FOUND = 0x887A0002
    DXGI_ERROR_UNSUPPORTED = 0x887A0004
    DXGI_ERROR_DEVICE_REMOVED = 0x887A0005

    def __repr__(self) -> str:
        return self.name


class DMLError(OgiveError, ValueError):
    """A call that DirectML would refuse.

    ``hresult`` is what the method would return (or, for a method without a result, what removes the
    device); ``subject`` is the desc or the method, ``member`` its member or argument. The text says what was
    given, what is allowed (at that feature level, where that matters), and the way out.

    >>> import ogive.directml as dml
    >>> try:
    ...     dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=[2, 0])
    ... except dml.DMLError as error:
    ...     print(error.hresult.name, error.subject, error.member, sep=" | ")
    ...     print(error)
    E_INVALIDARG | DML_BUFFER_TENSOR_DESC | Sizes
    DML_BUFFER_TENSOR_DESC: Sizes is (2, 0); allowed: sizes from 1 on, in every dimension (E_INVALIDARG)
    """

    def __init__(
        self, text: str, hresult: HRESULT = HRESULT.E_INVALIDARG, *, subject: str = "", member: str = ""
    ) -> None:
        super().__init__(text)
        self.hresult = hresult
        self.subject = subject
        self.member = member

    def __str__(self) -> str:
        return f"{self.args[0]} ({self.hresult.name})"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.args[0], self.hresult, self.subject, self.member)


def _rebuild(text: str, hresult: HRESULT, subject: str, member: str) -> DMLError:
    return DMLError(text, hresult, subject=subject, member=member)


def refuse(
    subject: str,
    what: str,
    allowed: str = "",
    way_out: str = "",
    *,
    member: str = "",
    hresult: HRESULT = HRESULT.E_INVALIDARG,
    cause: BaseException | None = None,
) -> NoReturn:
    """Raise a DMLError, worded as everywhere in Ogive."""
    raise DMLError(message(subject, what, allowed, way_out), hresult, subject=subject, member=member) from cause

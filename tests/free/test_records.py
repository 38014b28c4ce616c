"""Records (ogive/records.py) beside the dataclasses that they stand for."""

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, fields, is_dataclass, replace

import pytest

from ogive.backends.target import TARGETS
from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.common.records import record, replaced


@record()
class Place:
    name: str
    size: int = 3


@record(eq=False)
class Own:
    name: str


@dataclass(frozen=True)
class Same:
    name: str
    size: int = 3


def test_a_record_is_like_a_dataclass():
    for made in (Place("a"), Place(name="a", size=3), pickle.loads(pickle.dumps(Place("a"))), copy.copy(Place("a"))):
        assert made == Place("a", 3)
        assert made != Same("a", 3)
        assert hash(made) == hash(Same("a", 3))
        assert repr(made) == repr(Same("a")).replace("Same", "Place")
    assert Place("a") != Place("a", 4)
    assert Own("a") != Own("a")


def test_parts_are_checked():
    for wrong in (lambda: Place(), lambda: Place("a", 1, 2), lambda: Place("a", colour=1)):
        with pytest.raises(TypeError, match="Place"):
            wrong()


def test_nothing_is_changed():
    place = Place("a")
    with pytest.raises(FrozenInstanceError, match="name"):
        place.name = "b"
    with pytest.raises(FrozenInstanceError, match="name"):
        del place.name


def test_dataclasses_know_records():
    assert is_dataclass(Place)
    assert [field.name for field in fields(Place)] == ["name", "size"]
    assert replace(Place("a"), size=4) == replaced(Place("a"), size=4) == Place("a", 4)
    assert asdict(Place("a")) == {"name": "a", "size": 3}
    with pytest.raises(TypeError):
        replaced(Place("a"), colour=1)


def test_the_records_of_the_package():
    float32, target = ELEMENT_TYPES["float32"], TARGETS["x86-64-v3"]
    assert replace(float32) == float32
    assert replace(target, only_triple="x") != target
    match float32:
        case ElementType(name="float32", bits=bits):
            assert bits == 32

"""Every wrong call of the table gets the sentence that stands there, and every sentence has the same form."""

import builtins
import re
import sys
import warnings

import numpy as np
import pytest

import ogive.directml as dml
from ogive import errors
from tests.messages import doors
from tests.messages.wrong_calls import WRONG_CALLS

ROWS = [(door, *row) for door, rows in WRONG_CALLS.items() for row in rows]
IDS = [f"{door}: {label}" for door, label, *_ in ROWS]

#: The parts of the library that a mistake can reach a person through, and how many mistakes each has at least.
DOORS = {
    "functions": 70,
    "out": 15,
    "formulas": 60,
    "onnx": 35,
    "directml": 55,
    "builder": 20,
    "dxdispatch": 20,
    "check": 4,
    "command line": 40,
    "threads": 6,
    "environment": 3,
    "pickling": 1,
    "containers": 6,
}

KINDS = {name: getattr(errors, name) for name in errors.__all__ if name[0].isupper()} | {
    "AttributeError": builtins.AttributeError,
    "CommandLineError": doors.CommandLineError,
    "DMLError": dml.DMLError,
    "ProcessError": doors.ProcessError,
}

#: Where a formula went wrong, which follows the sentence and quotes the code.
LINE = re.compile(r"\. In call\.py, line \d+: .*$", re.DOTALL)

#: The beginnings of a sentence that says what to do, where no "allowed:" says it.
WAYS_OUT = (
    "Add|Annotate|Bind|Call|Check|Compute|Convert|Copy|Decorate|Did you mean|did you mean|Dispatch|Give|Import|Install|Leave|"
    "Make|Multiply|Name|Only|Pass|Put|Return|Save|Say|See|Take|Try|Use|Wrap|Write"
)

#: The name of a value that cannot stand in a sentence itself.
KINDS_OF_VALUES = {
    *("array", "constant", "device", "element", "expression", "function", "graph", "input", "list", "missing"),
    *("property", "sequence", "shape", "string", "values"),
}

#: Words of code that say nothing about what was given.
OF_EVERY_CALL = {"lambda", "x", "t", "d", "m", "o", "g", "dml", "ogive", "np", "operator", "and", "for", "in", "it"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("wrong_calls")
    doors.files(made)
    return made


def words(text):
    return set(re.findall(r"[\w.+-]+|[@<>&%/*|-]+|\[\]", text.lower())) | set(re.findall(r"\w+", text.lower()))


def sentence_of(said):
    """The sentence without what else a kind of error adds to it."""
    return re.sub(r" \([A-Z_]+\)$|^status \d+: ", "", LINE.sub("", said))


def test_the_table_is_large_and_has_no_row_twice():
    assert WRONG_CALLS.keys() == DOORS.keys()
    for door, least in DOORS.items():
        assert len(WRONG_CALLS[door]) >= least, door
    assert len({code for _, _, code, _, _ in ROWS}) == len(ROWS) >= 200
    assert len(set(IDS)) == len(ROWS)


@pytest.mark.parametrize(("door", "label", "code", "kind", "sentence"), ROWS, ids=IDS)
def test_a_wrong_call_gets_its_sentence(door, label, code, kind, sentence, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delitem(sys.modules, "cloudpickle", raising=False)  # another test may have imported it; it pickles more
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KINDS[kind]) as caught:
            doors.execute(code)
    assert caught.type.__name__ == kind
    assert str(caught.value).replace(str(folder), ".") == sentence


@pytest.mark.parametrize(("door", "label", "code", "kind", "sentence"), ROWS, ids=IDS)
def test_every_sentence_has_the_form(door, label, code, kind, sentence):
    said = sentence_of(sentence)
    subject, colon, rest = said.partition(": ")
    assert colon, "it does not begin with who complains"
    assert 1 <= len(subject.split()) <= 12, subject
    assert re.search(rf"; allowed: \S|(?:^|[.;] |: )(?:{WAYS_OUT})\b", rest), (
        "it does not say what is allowed or what to do"
    )
    given = re.split(r"; allowed: |\. (?=[A-Z])", rest)[0]
    assert (words(code) - OF_EVERY_CALL) & words(said) or KINDS_OF_VALUES & words(given), (
        "it does not say what was given"
    )
    assert len(given.split()) >= 2, given
    assert len(said.split()) <= 60
    assert not re.search(r"<class|NoneType|of type [a-z]|0x[0-9a-f]{6}|\n|\ba (int|ndarray|str|object)\b", said)
    assert not re.search(r"\b1 (positional )?arguments\b|\b1 axes\b|  |\.\.$|;\s*\.|,$|:$", said)
    if kind == "CommandLineError":
        assert sentence.startswith("status 2: ogive: ")


def test_every_kind_of_error_is_in_the_table():
    """Those that a call can get: a kernel that cannot be compiled, a device and a missing package need another machine."""
    found = {kind for _, _, _, kind, _ in ROWS}
    assert {name for name in errors.__all__ if name.endswith("Error")} - found == {
        "CompileError",
        "DeviceError",
        "MissingPackageError",
        "OgiveError",
    }


def test_given_values_are_named():
    assert errors.described(None) == "None"
    assert errors.described(np.zeros((2, 3))) == "an array of shape (2, 3)"
    assert errors.described(np.float32(1.5)) == "np.float32(1.5)"
    assert errors.described(10**5000) == "a whole number of about 5001 digits"
    assert errors.described("x" * 1000).startswith("'xxx")
    assert len(errors.described("x" * 1000)) < 40
    assert errors.described(range(3)) == "a range"
    assert errors.described({}.items()) == "a dict_items"
    assert errors.described(int) == "the class int"
    assert errors.described(len) == "the function len"
    assert errors.described(object()) == "an object"

"""JSON with comments and last commas: the data is that of the plain file, and so are the lines."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.common.documents.document import Document, Members
from ogive.common.documents.place import DocumentPlace
from ogive.errors import ModelError

TEXT = """// a model
{
    "a": [1, 2, /* 3, */ ],  // trailing
    "b // no comment": "/* nor this */,]",
    /* a comment
       of several lines */
    "c": { "d": [ [ true, null, ], ], },
    "e": "\\"// still text",
}
"""


def test_comments_and_last_commas():
    document = Document("model", TEXT)
    assert document.data == {
        "a": [1, 2],
        "b // no comment": "/* nor this */,]",
        "c": {"d": [[True, None]]},
        "e": '"// still text',
    }
    lines = {(): 2, ("a",): 3, ("a", 1): 3, ("b // no comment",): 4, ("c",): 7, ("c", "d", 0, 1): 7, ("e",): 8}
    assert {path: document.line_of(path) for path in lines} == lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: expecting value"),
        ("[,]", "line 1, column 2: expecting value"),
        ("[1,,]", "line 1, column 4: expecting value"),
        ("{,}", "line 1, column 2: expecting property name"),
        ('{"a": 1,\n "b" 2}', "line 2, column 6: expecting ':' delimiter"),
        ('// x\n/* y\n */ {"a" }', "line 3, column 10: expecting ':' delimiter"),
        ("{a: 1}", "line 1, column 2: expecting property name"),
        ("['a']", "line 1, column 2: expecting value"),
        ("[1]\n\n  x", "line 3, column 3: extra data"),
        ("[1 /* 2]\n", "line 1, column 4: a comment has no end"),
        ("[1] /*/", "line 1, column 5: a comment has no end"),
        ('["a', "line 1, column 2: unterminated string"),
        ('["a\\', "line 1, column 2: unterminated string"),
        ('["a\nb"]', "line 1, column 4: invalid control character"),
        ('["NaN",\n NaN]', 'line 2, column 2: NaN is no JSON; allowed: numbers. Write "NaN" as text'),
        ("[-Infinity]", "line 1, column 2: -Infinity is no JSON"),
        ("[" * 100_000, "its arrays and objects are nested too deeply"),
        ("1" * 5_000, "a number with thousands of digits"),
        ("[01]", "line 1, column 3: expecting ',' delimiter"),
    ],
)
def test_what_is_no_json_is_refused_with_line_and_column(text, message):
    with pytest.raises(ModelError, match=re.escape(message)):
        Document("model", text)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("text", ["/*", '"\\"', ",]", "1, ", '"', " ,", "//", "[1,"], ids=repr)
def test_reading_takes_no_longer_than_the_text(text):
    """A megabyte of what makes a search begin again and again is read, or refused, at once."""
    with pytest.raises(ModelError):
        Document("model", text * 300_000)


def test_a_name_twice_is_refused_where_it_stands():
    place = DocumentPlace.root(Document("model", '{\n"a": {"b": 1, "c": 2, "b": 3}}'))
    with pytest.raises(ModelError, match='model, line 2, /a: it has "b" twice; allowed: every name once'):
        place.members()["a"].members()


def test_odd_names_are_quoted_in_paths():
    place = DocumentPlace.root(Document("model", '{"a/b": {"\\u0007\\ud800": 1, "x y$": 2}}'))
    assert place.at("a/b").at("\a\ud800").path == r'/"a/b"/"\u0007\ud800"'
    assert place.at("a/b").at("x y$").path == '/"a/b"/x y$'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
GAPS = st.sampled_from(["", " ", "\n", '// , ] " x\n', '/* " } , */', "/**/", "/***/", "\t\r\n"])


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=150, deadline=None)
@given(value=JSON, data=st.data())
def test_any_json_is_the_same_with_comments_and_last_commas(value, data):
    """Each value is written on a line of its own, between comments; its line is found again."""
    lines = {}
    pieces = []

    def gap():
        pieces.append(data.draw(GAPS))

    def write(entry, path):
        gap()
        if not path or isinstance(path[-1], int):
            lines[path] = "".join(pieces).count("\n") + 1
        if isinstance(entry, list | dict):
            pieces.append("[" if isinstance(entry, list) else "{")
            listed = list(entry.items()) if isinstance(entry, dict) else list(enumerate(entry))
            for number, (step, inner) in enumerate(listed):
                if isinstance(entry, dict):
                    gap()
                    lines[(*path, step)] = "".join(pieces).count("\n") + 1
                    pieces.append(json.dumps(step))
                    gap()
                    pieces.append(":")
                write(inner, (*path, step))
                gap()
                if number < len(listed) - 1 or data.draw(st.booleans()):
                    pieces.append(",")
            gap()
            pieces.append("]" if isinstance(entry, list) else "}")
        else:
            pieces.append(json.dumps(entry))
        gap()

    write(value, ())
    document = Document("model", "".join(pieces))
    assert document.data == value
    assert {path: document.line_of(path) for path in lines} == lines


def test_a_name_that_is_there_twice_among_many():
    """Looking for it compares each name a few times, not with each other one: 60,000 names took 36 seconds."""
    comparisons = []

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            comparisons.append(1)
            return str.__eq__(self, other)

    pairs = [(Name(f"name {i}"), i) for i in range(1000)]
    assert Members([*pairs, (Name("name 999"), 0)]).repeated == "name 999"
    assert Members(pairs).repeated is None
    assert len(comparisons) < 10_000

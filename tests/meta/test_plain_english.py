"""Documents, docstrings and help texts follow the rules of plain_english.toml."""

import importlib
import inspect
import re
import tomllib
from enum import Enum
from pathlib import Path

import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.cli import COMMANDS
from ogive.cli import ogive as commands
from tests.messages.wrong_calls import WRONG_CALLS

ROOT = Path(__file__).resolve().parents[2]
RULES = tomllib.loads(Path(__file__).with_name("plain_english.toml").read_text(encoding="utf-8"))
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

#: The packages and modules that users import, and what some of them need.
PACKAGES = [
    *(
        "ogive.laboratory.accuracy",
        "ogive.check",
        "ogive.directml",
        "ogive.dxdispatch",
        "ogive.errors",
        "ogive.exporting",
    ),
    *(
        "ogive.formula",
        "ogive.golden",
        "ogive.gradients",
        "ogive.jax",
        "ogive.judge",
        "ogive.onnx",
        "ogive.onnxruntime",
    ),
    *("ogive.cuda", "ogive.opencl", "ogive.torch", "ogive.webnn"),
]
NEEDS = {
    "ogive.cuda": "cuda",
    "ogive.jax": "jax",
    "ogive.opencl": "pyopencl",
    "ogive.torch": "torch",
    "ogive.onnxruntime": "onnxruntime",
}

#: The folders of the code whose comments and docstrings are read.
PARTS = ("accuracy", "benchmarks", "examples", "src", "tests", "tools", "website")

#: Full stops that end no sentence.
SHORT = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|resp)\.")


def prose(markdown):
    """Paragraphs and list items of a page, without code, tables, links' targets and headings."""
    text = re.sub(r"^( *)```.*?^\1```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    paragraphs = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=: )|\n(?=[#|])", text)
    return [
        " ".join(p.split()) for p in paragraphs if p.strip() and not p.lstrip().startswith(("|", "#", ">>>", "..."))
    ]


def paragraphs_of_docstring(doc):
    parts = [part for part in doc.split("\n\n") if not part.lstrip().startswith((">>>", "Special cases", "Source:"))]
    return [" ".join(part.split()) for part in parts]


def words(sentence):
    """Words that are read: code counts as one, numbers and signs as none."""
    text = re.sub(r"``[^`]*``|`[^`]*`", " code ", sentence)
    return re.findall(r"[A-Za-z][\w'-]*", text)


def sentences(paragraph):
    text = SHORT.sub(lambda found: found[0].replace(".", ""), paragraph)
    # A clause after a colon or semicolon can be read by itself.
    return re.split(r"(?<=[.!?:;])[\s)*\"]+", text)


def without_subject(paragraph):
    """Sentences that begin with a word that puts the subject behind it. Questions may."""
    text = SHORT.sub(lambda found: found[0].replace(".", ""), paragraph)
    starts = "|".join(RULES["no_subjects"])
    return [
        s
        for s in re.split(r"(?<=[.!?])[\s)*\"]+", text)
        if re.match(rf"(?:[-*>\d.( ]*)(?:{starts})\b", s) and s[-1:] != "?"
    ]


def complaints(paragraphs, name):
    found = []
    for paragraph in paragraphs:
        found += [f"name the subject first: {sentence[:160]}" for sentence in without_subject(paragraph)]
        for sentence in sentences(paragraph):
            if len(words(sentence)) > RULES["most_words"]:
                found.append(f"{len(words(sentence))} words: {sentence}")
        without_code = re.sub(r"``[^`]*``|`[^`]*`", "", paragraph)
        for rule in RULES["rule"]:
            if name not in rule.get("except", ()) and (hit := re.search(rule["pattern"], without_code, re.IGNORECASE)):
                found.append(f"{hit[0]!r}, write: {rule['instead']}. In: {paragraph[:160]}")
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page(path):
    assert complaints(prose(path.read_text(encoding="utf-8")), path.name) == []


def test_words_of_our_own_are_in_the_glossary():
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    pages = " ".join(path.read_text(encoding="utf-8") for path in PAGES if path.name != "glossary.md").lower()
    explained = {term for row in re.findall(r"^\| (.+?) \|", glossary, re.MULTILINE) for term in row.split(", ")}
    explained |= set(re.findall(r"\*(\w+)\*", glossary))  # in a row of a word that it belongs to
    assert [word for word in RULES["own_words"] if word not in explained] == []
    assert [word for word in RULES["own_words"] if word not in pages] == []


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_an_operator(op):
    assert complaints(paragraphs_of_docstring(inspect.getdoc(op.function)), op.name) == []


@pytest.mark.parametrize("name", sorted(ogive.__all__))
def test_a_public_name(name):
    thing = getattr(ogive, name)
    if isinstance(thing, ogive.Operator) or not inspect.getdoc(thing):
        return  # operators have a test of their own; the names of types have no text
    assert complaints(paragraphs_of_docstring(inspect.getdoc(thing)), name) == []


def documented(package):
    """A package's own text, and those of what it offers: classes, their methods, functions."""
    yield package.__name__, package.__doc__
    for name in package.__all__:
        thing = getattr(package, name, None)
        if not str(getattr(thing, "__module__", "")).startswith("ogive") or isinstance(thing, type(Enum) | Enum):
            continue  # what is made of data has no text of its own
        yield f"{package.__name__}.{name}", inspect.getdoc(thing)
        methods = vars(thing).items() if inspect.isclass(thing) else ()
        for key, method in methods:
            if not key.startswith("_") and callable(method):
                yield f"{package.__name__}.{name}.{key}", inspect.getdoc(method)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    package = importlib.import_module(name)
    found = {key: text for key, text in documented(package) if text}
    assert len(found) > 1
    said = {key: complaints(paragraphs_of_docstring(inspect.cleandoc(text)), key) for key, text in found.items()}
    assert {key: texts for key, texts in said.items() if texts} == {}


def texts_of_code(path):
    """The lines that begin a docstring or a comment, with their numbers."""
    before = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        text = line.strip()
        begins = text.startswith("#") and not (before.startswith("#") and before[-1:] not in ".:")
        if begins or text.startswith(('"""', 'r"""')):
            yield number, text.lstrip('#: r"')
        before = text


def test_comments_and_docstrings_name_their_subject_first():
    files = [path for part in PARTS for path in sorted((ROOT / part).rglob("*.py"))]
    texts = [(path.relative_to(ROOT), *text) for path in files for text in texts_of_code(path)]
    assert len(texts) > 5_000
    starts = re.compile(rf"(?:{'|'.join(RULES['no_subjects'])})\b")
    assert [f"{path}:{number} {text}" for path, number, text in texts if starts.match(text)] == []


@pytest.mark.parametrize("door", WRONG_CALLS)
def test_messages(door):
    assert complaints([sentence for *_, sentence in WRONG_CALLS[door]], door) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command(name):
    command = commands.get_command(None, name)
    helps = [parameter.help for parameter in command.params if getattr(parameter, "help", None)]
    assert complaints([*paragraphs_of_docstring(inspect.cleandoc(command.help)), *helps, COMMANDS[name]], name) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("An unknown name raises an error.", None),
        ("Operators that there are not are an error.", "that there are not"),
        ("It is mended.", "mended"),
        (" ".join(["word"] * 33) + ".", "33 words"),
        (" ".join(["word"] * 20) + ". " + " ".join(["word"] * 20) + ".", None),
        ("Use `very` as a name.", None),
        ("A result is right. What is wrong is computed again.", "name the subject first: What is wrong"),
        ("- Of all inputs, one is wrong.", "name the subject first: - Of all inputs"),
        ("What is wrong? Nothing.", None),
    ],
)
def test_the_rules_find_what_they_are_for(text, said):
    found = complaints([text], "page.md")
    assert (said is None and not found) or (said is not None and said in found[0])


def test_what_is_read_of_a_page():
    page = "# Title of many words\n\nText with `code` and\na [link](to.md).\n\n- item\n\n```sh\njust run\n```\n\n| a | b |\n"
    assert prose(page) == ["Text with `code` and a link.", "- item"]

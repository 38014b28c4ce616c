"""The documentation site: every operator's page can be made, and a part of the site is built and looked at."""

import doctest
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.cli.curves import drawing

pytest.importorskip("sphinx", reason="Sphinx, which builds the site, is not installed (extra: site)")
pytest.importorskip("myst_parser", reason="MyST, which the site is written in, is not installed (extra: site)")
pytest.importorskip("pydata_sphinx_theme", reason="the site's theme is not installed (extra: site)")

from docutils.utils.math.latex2mathml import tex2mathml

from benchmarks.kernels import current
from benchmarks.tables import duration
from website import boxes, gallery, links, operators
from website.boxes import can_compile
from website.definition import definition
from website.latex import aligned
from website.speed import CHOICES, SECTIONS, measured, speed

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SHOWN = ("celu", "gelu", "softmax", "bit_count", "equal")


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_every_operator_has_a_page(op):
    text = operators.page(op)
    assert text.startswith(f"# {op.name}\n")
    assert "```{math}\n" in text
    assert text.count("<svg") in (1, 2, 3)
    for heading in ("## Example", "## Arguments", "## Types", "## Speed", "## Source"):
        assert heading in text
    assert ("### ONNX" in text) == bool(operators._onnx_versions().get(op.onnx))
    assert ("### DirectML" in text) == bool(op.directml)
    for parameter in op.parameters:
        assert f"| `{parameter.name}` |" in text


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_every_formula_can_be_typeset(op):
    text = aligned(op.formula(), op.tensors)
    assert tex2mathml(text, as_block=True).startswith("<math")
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("celu", (r"y = \begin{cases} x & \text{if } x \ge 0 \\ "
         r"\alpha\, \left(\mathrm{e}^{\frac{x}{\alpha}} - 1\right) & \text{otherwise} \end{cases}")),
        ("relu", r"y = \max\left(x, 0\right)"),
        ("clamp", r"y = \min\left(\max\left(x, \mathit{min}\right), \mathit{max}\right)"),
        ("difference_square", r"y = \left(a - b\right)^{2}"),
        ("isnan", r"y = \left[\,x \text{ is NaN}\,\right]"),
        ("softmax", (r"\begin{aligned} u_i &= \mathrm{e}^{x_i - \max_{j}\, x_j} \\ "
         r"y_i &= \frac{u_i}{\sum_{j} u_j} \end{aligned}")),
    ],
)  # fmt: skip
def test_formulas_as_latex(name, text):
    assert aligned(OPERATORS[name].formula(), OPERATORS[name].tensors) == text


def test_the_measured_errors_of_peers_are_shown():
    text = operators.page(OPERATORS["celu"])
    assert "| **Ogive** |" in text
    assert re.search(r"^\| torch [\d.]+", text, re.MULTILINE)


@pytest.mark.matrix(share=16, pool="slow")
def test_the_measured_times_are_shown_beside_the_peers():
    rows = [
        r
        for one in measured()
        for r in current(one["sections"]["float32"])
        if r["operator"] in OPERATORS and not r["in_place"]
    ]
    name = rows[0]["operator"]
    rows = [r for r in rows if r["operator"] == name]
    text = operators.page(OPERATORS[name])
    assert len(rows) == 5
    for row in rows:
        ours, theirs = row["seconds"]["ogive"], row["seconds"]["torch"]
        digits = 2 if theirs / ours < 10 else 0
        assert f"| **{duration(ours)}** | {duration(theirs)} ({theirs / ours:.{digits}f}) |" in text.replace(
            "\u00a0", " "
        )
    assert f"`python -m benchmarks --section float32 --operator {name}`" in text


@pytest.mark.matrix(share=16, pool="slow")
def test_an_operator_that_is_not_timed_says_so():
    timed = {
        CHOICES.get(row["operator"], row["operator"])
        for one in measured()
        for s in SECTIONS
        for row in current(one["sections"].get(s, []))
    }
    without = sorted(OPERATORS.keys() - timed)
    assert timed
    assert without
    for name in OPERATORS:
        text = "\n".join(speed(name))
        assert (f"No figure of today's kernels of `{name}`" in text) == (name in without)
        assert ("| elements | Ogive |" in text) == (name not in without)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", ["celu", "softmax"])
def test_the_example_of_a_page_runs_by_itself(name):
    (example,) = re.findall(r"```pycon\n(.*?)```", operators.page(OPERATORS[name]), re.DOTALL)
    test = doctest.DocTestParser().get_doctest(example, {}, name, None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("Sine: ``sin(x) ** 2``, exactly.", r"y = \sin\left(x\right)^{2}"),
        ("Half: ``x / 2`` where x >= 0, 0 elsewhere.",
         r"y = \begin{cases} \frac{x}{2} & \text{if } x \ge 0 \\ 0 & \text{otherwise} \end{cases}"),
        ("Square: ``-x * x``.", r"y = -x\, x"),
        ("Share: ``x / sum(x)``.", r"y_i = \frac{x_i}{\sum_j x_j}"),
        ("Error function: ``2 / sqrt(pi)`` times an integral.", None),
        ("In words.", None),
    ],
)  # fmt: skip
def test_definitions_of_docstrings_as_latex(sentence, text):
    assert definition(sentence, ["x"], is_row_wise="sum" in sentence) == text


def test_almost_every_operator_has_its_definition_first():
    found = [definition(operators._sentence(op), op.tensors, is_row_wise=op.is_row_wise) for op in OPERATORS.values()]
    assert 0 < len([text for text in found if text is None]) < 12
    for text in filter(None, found):
        assert tex2mathml(text, as_block=True).startswith("<math")


@pytest.mark.matrix(share=16, pool="slow")
def test_the_index_has_a_picture_of_every_operator_in_the_order_of_names():
    text = operators.index(list(OPERATORS))
    names = re.findall(r'href="(\w+)\.html"', text)
    assert names == sorted(OPERATORS)
    for name in OPERATORS:
        assert f'href="{name}.html"' in text
    assert text.count("<svg") == len(OPERATORS)
    listed = [op.name for ops in operators.sections().values() for op in ops]
    assert sorted(listed) == sorted(OPERATORS)


def test_an_empty_catalogue_makes_no_site(monkeypatch, tmp_path):
    monkeypatch.setattr(operators, "OPERATORS", {})
    with pytest.raises(ValueError, match="the catalogue has no operators"):
        operators.write(tmp_path)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "website", str(folder), "--only", *SHOWN]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "html"


@pytest.mark.matrix(pool="slowest")
def test_nothing_is_loaded_from_elsewhere(site):
    for path in [site / "index.html", *(site / "operators").glob("*.html")]:
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', text), path.name


@pytest.mark.matrix(pool="slowest")
def test_links_lead_to_pages_and_headings(site):
    found = links.check(site)
    assert found.faults == []
    assert found.internal > 1000
    assert found.pages > 40


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ('<a href="other.html#there">x</a>', None),
        ('<a href="other.html?q=1#a%20b">x</a>', None),
        ('<a href="no.html">x</a>', "page.html: no.html is not in the site"),
        ('<a href="../outside.html">x</a>', "page.html: ../outside.html is not in the site"),
        ('<a href="other.html#no">x</a>', "page.html: other.html#no: the page has no heading of this name"),
        ('<a href="#no">x</a>', "page.html: #no: the page has no heading of this name"),
        ('<img src="no.svg">', "page.html: no.svg is not in the site"),
        ('<p id="a"></p><p id="a"></p>', "page.html: the name #a is there twice"),
    ],
)
def test_dead_links_are_found(tmp_path, html, fault):
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "outside.html").write_text("")
    (site / "other.html").write_text('<h1 id="there">x</h1><h2 id="a b">y</h2>')
    (site / "page.html").write_text(f'{html}<a href="https://example.org/">elsewhere</a>')
    found = links.check(site)
    assert found.faults == ([fault] if fault else [])
    assert found.external == 1


@pytest.mark.matrix(pool="slowest")
def test_the_command_that_checks_links(site, tmp_path):
    command = [sys.executable, "-m", "website.links"]
    done = subprocess.run([*command, str(site)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.match(r"\d+ pages, \d+ links followed, 0 faults", done.stdout)
    done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "has no pages" in done.stderr


@pytest.mark.matrix(pool="slowest")
def test_the_search_finds_every_name_of_an_operator_first(site):
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    pages = index["docnames"]
    assert {"operators/celu", "start-numpy", "troubleshooting", "changelog"} <= set(pages)
    for name in SHOWN:
        for each in operators.all_names(OPERATORS[name]):
            # An entry that is marked as the main one comes before all that is found in texts.
            assert [pages.index(f"operators/{name}"), "index-0", True] in index["indexentries"][each]
    assert [pages.index("troubleshooting"), "index-0", True] in index["indexentries"]["a read-only array"]
    found = [pages[place] for term in ("opset", "kernel") for place in _places(index["terms"][term])]
    assert "architecture" in found
    assert "changelog" not in found


def _places(found):
    return found if isinstance(found, list) else [found]


def test_names_of_other_libraries_belong_to_operators():
    for name, op in {"silu": "swish", "relu6": "clamp", "logsumexp": "logsumexp", "expit": "sigmoid"}.items():
        assert name in operators.all_names(OPERATORS[op])


@pytest.mark.matrix(pool="slowest")
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: chromium)")
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_fits_a_screen(site, tmp_path, width):
    # The page itself says how wide it is, in its title.
    probe = "<script>addEventListener('load', () => {document.title = 'wide ' + document.documentElement.scrollWidth})</script>"
    page = site / "operators" / f"probe-{width}.html"
    page.write_text(
        (site / "operators" / "celu.html").read_text(encoding="utf-8").replace("</body>", f"{probe}</body>")
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--dump-dom"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command = [CHROMIUM, *flags, f"--user-data-dir={tmp_path}", f"--window-size={width},900", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    page.unlink()
    (wide,) = re.findall(r"<title>wide (\d+)</title>", done.stdout)
    assert int(wide) <= max(width, 500)  # a window of Chromium is at least 500 wide


@pytest.mark.parametrize(
    ("name", "operand", "expected"),
    [("swish", -6.0, -0.0148357389), ("softplus", -20.0, 0.0), ("sigmoid", 0.0, 0.5), ("leaky_relu", -2.0, -0.02)],
)
def test_the_naive_formula_of_an_input_box(name, operand, expected):
    """JavaScript's text, evaluated with Python's names for the same functions."""
    import ctypes
    import math

    from website.naive import naive
    from website.operators import _sentence

    op = OPERATORS[name]
    text = naive(_sentence(op), op.tensors, {p.name: p.default for p in op.parameters if not p.choices})
    found = re.fullmatch(r"\((.*?) \? (.*?) : (.*)\)", text)
    text = f"({found[2]}) if {found[1]} else ({found[3]})" if found else text
    names = {"x": operand, "f": lambda value: ctypes.c_float(value).value, "Math": math}
    assert eval(text, names) == pytest.approx(expected, rel=1e-6)


def test_formulas_in_words_have_no_naive_form():
    from website.naive import naive

    assert naive("Hyperbolic tangent.", ["x"], {}) is None
    assert naive("Sum: ``a + b``.", ["a", "b"], {}) is None
    assert naive("Gamma: ``gamma(x)``.", ["x"], {}) is None


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not can_compile() or shutil.which("node") is None, reason="clang, lld or node is not installed")
def test_the_module_of_an_input_box_has_the_bits_of_python(tmp_path):
    boxes.write_modules(tmp_path, ["swish"])
    x = np.float32([-6.0, 0.5, -100.0, np.inf])
    script = """
const fs = require("fs");
WebAssembly.instantiate(fs.readFileSync(process.argv[1])).then(({ instance: { exports: m } }) => {
  const base = Math.ceil(m.__heap_base.value / 64) * 64;
  if (base + 256 > m.memory.buffer.byteLength) m.memory.grow(1);
  new Uint32Array(m.memory.buffer, base, 4).set(process.argv.slice(2).map(Number));
  m.y_float32(base, base + 128, 0, 4);
  console.log([...new Uint32Array(m.memory.buffer, base + 128, 4)].join(" "));
});
"""
    bits = [str(b) for b in x.view(np.uint32)]
    command = ["node", "-e", script, str(tmp_path / "swish.wasm"), *bits]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert [int(b) for b in found] == ogive.swish(x).view(np.uint32).tolist()


def test_tables_of_speed_are_in_the_order_of_size():
    sizes = [
        line.split("|")[1].strip() for line in "\n".join(speed("gelu")).splitlines() if line.startswith(("| 1", "| 6"))
    ]
    order = ["16", "1 Ki", "64 Ki", "1 Mi", "16 Mi"]
    places = [order.index(size) for size in sizes if size in order]
    assert places[: len(set(places))] == sorted(set(places))


def test_steep_lines_have_no_gap_and_jumps_have_one():
    for name, gaps in {"cbrt": 0, "tan": 4, "sign": 2, "floor": 8}.items():
        curve = drawing(OPERATORS[name], with_derivative=False).curves[0]
        assert np.isnan(curve.y).sum() == gaps, name


def test_the_gallery_has_every_script():
    text = gallery.page()
    assert all(f"`examples/{path.name}`" in text for path in (ROOT / "examples").glob("*.py"))

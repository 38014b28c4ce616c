"""A report as one page of HTML that needs nothing else: light and dark, on a screen and on a phone."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ogive.errors import naming
from ogive.judge.judgement import POLICIES, Example, Judgement

_STYLE = """
:root { color-scheme: light dark; --back: #fbfbf9; --card: #ffffff; --text: #1c2024; --soft: #5c6670; --line: #d9dde1;
  --blue: #1f6feb; --red: #c62b2b; --green: #1a7f4b; --grid: #e8ebee; }
@media (prefers-color-scheme: dark) { :root { --back: #14171a; --card: #1c2126; --text: #e6e9ec; --soft: #9aa5b1;
  --line: #333b43; --blue: #6ea8fe; --red: #ff7b72; --green: #57c98a; --grid: #2a3138; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; margin: 0 0 1rem; }
h1 { font-size: 1.4rem; margin: .5rem 0; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin: 0 0 .5rem; }
h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
.soft { color: var(--soft); } .bad { color: var(--red); } .good { color: var(--green); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .6rem; }
.tile { border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .7rem; }
.tile b { display: block; font-size: 1.15rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
td.text { white-space: normal; min-width: 16rem; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--soft); font-size: 12px; }
.grid { stroke: var(--grid); } .dots { fill: var(--blue); } .limit { stroke: var(--red); stroke-dasharray: 4 3; }
code { font-size: .92em; } li { margin: .2rem 0; }
@media (max-width: 40rem) { main { padding: .5rem; } section { padding: .7rem; } svg text { font-size: 28px; }
  svg text.odd { display: none; } }
"""


def write_html(judgements: Sequence[Judgement], path: Path) -> None:
    """Write one file."""
    with naming(path):
        path.write_text(page(judgements), encoding="utf-8")


def page(judgements: Sequence[Judgement]) -> str:
    """The page of some judgements."""
    import ogive

    first = judgements[0]
    title = (
        f"{first.subject}: {first.title}" if len(judgements) == 1 else f"{first.subject}: {len(judgements)} judgements"
    )
    body = [f"<h1>{_text(title)}</h1>"]
    if len(judgements) > 1:
        body.append(_overview(judgements))
    for number, judgement in enumerate(judgements):
        body.append(_section(judgement, number))
    foot = (
        f"<p class='soft'>Made by ogive {_text(ogive.__version__)}. Right is the correctly rounded result; errors are "
        "against exact values, in units in the last place (ULP): the distance of neighbouring numbers of the type.</p>"
    )
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body><main>{''.join(body)}{foot}</main></body></html>\n"
    )


def _text(value: object) -> str:
    return html.escape(str(value))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 and value == int(value) else f"{value:.4g}"


def _overview(judgements: Sequence[Judgement]) -> str:
    rows = "".join(
        f"<tr><td><a href='#j{i}'>{_text(j.title)}</a></td><td class='{'good' if j.within_budget else 'bad'}'>"
        f"{'within' if j.within_budget else 'beyond'}</td><td>{_number(j.worst_ulp)}</td><td>{j.not_nearest:,}</td>"
        f"<td class='text'>{_text(j.causes[0].text if j.causes else '')}</td></tr>"
        for i, j in enumerate(judgements)
    )
    head = "<tr><th>operator</th><th>budget</th><th>largest error</th><th>not nearest</th><th>cause</th></tr>"
    return f"<section><div class='scroll'><table>{head}{rows}</table></div></section>"


def _section(j: Judgement, number: int) -> str:
    verdict = "<b class='good'>within the budget</b>" if j.within_budget else "<b class='bad'>beyond the budget</b>"
    worst = "" if j.worst is None else ", ".join(f"{v:.9g}" for v in j.worst.inputs)
    tiles = [
        ("verdict", verdict),
        ("largest error", f"<b>{_number(j.worst_ulp)} ULP</b>at {_text(worst)}"),
        ("distance from the right number", f"<b>{_number(j.worst_steps)}</b>numbers of the type"),
        ("not the nearest", f"<b>{j.not_nearest:,}</b>of {j.count:,} results"),
        ("time", f"<b>{j.nanoseconds:g} ns</b>an element" if j.nanoseconds else "<b>-</b>"),
    ]
    parts = [
        f"<section id='j{number}'><h2>{_text(j.title)}</h2>",
        f"<p class='soft'>{_text(j.subject)} {_text(j.subject_version)} &middot; {_text(j.inputs)}",
        f" &middot; {_text(j.parameter_rule)}</p><div class='tiles'>",
        *(f"<div class='tile'><span class='soft'>{name}</span>{value}</div>" for name, value in tiles),
        "</div>",
    ]
    if j.beyond:
        parts.append("<h3>Beyond the budget</h3><ul>" + "".join(f"<li>{_text(t)}</li>" for t in j.beyond) + "</ul>")
    if j.causes:
        parts.append("<h3>Where it comes from</h3><ol>")
        parts += [f"<li>{_text(c.text)}<br><span class='soft'>{_text(c.evidence)}</span></li>" for c in j.causes]
        parts.append("</ol>")
    limit = float(j.budget.get("max_ulp", 1.0))
    if j.curve:
        parts += _pictures(j.curve, limit)
    parts += [_histogram(j), _examples(j.examples), _policies(j), _others(j), "</section>"]
    return "".join(parts)


# ---- pictures

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 900, 300, 92, 38, 14


def _pictures(curve: dict[str, Any], limit: float) -> list[str]:
    by_value, by_rank = curve["by_value"], curve["by_rank"]
    places = list(range(len(by_rank["x"])))
    labels = [(i, by_rank["x"][i]) for i in places[:: len(places) // 8] if by_rank["x"][i] is not None]
    values = by_value["x"]
    ticks = [(v, v) for v in range(-16, 17, 4)]
    return [
        "<h3>Error in ULP over x, linear</h3>",
        _plot(values, by_value["ulp"], ticks, "ULP", limit),
        "<h3>Error in ULP over x, each number of the type as wide as every other</h3>",
        _plot(places, by_rank["ulp"], labels, "ULP", limit),
        "<h3>Absolute error over x, linear</h3>",
        _plot(values, by_value["absolute"], ticks, "", None),
    ]


def _plot(
    xs: Sequence[float],
    ys: Sequence[float | None],
    ticks: Sequence[tuple[float, float]],
    unit: str,
    limit: float | None,
) -> str:
    """The largest errors at places, on a logarithmic axis upwards."""
    shown = [(x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
    positive = [y for _, y in shown if y > 0]
    if not positive:
        return "<p class='soft'>Every error is 0.</p>"
    high = math.ceil(math.log10(max(*positive, 1.0 if unit else 0, limit or 0)) + 0.05)
    low = math.floor(math.log10(min(positive)))
    low = max(low, -3) if unit else max(low, high - 12)
    low = min(low, high - 1)
    x0, x1 = float(min(xs)), float(max(xs))
    wide, tall = _WIDTH - _LEFT - 8, _HEIGHT - _TOP - _BOTTOM

    def px(x: float) -> float:
        return _LEFT + (x - x0) / (x1 - x0) * wide

    def py(y: float) -> float:
        part = (math.log10(max(y, 10.0**low)) - low) / (high - low)
        return _TOP + (1 - part) * tall

    parts = [f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='errors over x'>"]
    for number, power in enumerate(range(low, high + 1, max(1, math.ceil((high - low) / 8)))):
        y = py(10.0**power)
        parts.append(f"<line class='grid' x1='{_LEFT}' x2='{_WIDTH - 8}' y1='{y:.1f}' y2='{y:.1f}'/>")
        parts.append(f"<text{_odd(number)} x='{_LEFT - 6}' y='{y + 4:.1f}' text-anchor='end'>{_power(power)}</text>")
    for number, (at, label) in enumerate(ticks):
        if x0 <= at <= x1:
            parts.append(
                f"<line class='grid' x1='{px(at):.1f}' x2='{px(at):.1f}' y1='{_TOP}' y2='{_HEIGHT - _BOTTOM}'/>"
            )
            place = f"x='{px(at):.1f}' y='{_HEIGHT - 10}'"
            parts.append(f"<text{_odd(number)} {place} text-anchor='middle'>{label:.2g}</text>")
    if limit is not None and 10.0**low <= limit <= 10.0**high:
        y = py(limit)
        parts.append(f"<line class='limit' x1='{_LEFT}' x2='{_WIDTH - 8}' y1='{y:.1f}' y2='{y:.1f}'/>")
    dots = "".join(f"M{px(x):.1f} {py(y):.1f}h0" for x, y in shown if y > 0)
    parts.append(f"<path d='{dots}' stroke='var(--blue)' stroke-width='3' stroke-linecap='round' fill='none'/></svg>")
    return "".join(parts)


def _odd(number: int) -> str:
    """Labels that phones have no room for."""
    return " class='odd'" if number % 2 else ""


def _power(power: int) -> str:
    return f"{10**power:g}" if -3 <= power <= 4 else f"1e{power}"


def _histogram(j: Judgement) -> str:
    names = [f"up to {_number(b)}" for b in j.bins] + [f"above {_number(j.bins[-1])}"]
    total = max(1, sum(j.histogram))
    rows = "".join(
        f"<tr><td>{name}</td><td>{count:,}</td><td><svg viewBox='0 0 200 12' style='width:12rem'><rect width='"
        f"{max(1.0, 200 * math.log1p(count) / math.log1p(total)):.1f}' height='12' fill='var(--blue)'/></svg></td></tr>"
        for name, count in zip(names, j.histogram, strict=True)
        if count
    )
    head = "<tr><th>ULP</th><th>results</th><th>logarithmic</th></tr>"
    return f"<h3>How large errors are</h3><div class='scroll'><table>{head}{rows}</table></div>"


def _examples(examples: Sequence[Example]) -> str:
    if not examples:
        return ""
    rows = "".join(
        f"<tr><td>{_text(', '.join(f'{v:.9g}' for v in e.inputs))}</td><td>{e.result:.9g}</td><td>{e.right:.9g}</td>"
        f"<td>{e.exact:.12g}</td><td>{_number(e.ulp)}</td><td><code>{_text(' '.join(e.bits))}</code></td></tr>"
        for e in examples
    )
    head = "<tr><th>x</th><th>result</th><th>right</th><th>exact</th><th>ULP</th><th>bits: x, result, right</th></tr>"
    return f"<h3>The worst results</h3><div class='scroll'><table>{head}{rows}</table></div>"


def _policies(j: Judgement) -> str:
    rows = "".join(
        f"<tr><td>{name}</td><td class='{'bad' if p.count else 'good'}'>{p.count:,}</td><td class='text'>"
        f"{_text(p.text or POLICIES[name])}</td><td>{_text('' if p.example is None else ', '.join(f'{v:.9g}' for v in p.example.inputs))}"
        f"</td><td>{_text('' if p.example is None else f'{p.example.result:.9g}')}</td>"
        f"<td>{_text('' if p.example is None else f'{p.example.right:.9g}')}</td></tr>"
        for name, p in j.policies.items()
    )
    head = "<tr><th>policy</th><th>how often</th><th></th><th>first at</th><th>result</th><th>right</th></tr>"
    return f"<h3>NaN, infinities, zeros, subnormals, memory</h3><div class='scroll'><table>{head}{rows}</table></div>"


def _others(j: Judgement) -> str:
    lines = []
    if j.reversals:
        at = "" if j.reversal is None else f", at {', '.join(f'{v:.9g}' for v in j.reversal.inputs)}"
        lines.append(f"{j.reversals:,} pairs of neighbours have results in the wrong order{at}")
    elif j.curve:
        lines.append("neighbours have results in the right order")
    if j.symmetry:
        broken = f"{j.asymmetric:,} results break it" if j.asymmetric else "and so are the results"
        lines.append(f"the operator is {j.symmetry}: {broken}")
    if j.calls.count:
        lines.append(
            f"{j.calls.count:,} other calls with {j.calls.results:,} results: {j.calls.text or 'none is wrong'}"
        )
    lines += j.dependence.found or (
        ["results do not depend on " + ", ".join(j.dependence.checked)] if j.dependence.checked else []
    )
    return "<h3>Order, symmetry, dependence</h3><ul>" + "".join(f"<li>{_text(t)}</li>" for t in lines) + "</ul>"

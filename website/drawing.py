"""Pictures of operators as SVG that a page holds itself: colours are the theme's, light and dark."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ogive.cli.curves import Curve, Drawing

__all__ = ["figure", "thumbnail"]

#: Small enough that the numbers can be read where two pictures stand side by side.
WIDTH, HEIGHT = 330, 220

#: Room for the numbers beside and below the axes.
LEFT, BOTTOM, TOP, RIGHT = 36, 24, 8, 10

#: A line has at most so many points: more than a screen shows.
POINTS = 260


def figure(drawn: Drawing) -> str:
    """The curves, their derivatives where there are some, and a legend."""
    parts = [_panel(drawn, drawn.curves, drawn.name, "value")]
    if drawn.derivatives:
        parts.append(_panel(drawn, drawn.derivatives, f"the derivative of {drawn.name}", "derivative"))
    parts += _differences(drawn)
    labels = [curve.label for curve in drawn.curves]
    legend = "".join(
        f'<li class="og-key og-key-{i % 4 + 1}">{html.escape(label)}</li>' for i, label in enumerate(labels) if label
    )
    keys = f'<ul class="og-legend">{legend}</ul>' if legend else ""
    return f'<div class="og-figure">{"".join(parts)}</div>{keys}'


def _differences(drawn: Drawing) -> list[str]:
    """A panel of the differences, where the curves cover each other."""
    first, *others = drawn.curves
    low, high = drawn.heights(drawn.curves)
    differences = [Curve(other.label, other.x, other.y - first.y) for other in others]
    largest = max((float(np.nanmax(np.abs(each.y))) for each in differences), default=0.0)
    if not 0 < largest < 0.02 * (high - low):
        return []
    power = math.floor(math.log10(largest))
    scaled = [Curve(each.label, each.x, each.y / 10.0**power) for each in differences]
    title = f"the difference from {first.label}"
    exponent = str(power).replace("-", "−")
    return [_panel(drawn, scaled, title, f"{title}, times 10<sup>{exponent}</sup>", number=1)]


def thumbnail(drawn: Drawing) -> str:
    """A small picture: the first curves without numbers."""
    low, high = drawn.heights(drawn.curves)
    place = _Place(drawn.low, drawn.high, low, high, (120, 80), (4, 4, 4, 4))
    lines = "".join(_line(place, curve, i, drawn, step=6) for i, curve in enumerate(drawn.curves[:3]))
    return f'<svg class="og-plot og-thumb" viewBox="0 0 120 80" aria-hidden="true">{_zeros(place)}{lines}</svg>'


class _Place:
    """Where a point of the graph is in the picture."""

    def __init__(
        self,
        left: float,
        right: float,
        low: float,
        high: float,
        size: tuple[int, int],
        margins: tuple[int, int, int, int],
    ) -> None:
        self.left, self.right, self.low, self.high = left, right, low, high
        self.size = size
        self.margin_left, self.margin_bottom, self.margin_top, self.margin_right = margins

    def x(self, value: float) -> float:
        width = self.size[0] - self.margin_left - self.margin_right
        return self.margin_left + (value - self.left) / (self.right - self.left) * width

    def y(self, value: float) -> float:
        height = self.size[1] - self.margin_top - self.margin_bottom
        return self.margin_top + (self.high - value) / (self.high - self.low) * height


def _panel(drawn: Drawing, curves: Sequence[Curve], title: str, caption: str, number: int = 0) -> str:
    """A picture with axes; the first curve has the colour of this number."""
    low, high = drawn.heights(list(curves))
    place = _Place(drawn.low, drawn.high, low, high, (WIDTH, HEIGHT), (LEFT, BOTTOM, TOP, RIGHT))
    lines = "".join(_line(place, curve, i, drawn, step=1) for i, curve in enumerate(curves, number))
    return (
        f'<figure><svg class="og-plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">'
        f"<title>{html.escape(title)}</title>{_grid(place)}{_zeros(place)}{lines}</svg>"
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _grid(place: _Place) -> str:
    parts = []
    for value in _ticks(place.left, place.right):
        x = place.x(value)
        parts.append(f'<path class="og-grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{_number(value)}</text>')
    for value in _ticks(place.low, place.high):
        y = place.y(value)
        parts.append(f'<path class="og-grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>')
    return "".join(parts)


def _zeros(place: _Place) -> str:
    """The two axes, where they are inside."""
    width, height = place.size
    parts = []
    if place.left <= 0 <= place.right:
        parts.append(f'<path class="og-axis" d="M{place.x(0):.1f} {place.margin_top}V{height - place.margin_bottom}"/>')
    if place.low <= 0 <= place.high:
        parts.append(f'<path class="og-axis" d="M{place.margin_left} {place.y(0):.1f}H{width - place.margin_right}"/>')
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.99)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def _line(place: _Place, curve: Curve, number: int, drawn: Drawing, *, step: int) -> str:
    kind = f"og-line og-line-{number % 4 + 1}"
    if drawn.is_integer:
        radius = 3.5 if step == 1 else 1.6
        points = "".join(
            f'<circle cx="{place.x(x):.1f}" cy="{place.y(y):.1f}" r="{radius}"/>'
            for x, y in zip(curve.x, curve.y, strict=True)
        )
        return f'<g class="og-points og-line-{number % 4 + 1}">{points}</g>'
    return "".join(f'<path class="{kind}" d="{path}"/>' for path in _pieces(place, curve, step))


def _pieces(place: _Place, curve: Curve, step: int) -> list[str]:
    """The parts of a line between its jumps, without the points that straight lines do not need."""
    inside = np.isfinite(curve.y) & (curve.y >= place.low) & (curve.y <= place.high)
    paths = []
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(int), [0]])))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        every = max(step, (len(curve.x) // POINTS) * step)
        kept = sorted({*range(begin, end, every), end - 1})
        points = [(place.x(curve.x[i]), place.y(curve.y[i])) for i in kept]
        if len(points) == 1:
            x, y = points[0]
            points.append((x + 0.01, y))
        paths.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in _without_straight(points)))
    return paths


def _without_straight(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Leave out points less than a hundredth of a pixel from the line between the kept one before and the next one."""
    kept = points[:1]
    for here, after in pairwise(points[1:]):
        (x, y), (right, up) = kept[-1], (after[0] - kept[-1][0], after[1] - kept[-1][1])
        if abs((here[0] - x) * up - (here[1] - y) * right) > 0.01 * math.hypot(right, up):
            kept.append(here)
    return [*kept, points[-1]]

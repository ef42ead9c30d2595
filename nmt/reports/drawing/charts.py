"""Charts: from numbers to SVG; colours are classes that the style of the page gives a meaning to."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from nmt.reports.drawing.drawing import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    draw_x_axis,
    draw_y_axis,
    empty,
    name_x_axis,
    show,
    svg,
)
from nmt.reports.drawing.escaping import text
from nmt.reports.drawing.style import COLOURS

MAX_POINTS = 400  # of a line: more cannot be told apart
HUGE = 1e100  # what is no figure of anything
ROW_HEIGHT = 22
MAX_ROW_NAME = 18  # characters


@dataclass(frozen=True)
class Line:
    """One line of a chart, broken where a value is None; `is_dotted` marks each point, where there are few."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float | None]
    colour: int = 0
    is_dashed: bool = False
    is_dotted: bool = False


@dataclass(frozen=True)
class Bar:
    """One bar, with the ends of an interval where there is one."""

    value: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bins:
    """How many values are in each bin of a histogram."""

    name: str
    counts: Sequence[float]
    colour: int = 0


def line_chart(
    title: str,
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    x_holds: Sequence[float] = (0.0,),
    y_holds: Sequence[float] = (),
    marked: Sequence[tuple[float, float]] = (),
) -> str:
    """Draw lines over a common axis; points that are not finite are left out.

    The axes hold `x_holds` and `y_holds` in any case; `marked` are ranges of x that stand out.
    """
    kept = [(line, _points(line)) for line in lines]
    known = [(x, y) for _, points in kept for x, y in points if y is not None]
    if not known:
        return empty(title)
    x_axis = Axis.horizontal([*x_holds, *(x for x, _ in known), *(x for ends in marked for x in ends)])
    y_axis = Axis.vertical([*y_holds, *(y for _, y in known)])
    parts = [draw_y_axis(y_axis, y_label), draw_x_axis(x_axis, x_label)]
    for first, last in marked:
        left, right = x_axis.place(first), x_axis.place(last)
        parts.append(
            f'<rect class="marked" x="{left:.1f}" y="{TOP}" width="{max(right - left, 2):.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}"/>'
        )
    parts += [_line(line, points, x_axis, y_axis) for line, points in kept]
    ends = []
    for line, points in kept:
        values = [y for _, y in points if y is not None]
        if values:
            ends.append(f"{line.name} from {show(values[0])} to {show(values[-1])}")
    return svg(f"{title}. {y_label} over {x_label}: {'; '.join(ends)}", WIDTH, HEIGHT, "".join(parts))


def bar_chart(
    title: str,
    names: Sequence[str],
    groups: Sequence[Sequence[Bar | None]],
    x_label: str,
    y_label: str,
    is_one_each: bool = False,
) -> str:
    """Draw bars beside each other: `groups` holds one list for each colour, `names` one name for each place.

    With `is_one_each` there is but one bar at each place, which has the place for itself.
    """
    bars = [bar for group in groups for bar in group if bar is not None]
    if not bars:
        return empty(title)
    tops = [max(bar.value, bar.interval[1] if bar.interval else bar.value) for bar in bars]
    axis = Axis.vertical([0.0, 1e-9, *tops])
    place = (WIDTH - LEFT - RIGHT) / len(names)
    num_beside = 1 if is_one_each else len(groups)
    width = min(26.0, place * 0.8 / num_beside)
    parts, said = [draw_y_axis(axis, y_label), name_x_axis(x_label)], []
    for i, name in enumerate(names):
        middle = LEFT + place * (i + 0.5)
        parts.append(
            f'<text class="tick" x="{middle:.1f}" y="{HEIGHT - BOTTOM + 13}" text-anchor="middle">{text(name)}</text>'
        )
        for colour, group in enumerate(groups):
            bar = group[i]
            if bar is not None:
                beside = 0 if is_one_each else colour
                left = middle + (beside - num_beside / 2) * width
                parts.append(_bar(name, bar, colour, left, width, axis))
                said.append(f"{name}: {show(bar.value)}")
    return svg(f"{title}. {y_label} by {x_label}: {'; '.join(said)}", WIDTH, HEIGHT, "".join(parts))


def histogram(
    title: str,
    edges: Sequence[float],
    series: Sequence[Bins],
    x_label: str,
    y_label: str,
    is_logarithmic: bool = False,
) -> str:
    """Draw how many values are in each bin, from `edges[i]` to `edges[i + 1]`, for one series or several."""
    x_axis = Axis.horizontal(edges, is_logarithmic)
    y_axis = Axis.vertical([0.0, max((count for one in series for count in one.counts), default=0) or 1.0])
    parts, said = [draw_y_axis(y_axis, y_label), draw_x_axis(x_axis, x_label)], []
    bottom = y_axis.place(0)
    for one in series:
        kind = _colour(one.colour)
        outline = [f"M{x_axis.place(edges[0]):.1f} {bottom:.1f}"]
        for (low, high), count in zip(pairwise(edges), one.counts, strict=True):
            left, right, top = x_axis.place(low), x_axis.place(high), y_axis.place(count)
            outline.append(f"V{top:.1f}H{right:.1f}")
            hint = text(f"{one.name}: {show(count)} from {show(low)} to {show(high)}")
            parts.append(
                f'<rect class="bin {kind}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
                f'height="{bottom - top:.1f}"><title>{hint}</title></rect>'
            )
        parts.append(f'<path class="line {kind}" d="{"".join(outline)}V{bottom:.1f}"/>')
        said.append(f"{one.name} up to {show(max(one.counts, default=0))}")
    return svg(f"{title}. {y_label} by {x_label}: {'; '.join(said)}", WIDTH, HEIGHT, "".join(parts))


def ranking(title: str, items: Sequence[tuple[str, float]], colour: int = 0) -> str:
    """Draw a horizontal bar with its name and its number for each item."""
    if not items:
        return empty(title)
    highest = max(value for _, value in items) or 1
    parts = []
    for number, (name, value) in enumerate(items):
        middle = (number + 0.5) * ROW_HEIGHT + 2
        width = max(150 * value / highest, 1.0)
        shown = name if len(name) <= MAX_ROW_NAME else f"{name[: MAX_ROW_NAME - 1]}…"
        parts.append(
            f'<text class="token" x="128" y="{middle + 4:.0f}" text-anchor="end">{text(shown)}'
            f"<title>{text(name)}</title></text>"
            f'<rect class="bar {_colour(colour)}" x="136" y="{middle - 7:.0f}" width="{width:.1f}" height="14" rx="2"/>'
            f'<text class="tick" x="{142 + width:.1f}" y="{middle + 4:.0f}">{show(value)}</text>'
        )
    said = "; ".join(f"{name}: {show(value)}" for name, value in items)
    return svg(f"{title}. {said}", WIDTH, ROW_HEIGHT * len(items) + 4, "".join(parts))


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _points(line: Line) -> list[tuple[float, float | None]]:
    """Leave out points that are not finite, and of many all but some."""
    pairs = zip(line.xs, line.ys, strict=True)
    points = [(x, y) for x, y in pairs if abs(x) < HUGE and (y is None or abs(y) < HUGE)]
    if len(points) > MAX_POINTS:
        step = (len(points) - 1) / (MAX_POINTS - 1)
        points = [points[round(i * step)] for i in range(MAX_POINTS)]
    return points


def _line(line: Line, points: Sequence[tuple[float, float | None]], x_axis: Axis, y_axis: Axis) -> str:
    kind, name, dash = _colour(line.colour), text(line.name), ' stroke-dasharray="5 4"' * line.is_dashed
    path, dots = [], []
    for is_gap, piece in groupby(points, lambda point: point[1] is None):
        if is_gap:
            continue
        known = [(x, y) for x, y in piece if y is not None]
        path.append("M" + "L".join(f"{x_axis.place(x):.1f} {y_axis.place(y):.1f}" for x, y in known))
        if line.is_dotted or len(known) == 1:
            dots += known
    if not path:
        return ""
    circles = "".join(
        f'<circle class="dot {kind}" cx="{x_axis.place(x):.1f}" cy="{y_axis.place(y):.1f}" r="3">'
        f"<title>{name}: {show(y)} at {show(x)}</title></circle>"
        for x, y in dots
    )
    return f'<path class="line {kind}" d="{"".join(path)}"{dash}><title>{name}</title></path>{circles}'


def _bar(name: str, bar: Bar, colour: int, left: float, width: float, axis: Axis) -> str:
    top, low = axis.place(bar.value), axis.place(0)
    between = f", 95 % between {show(bar.interval[0])} and {show(bar.interval[1])}" if bar.interval else ""
    hint = text(f"{name}: {show(bar.value)}{between}")
    drawn = (
        f'<rect class="bar {_colour(colour)}" x="{left + 1:.1f}" y="{top:.1f}" width="{width - 2:.1f}" '
        f'height="{max(0.0, low - top):.1f}" rx="1.5"><title>{hint}</title></rect>'
    )
    if bar.interval:
        centre = left + width / 2
        first, last = (axis.place(end) for end in bar.interval)
        drawn += (
            f'<path class="whisker" d="M{centre:.1f} {first:.1f}V{last:.1f}M{centre - 3:.1f} {first:.1f}h6'
            f'M{centre - 3:.1f} {last:.1f}h6"/>'
        )
    return drawn

"""From numbers to inline SVG: lines, bars and heat maps; colours are classes that the page gives a meaning to.

Every picture has a size, a text alternative, and needs nothing but the page that it is in.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nmt.report.page import COLOURS
from nmt.report.page import text as escape

Scale = Callable[[float], float]

WIDTH, HEIGHT = 360, 210  # of charts: as wide as a phone shows
LEFT, RIGHT, TOP, BOTTOM = 56, 10, 10, 34
MAX_POINTS = 400  # of a line: more cannot be told apart
NUM_SHADES = 16
HUGE, TINY = 1e100, 1e-100  # what is no figure of a run
CHARACTER = 6.3  # width of one in labels, about


@dataclass(frozen=True)
class Line:
    """One line of a chart; `is_dotted` marks each point, where there are few."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    colour: int = 0
    is_dashed: bool = False
    is_dotted: bool = False


@dataclass(frozen=True)
class Bar:
    """One bar, with the ends of an interval where there is one."""

    value: float
    interval: tuple[float, float] | None = None


def line_chart(title: str, lines: Sequence[Line], x_label: str, y_label: str, from_zero: bool = False) -> str:
    """Draw lines over a common axis; points that are not finite are left out."""
    kept = [_thin(line) for line in lines]
    points = [point for line in kept for point in zip(line.xs, line.ys, strict=True)]
    if not points:
        return _empty(title)
    x_ticks = ticks(min(x for x, _ in points), max(x for x, _ in points))
    lowest = min(y for _, y in points)
    y_ticks = ticks(min(0.0, lowest) if from_zero else lowest, max(y for _, y in points))
    to_x = _scale(x_ticks[0], x_ticks[-1], LEFT, WIDTH - RIGHT)
    to_y = _scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    parts = [_axes(x_ticks, y_ticks, to_x, to_y, x_label, y_label)]
    for line in kept:
        if not line.xs:
            continue
        places = [(to_x(x), to_y(y)) for x, y in zip(line.xs, line.ys, strict=True)]
        dash = ' stroke-dasharray="5 4"' if line.is_dashed else ""
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        name = escape(line.name)
        parts.append(
            f'<path class="line {COLOURS[line.colour % len(COLOURS)]}" d="{path}"{dash}><title>{name}</title></path>'
        )
        if line.is_dotted or len(places) == 1:
            for (x, y), value, at in zip(places, line.ys, line.xs, strict=True):
                hint = f"{name}: {show(value)} at {show(at)}"
                parts.append(
                    f'<circle class="dot {COLOURS[line.colour % len(COLOURS)]}" cx="{x:.1f}" cy="{y:.1f}" r="3">'
                    f"<title>{hint}</title></circle>"
                )
    ends = "; ".join(
        f"{line.name} from {show(line.ys[0])} to {show(line.ys[-1])}" for line in kept if line.xs
    )
    return svg(f"{title}. {y_label} over {x_label}: {ends}", WIDTH, HEIGHT, "".join(parts))


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
        return _empty(title)
    tops = [max(bar.value, bar.interval[1] if bar.interval else bar.value) for bar in bars]
    y_ticks = ticks(0.0, max(*tops, 1e-9))
    to_y = _scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    place = (WIDTH - LEFT - RIGHT) / len(names)
    num_beside = 1 if is_one_each else len(groups)
    width = min(26.0, place * 0.8 / num_beside)
    parts = [_y_axis(y_ticks, to_y, y_label), _x_name(x_label)]
    said = []
    for i, name in enumerate(names):
        middle = LEFT + place * (i + 0.5)
        parts.append(
            f'<text class="tick" x="{middle:.1f}" y="{HEIGHT - BOTTOM + 13}" text-anchor="middle">{escape(name)}</text>'
        )
        for colour, group in enumerate(groups):
            bar = group[i]
            if bar is None:
                continue
            left = middle + ((0 if is_one_each else colour) - num_beside / 2) * width
            top, low = to_y(bar.value), to_y(0)
            kind = COLOURS[colour % len(COLOURS)]
            between = (
                f", 95 % between {show(bar.interval[0])} and {show(bar.interval[1])}" if bar.interval else ""
            )
            hint = escape(f"{name}: {show(bar.value)}{between}")
            said.append(f"{name}: {show(bar.value)}")
            parts.append(
                f'<rect class="bar {kind}" x="{left + 1:.1f}" y="{top:.1f}" width="{width - 2:.1f}" '
                f'height="{max(0.0, low - top):.1f}" rx="1.5"><title>{hint}</title></rect>'
            )
            if bar.interval:
                centre = left + width / 2
                first, last = to_y(bar.interval[0]), to_y(bar.interval[1])
                parts.append(
                    f'<path class="whisker" d="M{centre:.1f} {first:.1f}V{last:.1f}M{centre - 3:.1f} {first:.1f}h6'
                    f'M{centre - 3:.1f} {last:.1f}h6"/>'
                )
    return svg(f"{title}. {y_label} by {x_label}: {'; '.join(said)}", WIDTH, HEIGHT, "".join(parts))


def heat_map(
    title: str,
    weights: Sequence[Sequence[float]],
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    cell: float = 18,
    hidden: Sequence[Sequence[bool]] | None = None,
    chosen: bool = False,
) -> str:
    """Draw a matrix of shares between 0 and 1, or between -1 and 1 with negative ones in the second colour.

    `rows` and `columns` are labels, `hidden` cells get hatched, `chosen` draws each as the one place that was taken.
    """
    height, width = len(weights), max((len(row) for row in weights), default=0)
    left = CHARACTER * max(map(len, rows)) + 6 if rows else 1
    top = CHARACTER * max(map(len, columns)) * 0.87 + 8 if columns else 1
    # Labels of columns lean over to the right, and the last ones beyond the cells.
    leaning = [j * cell + 0.5 * cell + CHARACTER * len(label) * 0.5 for j, label in enumerate(columns or ())]
    right = max(1.0, max(leaning, default=0.0) - width * cell + 4)
    parts = [f'<g transform="translate({left:.1f} {top:.1f}) scale({cell:g})">']
    parts.append(f'<rect class="ground" width="{width}" height="{height}"/>')
    if hidden is not None:
        parts.append(f'<path class="unseen" d="{_cells(hidden, True)}"/>')
    for sign, colour in ((1, "a"), (-1, "b")):
        levels = [
            [min(NUM_SHADES, round(max(0.0, sign * value) * NUM_SHADES)) for value in row] for row in weights
        ]
        parts += [
            f'<path class="cell {colour}" fill-opacity="{level / NUM_SHADES:.3g}" d="{path}"/>'
            for level in range(1, NUM_SHADES + 1)
            if (path := _cells(levels, level))
        ]
    parts.append("</g>")
    if chosen:
        for i, row in enumerate(weights):
            for j, value in enumerate(row):
                if value > 0.5:
                    x, y = left + (j + 0.5) * cell, top + (i + 0.5) * cell
                    parts.append(f'<circle class="chosen" cx="{x:.1f}" cy="{y:.1f}" r="{cell / 5:.1f}"/>')
    for i, label in enumerate(rows or ()):
        y = top + (i + 0.5) * cell + 3.5
        parts.append(
            f'<text class="token" x="{left - 4:.1f}" y="{y:.1f}" text-anchor="end">{escape(label)}</text>'
        )
    for j, label in enumerate(columns or ()):
        x = left + (j + 0.5) * cell + 2
        parts.append(
            f'<text class="token" transform="translate({x:.1f} {top - 4:.1f}) rotate(-60)">{escape(label)}</text>'
        )
    return svg(title, left + width * cell + right, top + height * cell + 1, "".join(parts), "map")


def svg(alternative: str, width: float, height: float, content: str, kind: str = "chart") -> str:
    """Return an SVG element of a size in pixels, which says in words what it shows."""
    said = escape(alternative)
    return (
        f'<svg class="{kind}" role="img" aria-label="{said}" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" xmlns="http://www.w3.org/2000/svg">{content}</svg>'
    )


def ticks(low: float, high: float) -> list[float]:
    """Return three to seven round numbers from at or below `low` to at or above `high`."""
    if high - low <= max(abs(low), abs(high)) * 1e-9 + TINY:
        low, high = low - (abs(low) or 1.0) * 0.5, high + (abs(high) or 1.0) * 0.5
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def show(value: float) -> str:
    """Return a number with as many digits as one reads."""
    if not math.isfinite(value):
        return "none"
    if value and abs(value) < 0.01:
        return f"{value:.1e}".replace("e-0", "e-")
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _thin(line: Line) -> Line:
    """Leave out points that are not finite, and of many all but some."""
    points = [(x, y) for x, y in zip(line.xs, line.ys, strict=True) if abs(x) < HUGE and abs(y) < HUGE]
    if len(points) > MAX_POINTS:
        step = (len(points) - 1) / (MAX_POINTS - 1)
        points = [points[round(i * step)] for i in range(MAX_POINTS)]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return Line(line.name, xs, ys, line.colour, line.is_dashed, line.is_dotted)


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _axes(
    x_ticks: Sequence[float], y_ticks: Sequence[float], to_x: Scale, to_y: Scale, x_label: str, y_label: str
) -> str:
    parts = [_y_axis(y_ticks, to_y, y_label), _x_name(x_label)]
    for tick in x_ticks:
        x = to_x(tick)
        anchor = "end" if x > WIDTH - RIGHT - 12 else "middle"
        parts.append(
            f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 13}" text-anchor="{anchor}">{show(tick)}</text>'
        )
    return "".join(parts)


def _y_axis(y_ticks: Sequence[float], to_y: Scale, y_label: str) -> str:
    parts = []
    for tick in y_ticks:
        y = to_y(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{show(tick)}</text>'
        )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text class="tick" text-anchor="middle" transform="translate(9 {middle:.0f}) rotate(-90)">'
        f"{escape(y_label)}</text>"
    )
    return "".join(parts)


def _x_name(x_label: str) -> str:
    middle = (LEFT + WIDTH - RIGHT) / 2
    return (
        f'<text class="tick" x="{middle:.0f}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x_label)}</text>'
    )


def _cells(levels: Sequence[Sequence[int]], level: int) -> str:
    """Return the path of all cells of a level, neighbours of a row in one."""
    parts = []
    for i, row in enumerate(levels):
        j = 0
        while j < len(row):
            end = j
            while end < len(row) and row[end] == level:
                end += 1
            if end > j:
                parts.append(f"M{j} {i}h{end - j}v1h-{end - j}z")
            j = max(end, j + 1)
    return "".join(parts)


def _empty(title: str) -> str:
    text = f'<text class="tick" x="{WIDTH / 2:.0f}" y="40" text-anchor="middle">nothing was measured</text>'
    return svg(f"{title}: nothing was measured", WIDTH, 70, text)

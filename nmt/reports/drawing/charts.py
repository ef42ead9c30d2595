"""Charts, drawn from numbers; their colours are CSS classes that the style sheet of the page defines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from nmt.reports.drawing.shapes import (
    BOTTOM,
    CHARACTER,
    COLOURS,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Drawing,
    Shape,
    breadth,
    cut,
    draw_x_axis,
    draw_y_axis,
    empty,
    label,
    name_x_axis,
    show,
    turned,
)

MAX_POINTS = 400  # of a line: more cannot be told apart
HUGE = 1e100  # values from here on count as not finite
ROW_HEIGHT = 22
MAX_ROW_NAME = 20  # characters
MAX_BAR_NAME = 12
NEXT_TO_NOTHING = 1e-6  # where all bars are lower than this, the axis goes up to 1


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
    highest: float = math.inf,
) -> Drawing:
    """Draw lines over a common axis; points that are not finite are left out.

    The axes reach to `x_holds` and `y_holds` in any case, but the y axis ends at `highest` at most; `marked` are ranges
    of x that stand out.
    """
    kept = [(line, _points(line)) for line in lines]
    known = [(x, y) for _, points in kept for x, y in points if y is not None]
    if not known:
        return empty(title)
    x_axis = Axis.horizontal([*x_holds, *(x for x, _ in known), *(x for ends in marked for x in ends)])
    y_axis = Axis.vertical([*y_holds, *(y for _, y in known)], highest)
    shapes = [*draw_y_axis(y_axis, y_label), *draw_x_axis(x_axis, x_label)]
    for first, last in marked:
        left, right = x_axis.place(first), x_axis.place(last)
        shapes.append(_box("marked", left, TOP, max(right - left, 2), HEIGHT - TOP - BOTTOM))
    ends = []
    for line, points in kept:
        values = [y for _, y in points if y is not None]
        if values:
            shapes += _line(line, points, x_axis, y_axis)
            ends.append(f"{line.name} from {show(values[0])} to {show(values[-1])}")
    return Drawing(f"{title}. {y_label} over {x_label}: {'; '.join(ends)}", WIDTH, HEIGHT, shapes)


def bar_chart(
    title: str,
    names: Sequence[str],
    groups: Sequence[Sequence[Bar | None]],
    x_label: str,
    y_label: str,
    is_one_each: bool = False,
    highest: float = math.inf,
) -> Drawing:
    """Draw bars beside each other: `groups` holds one list for each colour, `names` one name for each place.

    With `is_one_each` there is a single bar at each place, and no room beside it for others. Names that would touch
    each other lean. The axis ends at `highest` at most.
    """
    bars = [bar for group in groups for bar in group if bar is not None]
    if not bars:
        return empty(title)
    top = max(bar.interval[1] if bar.interval else bar.value for bar in bars)
    axis = Axis.vertical([0.0, top if top > NEXT_TO_NOTHING else 1.0], highest)
    place = (WIDTH - LEFT - RIGHT) / len(names)
    num_beside = 1 if is_one_each else len(groups)
    width = min(26.0, place * 0.8 / num_beside)
    shown = [cut(name, MAX_BAR_NAME) for name in names]
    longest = CHARACTER * max(map(breadth, shown))
    leaning = longest * 0.6 if longest > place - 2 else 0.0  # how much further down leaning names reach
    shapes, said = [*draw_y_axis(axis, y_label), name_x_axis(x_label, leaning)], []
    for i, name in enumerate(names):
        middle = LEFT + place * (i + 0.5)
        below = HEIGHT - BOTTOM + 13
        if leaning:
            shapes.append(turned(label(0, 0, shown[i], "end"), middle + 4, below - 1, -40))
        else:
            shapes.append(label(middle, below, shown[i]))
        for colour, group in enumerate(groups):
            bar = group[i]
            if bar is not None:
                beside = 0 if is_one_each else colour
                left = middle + (beside - num_beside / 2) * width
                shapes += _bar(name, bar, colour, left, width, axis)
                said.append(f"{name}: {show(bar.value)}")
    return Drawing(f"{title}. {y_label} by {x_label}: {'; '.join(said)}", WIDTH, HEIGHT + leaning, shapes)


def histogram(
    title: str,
    edges: Sequence[float],
    series: Sequence[Bins],
    x_label: str,
    y_label: str,
    is_logarithmic: bool = False,
) -> Drawing:
    """Draw how many values are in each bin, from `edges[i]` to `edges[i + 1]`, for one series or several."""
    x_axis = Axis.horizontal(edges, is_logarithmic)
    y_axis = Axis.vertical([0.0, max((count for one in series for count in one.counts), default=0) or 1.0])
    shapes, said = [*draw_y_axis(y_axis, y_label), *draw_x_axis(x_axis, x_label)], []
    bottom = y_axis.place(0)
    for one in series:
        kind = _colour(one.colour)
        outline = [f"M{x_axis.place(edges[0])} {bottom}"]
        for (low, high), count in zip(pairwise(edges), one.counts, strict=True):
            left, right, top = x_axis.place(low), x_axis.place(high), y_axis.place(count)
            outline.append(f"V{top}H{right}")
            hint = f"{one.name}: {show(count)} from {show(low)} to {show(high)}"
            shapes.append(_box(f"bin {kind}", left, top, right - left, bottom - top, hint))
        shapes.append(Shape("path", {"class": f"line {kind}", "d": f"{''.join(outline)}V{bottom}"}))
        said.append(f"{one.name} up to {show(max(one.counts, default=0))}")
    return Drawing(f"{title}. {y_label} by {x_label}: {'; '.join(said)}", WIDTH, HEIGHT, shapes)


def ranking(title: str, items: Sequence[tuple[str, float]], colour: int = 0) -> Drawing:
    """Draw a horizontal bar with its name and its number for each item."""
    if not items:
        return empty(title)
    highest = max(value for _, value in items) or 1
    names = [cut(name, MAX_ROW_NAME) for name, _ in items]
    left = CHARACTER * max(map(breadth, names)) + 12
    room = WIDTH - left - CHARACTER * max(len(show(value)) for _, value in items) - 12
    shapes = []
    for number, (shown, (name, value)) in enumerate(zip(names, items, strict=True)):
        middle = (number + 0.5) * ROW_HEIGHT + 2
        width = max(room * value / highest, 1.0)
        shapes += [
            label(left - 6, middle + 4, shown, "end", "token"),
            _box(f"bar {_colour(colour)}", left, middle - 7, width, 14, name),
            label(left + width + 6, middle + 4, show(value), "start"),
        ]
    said = "; ".join(f"{name}: {show(value)}" for name, value in items)
    return Drawing(f"{title}. {said}", WIDTH, ROW_HEIGHT * len(items) + 4, shapes)


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _box(kind: str, x: float, y: float, width: float, height: float, title: str = "") -> Shape:
    sizes = {"x": x, "y": y, "width": width, "height": height}
    return Shape("rect", {"class": kind, **{key: round(size, 1) for key, size in sizes.items()}}, title=title)


def _points(line: Line) -> list[tuple[float, float | None]]:
    """Return the points of a line that are finite; of more than MAX_POINTS, so many at even distances."""
    pairs = zip(line.xs, line.ys, strict=True)
    points = [(x, y) for x, y in pairs if abs(x) < HUGE and (y is None or abs(y) < HUGE)]
    if len(points) > MAX_POINTS:
        step = (len(points) - 1) / (MAX_POINTS - 1)
        points = [points[round(i * step)] for i in range(MAX_POINTS)]
    return points


def _line(
    line: Line, points: Sequence[tuple[float, float | None]], x_axis: Axis, y_axis: Axis
) -> list[Shape]:
    kind, path, dots = _colour(line.colour), [], []
    for is_gap, piece in groupby(points, lambda point: point[1] is None):
        if is_gap:
            continue
        known = [(x, y) for x, y in piece if y is not None]
        path.append("M" + "L".join(f"{x_axis.place(x)} {y_axis.place(y)}" for x, y in known))
        if line.is_dotted or len(known) == 1:
            dots += known
    dash = {"stroke-dasharray": "5 4"} if line.is_dashed else {}
    return [
        Shape("path", {"class": f"line {kind}", "d": "".join(path), **dash}, title=line.name),
        *(
            Shape(
                "circle",
                {"class": f"dot {kind}", "cx": x_axis.place(x), "cy": y_axis.place(y), "r": 3},
                title=f"{line.name}: {show(y)} at {show(x)}",
            )
            for x, y in dots
        ),
    ]


def _bar(name: str, bar: Bar, colour: int, left: float, width: float, axis: Axis) -> list[Shape]:
    top, low = axis.place(bar.value), axis.place(0)
    between = f", 95 % between {show(bar.interval[0])} and {show(bar.interval[1])}" if bar.interval else ""
    hint = f"{name}: {show(bar.value)}{between}"
    shapes = [_box(f"bar {_colour(colour)}", left + 1, top, width - 2, max(0.0, low - top), hint)]
    if bar.interval:
        centre = round(left + width / 2, 1)
        first, last = (axis.place(end) for end in bar.interval)
        across = "".join(f"M{centre - 3:.1f} {end}h6" for end in (first, last))
        shapes.append(Shape("path", {"class": "whisker", "d": f"M{centre} {first}V{last}{across}"}))
    return shapes

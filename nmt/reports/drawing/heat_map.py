"""Heat maps: a matrix as cells, whose colour is stronger the larger their number, which each says as a hint."""

from collections.abc import Sequence
from math import cos, radians, sin

from nmt.reports.drawing.shapes import CHARACTER, Drawing, Shape, breadth, cut

LEAN = radians(60)  # of the labels of columns
MAX_LABEL = 20  # characters


def heat_map(
    title: str,
    weights: Sequence[Sequence[float]],
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    cell: float = 18,
    shades: int = 100,
    hidden: Sequence[Sequence[bool]] | None = None,
    chosen: bool = False,
) -> Drawing:
    """Draw a matrix of shares between 0 and 1, or between -1 and 1 with negative ones in the second colour.

    `rows` and `columns` are labels, `shades` is how many steps the shares are rounded to. Cells that are `hidden` are
    hatched. With `chosen`, each cell above 0.5 has a circle, as the one place that was taken.
    """
    height, width = len(weights), max((len(row) for row in weights), default=0)
    font = min(10.5, cell)
    character = CHARACTER * font / 10.5
    rows, columns = ([cut(one, MAX_LABEL) for one in labels] for labels in (rows, columns))
    left = character * max(map(breadth, rows), default=0) + 7 if rows else 1.0
    top = character * max(map(breadth, columns), default=0) * sin(LEAN) + 9 if columns else 1.0
    # Labels of columns lean over to the right, and the last ones beyond the cells.
    leaning = [
        j * cell + 0.5 * cell + character * breadth(one) * cos(LEAN) + 6 for j, one in enumerate(columns)
    ]
    right = max(1.0, max(leaning, default=0.0) - width * cell)
    cells = [Shape("rect", {"class": "ground", "y": -0.5, "width": width, "height": height})]
    if hidden is not None:
        cells.append(Shape("path", {"class": "unseen", "d": _cells(hidden, True)}, title="not seen"))
    for sign, colour in ((1, "a"), (-1, "b")):
        levels = [[min(shades, round(max(0.0, sign * value) * shades)) for value in row] for row in weights]
        found = sorted({level for row in levels for level in row} - {0})
        paths = [
            Shape(
                "path",
                {"stroke-opacity": f"{level / shades:.2g}", "d": _cells(levels, level)},
                title=f"{sign * level / shades:.2f}",
            )
            for level in found
        ]
        cells += [Shape("g", {"class": f"cell {colour}"}, shapes=paths)] if paths else []
    middles = [(j + 0.5) * cell for j in range(max(len(rows), len(columns)))]
    down = [(0.0, middle + font / 3) for middle in middles]
    # In rotated coordinates, so that one rotation is enough for all labels.
    along = [((middle + 2) * cos(LEAN), (middle + 2) * sin(LEAN)) for middle in middles]
    shapes = [
        Shape(
            "g", {"transform": f"translate({left:.1f} {top + cell / 2:.1f}) scale({cell:g})"}, shapes=cells
        ),
        _labels(rows, down, "end", font, f"translate({left - 4:.1f} {top:.1f})"),
        _labels(columns, along, "start", font, f"translate({left:.1f} {top - 4:.1f}) rotate(-60)"),
    ]
    if chosen:
        places = [(i, j) for i, row in enumerate(weights) for j, value in enumerate(row) if value > 0.5]
        shapes += [
            Shape(
                "circle",
                {
                    "class": "chosen",
                    "cx": left + (j + 0.5) * cell,
                    "cy": top + (i + 0.5) * cell,
                    "r": cell / 5,
                },
            )
            for i, j in places
        ]
    return Drawing(title, left + width * cell + right, top + height * cell + 1, shapes, "map")


def _labels(
    labels: Sequence[str], places: Sequence[tuple[float, float]], anchor: str, font: float, transform: str
) -> Shape:
    named = [(place, said) for place, said in zip(places, labels, strict=False) if said]
    shapes = [Shape("text", {"x": f"{x:.3g}", "y": f"{y:.3g}"}, said) for (x, y), said in named]
    attributes = {"class": "labels", "text-anchor": anchor, "transform": transform, "font-size": font}
    return Shape("g", attributes, shapes=shapes)


def _cells(levels: Sequence[Sequence[int]], level: int) -> str:
    """Return the path of all cells of a level: strokes one cell wide, one for neighbours in a row, to keep it short."""
    parts = []
    for i, row in enumerate(levels):
        j = 0
        while j < len(row):
            end = j
            while end < len(row) and row[end] == level:
                end += 1
            if end > j:
                parts.append(f"M{j} {i}h{end - j}")
            j = max(end, j + 1)
    return "".join(parts)

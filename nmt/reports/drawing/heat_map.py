"""Heat maps: a matrix as cells that are the stronger in colour the larger their number."""

from collections.abc import Sequence

from nmt.reports.drawing.drawing import svg
from nmt.reports.drawing.escaping import text

NUM_SHADES = 16
CHARACTER = 6.3  # width of one in labels, about


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
            f'<text class="token" x="{left - 4:.1f}" y="{y:.1f}" text-anchor="end">{text(label)}</text>'
        )
    for j, label in enumerate(columns or ()):
        x = left + (j + 0.5) * cell + 2
        parts.append(
            f'<text class="token" transform="translate({x:.1f} {top - 4:.1f}) rotate(-60)">{text(label)}</text>'
        )
    return svg(title, left + width * cell + right, top + height * cell + 1, "".join(parts), "map")


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

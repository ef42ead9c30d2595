"""Charts: from numbers to SVG that scales with its column; 360 units wide, so that text is legible on a phone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

WIDTH, HEIGHT = 360, 210
LEFT, RIGHT, TOP, BOTTOM = 42, 10, 26, 36
COLOURS = ("#1f5fa8", "#c4530f", "#2e7d32", "#7b3fa0")
INK, FAINT = "#3d4752", "#dfe4e9"
BAR_HEIGHT = 22
MAX_BAR_LABEL = 18  # characters

Series = Mapping[str, Sequence[float | None]]


@dataclass(frozen=True)
class Axis:
    """A range of numbers, its name, and whether equal steps are equal factors."""

    low: float
    high: float
    label: str = ""
    is_logarithmic: bool = False

    def place(self, value: float) -> float:
        """Return where a value stands between the ends, from 0 to 1."""
        low, high = self.low, self.high
        if self.is_logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low) if high > low else 0.5

    def ticks(self) -> list[float]:
        """Return a handful of round numbers within the range."""
        if self.is_logarithmic:
            powers = range(math.ceil(math.log2(self.low) - 1e-9), math.floor(math.log2(self.high) + 1e-9) + 1)
            return [2.0**power for power in powers]
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        rough = span / 4
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * unit for factor in (1, 2, 2.5, 5, 10) if factor * unit >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def histogram(
    label: str, edges: Sequence[float], series: Series, x_label: str, is_logarithmic: bool = False
) -> str:
    """Draw how many values are in each bin, from `edges[i]` to `edges[i + 1]`, for one series or several."""
    highest = max((value or 0 for values in series.values() for value in values), default=0)
    x, y = Axis(edges[0], edges[-1], x_label, is_logarithmic), Axis(0, highest * 1.05 or 1)
    parts = []
    for colour, (name, counts) in zip(COLOURS, series.items(), strict=False):
        outline = [f"M{_x(x, edges[0])} {_y(y, 0)}"]
        for (low, high), count in zip(pairwise(edges), counts, strict=True):
            outline.append(f"V{_y(y, count or 0)}H{_x(x, high)}")
            parts.append(
                f'<rect x="{_x(x, low)}" y="{_y(y, count or 0)}" width="{_round(_x(x, high) - _x(x, low))}" '
                f'height="{_round(_y(y, 0) - _y(y, count or 0))}" fill="{colour}" fill-opacity=".22">'
                f"<title>{escape(name)}: {short(count or 0)} from {short(low)} to {short(high)}</title></rect>"
            )
        outline.append(f"V{_y(y, 0)}")
        parts.append(f'<path d="{"".join(outline)}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
    return _frame(label, x, y, list(series), parts)


def lines(
    label: str,
    xs: Sequence[float],
    series: Series,
    x: Axis,
    y: Axis,
    marked: Sequence[tuple[float, float]] = (),
) -> str:
    """Draw a line for each series; where a value is None it is broken. `marked` are ranges of x to stand out."""
    parts = [
        f'<rect x="{_x(x, low)}" y="{TOP}" width="{max(_round(_x(x, high) - _x(x, low)), 2)}" '
        f'height="{HEIGHT - TOP - BOTTOM}" fill="#c62828" fill-opacity=".14"/>'
        for low, high in marked
    ]
    for colour, values in zip(COLOURS, series.values(), strict=False):
        path, is_broken = [], True
        for at, value in zip(xs, values, strict=True):
            if value is not None:
                path.append(f"{'M' if is_broken else 'L'}{_x(x, at)} {_y(y, min(max(value, y.low), y.high))}")
            is_broken = value is None
        if len(path) == 1:
            path.append("h.1")
        parts.append(
            f'<path d="{"".join(path)}" fill="none" stroke="{colour}" stroke-width="1.8" '
            'stroke-linejoin="round" stroke-linecap="round"/>'
        )
    return _frame(label, x, y, list(series), parts)


def bars(label: str, items: Sequence[tuple[str, float]], colour: str = COLOURS[0]) -> str:
    """Draw a horizontal bar with its name and its number for each item."""
    highest = max((value for _, value in items), default=0) or 1
    height, parts = BAR_HEIGHT * max(len(items), 1) + 4, []
    for number, (name, value) in enumerate(items):
        middle = number * BAR_HEIGHT + BAR_HEIGHT / 2 + 2
        width = _round(150 * value / highest)
        parts.append(
            f'<text x="128" y="{middle + 4}" text-anchor="end">{escape(_cut(name))}<title>{escape(name)}</title></text>'
            f'<rect x="136" y="{middle - 7}" width="{max(width, 1)}" height="14" rx="2" fill="{colour}"/>'
            f'<text x="{_round(142 + max(width, 1))}" y="{middle + 4}">{short(value)}</text>'
        )
    return _svg(label, height, parts)


def short(value: float) -> str:
    """Return a number as a person would write it on an axis: 950, 1.2 k, 3 M, 0.25."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def _frame(label: str, x: Axis, y: Axis, names: list[str], parts: list[str]) -> str:
    """Put axes and, for several series, a legend around what is drawn."""
    back = []
    for tick in y.ticks():
        at = _y(y, tick)
        back.append(f'<path d="M{LEFT} {at}H{WIDTH - RIGHT}" stroke="{FAINT}"/>')
        back.append(f'<text x="{LEFT - 5}" y="{at + 4}" text-anchor="end">{short(tick)}</text>')
    bottom = HEIGHT - BOTTOM
    for tick in x.ticks():
        at = _x(x, tick)
        back.append(f'<path d="M{at} {bottom}v4" stroke="{INK}"/>')
        text = _ratio(tick) if x.is_logarithmic else short(tick)
        back.append(f'<text x="{at}" y="{bottom + 16}" text-anchor="middle">{text}</text>')
    back.append(f'<path d="M{LEFT} {bottom}H{WIDTH - RIGHT}" stroke="{INK}"/>')
    back.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x.label)}</text>'
    )
    if y.label:
        back.append(f'<text x="4" y="14">{escape(y.label)}</text>')
    legend, at = [], WIDTH - RIGHT
    for colour, name in reversed(list(zip(COLOURS, names, strict=False))):
        if len(names) > 1:
            at -= 8 + 6.2 * len(name)
            legend.append(
                f'<rect x="{_round(at - 12)}" y="5" width="10" height="10" rx="2" fill="{colour}"/>'
            )
            legend.append(f'<text x="{_round(at + 2)}" y="14">{escape(name)}</text>')
            at -= 18
    return _svg(label, HEIGHT, [*back, *parts, *legend])


def _svg(label: str, height: float, parts: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(label)}" '
        f'font-size="11" fill="{INK}">{"".join(parts)}</svg>'
    )


def _x(axis: Axis, value: float) -> float:
    return _round(LEFT + axis.place(value) * (WIDTH - LEFT - RIGHT))


def _y(axis: Axis, value: float) -> float:
    return _round(HEIGHT - BOTTOM - axis.place(value) * (HEIGHT - TOP - BOTTOM))


def _round(value: float) -> float:
    return round(value, 1)


def _ratio(value: float) -> str:
    return f"{value:g}" if value >= 1 else f"1/{1 / value:g}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_BAR_LABEL else f"{text[: MAX_BAR_LABEL - 1]}…"

"""What all drawings share: an SVG element with words that say the same, axes, and numbers as one reads them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nmt.reports.drawing.escaping import text

WIDTH, HEIGHT = 360, 210  # of charts: as wide as a phone shows
LEFT, RIGHT, TOP, BOTTOM = 56, 10, 10, 34
TINY = 1e-100  # what is no difference
UNITS = ((1e9, " G"), (1e6, " M"))
MAX_POWERS = 9  # ticks of a logarithmic axis


@dataclass(frozen=True)
class Axis:
    """Numbers from `low` to `high`, drawn between two places."""

    low: float
    high: float
    ticks: Sequence[float]
    start: float
    end: float
    is_logarithmic: bool = False

    @classmethod
    def horizontal(cls, values: Iterable[float], is_logarithmic: bool = False) -> "Axis":
        """Return an axis that ends where the values end."""
        numbers = list(values)
        low, high = min(numbers), max(numbers)
        marks = powers_of_two(low, high) if is_logarithmic else ticks(low, high)
        slack = (high - low) * 1e-9
        within = [mark for mark in marks if low - slack <= mark <= high + slack]
        if high - low <= TINY or not within:
            low, high, within = marks[0], marks[-1], marks
        return cls(low, high, within, LEFT, WIDTH - RIGHT, is_logarithmic)

    @classmethod
    def vertical(cls, values: Iterable[float]) -> "Axis":
        """Return an axis that ends at the round numbers around the values."""
        numbers = list(values)
        marks = ticks(min(numbers), max(numbers))
        return cls(marks[0], marks[-1], marks, HEIGHT - BOTTOM, TOP)

    def place(self, value: float) -> float:
        """Return where a value stands, in units of the drawing."""
        low, high = self.low, self.high
        if self.is_logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.start + (value - low) / (high - low) * (self.end - self.start)


def ticks(low: float, high: float) -> list[float]:
    """Return three to seven round numbers from at or below `low` to at or above `high`."""
    if high - low <= max(abs(low), abs(high)) * 1e-9 + TINY:
        low, high = low - (abs(low) or 1.0) * 0.5, high + (abs(high) or 1.0) * 0.5
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def powers_of_two(low: float, high: float) -> list[float]:
    """Return the powers of two from at or below `low` to at or above `high`, or some of them where they are many."""
    first, last = math.floor(math.log2(low) + 1e-9), math.ceil(math.log2(high) - 1e-9)
    last = max(last, first + 1)
    step = -(-(last - first) // (MAX_POWERS - 1))
    return [2.0**power for power in range(first, last + step, step)]


def show(value: float) -> str:
    """Return a number with as many digits as one reads: 0.25, 123.5, 12,346, 3 M."""
    if not math.isfinite(value):
        return "none"
    if (value and abs(value) < 0.01) or abs(value) >= 1e12:
        return f"{value:.1e}".replace("e-0", "e-").replace("e+", "e")
    for size, unit in UNITS:
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    shown = f"{value:,.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def svg(alternative: str, width: float, height: float, content: str, kind: str = "chart") -> str:
    """Return an SVG element of a size in pixels, which says in words what it shows."""
    return (
        f'<svg class="{kind}" role="img" aria-label="{text(alternative)}" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">{content}</svg>'
    )


def empty(title: str) -> str:
    """Return a drawing that says that there is nothing to draw."""
    said = f'<text class="tick" x="{WIDTH / 2:.0f}" y="40" text-anchor="middle">nothing was measured</text>'
    return svg(f"{title}: nothing was measured", WIDTH, 70, said)


def draw_x_axis(axis: Axis, label: str) -> str:
    """Return the numbers below a chart, and what they are."""
    parts = [name_x_axis(label)]
    for tick in axis.ticks:
        x = axis.place(tick)
        anchor = "end" if x > WIDTH - RIGHT - 12 else "middle"
        shown = f"1/{show(1 / tick)}" if axis.is_logarithmic and tick < 1 else show(tick)
        parts.append(
            f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 13}" text-anchor="{anchor}">{shown}</text>'
        )
    return "".join(parts)


def name_x_axis(label: str) -> str:
    """Return what stands below a chart."""
    middle = (LEFT + WIDTH - RIGHT) / 2
    return f'<text class="tick" x="{middle:.0f}" y="{HEIGHT - 4}" text-anchor="middle">{text(label)}</text>'


def draw_y_axis(axis: Axis, label: str) -> str:
    """Return the numbers to the left of a chart, a line across it for each, and what they are."""
    parts = []
    for tick in axis.ticks:
        y = axis.place(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{show(tick)}</text>'
        )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text class="tick" text-anchor="middle" transform="translate(9 {middle:.0f}) rotate(-90)">'
        f"{text(label)}</text>"
    )
    return "".join(parts)

"""Parts that all drawings share: shapes, axes, and numbers as one reads them."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from unicodedata import east_asian_width

COLOURS = "abcdefgh"  # classes of what is compared; the style gives each its colour by day and by night
WIDTH, HEIGHT = 360, 210  # of charts, in pixels: as wide as a phone shows
LEFT, RIGHT, TOP, BOTTOM = 56, 10, 10, 34
CHARACTER = 6.3  # mean width of one in labels, in pixels
WIDE = 1.8  # mean characters in one of Chinese, Japanese or Korean, which is a square
TINY = 1e-100  # a smaller difference counts as none
UNITS = ((1e9, " G"), (1e6, " M"))
MAX_POWERS = 9  # ticks of a logarithmic axis
MAX_DIGITS = 12  # after the point


@dataclass(frozen=True)
class Shape:
    """An element of SVG; `title` is what it says when pointed at."""

    tag: str
    attributes: dict[str, object]
    text: str = ""
    title: str = ""
    shapes: Sequence["Shape"] = ()


@dataclass(frozen=True)
class Drawing:
    """A picture of a size in pixels; `alternative` says in words what it shows."""

    alternative: str
    width: float
    height: float
    shapes: Sequence[Shape] = field(repr=False)
    kind: str = "chart"


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
    def vertical(cls, values: Iterable[float], highest: float = math.inf) -> "Axis":
        """Return an axis that ends at the round numbers around the values, and not beyond `highest`, a round one."""
        numbers = [min(value, highest) for value in values]
        marks = ticks(min(numbers), max(numbers))
        return cls(marks[0], marks[-1], marks, HEIGHT - BOTTOM, TOP)

    def place(self, value: float) -> float:
        """Return where a value stands, in pixels; one beyond the axis stands at its end."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.is_logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return round(self.start + (value - low) / (high - low) * (self.end - self.start), 1)


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
    return _trimmed(f"{value:,.{digits}f}")


def show_ticks(marks: Sequence[float]) -> list[str]:
    """Return the numbers beside an axis, with as many digits as its steps have."""
    largest, step = max(map(abs, marks)), min((abs(b - a) for a, b in pairwise(marks)), default=0.0)
    if step == 0 or not 0.01 <= largest < 1e6:
        return [show(mark) for mark in marks]
    digits = next(
        (n for n in range(MAX_DIGITS) if all(abs(round(mark, n) - mark) < step * 1e-6 for mark in marks)),
        MAX_DIGITS,
    )
    return [_trimmed(f"{mark:,.{digits}f}") for mark in marks]


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def label(x: float, y: float, text: str, anchor: str = "middle", kind: str = "tick") -> Shape:
    """Return a word or a number at a place."""
    return Shape("text", {"class": kind, "x": round(x, 1), "y": round(y, 1), "text-anchor": anchor}, text)


def breadth(text: str) -> float:
    """Return how many mean characters a text is wide; one of Chinese, Japanese or Korean counts for more."""
    return sum(WIDE if east_asian_width(character) in "WF" else 1.0 for character in text)


def cut(text: str, limit: int) -> str:
    """Return a text, or its beginning where it has more characters than the limit."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def empty(title: str) -> Drawing:
    """Return a drawing that says that there is nothing to draw."""
    said = "nothing was measured"
    return Drawing(f"{title}: {said}", WIDTH, 70, [label(WIDTH / 2, 40, said)])


def draw_x_axis(axis: Axis, name: str) -> Iterator[Shape]:
    """Yield the name of an axis below a chart, and its numbers, but for those that would touch the one before."""
    yield name_x_axis(name)
    free = 0.0  # where the next number may begin
    numbers = [show(tick) for tick in axis.ticks] if axis.is_logarithmic else show_ticks(axis.ticks)
    for tick, number in zip(axis.ticks, numbers, strict=True):
        shown = f"1/{show(1 / tick)}" if axis.is_logarithmic and tick < 1 else number
        width = CHARACTER * len(shown)
        middle = min(axis.place(tick), WIDTH - width / 2)
        if middle - width / 2 >= free:
            free = middle + width / 2 + CHARACTER
            yield label(middle, HEIGHT - BOTTOM + 13, shown)


def name_x_axis(name: str, below: float = 0.0) -> Shape:
    """Return the name of the x axis of a chart that is `below` pixels taller than others."""
    return label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4 + below, name)


def draw_y_axis(axis: Axis, name: str) -> Iterator[Shape]:
    """Yield the numbers to the left of a chart, a line across it for each, and the name of the axis."""
    for tick, number in zip(axis.ticks, show_ticks(axis.ticks), strict=True):
        y = axis.place(tick)
        yield Shape("path", {"class": "grid", "d": f"M{LEFT} {y}H{WIDTH - RIGHT}"})
        yield label(LEFT - 5, y + 3.5, number, "end")
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield turned(label(0, 0, name), 9, middle, -90)


def turned(shape: Shape, x: float, y: float, degrees: float) -> Shape:
    """Return a shape that is turned around its origin, which is moved to a place."""
    return replace(
        shape, attributes=shape.attributes | {"transform": f"translate({x:.1f} {y:.1f}) rotate({degrees:g})"}
    )

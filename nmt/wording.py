"""Text for people: counts, times and line numbers."""

from collections.abc import Iterable


def counted(number: int, what: str) -> str:
    """Return a number of things in words: `1 line`, `2 lines`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time as people say it: `40 s`, `12 min`, `3 h 20 min`, `1 d 16 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    if minutes < 36 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    hours = round(minutes / 60)
    return f"{hours // 24} d {hours % 24} h"


class LineNumbers:
    """The number of lines that something happened to, and the numbers of the first `MAX_NAMED` of them."""

    MAX_NAMED = 5

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self.count = 0
        self.first: list[int] = []
        for number in numbers:
            self.add(number)

    def add(self, number: int) -> None:
        """Note a line by its number, from 1."""
        self.count += 1
        if self.count <= self.MAX_NAMED:
            self.first.append(number)

    def join(self, later: "LineNumbers") -> None:
        """Add the lines of `later`, which follow those noted so far."""
        self.count += later.count
        self.first = [*self.first, *later.first][: self.MAX_NAMED]

    def tell(self, what: str) -> str:
        """Return `2 lines were WHAT: lines 3 and 17`."""
        return f"{'1 line was' if self.count == 1 else f'{self.count} lines were'} {what}: {self}"

    def __str__(self) -> str:
        if self.count == 1:
            return f"line {self.first[0]}"
        more = self.count - len(self.first)
        *others, last = [*map(str, self.first), *([f"{more} more"] if more else [])]
        return f"lines {', '.join(others)} and {last}"

"""Shards: parts of a text that many processes translate, each its own, and that are joined when all are done."""

import os
from dataclasses import dataclass

from nmt.data.lines import BLOCK_SIZE, MAX_LINE_BYTES, follow_lines, is_compressed
from nmt.errors import DataError


@dataclass(frozen=True)
class Shard:
    """Part `number`, counted from 1, of `count` parts of a file, of about equal size and cut between lines."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Return the shard that is written as `3/8`."""
        number, _, count = text.partition("/")
        return cls(int(number), int(count))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def of_output(self, output: str) -> str:
        """Return the name of the output file of the shard."""
        return f"{output}.{self.number}-of-{self.count}"

    def span(self, path: str, key: str) -> tuple[int, int]:
        """Return start and end of the shard in a file, in bytes. Raises DataError for a compressed file, or for none.

        A line belongs to the shard in which it begins; only the lines at the two cuts are read.
        """
        if not os.path.isfile(path) or is_compressed(path):
            raise DataError(f"{key}: a file that is not compressed is needed for shard={self}; got {path}")
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            cuts = []
            for cut in (size * (self.number - 1) // self.count, size * self.number // self.count):
                file.seek(max(0, cut - 1))
                if cut:
                    file.readline(MAX_LINE_BYTES)  # up to the end of the line that the cut is in
                cuts.append(file.tell())
        return cuts[0], cuts[1]


def lines_before(path: str, key: str, position: int, num_lines: int) -> list[str]:
    """Return the last whole lines before a position of a file, at most `num_lines`; no more is read than needed."""
    start, tail = position, b""
    with open(path, "rb") as file:
        while num_lines and start and tail.count(b"\n") <= num_lines:
            size = min(start, BLOCK_SIZE)
            start -= size
            file.seek(start)
            tail = file.read(size) + tail
    last = tail.split(b"\n")[:-1][-num_lines:]
    start = position - sum(len(line) + 1 for line in last)
    raw = follow_lines(path, key, span=(start, position))
    return [line.decode("utf-8", "replace") for line in raw if line is not None]


def count_lines(path: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
    """Return the number of whole lines between two positions of a file, and of lines that have no end: 0 or 1."""
    num_lines, last = 0, b"\n"
    with open(path, "rb") as file:
        file.seek(start)
        left = (os.path.getsize(path) if end is None else end) - start
        while left and (block := file.read(min(left, BLOCK_SIZE))):
            num_lines, last, left = num_lines + block.count(b"\n"), block[-1:], left - len(block)
    return num_lines, int(last != b"\n")

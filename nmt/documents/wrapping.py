"""Text that stood in several lines, wrapped into as many again."""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate

from nmt.documents.marked import Content, render

# A run of space is tried once, from its beginning: or else a long one within a line would take quadratic time.
LINE_BREAK = re.compile(r"(?:(?<![ \t])[ \t]++)?+(?:\r\n|\r|\n)[ \t]*")


def render_wrapped(content: Content, escape: Callable[[str], str], ends: Sequence[str]) -> str:
    """Return text with its markup, in which spaces become the `ends` of lines, as far as there are enough spaces."""
    lines = wrap(_written(content), len(ends) + 1)
    # Where a line ends, in the text that is written without markup.
    breaks = dict(
        zip((place - 1 for place in accumulate(len(line) + 1 for line in lines[:-1])), ends, strict=False)
    )
    place = 0

    def write(text: str) -> str:
        nonlocal place
        written, start = "", 0
        for i in range(len(text)):
            if place + i in breaks:
                written += escape(text[start:i]) + breaks[place + i]
                start = i + 1
        place += len(text)
        return written + escape(text[start:])

    return render(content, write)


def _written(content: Content) -> str:
    """Return the text that `render` passes to `escape`, which leaves out kept elements."""
    parts = (
        part if isinstance(part, str) else "" if part.is_kept else _written(part.content) for part in content
    )
    return "".join(parts)


def wrap(text: str, num_lines: int) -> list[str]:
    """Return a text in at most `num_lines` lines, split at spaces so that the longest is as short as can be."""
    words = text.split(" ")
    low, high = max(map(len, words)), len(text)
    while low < high:
        width = (low + high) // 2
        low, high = (low, width) if len(_lines(words, width)) <= num_lines else (width + 1, high)
    return _lines(words, low)


def _lines(words: Sequence[str], width: int) -> list[str]:
    """Return words in lines of a width, each line as full as it can be."""
    lines, length = [[words[0]]], len(words[0])
    for word in words[1:]:
        length += 1 + len(word)
        if length <= width:
            lines[-1].append(word)
        else:
            lines.append([word])
            length = len(word)
    return [" ".join(line) for line in lines]

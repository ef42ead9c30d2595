"""Lines before a line, which are read with it: what the line alone leaves open, they may tell.

A line is read as `earlier line <context> line`, the translation is that of the line alone (Tiedemann & Scherrer 2017).
A document ends at a line without tokens, and where a file begins.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from nmt.data.arrays import BoolArray
from nmt.data.tokenizer import Tokenizer, Vocabulary
from nmt.errors import SettingsError

PIECE = re.compile("<context=([1-9][0-9]?)>")

LineT = TypeVar("LineT")


def context_symbols(num_lines: int) -> list[str]:
    """Return the piece that stands behind each earlier line, and whose name says how many there are: one or none."""
    return [f"<context={num_lines}>"] if num_lines else []


def encode_lines(vocabulary: Vocabulary, lines: Sequence[str]) -> list[list[int]]:
    """Return the ids of lines, of blank ones none: some white space, such as U+3000, would become pieces."""
    return vocabulary.encode([line if line.strip() else "" for line in lines])


def in_order(
    chunks: Iterable[list[LineT]], num_lines: int, before: Sequence[LineT] = ()
) -> Iterator[tuple[list[LineT], Sequence[LineT]]]:
    """Yield each chunk of a text, and up to `num_lines` lines before it; those `before` are before the first."""
    for chunk in chunks:
        yield chunk, before
        before = last_lines([*before, *last_lines(chunk, num_lines)], num_lines)


def last_lines(lines: Sequence[LineT], num_lines: int) -> list[LineT]:
    """Return up to `num_lines` lines at the end of some."""
    return list(lines[-num_lines:]) if num_lines else []


class Context(NamedTuple):
    """How many lines a source line is read with, and the id of the piece behind each of them."""

    num_lines: int = 0
    separator_id: int = -1

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "Context":
        """Return what a source vocabulary says by the name of a piece: nothing else has to be known of a model."""
        found = ((PIECE.fullmatch(piece), i) for i, piece in enumerate(vocabulary.pieces))
        return next((cls(int(match[1]), i) for match, i in found if match), cls())

    def join(
        self, before: Sequence[list[int]], sentences: Sequence[list[int]], max_tokens: int
    ) -> tuple[list[list[int]], list[int]]:
        """Return sentences of ids, each behind those that it is read with, and the indices of those that lack some.

        Where there would be more than `max_tokens` whole lines are left out, the earliest first; the sentence itself
        stays as it is. Those `before` are the end of what comes before the sentences.
        """
        if not self.num_lines:
            return list(sentences), []
        recent = deque[list[int]](maxlen=self.num_lines)
        joined, short = [], []
        for number, ids in enumerate([*before, *sentences], -len(before)):
            whole = ids
            for earlier in reversed(recent if ids else ()):
                if len(earlier) + 1 + len(whole) > max_tokens:
                    short.append(number)
                    break
                whole = [*earlier, self.separator_id, *whole]
            joined.append(whole)
            recent.append(ids)
            if not ids:
                recent.clear()
        return joined[len(before) :], [number for number in short if number >= 0]


class Surroundings(NamedTuple):
    """Source lines as they were read, of which some are `kept` as pairs of a text, and where files begin in them."""

    context: Context
    max_tokens: int
    lines: Sequence[str]
    kept: BoolArray | None = None  # None: all of them
    starts: Sequence[int] = ()

    @property
    def key(self) -> tuple[str, bytes, Sequence[str]]:
        """What the ids of the lines depend on."""
        kept = b"" if self.kept is None else self.kept.tobytes()
        return str((*self.context, self.max_tokens, *self.starts)), kept, self.lines

    def encode(self, vocabulary: Vocabulary, lines_at_once: int) -> Iterator[tuple[list[list[int]], int]]:
        """Yield the ids of kept lines with their context, so many lines at a time, and how many lack some of it."""
        before: list[list[int]] = []
        for start in range(0, len(self.lines), lines_at_once):
            encoded = encode_lines(vocabulary, self.lines[start : start + lines_at_once])
            end, found, short = start + len(encoded), list[list[int]](), list[int]()
            inside = [place for place in self.starts if start <= place < end]
            for first, last in pairwise([start, *inside, end]):
                part = encoded[first - start : last - start]
                if first in inside:
                    before = []
                joined, lacking = self.context.join(before, part, self.max_tokens)
                found += joined
                short += [first + number for number in lacking]
                before = last_lines([*before, *part], self.context.num_lines)
            if self.kept is None:
                yield found, len(short)
            else:
                yield (
                    [found[number] for number in self.kept[start:end].nonzero()[0]],
                    int(self.kept[short].sum()),
                )


def require_context(tokenizer: Tokenizer, num_lines: int) -> Context:
    """Return the context of a tokenizer. Raises SettingsError for another number of lines than data.context."""
    context = Context.of(tokenizer.source)
    if context.num_lines != num_lines:
        raise SettingsError(
            f"data.context: {context.num_lines} is needed, since the vocabulary was made for it; got {num_lines}"
        )
    return context

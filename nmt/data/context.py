"""Context: the lines before a source line, which may tell what the line alone leaves open.

A line is read as `earlier line <context=1> line`; its translation is that of the line alone (Tiedemann & Scherrer
2017). A document ends at a line without tokens, and where a file begins.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from nmt.data.arrays import BoolArray
from nmt.data.corpus import Corpus
from nmt.data.tokenizer import Tokenizer, Vocabulary
from nmt.errors import SettingsError

PIECE = re.compile("<context=([1-9][0-9]?)>")

LineT = TypeVar("LineT")


def context_symbols(num_lines: int) -> list[str]:
    """Return the separator piece that follows each earlier line and names their number; an empty list for no lines."""
    return [f"<context={num_lines}>"] if num_lines else []


def source_symbols(corpus: Corpus, num_lines: int) -> list[str]:
    """Return the pieces that no source line is split within: the tags of a mixture, and the separator of context."""
    return [*(corpus.groups.symbols if corpus.groups else ()), *context_symbols(num_lines)]


def encode_lines(vocabulary: Vocabulary, lines: Sequence[str]) -> list[list[int]]:
    """Return the token ids of lines; blank lines have none."""
    return vocabulary.encode(emptied(lines))


def emptied(lines: Sequence[str]) -> list[str]:
    """Return lines, the blank ones empty, since some white space, such as U+3000, would become pieces."""
    return [line if line.strip() else "" for line in lines]


def with_lines_before(
    chunks: Iterable[list[LineT]], num_lines: int, before: Sequence[LineT] = ()
) -> Iterator[tuple[list[LineT], Sequence[LineT]]]:
    """Yield each chunk of a text with up to `num_lines` lines before it; `before` are those before the first chunk."""
    for chunk in chunks:
        yield chunk, before
        before = last_lines([*before, *last_lines(chunk, num_lines)], num_lines)


def last_lines(lines: Sequence[LineT], num_lines: int) -> list[LineT]:
    """Return the last `num_lines` of some lines, or all if there are fewer."""
    return list(lines[-num_lines:]) if num_lines else []


class Context(NamedTuple):
    """How many earlier lines a source line is read with, and the id of the separator piece after each of them."""

    num_lines: int = 0
    separator_id: int = -1

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "Context":
        """Return the context of a source vocabulary, stated by the name of its separator: no other record is needed."""
        found = ((PIECE.fullmatch(piece), i) for i, piece in enumerate(vocabulary.pieces))
        return next((cls(int(match[1]), i) for match, i in found if match), cls())

    def join(
        self, before: Sequence[list[int]], sentences: Sequence[list[int]], max_tokens: int
    ) -> tuple[list[list[int]], list[int]]:
        """Return sentences of token ids, each after its context, and the indices of those that lack some context.

        If a sentence with its context has more than `max_tokens` tokens, whole lines of context are left out, the
        earliest first; the sentence itself stays as it is. `before` are the sentences that precede the first one.
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
    """Source lines as they were read, which of them are `kept` in the pairs of a text, and where files begin."""

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
        """Yield, by `lines_at_once` lines, the ids of kept lines with their context, and how many lack some of it."""
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
    """Return the context of a tokenizer. Raises SettingsError unless it has `num_lines` (data.context) lines."""
    context = Context.of(tokenizer.source)
    if context.num_lines != num_lines:
        raise SettingsError(
            f"data.context: {context.num_lines} is needed, since the vocabulary was made for it; got {num_lines}"
        )
    return context

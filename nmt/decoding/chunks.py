"""Chunks of lines that are translated together, from text, a table, or standard input."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from nmt.data.context import with_lines_before
from nmt.data.encoding import UTF_8
from nmt.data.lines import TextDecoder, follow_lines, in_chunks
from nmt.data.table import Columns, read_rows
from nmt.errors import DataError


class Chunk(NamedTuple):
    """Lines, the number of lines before them in their text, and the lines of another text that belong to them.

    `before` are the last of the lines before them, as many as a model reads as context.
    """

    lines: Sequence[str]
    num_before: int = 0
    beside: list[str] | None = None
    before: Sequence[str] = ()


def text_chunks(
    source: str | int, key: str, encoding: str = UTF_8, span: tuple[int, int] | None = None
) -> Iterator[list[str]]:
    """Yield the lines of a file, or of a `span` of its bytes, or of an open descriptor, in chunks of what is there.

    Lines that could not be read are logged at the end. Raises DataError, of `key`, for text of another encoding.
    """
    decoder, num_before = TextDecoder(key, encoding), 0
    for chunk in in_chunks(follow_lines(source, key, encoding, span)):
        if not num_before:
            decoder.require_text(chunk)
        yield [decoder.decode(raw, number) for number, raw in enumerate(chunk, num_before + 1)]
        num_before += len(chunk)
    decoder.warn()


def table_chunks(path: str, key: str, column: str, encoding: str) -> Iterator[list[str]]:
    """Yield a column of a table by chunks. Raises DataError, of `key`, for what is no table, or has no such column."""
    columns = Columns(column, column, encoding=encoding, keys=("column", "column"), keeps_blank=True)
    return in_chunks(text for text, _ in read_rows(path, key, columns))


def number_chunks(
    chunks: Iterable[list[str]], context: int = 0, num_before: int = 0, before: Sequence[str] = ()
) -> Iterator[Chunk]:
    """Number chunks that follow `num_before` lines; each has `context` lines before it, the first one `before`."""
    for lines, earlier in with_lines_before(chunks, context, before):
        yield Chunk(lines, num_before, None, earlier)
        num_before += len(lines)


def put_beside(
    chunks: Iterable[Chunk], others: Iterable[str], key: str, is_end: bool = False
) -> Iterator[Chunk]:
    """Add to the lines of chunks the lines of `others`, which begin at the same place as the chunks.

    Raises DataError, of `key`, where there are fewer of them, or more and the chunks reach the end of their text
    (`is_end`).
    """
    rest, num_lines = iter(others), 0
    for chunk in chunks:
        num_lines = chunk.num_before + len(chunk.lines)
        beside = list(islice(rest, len(chunk.lines)))
        if len(beside) < len(chunk.lines):
            raise DataError(
                f"{key}: as many lines as the text has are needed; got only {chunk.num_before + len(beside)}"
            )
        yield chunk._replace(beside=beside)
    if is_end and next(rest, None) is not None:
        raise DataError(f"{key}: as many lines as the text has are needed; got more than {num_lines}")

"""Chunks of lines that are translated together, from text, a table, or standard input."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from nmt.data.context import in_order
from nmt.data.encoding import UTF_8
from nmt.data.lines import TextDecoder, follow_lines, in_chunks, iterate_lines
from nmt.data.table import Columns, read_table
from nmt.errors import DataError


class Chunk(NamedTuple):
    """Lines, how many come before them in their text, and the lines of another text that belong to them.

    Those `before` are the last of what comes before them, as many as a model reads with a line.
    """

    lines: list[str]
    num_before: int
    beside: list[str] | None = None
    before: Sequence[str] = ()


def text_chunks(
    source: str | int, key: str, encoding: str = UTF_8, span: tuple[int, int] | None = None
) -> Iterator[list[str]]:
    """Yield the lines of a file or an open descriptor by chunks of what is there, or of a `span` from byte to byte.

    Which lines could not be read is said at the end. Raises DataError, of `key`, for text of another encoding.
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
    columns = Columns(column, column, encoding=encoding, keys=("column", "column"))
    return in_chunks(text for text, _ in read_table(path, key, columns))


def number_chunks(
    chunks: Iterable[list[str]],
    path: str | None,
    key: str,
    encoding: str,
    num_before: int = 0,
    is_whole: bool = True,
    context: int = 0,
    before: Sequence[str] = (),
) -> Iterator[Chunk]:
    """Number chunks that follow `num_before` lines, and put beside each line that of the file `path`, if there is one.

    Each chunk has `context` lines before it, the first of them `before`.

    Raises DataError, of `key`, where the file has fewer lines or, with chunks of the `is_whole` text, more.
    """
    beside = None if path is None else islice(iterate_lines(path, key, encoding), num_before, None)
    for lines, earlier in in_order(chunks, context, before):
        others = None if beside is None else list(islice(beside, len(lines)))
        if others is not None and len(others) < len(lines):
            raise DataError(
                f"{key}: as many lines as in the other file are needed; got only {num_before + len(others)} in {path}"
            )
        yield Chunk(lines, num_before, others, earlier)
        num_before += len(lines)
    if beside is not None and is_whole and next(beside, None) is not None:
        raise DataError(
            f"{key}: as many lines as in the other file are needed, {num_before}; got more in {path}"
        )

"""Lines of text, from files and from streams that have not ended."""

import gzip
import logging
import select
import zlib
from collections.abc import Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import TypeVar

from nmt.config import Files
from nmt.errors import DataError

logger = logging.getLogger(__name__)

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
STANDARD_INPUT = 0
BLOCK_SIZE = 1 << 16
# A few kilobytes of .gz can hold a line that fills the memory.
MAX_LINE_BYTES = 1 << 24
# Seconds in which nothing comes from a sender that waits for an answer: more than a program needs between two lines,
# less than a person notices.
PATIENCE = 0.05
# What is read ahead, and held, at most: lines, and bytes or characters of them.
LINES_AT_ONCE = 4096
SIZE_AT_ONCE = 1 << 20

Line = TypeVar("Line", str, bytes)


def read_lines(files: Files, key: str) -> list[str]:
    """Read all lines of one file or several, one after the other.

    Raises DataError, naming file and line, for text that is not UTF-8.
    """
    lines = []
    for path in [files] if isinstance(files, str) else files:
        for number, raw in enumerate(read_raw_lines(path, key), start=1):
            try:
                lines.append(raw.decode("utf-8"))
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{key}: UTF-8 text is needed; got byte 0x{raw[error.start]:02x} in {path}, line {number}"
                ) from None
    return lines


def read_raw_lines(path: str | Path, key: str) -> Iterator[bytes]:
    """Yield the lines of a file as `follow_lines` does, without its pauses."""
    return (line for line in follow_lines(path, key) if line is not None)


def follow_lines(path: str | Path | int, key: str) -> Iterator[bytes | None]:
    """Yield the lines of a file, `.gz` or not, or of an open descriptor, and None wherever its sender waits.

    A line ends at `\\n` and nowhere else; one `\\r` before it and a byte order mark at the start are dropped.
    Raises DataError, beginning with `key`, when the file cannot be read.
    """
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        with _open(path) as file:
            for number, line in _cut_into_lines(_read_blocks(file)):
                if line is not None and len(line) > MAX_LINE_BYTES:
                    raise DataError(
                        f"{key}: lines of at most {MAX_LINE_BYTES} bytes are needed; got more in {name}, "
                        f"line {number}"
                    )
                yield line
    except FileNotFoundError:
        raise DataError(f"{key}: no such file: {name}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{key}: a readable file is needed; got {name}: {error}") from None


def in_chunks(lines: Iterable[Line | None]) -> Iterator[list[Line]]:
    """Yield lines together: as many as are held at once, or those before a pause."""
    chunk: list[Line] = []
    size = 0
    for line in lines:
        if line is not None:
            chunk.append(line)
            size += len(line)
        if chunk and (line is None or len(chunk) == LINES_AT_ONCE or size >= SIZE_AT_ONCE):
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


class Decoder:
    """Text from bytes; what is not UTF-8 is replaced by U+FFFD, and lines with it are counted."""

    def __init__(self) -> None:
        self.num_replaced = 0

    def decode(self, line: bytes) -> str:
        """Return the text of a line."""
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            self.num_replaced += 1
            return line.decode("utf-8", "replace")

    def warn(self) -> None:
        """Say how many lines were not UTF-8, if any were."""
        if self.num_replaced:
            logger.warning(
                "%d lines were not UTF-8; what could not be read was replaced by U+FFFD", self.num_replaced
            )


def _open(path: str | Path | int) -> gzip.GzipFile | BufferedReader:
    if isinstance(path, int):
        return open(path, "rb", closefd=False)
    return gzip.open(path, "rb") if str(path).endswith(".gz") else open(path, "rb")


def _read_blocks(file: gzip.GzipFile | BufferedReader) -> Iterator[bytes]:
    """Yield what is there, and nothing (`b""`) where no more has come for a while; of a file, all is there."""
    while block := file.read1(BLOCK_SIZE):
        yield block
        if not select.select([file], [], [], PATIENCE)[0]:
            yield b""


def _cut_into_lines(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Yield lines with their numbers, from 1; of one that is too long only the beginning, and then no more."""
    mark, number, size = BYTE_ORDER_MARK, 1, 0
    unfinished: list[bytes] = []
    for block in blocks:
        if not block:
            yield number, None
            continue
        first, *rest = block.split(b"\n")
        unfinished.append(first)
        size += len(first)
        if size > MAX_LINE_BYTES:
            break
        if rest:
            yield number, b"".join(unfinished).removeprefix(mark).removesuffix(b"\r")
            for line in rest[:-1]:
                number += 1
                yield number, line.removesuffix(b"\r")
            mark, unfinished, number, size = b"", rest[-1:], number + 1, len(rest[-1])
    if any(unfinished):
        yield number, b"".join(unfinished).removeprefix(mark)

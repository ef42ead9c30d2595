"""Lines of text, from files and from streams that have not ended."""

import gzip
import logging
import os
import select
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeVar

from nmt.config import Files, as_list
from nmt.data.encoding import UTF_8, as_utf_8, find_wide, is_mostly_broken, is_utf_8
from nmt.errors import DataError
from nmt.versions import importing
from nmt.wording import LineNumbers

logger = logging.getLogger(__name__)

ZSTANDARD, PARQUET = ".zst", ".parquet"
COMPRESSED = (".gz", ZSTANDARD)
PACKED = (".xz", ".bz2", ".zip", ".7z", ".rar")
OFFICE = (".pdf", ".doc", ".docm", ".rtf", ".xls", ".xlsx", ".ods", ".ppt", ".pptx", ".odp", ".epub", ".mobi")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
STANDARD_INPUT = 0
BLOCK_SIZE = 1 << 16
# A few kilobytes of .gz can hold a line that fills the memory.
MAX_LINE_BYTES = 1 << 24
# A sender that is silent for so many seconds waits for an answer: more than a program needs between two lines, less
# than a person notices.
PATIENCE = 0.05
# A wait for a sender, or for a thread, pauses every so many seconds to handle signals: a signal that comes just before
# a read blocks, or to another thread, would otherwise be handled only after that read.
MAX_WAIT = 1.0
# A chunk of lines ends at so many lines, or as soon as it has so many bytes or characters.
LINES_AT_ONCE = 4096
SIZE_AT_ONCE = 1 << 20

AnyLine = TypeVar("AnyLine", str, bytes)


def read_lines(files: Files, key: str, encoding: str | None = None) -> list[str]:
    """Return all lines of one file or several, one after the other; see `read_text`."""
    return list(iterate_lines(files, key, encoding))


def iterate_lines(files: Files, key: str, encoding: str | None = None) -> Iterator[str]:
    """Yield all lines of one file or several, one after the other; see `read_text`."""
    for path in as_list(files):
        yield from read_text(path, key, encoding)


def read_text(path: str, key: str, encoding: str | None = None) -> Iterator[str]:
    """Yield the lines of a file; `encoding` None is UTF-8 where no setting can choose another.

    Raises DataError, with file and line, for bytes that are invalid in this encoding.
    """
    for number, raw in enumerate(read_raw_lines(path, key, encoding), start=1):
        try:
            yield raw.decode(UTF_8)
        except UnicodeDecodeError as error:
            byte = f"byte 0x{raw[error.start]:02x}" if _is_plain(encoding) else "something else"
            raise DataError(
                f"{key}: {name_of(encoding)} text is needed; got {byte} in {path}, line {number}"
                f"{advice(key, encoding)}"
            ) from None


def read_raw_lines(path: str | Path, key: str, encoding: str | None = None) -> Iterator[bytes]:
    """Yield the lines of a file as `follow_lines` does, without its pauses."""
    return (line for line in follow_lines(path, key, encoding) if line is not None)


def follow_lines(
    path: str | Path | int, key: str, encoding: str | None = None, span: tuple[int, int] | None = None
) -> Iterator[bytes | None]:
    """Yield the lines of a file, `.gz`, `.zst` or plain, or of an open descriptor, and None wherever its sender waits.

    A line ends at `\\n` and nowhere else; one `\\r` before it and a byte order mark at the start are dropped. Lines of
    another encoding come as UTF-8; bytes that are invalid in that encoding become invalid UTF-8. A `span` is a range of
    bytes of the file; its lines are numbered from its own beginning.
    Raises DataError, beginning with `key`, when the file cannot be read, is UTF-16 or UTF-32 and should be UTF-8, or
    has a line longer than MAX_LINE_BYTES, and SettingsError where the library that unpacks it is not installed.
    """
    if isinstance(path, (str, Path)):
        require_reader(str(path), key)
    name = "standard input" if path == STANDARD_INPUT else str(path)
    with _opened(path, key, name) as file:
        if isinstance(path, (str, Path)) and is_compressed(path):
            blocks = iter(lambda: file.read(BLOCK_SIZE), b"")
        else:
            blocks = _read_blocks(file) if span is None else _read_span(file, *span)
        if encoding is None or is_utf_8(encoding):
            blocks = _refuse_wide(blocks, key, name, encoding)
        else:
            blocks = _decoded(blocks, key, name, encoding)
        yield from _cut_into_lines(blocks, key, name, has_mark=span is None or span[0] == 0)


def _decoded(blocks: Iterable[bytes], key: str, name: str, encoding: str) -> Iterator[bytes]:
    """Yield blocks of an encoding as UTF-8. Raises DataError where it needs a byte order mark and has none."""
    try:
        yield from as_utf_8(blocks, encoding)
    except UnicodeError as error:
        raise DataError(
            f"{key}: text in {encoding} is needed, and {encoding}-le or {encoding}-be for text without a mark at its "
            f"start; got {name}: {error}"
        ) from None


def read_blocks(path: str, key: str) -> Iterator[bytes]:
    """Yield the bytes of a file, `.gz`, `.zst` or plain. Raises DataError when it cannot be read."""
    with _opened(path, key, path) as file:
        yield from iter(lambda: file.read(BLOCK_SIZE), b"")


@contextmanager
def _opened(path: str | Path | int, key: str, name: str) -> Iterator[Any]:
    """Open a file. Raises DataError, beginning with `key`, when opening or reading it fails."""
    try:
        with _open(path) as file:
            yield file
    except FileNotFoundError:
        raise DataError(f"{key}: no such file: {name}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{key}: a readable file is needed; got {name}: {error}") from None


def in_chunks(lines: Iterable[AnyLine | None]) -> Iterator[list[AnyLine]]:
    """Yield lines in chunks; a chunk ends when it is full, or before a pause (None)."""
    chunk: list[AnyLine] = []
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


class TextDecoder:
    """Decodes lines of `follow_lines`; invalid bytes are replaced by U+FFFD, and the numbers of their lines noted."""

    def __init__(self, key: str, encoding: str) -> None:
        self.key, self.encoding = key, encoding
        self.replaced = LineNumbers()

    def require_text(self, lines: Sequence[bytes]) -> None:
        """Raise DataError if the first lines of a text show that it is of another encoding."""
        if is_mostly_broken(lines):
            raise DataError(
                f"{self.key}: {name_of(self.encoding)} text is needed; got much that is not, in the first "
                f"{len(lines)} lines{advice(self.key, self.encoding)}"
            )

    def decode(self, line: bytes, number: int) -> str:
        """Return the text of a line, whose number counts from 1."""
        try:
            return line.decode(UTF_8)
        except UnicodeDecodeError:
            self.replaced.add(number)
            return line.decode(UTF_8, "replace")

    def warn(self) -> None:
        """Say which lines were broken, if any were."""
        if self.replaced.count:
            told = self.replaced.tell(f"not {name_of(self.encoding)}")
            logger.warning("%s; what could not be read was replaced by U+FFFD", told)


def name_of(encoding: str | None) -> str:
    """Return the name of an encoding for people."""
    return (encoding or UTF_8).upper()


def advice(key: str, encoding: str | None, wanted: str = "NAME") -> str:
    """Return the advice to set another encoding, where a setting can; else nothing."""
    if encoding is None:
        return ""
    return f"; {'data.' if key.startswith('data.') else ''}encoding={wanted} reads text of another encoding"


def _is_plain(encoding: str | None) -> bool:
    return encoding is None or is_utf_8(encoding)


def _refuse_wide(blocks: Iterator[bytes], key: str, name: str, encoding: str | None) -> Iterator[bytes]:
    """Yield the blocks of a text. Raises DataError if the text begins as UTF-16 or UTF-32."""
    for block in blocks:
        if block and (found := find_wide(block)):
            raise DataError(
                f"{key}: UTF-8 text is needed; got {name_of(found)} in {name}{advice(key, encoding, found)}"
            )
        yield block
        if block:
            break
    yield from blocks


def require_reader(files: Files, key: str) -> None:
    """Raise SettingsError, of `key`, if a file's name calls for a library that is not installed.

    Raises DataError for a file that nothing here reads, by its name: its bytes could be read as text of some encoding.
    """
    for path in as_list(files):
        if suffix_of(path) in PACKED:
            raise DataError(f"{key}: a plain, .gz or .zst file is needed; got {path}")
        if suffix_of(path) in OFFICE:
            raise DataError(
                f"{key}: a file of lines, or .docx or .odt to translate, is needed; got {path}: save it so"
            )
        if suffix_of(path) in (ZSTANDARD, PARQUET):
            with importing("arrow", key, f"another file than {path}"):
                import pyarrow  # noqa: F401


def suffix_of(path: str | Path) -> str:
    """Return the suffix of a file's name, in lower case: names from elsewhere may end in `.CSV`."""
    return os.path.splitext(path)[1].lower()


def is_compressed(path: str | Path) -> bool:
    """Whether a file is `.gz` or `.zst`, by its name."""
    return suffix_of(path) in COMPRESSED


def _open(path: str | Path | int) -> Any:
    if isinstance(path, int):
        return open(path, "rb", closefd=False)
    suffix = suffix_of(path)
    if suffix == ".gz":
        return gzip.open(path, "rb")
    file = open(path, "rb")  # noqa: SIM115  the caller closes it
    if suffix != ZSTANDARD:
        return file
    import pyarrow  # takes a while, and few runs need it

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(file), "zstd")


def _read_blocks(file: BufferedReader) -> Iterator[bytes]:
    """Yield blocks as they come, and an empty one (`b""`) when the sender pauses; a file never does."""
    while True:
        if not select.select([file], [], [], PATIENCE)[0]:
            yield b""
            while not select.select([file], [], [], MAX_WAIT)[0]:
                pass
        if not (block := file.read1(BLOCK_SIZE)):
            return
        yield block


def _read_span(file: BufferedReader, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes between two positions of a file, in blocks."""
    file.seek(start)
    while start < end and (block := file.read1(min(BLOCK_SIZE, end - start))):
        start += len(block)
        yield block


def _cut_into_lines(blocks: Iterable[bytes], key: str, name: str, has_mark: bool) -> Iterator[bytes | None]:
    """Yield lines, and None at pauses. Raises DataError for a line longer than MAX_LINE_BYTES."""
    mark, number, size = BYTE_ORDER_MARK if has_mark else b"", 1, 0
    unfinished: list[bytes] = []
    for block in blocks:
        if not block:
            yield None
            continue
        first, *rest = block.split(b"\n")
        unfinished.append(first)
        size += len(first)
        if size > MAX_LINE_BYTES:
            raise DataError(
                f"{key}: lines of at most {MAX_LINE_BYTES} bytes are needed; got more in {name}, line {number}"
            )
        if rest:
            yield b"".join(unfinished).removeprefix(mark).removesuffix(b"\r")
            yield from (line.removesuffix(b"\r") for line in rest[:-1])
            mark, unfinished, number, size = b"", rest[-1:], number + len(rest), len(rest[-1])
    if any(unfinished):
        yield b"".join(unfinished).removeprefix(mark)

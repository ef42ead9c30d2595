"""Documents: lines of text with their markup, and all that stands around them, which stays."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from nmt.decoding.translation import Translation
from nmt.documents.marked import Content, line_of, place
from nmt.errors import DataError


class Document(Protocol):
    """A page, or a file, that was read."""

    @property
    def blocks(self) -> list[Content]:
        """Its lines, in their order."""

    def write(self, blocks: Sequence[Content]) -> str | bytes:
        """Return the document with other lines; an unchanged line is written as it stood there."""


def lines_of(document: Document) -> list[str]:
    """Return the text of each line, for a model."""
    return [line_of(content) for content in document.blocks]


def write_translated(document: Document, found: Iterable[Translation]) -> str | bytes:
    """Return a document with each line replaced by its translation; these come in the order of the lines."""
    return document.write([place(*pair) for pair in zip(document.blocks, found, strict=True)])


class Block(NamedTuple):
    """A line of text with its markup, how it stood there, and how another one is written in its place."""

    source: str
    content: Content
    write: Callable[[Content], str]


class TextDocument:
    """A text: strings that stay, and lines between them."""

    def __init__(self, parts: Sequence[str | Block]) -> None:
        self.parts = parts

    @property
    def blocks(self) -> list[Content]:
        """The lines, in their order."""
        return [part.content for part in self.parts if isinstance(part, Block)]

    def write(self, blocks: Sequence[Content]) -> str:
        """Return the text with other lines; an unchanged line is written as it stood there."""
        given = iter(blocks)
        return "".join(part if isinstance(part, str) else _written(part, next(given)) for part in self.parts)


def _written(block: Block, content: Content) -> str:
    return block.source if content == block.content else block.write(content)


def around(text: str) -> tuple[str, str, str]:
    """Return the white space before a text, the text, and the white space behind it."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    return (text[:start], text[start:end], text[end:]) if start < end else (text, "", "")


def decode(content: bytes) -> str:
    """Return the text in a file, with its byte order mark, which says that it is UTF-8 when it is written again.

    Raises DataError unless it is UTF-8, or UTF-16 with a byte order mark, without NUL.
    """
    encoding = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(content[:2], "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"file: text in UTF-8 is needed, as `iconv -f OLD -t UTF-8` makes it; got another byte at {error.start}"
        ) from None
    if "\0" in text:
        raise DataError("file: text is needed; got a NUL character, which no text has")
    return text

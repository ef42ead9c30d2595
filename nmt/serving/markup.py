"""Documents, translated line by line; markup goes to the translations of the words that it was around."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from nmt.decoding.translation import Translation
from nmt.documents.document import Document, lines_of, write_translated
from nmt.documents.html import read_html
from nmt.errors import DataError
from nmt.serving.batching import Wanted
from nmt.serving.details import details_of
from nmt.serving.refusal import Refused
from nmt.serving.text import Finds, Translated, find


class ReadDocument(NamedTuple):
    """A document, and its lines for a model."""

    document: Document
    lines: list[str]


async def read(make: Callable[[], Document]) -> ReadDocument:
    """Return the document that `make` reads, in a thread of its own. Raises Refused where it is none."""

    def read_lines() -> ReadDocument:
        document = make()
        return ReadDocument(document, lines_of(document))

    try:
        return await asyncio.to_thread(read_lines)
    except DataError as error:
        raise Refused(400, f"Invalid request: {error}") from None


async def translate_html(way: Finds | None, text: str, details: bool = False) -> Translated:
    """Return the translation of HTML; all stays as it is where `way` is None. Raises Refused for too many tags."""
    written, found = await translate_document(way, await read(lambda: read_html(text)))
    return Translated(str(written), [], details_of(found) if details else None)


async def translate_document(way: Finds | None, given: ReadDocument) -> tuple[str | bytes, list[Translation]]:
    """Return a document with its lines translated, and their translations."""
    found = await find(way, given.lines, Wanted(details=True))
    return await asyncio.to_thread(write_translated, given.document, found), found

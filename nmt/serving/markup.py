"""Documents, translated line by line; markup goes to the translations of the words that it was around."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

from nmt.decoding.translation import Translation
from nmt.documents.document import Document, lines_of, write_translated
from nmt.documents.html import read_html
from nmt.documents.marked import num_parts
from nmt.errors import DataError
from nmt.serving.batching import Wanted, all_of
from nmt.serving.details import details_of
from nmt.serving.language_pairs import asked
from nmt.serving.refusal import Refused
from nmt.serving.text import Translated, Way, find

# Tags of all pages of a request, as many as two hundred pages have.
MAX_TAGS = 200_000
# Documents wait for each other, and no other request waits for them. One whose client has gone is not begun.
THREADS = ThreadPoolExecutor(2, "documents")

BYTES_OF_MARK = 400  # that a tag takes once it is read, or a text between tags, however short it is

T = TypeVar("T")


class ReadDocument(NamedTuple):
    """A document, and its lines for a model."""

    document: Document
    lines: list[str]


async def in_thread(work: Callable[[], T]) -> T:
    """Return the result of work on a document, done in one of the THREADS."""
    return await asyncio.get_running_loop().run_in_executor(THREADS, work)


async def read(make: Callable[[], Document]) -> ReadDocument:
    """Return the document that `make` reads, in a thread of its own.

    Raises Refused where it is none, and where the request has no room for it.
    """

    def read_lines() -> tuple[ReadDocument, int]:
        document = make()
        return ReadDocument(document, lines_of(document)), BYTES_OF_MARK * sum(
            map(num_parts, document.blocks)
        )

    try:
        found, num_bytes = await in_thread(read_lines)
    except DataError as error:
        raise Refused(400, f"Invalid request: {error}") from None
    asked.get().take(num_bytes)
    return found


async def read_pages(texts: Sequence[str]) -> list[ReadDocument]:
    """Return the pages of HTML that a request has. Raises Refused for too many tags."""
    if sum(text.count("<") for text in texts) > MAX_TAGS:
        raise Refused(413, f"Invalid request: at most {MAX_TAGS} tags are needed")
    return await all_of(read(partial(read_html, text)) for text in texts)


async def translate_page(way: Way | None, page: ReadDocument, details: bool = False) -> Translated:
    """Return the translation of HTML; all stays as it is where `way` is None."""
    written, found = await translate_document(way, page)
    return Translated(str(written), [], details_of(found) if details else None)


async def translate_document(way: Way | None, given: ReadDocument) -> tuple[str | bytes, list[Translation]]:
    """Return a document with its lines translated, and their translations."""
    found = await find(way, given.lines, Wanted(details=True))
    return await in_thread(partial(write_translated, given.document, found)), found

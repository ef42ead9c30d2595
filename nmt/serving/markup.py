"""Documents, translated line by line; markup goes to the translations of the words that it was around."""

import asyncio

from nmt.decoding.translation import Translation
from nmt.documents.document import Document, lines_of, write_translated
from nmt.documents.html import read_html
from nmt.serving.batching import Wanted
from nmt.serving.details import details_of
from nmt.serving.text import Finds, Translated, find


async def translate_html(way: Finds | None, text: str, details: bool = False) -> Translated:
    """Return the translation of HTML; where `way` is None, all of it stays as it is."""
    document = await asyncio.to_thread(read_html, text)
    written, found = await translate_document(way, document)
    return Translated(str(written), [], details_of(found) if details else None)


async def translate_document(way: Finds | None, document: Document) -> tuple[str | bytes, list[Translation]]:
    """Return a document with its lines translated, and their translations."""
    found = await find(way, lines_of(document), Wanted(details=True))
    return await asyncio.to_thread(write_translated, document, found), found

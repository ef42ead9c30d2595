"""HTML, translated line by line, with its tags where their words went."""

import asyncio

from nmt.documents.html import HtmlDocument
from nmt.documents.marked import place
from nmt.serving.batching import Wanted
from nmt.serving.details import details_of
from nmt.serving.text import Finds, Translated, find


async def translate_html(way: Finds | None, text: str, details: bool = False) -> Translated:
    """Return the translation of HTML; without a way all of it stays."""
    document = await asyncio.to_thread(HtmlDocument.read, text)
    found = await find(way, document.lines, Wanted(details=True))

    def write() -> str:
        return document.write([place(*pair) for pair in zip(document.blocks, found, strict=True)])

    return Translated(await asyncio.to_thread(write), [], details_of(found) if details else None)

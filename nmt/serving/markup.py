"""HTML, translated line by line, with its tags where their words went."""

import asyncio

from nmt.documents.html import HtmlDocument
from nmt.documents.marked import place
from nmt.serving.batching import Wanted
from nmt.serving.details import details_of
from nmt.serving.text import Finds, Translated


async def translate_html(way: Finds | None, text: str) -> Translated:
    """Return the translation of HTML; without a way all of it stays."""
    if way is None:
        return Translated(text, [], None)
    document = await asyncio.to_thread(HtmlDocument.read, text)
    found = await way.find(document.lines, Wanted(details=True))

    def write() -> str:
        return document.write([place(*pair) for pair in zip(document.blocks, found, strict=True)])

    return Translated(await asyncio.to_thread(write), [], details_of(found))

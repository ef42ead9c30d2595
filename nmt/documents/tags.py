"""Tokens of a text with markup, and the elements that its tags make."""

import html
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nmt.documents.marked import Element
from nmt.errors import DataError

# Depth of nested elements; a tag that lies deeper counts as one without its other half.
MAX_DEPTH = 50
# Tags and other marks in the text of a document, as many as a thousand pages have. Each takes some 400 bytes once it is
# read, however short it is.
MAX_TAGS = 1_000_000
# A reference by a number that no character has, and that is too long for Python to read.
NO_CHARACTER = re.compile(r"(&#[0-9]{100,})")


class Token(NamedTuple):
    """A token as it stands there, of a kind: `text`, a tag that opens (`+`) or closes (`-`), or another.

    A token of the kind `kept` is an element with all that is within; its `name` is the text that is read with the line.
    """

    source: str
    kind: str
    name: str = ""
    is_kept: bool = False


def require_few(num_tags: int) -> None:
    """Raise DataError for more than MAX_TAGS."""
    if num_tags > MAX_TAGS:
        raise DataError(f"file: at most {MAX_TAGS} tags are needed in its text; got more")


def unescape(text: str) -> str:
    """Return text with the characters that its references, such as `&auml;`, stand for."""
    parts = NO_CHARACTER.split(text)
    parts[::2] = map(html.unescape, parts[::2])
    return "".join(parts)


def find_halves(tokens: Sequence[Token]) -> dict[int, int]:
    """Return, for each tag that opens an element, the one that closes it, by index; elements are nested or apart."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for i, token in enumerate(tokens):
        if token.kind == "+" and len(opened) < MAX_DEPTH:
            opened.append(i)
        elif token.kind == "-" and any(tokens[one].name == token.name for one in opened):
            while tokens[opened[-1]].name != token.name:
                opened.pop()
            found[opened.pop()] = i
    return found


def content_of(tokens: Sequence[Token], plain: Callable[[str], str]) -> list[str | Element]:
    """Return text with its tags as elements; a tag without another half marks a place. `plain` decodes the text."""
    halves = find_halves(tokens)
    closes = set(halves.values())

    def read(start: int, end: int) -> list[str | Element]:
        content, text, i = list[str | Element](), "", start
        while i < end:
            token = tokens[i]
            if token.kind == "text":
                text += token.source
                i += 1
                continue
            if text:
                content.append(plain(text))
                text = ""
            if i in halves:
                content.append(Element(token.source, tokens[halves[i]].source, read(i + 1, halves[i])))
                i = halves[i]
            elif token.kind == "kept":
                content.append(
                    Element(token.source, "", [plain(token.name)] if token.name else [], is_kept=True)
                )
            elif i not in closes:
                content.append(Element(token.source))
            i += 1
        return [*content, plain(text)] if text else content

    return read(0, len(tokens))

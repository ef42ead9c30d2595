"""Plain text, of which each line is translated as one."""

import re

from nmt.documents.document import Block, TextDocument, around
from nmt.documents.marked import text_of

LINE_END = re.compile(r"(\r\n|\n|\r)")


def read_plain(text: str) -> TextDocument:
    """Read any text."""
    parts: list[str | Block] = []
    for line in LINE_END.split(text):
        before, middle, behind = around(line)
        parts += [before, Block(middle, [middle], text_of), behind] if middle else [line]
    return TextDocument(parts)

"""Plain text, of which each line is translated as one."""

import re

from nmt.documents.document import Block, TextDocument, around
from nmt.documents.marked import text_of
from nmt.documents.tags import require_few

LINE_END = re.compile(r"(\r\n|\n|\r)")


def read_plain(text: str) -> TextDocument:
    """Read any text. Raises DataError for more than MAX_TAGS lines."""
    require_few(text.count("\n") + text.count("\r"))
    parts: list[str | Block] = []
    for line in LINE_END.split(text):
        before, middle, behind = around(line)
        parts += [before, Block(middle, [middle], text_of), behind] if middle else [line]
    return TextDocument(parts)

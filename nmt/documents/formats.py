"""Document formats by the suffixes of file names."""

import re
from collections.abc import Callable
from pathlib import PurePath

from nmt.documents.document import Document, TextDocument, decode
from nmt.documents.html import read_html
from nmt.documents.markdown import read_markdown
from nmt.documents.opendocument import read_odt
from nmt.documents.plain import read_plain
from nmt.documents.subtitles import read_srt, read_vtt
from nmt.documents.word import read_docx

PLAIN_TEXT = ".txt"
BYTE_ORDER_MARK = "\ufeff"
TEXTS: dict[str, Callable[[str], TextDocument]] = {
    PLAIN_TEXT: read_plain,
    ".srt": read_srt,
    ".vtt": read_vtt,
    ".html": read_html,
    ".htm": read_html,
    ".md": read_markdown,
}
ARCHIVES: dict[str, Callable[[bytes], Document]] = {".docx": read_docx, ".odt": read_odt}
SUFFIXES = [*TEXTS, *ARCHIVES]
# Files with markup that is not read: as lines, it would be translated with the text.
OTHER_MARKUP = re.compile(
    r"\.(po|pot|xlf|xliff|sdlxliff|tmx|xml|xhtml|json|yaml|yml|properties|strings|resx|ass|ssa|tex|markdown|rst|adoc)"
)


def markup_suffix(path: str) -> str | None:
    """Return the suffix of a name, without that of compression, if files with it have markup; else None."""
    suffix = _suffix(path)
    return suffix if suffix in SUFFIXES and suffix != PLAIN_TEXT else None


def has_other_markup(path: str) -> bool:
    """Whether a file has markup that is not read, by its name."""
    return OTHER_MARKUP.fullmatch(_suffix(path)) is not None


def _suffix(path: str) -> str:
    return PurePath(path.lower().removesuffix(".gz").removesuffix(".zst")).suffix


def read_document(suffix: str, content: bytes) -> Document:
    """Return the document in a file with one of SUFFIXES. Raises DataError for content that is not of its format."""
    if suffix in ARCHIVES:
        return ARCHIVES[suffix](content)
    text = decode(content)
    document = TEXTS[suffix](text.removeprefix(BYTE_ORDER_MARK))
    return TextDocument([BYTE_ORDER_MARK, *document.parts]) if text.startswith(BYTE_ORDER_MARK) else document

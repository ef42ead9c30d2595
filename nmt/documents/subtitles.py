"""Subtitles, SRT and WebVTT: the text of a cue is a line, or where several speak, one for each speaker.

A translation is wrapped into at most as many lines as its source had. Numbers, times and all else stay as they are.
"""

import html
import re
from collections.abc import Iterator

from nmt.documents.document import Block, TextDocument, around
from nmt.documents.marked import Content
from nmt.documents.tags import Token, content_of, require_few, unescape
from nmt.documents.wrapping import LINE_BREAK, render_wrapped
from nmt.errors import DataError

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
# Some programs write times without milliseconds, or before the beginning.
TIME = r"-?(?:\d+:)?\d+:\d+(?:[,.]\d+)?"
TIMES = re.compile(rf"\s*{TIME}[ \t]*-->[ \t]*{TIME}")
SPEAKER = re.compile(r"\s*(?:\{\\[^{}\r\n]*\}\s*)*[-–—]\s*(?=\S)")
# The beginning of what another speaker says: a dash, also behind tags, or the tag of a voice.
OTHER_SPEAKER = re.compile(rf"{SPEAKER.pattern}|\s*(?:<[^<>\r\n]*>\s*)+[-–—]\s*(?=\S)|\s*<v[.\s]")
# Tags with a name, times within a cue, and position settings in braces.
TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z]++)[^<>\r\n]*>|<[\d:.]+>|\{\\[^{}\r\n]*\}")


def read_srt(text: str) -> TextDocument:
    """Read the cues of SRT, which blank lines may divide. Raises DataError for text without any, or too many lines."""
    return _read(text, is_srt=True)


def read_vtt(text: str) -> TextDocument:
    """Read the cues of WebVTT, in which some characters are entities. Raises DataError as `read_srt` does."""
    return _read(text, is_srt=False)


def _read(text: str, is_srt: bool) -> TextDocument:
    require_few(text.count("\n") + text.count("\r") + text.count("<"))
    parts: list[str | Block] = []
    cue: list[str] | None = None  # lines behind times
    has_times = False
    for line in LINE.findall(text):
        if TIMES.match(line):
            has_times = True
            # The number of a cue, where no blank line stands before it.
            number = [cue.pop()] if cue and cue[-1].strip().isdecimal() else []
            parts += [*_blocks(cue or [], not is_srt), *number, line]
            cue = []
        elif cue is None or not line.strip():
            parts += [*_blocks(cue or [], not is_srt), line]
            # In SRT, all text up to the next times is spoken, blank lines or not. In WebVTT it may be a comment.
            cue = [] if is_srt and has_times else None
        else:
            cue.append(line)
    if not has_times:
        raise DataError("file: subtitles with times, as 00:00:01,000 --> 00:00:02,000, are needed; got none")
    return TextDocument([*parts, *_blocks(cue or [], not is_srt)])


def _blocks(lines: list[str], has_entities: bool) -> Iterator[str | Block]:
    """Yield the parts of a cue."""
    spoken: list[list[str]] = []
    for line in lines:
        if OTHER_SPEAKER.match(line) or not spoken:
            spoken.append([line])
        else:
            spoken[-1].append(line)
    for text in map("".join, spoken):
        dash = SPEAKER.match(text)
        start = dash.end() if dash else 0
        before, source, behind = around(text[start:])
        yield text[:start] + before
        tokens = list(_tokens(LINE_BREAK.sub(" ", source)))
        if any(token.kind == "text" and token.source.strip() for token in tokens):
            yield _block(source, tokens, has_entities)
        else:
            yield source
        yield behind


def _block(source: str, tokens: list[Token], has_entities: bool) -> Block:
    def plain(text: str) -> str:
        return LINE_BREAK.sub(" ", unescape(text)) if has_entities else text

    def escape(text: str) -> str:
        return html.escape(text, quote=False) if has_entities else text

    ends = LINE_BREAK.findall(source)

    def write(content: Content) -> str:
        return render_wrapped(content, escape, ends)

    return Block(source, content_of(tokens, plain), write)


def _tokens(text: str) -> Iterator[Token]:
    place = 0
    for tag in TAG.finditer(text):
        if place < tag.start():
            yield Token(text[place : tag.start()], "text")
        yield Token(tag[0], ("-" if tag["close"] else "+") if tag["name"] else ".", tag["name"] or "")
        place = tag.end()
    if place < len(text):
        yield Token(text[place:], "text")

"""Markdown (CommonMark, and tables): each paragraph, heading, item and cell is a line, its syntax stays.

Blocks are those of markdown-it-py. Code, HTML, the definition of a link and a front matter stay as they are.
"""

import re
import unicodedata
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from nmt.documents.document import Block, TextDocument
from nmt.documents.html import VOID
from nmt.documents.marked import Content, Element
from nmt.documents.tags import MAX_DEPTH, Token, content_of, find_halves, require_few, unescape
from nmt.documents.wrapping import render_wrapped

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

FRONT_MATTER = re.compile(r"---[ \t]*\r?\n.*?\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)", re.DOTALL)
ROW = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
LINE_ENDS = "\r\n"
# A line end that stays: two spaces before it, or a backslash that is not escaped.
HARD_BREAK = re.compile(r"(?:(?<! ) {2,}+|(?<!\\)((?:\\\\)*+)\\)$")
PUNCTUATION = r"!-/:-@\[-`{-~"
# The address of a link, which may have balanced brackets in it, and its title.
BARE = r"(?:\\.|[^\s()\\])"
ADDRESS = rf"(?:<[^<>]*>|(?:{BARE}|\((?:{BARE}|\({BARE}*+\))*+\))*+)"
TITLE = r"""(?:"(?:\\.|[^"\\])*+"|'(?:\\.|[^'\\])*+'|\((?:\\.|[^()\\])*+\))"""
# What a row begins with in a quotation or in a list.
BEFORE_ROW = re.compile(r"(?:[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]+)*")
NOTE = re.compile(r"\[\^[^\[\]\s]+\]:")
INLINE = re.compile(
    rf"""
    (?P<place>^(?:{NOTE.pattern}|\[[\ xX]\])[ \t]+|\[\^[^\[\]\s]+\]|<!--(?:(?!<!--).)*?-->)  # notes, tasks, comments
    | (?P<code>(?<!`)(?P<ticks>`{{1,32}})(?!`).+?(?<!`)(?P=ticks)(?!`))    # `code`
    | (?P<kept><(?:[A-Za-z][A-Za-z0-9+.-]{{1,31}}:|[\w.+-]+@)[^<>\s]*>|https?://[^\s<>)\]*]+)
    | (?P<escape>\\[{PUNCTUATION}])
    | (?P<tag></?(?P<name>[A-Za-z][A-Za-z0-9-]*)(?:\s[^<>]*|/)?>)          # HTML
    | (?P<opens>!?\[)
    | (?P<closes>\](?:\(\s*+{ADDRESS}(?:\s++{TITLE})?\s*+\)|\[[^\[\]]*\])?)
    | (?P<emphasis>\*+|_+|~~)
    """,
    re.VERBOSE,
)
MARKS = re.compile(r"[*_~`<\[\]|\\]")
EMPHASIS = re.compile(r"\*+|_+|~~")
ESCAPED = re.compile(rf"\\([{PUNCTUATION}])|&#?\w+;")
# Characters that would be syntax if they were not escaped.
SYNTAX = re.compile(rf"\\(?=[{PUNCTUATION}])|[`*<\[\]]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|~(?=~)")
SYNTAX_OF_CELL = re.compile(rf"{SYNTAX.pattern}|\|")
LINE_START = re.compile(r"^(?:(\d{1,9})(?=[.)](?: |$))|(?=#{1,6}(?: |$)|[-+=>]))")
# The end of a heading may have signs that are no text; a backslash there, unless it is escaped, breaks the line.
LINE_END = re.compile(r"(?<= )(?=#+$)|(?<!\\)(?:\\\\)*+(?=\\$)")
# Comments, with which a row would begin a block of HTML, and what follows them.
COMMENTS_FIRST = re.compile(r"^((?:<!--(?:(?!-->).)*+-->[ \t]*+)++)(.+)$")


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock, reference

    def reference_but_of_notes(state: StateBlock, start: int, end: int, is_silent: bool) -> bool:
        is_note = state.src.startswith("[^", state.bMarks[start] + state.tShift[start])
        return not is_note and reference(state, start, end, is_silent)

    # The parser fills up the rows of tables: a few bytes become thousands of cells.
    def limit(state: StateBlock, start: int, end: int, is_silent: bool) -> bool:
        require_few(len(state.tokens))
        return False

    parser = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table").disable("inline")
    parser.block.ruler.before("table", "limit", limit)
    parser.block.ruler.at("reference", reference_but_of_notes)
    return parser


def read_markdown(text: str) -> TextDocument:
    """Read any text; nothing in it is an error. Raises DataError for more than MAX_TAGS marks, or parts of text."""
    require_few(len(MARKS.findall(text)))
    parts: list[str | Block] = []
    here = 0
    known: dict[str, Any] = {}
    for rows, is_cell in _lines(text, known):
        start, end = rows[0][0], rows[-1][1]
        tokens = list(_tokens(" ".join(text[first:last] for first, last in rows)))
        tokens = _resolved(tokens, known.get("references", {}), is_cell)
        if any(token.kind == "text" and _plain(token.source).strip() for token in tokens):
            ends = [text[one[1] : other[0]] for one, other in pairwise(rows)]
            parts += [text[here:start], _block(text[start:end], tokens, ends, is_cell)]
            here = end
    return TextDocument([*parts, text[here:]])


def _lines(text: str, known: dict[str, Any]) -> Iterator[tuple[list[tuple[int, int]], bool]]:
    """Yield where each line of text stands, the start and the end of each of its rows, and whether it is a cell.

    Before it yields a line, the parser puts what it finds in the whole text into `known`, such as its `references`.
    """
    matter = FRONT_MATTER.match(text)
    begin = matter.end() if matter else 0
    rows = ROW.findall(text, begin)
    starts = [begin, *accumulate(map(len, rows), initial=begin)][1:]
    here, is_cell = begin, False
    for token in _parser().parse("".join(f"{row.rstrip(LINE_ENDS)}\n" for row in rows), known):
        is_cell = token.type in ("td_open", "th_open") or (is_cell and token.type == "inline")
        if token.type != "inline" or token.map is None:
            continue
        found = list[tuple[int, int]]()
        for row, piece in enumerate(token.content.split("\n"), token.map[0]):
            shown = HARD_BREAK.sub(r"\1", piece).strip()
            first = max(here, starts[row])
            if is_cell:
                shown = shown.replace("|", "\\|")
                # The marker of a list may look like the cell behind it.
                marker = BEFORE_ROW.match(text, starts[row], starts[row + 1])
                behind = max(first, marker.end()) if marker else first
                place = text.find(shown, behind, starts[row + 1])
                if place < 0:
                    place = text.find(shown, first, starts[row + 1])
            else:
                place = text.rfind(shown, first, starts[row + 1])
            if place < 0:  # a tab that became spaces
                continue
            here = place + len(shown)
            if found and NOTE.match(shown):
                yield found, is_cell
                found = []
            if shown:
                found.append((place, here))
            if found and HARD_BREAK.search(piece):
                yield found, is_cell
                found = []
        if found:
            yield found, is_cell


def _block(source: str, tokens: Sequence[Token], ends: Sequence[str], is_cell: bool) -> Block:
    def escape(text: str) -> str:
        return (SYNTAX_OF_CELL if is_cell else SYNTAX).sub(r"\\\g<0>", text)

    def write(content: Content) -> str:
        rows = render_wrapped(_shown(content), escape, ["\n"] * len(ends)).split("\n")
        rows = [COMMENTS_FIRST.sub(lambda found: f"{found[2]} {found[1].rstrip()}", row) for row in rows]
        safe = [LINE_END.sub(r"\g<0>\\", LINE_START.sub(r"\1\\", row)) for row in rows]
        return safe[0] + "".join(f"{end}{row}" for end, row in zip(ends, safe[1:], strict=False))

    return Block(source, content_of(tokens, _plain), write)


def _shown(content: Content) -> Content:
    """Return content without empty emphasis, whose signs would become text."""
    found: list[str | Element] = []
    for part in content:
        if isinstance(part, Element):
            part = replace(part, content=list(_shown(part.content)))
            if EMPHASIS.fullmatch(part.before) and part.behind and not any(part.content):
                continue
        found.append(part)
    return found


def _resolved(tokens: list[Token], references: Container[str], is_cell: bool) -> list[Token]:
    """Return tokens in which what has no other half, or names no link, is text.

    A link named by its text, `[so]` or `[so][]`, is `[so][so]`: the text may then change.
    """
    from markdown_it.common.utils import normalizeReference

    halves = find_halves(tokens)
    found = [
        token
        if i in halves or token.kind not in ("+", "-") or token.source.startswith("<")
        else _as_text(token)
        for i, token in enumerate(tokens)
    ]
    for opens, closes in halves.items():
        source = tokens[closes].source
        found[closes] = tokens[closes]
        if tokens[opens].name == "[" and not source.startswith("]("):
            label = source[2:-1] or "".join(token.source for token in tokens[opens + 1 : closes])
            if normalizeReference(label.replace("\\|", "|") if is_cell else label) in references:
                found[closes] = tokens[closes]._replace(source=f"][{label}]")
            else:
                found[opens], found[closes] = _as_text(tokens[opens]), _as_text(tokens[closes])
    return found


def _as_text(token: Token) -> Token:
    return Token(token.source, "text")


def _tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a line; a tag without its other half stays where it is among the words."""
    place = 0
    opened = list[str]()
    for found in INLINE.finditer(text):
        tokens = _emphasis(text, found, opened) if found["emphasis"] else _token(found)
        if tokens:
            if place < found.start():
                yield Token(text[place : found.start()], "text")
            yield from tokens
            place = found.end()
    if place < len(text):
        yield Token(text[place:], "text")


def _token(found: re.Match[str]) -> list[Token]:
    """Return the token of a match, which is no emphasis; none of an escaped character."""
    source = found[0]
    if found["escape"]:
        return []
    if found["place"]:
        return [Token(source, ".")]
    if found["code"] or found["kept"]:
        return [Token(source, "kept", source.strip("`") if found["code"] else source)]
    if found["tag"]:
        name = found["name"].lower()
        if name == "br":
            return [Token(source, "kept", " ")]  # between two words
        kind = "." if source.endswith("/>") or name in VOID else "-" if source.startswith("</") else "+"
        return [Token(source, kind, f"<{name}")]
    return [Token(source, "+" if found["opens"] else "-", "[")]


def _emphasis(text: str, found: re.Match[str], opened: list[str]) -> list[Token]:
    """Return the marks in a run of signs; `opened` are those that await their other half, and is brought up to date.

    Within a word, nothing else tells which half a mark is. Three signs are two marks, which may close in two places.
    """
    source = found[0]
    before, behind = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
    opens, closes = _flanks(behind, before), _flanks(before, behind)
    if source[0] == "_" and opens and closes:  # never within a word
        opens, closes = _is_punctuation(before), _is_punctuation(behind)
    if not opens and not closes:
        return []
    marks = [source[:1], source[1:]] if len(source) == 3 else [source]
    if opens and not (closes and any(mark in opened for mark in marks)):
        if len(opened) < MAX_DEPTH:  # what lies deeper has no other half
            opened += marks
        return [Token(mark, "+", mark) for mark in marks]
    if opened[-1:] == marks[1:]:  # the innermost closes first
        marks.reverse()
    for mark in marks:
        if mark in opened:
            del opened[len(opened) - 1 - opened[::-1].index(mark) :]
    return [Token(mark, "-", mark) for mark in marks]


def _flanks(inside: str, outside: str) -> bool:
    """Whether emphasis may begin, or end, between two characters, `outside` and `inside` of it (CommonMark 6.2).

    Either is empty at the ends of a line.
    """
    if not inside.strip():
        return False
    return not _is_punctuation(inside) or not outside.strip() or _is_punctuation(outside)


def _is_punctuation(character: str) -> bool:
    """Whether it is what CommonMark calls punctuation, which symbols are as well."""
    return unicodedata.category(character)[0] in "PS"


def _plain(text: str) -> str:
    return ESCAPED.sub(lambda found: found[1] or unescape(found[0]), text)

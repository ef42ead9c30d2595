"""HTML: lines of text between the tags of blocks, with the inline tags in them; all else stays as it is.

Elements with `translate="no"` or the class `notranslate`, code, scripts and the like stay; inside a line, their text
is read with it. Broken HTML comes out no more broken: a tag that lacks its other half ends a line.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from nmt.documents.document import Block, TextDocument
from nmt.documents.marked import Content, render
from nmt.documents.tags import Token, content_of, find_halves, require_few, unescape

# Tags that are part of a line; all others end one.
INLINE = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "button", "cite", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "kbd", "label", "mark", "nobr", "output", "picture", "q", "rb", "ruby", "s", "samp", "small", "source",
    "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr",
}  # fmt: skip
VOID = {
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
}  # fmt: skip
# Their content is no text of the page, or none that is to be translated.
KEPT_INLINE = {"audio", "canvas", "code", "math", "rp", "rt", "svg", "time", "video"}
READINGS = {"rp", "rt"}  # of the characters before, which are the text
KEPT_BLOCKS = {
    "address", "applet", "iframe", "noembed", "noframes", "noscript", "object", "pre", "script", "style", "template",
    "textarea", "xmp",
}  # fmt: skip
# Tags that end a paragraph where they begin.
BLOCKS = {
    "address", "article", "aside", "blockquote", "details", "dialog", "div", "dl", "fieldset", "figcaption", "figure",
    "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "main", "menu", "nav", "ol", "p",
    "pre", "search", "section", "table", "ul",
}  # fmt: skip
PARTS_OF_TABLE = {"tbody", "tfoot", "thead"}
# A paragraph may be in one of these elements. Where the next one begins, the element ends with all that is in it.
ITEMS = {"dd", "dt", "li", "optgroup", "option", "td", "th", "tr"} | PARTS_OF_TABLE
# What begins within one of these does not end a paragraph around it.
SCOPES = {"button", "dl", "menu", "object", "ol", "select", "table", "template", "ul"}
# Elements whose end tag may be left out (13.1.2.4 of the HTML standard). Each ends where a tag of the first set begins,
# unless an element of the second set has begun inside of it and is still open.
ENDED_BY: dict[str, tuple[set[str], set[str]]] = {
    "p": (BLOCKS | ITEMS, SCOPES),
    "li": ({"li"}, {"menu", "ol", "ul"}),
    **dict.fromkeys(("dd", "dt"), ({"dd", "dt"}, {"dl"})),
    **dict.fromkeys(("td", "th"), ({"td", "th", "tr"} | PARTS_OF_TABLE, {"table"})),
    "tr": ({"tr"} | PARTS_OF_TABLE, {"table"}),
    **dict.fromkeys(PARTS_OF_TABLE, (PARTS_OF_TABLE, {"table"})),
    **dict.fromkeys(("optgroup", "option"), ({"optgroup", "option"}, set())),
    **dict.fromkeys(("rp", "rt"), ({"rp", "rt"}, {"ruby"})),
}
# Within these elements a tag is text.
RAW = {"iframe", "noembed", "noframes", "script", "style", "textarea", "xmp"}
NAME = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
TAG = re.compile(r"""(?:[^>"'=]++|=\s*+(?:"[^"]*+"|'[^']*+')|["'=])*+>""")
# A name is tried once, from its beginning: or else a name without a value would take time quadratic in its length.
ATTRIBUTE = re.compile(r"""(?<![^\s"'<>/=])([^\s"'<>/=]++)\s*+=\s*+("[^"]*"|'[^']*'|[^\s"'>]+)""")
# Where a page declares its encoding; browsers look for it in so many characters.
DECLARED = re.compile(
    r"""<(?:meta\b[^<>]*?\bcharset|\?xml[^<>]*?\bencoding)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE
)
CHARACTERS_DECLARING = 1024
BLANK = " \t\r\n\f"
SPACE = re.compile(f"[{BLANK}]+")


class AsciiPage(TextDocument):
    """A page in ASCII alone, whose new characters are written as references to them."""

    def write(self, blocks: Sequence[Content]) -> str:
        """Return the page with other lines."""
        return super().write(blocks).encode("ascii", "xmlcharrefreplace").decode()


def read_html(text: str) -> TextDocument:
    """Read any text; nothing in it is an error. Raises DataError for more than MAX_TAGS tags.

    A page in ASCII that declares another encoding than UTF-8 stays in ASCII: a browser would misread other characters.
    """
    require_few(text.count("<"))
    declared = DECLARED.search(text, 0, CHARACTERS_DECLARING)
    is_other = declared is not None and declared[1].lower() not in ("utf-8", "utf8")
    return (AsciiPage if is_other and text.isascii() else TextDocument)(list(_parts(_tokens(text))))


def _write(content: Content) -> str:
    return render(content, _escape)


def _escape(text: str) -> str:
    return html.escape(text, quote=False).replace("\xa0", "&nbsp;")


def _tokens(text: str) -> Iterator[Token]:
    """Yield a text split into tokens by the rules of HTML, in time linear in its length.

    The parser of Python's library does not give the source of each token, and some versions take far longer.
    """
    start = here = 0
    while (here := text.find("<", here)) >= 0:
        token = _tag_at(text, here)
        if token is None:  # a character like any other
            here += 1
            continue
        if start < here:
            yield Token(text[start:here], "text")
        yield token
        start = here = here + len(token.source)
    if start < len(text):
        yield Token(text[start:], "text")


def _tag_at(text: str, start: int) -> Token | None:
    """Return the token that begins with the `<` at a place, if one does; without an end, it takes all of the rest."""
    if text.startswith("<!--", start):
        return Token(text[start : _behind(text, "-->", start + 2)], "comment")
    if text.startswith(("<!", "<?"), start):
        return Token(text[start : _behind(text, ">", start)], "other")
    name = NAME.match(text, start)
    if name is None:
        return None
    found = TAG.match(text, name.end())
    if found is None:
        return Token(text[start:], "other")
    source, tag = text[start : found.end()], name[2].lower()
    if name[1]:
        return Token(source, "-", tag)
    if tag in RAW:
        end = re.compile(f"</{tag}(?=[\\s/>])", re.IGNORECASE).search(text, found.end())
        return Token(text[start : _behind(text, ">", end.end()) if end else len(text)], "other")
    values = {one[1].lower(): one[2].strip("\"'") for one in reversed(list(ATTRIBUTE.finditer(source)))}
    is_kept = (
        values.get("translate", "").strip().lower() == "no"
        or "notranslate" in values.get("class", "").split()
    )
    return Token(source, "." if tag in VOID else "+", tag, is_kept)


def _is_inline(name: str) -> bool:
    """Whether a tag is part of a line. So are those with a hyphen, which a page defines itself."""
    return name in INLINE | KEPT_INLINE or "-" in name


def _behind(text: str, end: str, start: int) -> int:
    """Return the place behind the next `end`."""
    found = text.find(end, start)
    return len(text) if found < 0 else found + len(end)


def _parts(tokens: Iterator[Token]) -> Iterator[str | Block]:
    """Yield the strings that stay and the lines between them."""
    line: list[Token] = []
    pending = list(tokens)
    begun = Counter[str]()
    i = 0
    while i < len(pending):
        token, size = pending[i], 1
        if token.kind == "+" and (token.is_kept or token.name in KEPT_INLINE | KEPT_BLOCKS):
            size = _size_of(pending, i, begun)
            within = pending[i : i + size]
            source = "".join(one.source for one in within)
            shown = unescape("".join(one.source for one in within if one.kind == "text"))
            is_inline = _is_inline(token.name) and all(
                _is_inline(one.name) or one.kind in ("text", "comment") for one in within
            )
            is_read = is_inline and token.name not in READINGS
            token = Token(source, "kept" if is_inline else "other", shown if is_read else "")
        begun[token.name] += {"+": 1, "-": -1}.get(token.kind, 0)
        if token.kind in ("text", "kept", "comment") or _is_inline(token.name):
            line.append(token)
        else:
            yield from _lines(line)
            line = []
            yield token.source
        i += size
    yield from _lines(line)


def _size_of(tokens: list[Token], first: int, around: Counter[str]) -> int:
    """Return how many tokens an element has: up to its end, or to that of the text where it has none.

    `around` counts the open elements before it, by their names.
    """
    name = tokens[first].name
    can_lack_end = name in ENDED_BY
    ends, holders = ENDED_BY.get(name, (set(), set()))
    opened, num_opened = list[str](), Counter[str]()  # within
    for i in range(first + 1, len(tokens)):
        token = tokens[i]
        if token.kind == "+":
            if token.name in ends and not any(num_opened[holder] for holder in holders):
                return i - first
            if can_lack_end or token.name == name:
                opened.append(token.name)
                num_opened[token.name] += 1
        elif token.kind == "-" and num_opened[token.name]:
            closed = ""
            while closed != token.name:
                closed = opened.pop()
                num_opened[closed] -= 1
        elif token.kind == "-" and token.name == name:
            return i - first + 1
        elif token.kind == "-" and can_lack_end and around[token.name] > 0 and token.name not in INLINE:
            return i - first
    return len(tokens) - first


def _lines(tokens: list[Token]) -> Iterator[str | Block]:
    """Yield the strings that stay and the lines of some tokens: a tag whose other half is elsewhere ends a line, too.

    If it could move within a line, it might pass another such tag.
    """
    halves = find_halves(tokens)
    paired = halves.keys() | set(halves.values())
    alone = [i for i, token in enumerate(tokens) if token.kind in ("+", "-") and i not in paired]
    if not alone:
        yield from _line(tokens)
        return
    for start, end in pairwise([-1, *alone, len(tokens)]):
        yield from _lines(tokens[start + 1 : end])  # in which other tags may be alone now
        yield "".join(token.source for token in tokens[end : end + 1])


def _line(tokens: list[Token]) -> Iterator[str | Block]:
    """Yield the parts of a line: space and tags at its ends stay, but for a tag whose other half is inside."""
    source = "".join(token.source for token in tokens)
    # A reference to what is no character, such as `&#1;`, is nothing.
    has_text = [token.kind == "text" and unescape(token.source).strip() != "" for token in tokens]
    if True not in has_text:  # names and code alone are not translated
        yield source
        return
    first, last = has_text.index(True), len(tokens) - has_text[::-1].index(True)
    # A kept element at an end is a part of the line, and so is a tag whose other half is inside.
    kinds = [token.kind for token in tokens]
    if "kept" in kinds:
        first = min(first, kinds.index("kept"))
        last = max(last, len(kinds) - kinds[::-1].index("kept"))
    halves = find_halves(tokens).items()
    first = min([first, *(opens for opens, closes in halves if first <= closes < last)])
    last = max([last, *(closes + 1 for opens, closes in halves if first <= opens < last)])
    yield "".join(token.source for token in tokens[:first])
    middle, before, behind = tokens[first:last], "", ""
    if middle[0].kind == "text":
        text = middle[0].source.lstrip(BLANK)
        before = middle[0].source.removesuffix(text)
        middle[0] = middle[0]._replace(source=text)
    if middle[-1].kind == "text":
        text = middle[-1].source.rstrip(BLANK)
        behind = middle[-1].source.removeprefix(text)
        middle[-1] = middle[-1]._replace(source=text)
    yield before
    yield Block("".join(token.source for token in middle), content_of(middle, _plain), _write)
    yield behind
    yield "".join(token.source for token in tokens[last:])


def _plain(source: str) -> str:
    return SPACE.sub(" ", unescape(source))

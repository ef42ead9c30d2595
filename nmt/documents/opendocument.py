"""ODT: paragraphs and headings with spans and links in them; breaks and tabs end a line."""

import re
from collections.abc import Sequence

from nmt.documents.marked import Content, Element
from nmt.documents.office import Container, Format, Kept, Node, OfficeDocument, Paragraph, add_text

TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
PARTS = {"content.xml", "styles.xml"}  # of which the second has what is above and below pages
SPACES = re.compile(r"[ \t\r\n]+")

BREAKS = {f"{TEXT}tab", f"{TEXT}line-break"}
CONTAINERS = {f"{TEXT}span", f"{TEXT}a", f"{TEXT}meta"}
MARKS = ("bookmark", "reference-mark", "toc-mark", "alphabetical-index-mark")
STARTS = {f"{TEXT}{name}{end}" for name in MARKS for end in ("", "-start")}
ENDS = {f"{TEXT}{name}-end" for name in MARKS}
SPACE, PAGE_BREAK = f"{TEXT}s", f"{TEXT}soft-page-break"


def _read(node: Node) -> Paragraph:
    parts: list[Kept | list[str | Element]] = [[]]
    starts, ends = list[Kept](), list[Kept]()

    def read(parent: Node, within: list[str | Element] | None) -> None:
        add(parent.text, within)
        for child in parent:
            content = _last(parts) if within is None else within
            if child.tag in BREAKS and within is None:
                parts.extend((Kept(nodes=(child,)), []))
            elif child.tag == SPACE:
                add(" ", within)
            elif child.tag in CONTAINERS:
                inner: list[str | Element] = []
                content.append(Container(content=inner, node=child))
                read(child, inner)
            elif child.tag in STARTS:
                starts.append(Kept(nodes=(child,)))
            elif child.tag in ENDS:
                ends.append(Kept(nodes=(child,)))
            elif child.tag != PAGE_BREAK:
                content.append(Kept(nodes=(child,)))
            add(child.tail, within)

    def add(text: str | None, within: list[str | Element] | None) -> None:
        add_text(_last(parts) if within is None else within, SPACES.sub(" ", text or ""))

    read(node, None)
    return Paragraph(node, [*starts, *(part for part in parts if part != []), *ends])


def _last(parts: list[Kept | list[str | Element]]) -> list[str | Element]:
    line = parts[-1]
    assert isinstance(line, list)
    return line


def _write(paragraph: Paragraph, lines: Sequence[Content]) -> None:
    node = paragraph.node
    parts = paragraph.with_lines(lines)
    tail = node.tail
    for child in list(node):
        node.remove(child)
    node.text, node.tail = None, tail
    for part in parts:
        _add_to(node, [part] if isinstance(part, Kept) else part)


def _add_to(parent: Node, content: Content) -> None:
    for part in content:
        if isinstance(part, str):
            if len(parent):
                parent[-1].tail = (parent[-1].tail or "") + part
            else:
                parent.text = (parent.text or "") + part
        elif isinstance(part, Container):
            made = parent.makeelement(part.node.tag, dict(part.node.attrib), nsmap=part.node.nsmap)
            parent.append(made)
            _add_to(made, part.content)
        elif isinstance(part, Kept):
            for one in part.nodes:
                one.tail = None
                parent.append(one)


ODT = Format("content.xml", PARTS.__contains__, (f"{TEXT}p", f"{TEXT}h"), _read, _write)


def read_odt(content: bytes) -> OfficeDocument:
    """Read an OpenDocument text. Raises DataError for what is none."""
    return OfficeDocument(content, ODT)

"""ODT: paragraphs and headings with spans and links in them; breaks and tabs end a line."""

import re
from collections.abc import Sequence
from functools import reduce

from nmt.documents.marked import Content
from nmt.documents.office import Container, Format, Kept, Node, OfficeDocument, Paragraph, Parts, inside

TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
PARTS = {"content.xml", "styles.xml"}  # the second has the headers and footers of pages
SPACES = re.compile(r"[ \t\r\n]+")

PARAGRAPHS = (f"{TEXT}p", f"{TEXT}h")

BREAKS = {f"{TEXT}tab", f"{TEXT}line-break"}
META = f"{TEXT}meta"  # its identifier must be unique
CONTAINERS = {f"{TEXT}span", f"{TEXT}a", META}
MARKS = ("bookmark", "reference-mark", "toc-mark", "alphabetical-index-mark")
STARTS = {f"{TEXT}{name}{end}" for name in MARKS for end in ("", "-start")}
ENDS = {f"{TEXT}{name}-end" for name in MARKS}
CHANGE, CHANGE_START, CHANGE_END = (f"{TEXT}change-{name}" for name in ("id", "start", "end"))
# The reading of a word goes with the word; the translation is read otherwise.
RUBY, RUBY_BASE = f"{TEXT}ruby", f"{TEXT}ruby-base"
SPACE, PAGE_BREAK = f"{TEXT}s", f"{TEXT}soft-page-break"


def _read(node: Node) -> Paragraph:
    parts, starts, ends = Parts({META}), list[Kept](), list[Kept]()

    def read(parent: Node) -> None:
        add(parent.text)
        for child in parent:
            if child.tag in BREAKS:
                parts.divide(Kept(nodes=(child,)))
            elif child.tag == SPACE and parts.is_begun:
                add(" ")
            elif child.tag == SPACE:  # an indentation
                parts.divide(Kept(nodes=(child,)))
            elif child.tag in CONTAINERS:
                with parts.within(child):
                    read(child)
            elif child.tag == RUBY:
                for base in child.iterchildren(RUBY_BASE):
                    read(base)
            elif child.tag in STARTS:
                starts.append(Kept(nodes=(child,)))
            elif child.tag in ENDS:
                ends.append(Kept(nodes=(child,)))
            elif child.tag != PAGE_BREAK:
                parts.content.append(Kept(nodes=(child,)))
            add(child.tail)

    def add(text: str | None) -> None:
        if text:
            parts.content.append(SPACES.sub(" ", text))

    read(node)
    return Paragraph(node, [*starts, *parts.close(), *ends], num_repeated=parts.num_repeated)


def _write(paragraph: Paragraph, lines: Sequence[Content]) -> None:
    node = paragraph.node
    parts = paragraph.with_lines(lines)
    tail = node.tail
    for child in list(node):
        node.remove(child)
    node.text, node.tail = None, tail
    for part in parts:
        _add_to(node, [part] if isinstance(part, Kept) else part)
    _order_changes(node)


def _order_changes(node: Node) -> None:
    """Make each recorded change begin before it ends: its marks moved with words, whose order may have changed."""
    ended: dict[str | None, Node] = {}
    for mark in list(inside(node, PARAGRAPHS, {CHANGE_START, CHANGE_END})):
        key = mark.get(CHANGE)
        if mark.tag == CHANGE_END:
            ended[key] = mark
        elif key in ended:
            ended[key].tag, mark.tag = CHANGE_START, CHANGE_END


def _add_to(parent: Node, content: Content) -> None:
    for part in content:
        if isinstance(part, str):
            if len(parent):
                parent[-1].tail = (parent[-1].tail or "") + part
            else:
                parent.text = (parent.text or "") + part
        elif isinstance(part, Container):
            _add_to(_copy_in(parent, part.node), part.content)
        elif isinstance(part, Kept):
            inner = reduce(_copy_in, part.within, parent)
            for one in part.nodes:
                one.tail = None
                inner.append(one)


def _copy_in(parent: Node, node: Node) -> Node:
    """Add a node without its children; return it."""
    made = parent.makeelement(node.tag, dict(node.attrib))
    parent.append(made)
    return made


ODT = Format("content.xml", f"{OFFICE}document-content", PARTS.__contains__, PARAGRAPHS, _read, _write)


def read_odt(content: bytes) -> OfficeDocument:
    """Read an OpenDocument text. Raises DataError for what is none."""
    return OfficeDocument(content, ODT)

"""DOCX: paragraphs of runs, each of which has a look; breaks and tabs end a line.

What most of the text of a paragraph looks like is no markup, and other looks are elements.
"""

import re
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from nmt.documents.marked import Content, Element
from nmt.documents.office import Container, Format, Kept, Node, OfficeDocument, Paragraph, add_text

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
SPACE = "{http://www.w3.org/XML/1998/namespace}space"
PARTS = re.compile(r"word/(document|header\d*|footer\d*|footnotes|endnotes)\.xml")

PARAGRAPH, RUN, LOOK, TEXT = f"{WORD}p", f"{WORD}r", f"{WORD}rPr", f"{WORD}t"
BREAKS = {f"{WORD}{name}" for name in ("br", "cr", "tab", "ptab")}
CONTAINERS = {f"{WORD}{name}" for name in ("hyperlink", "ins", "smartTag", "sdt")}
SDT_CONTENT = f"{WORD}sdtContent"
FIELD, FIELD_KIND = f"{WORD}fldChar", f"{WORD}fldCharType"
MARKS = ("bookmark", "commentRange", "perm", "moveFromRange", "moveToRange")
STARTS, ENDS = ({f"{WORD}{name}{end}" for name in MARKS} for end in ("Start", "End"))
# Where Word once found an error, or a page ended: it looks again.
DROPPED = {f"{WORD}proofErr", f"{WORD}lastRenderedPageBreak"}


@dataclass(frozen=True)
class Run(Element):
    """Text in a look of its own: the properties of its run, as XML."""

    look: bytes = b""


class _Reader:
    """Reads the parts of one paragraph."""

    def __init__(self, node: Node) -> None:
        self.look = _usual_look(node)
        self.starts, self.ends = list[Kept](), list[Kept]()
        self.parts: list[Any] = [[]]
        self.field: list[Node] = []  # runs of one that is not over
        self.depth = 0
        for child in node:
            if child.tag != f"{WORD}pPr":
                self._read(child, None)
        if self.field:  # it is over in another paragraph
            self._stay(Kept(nodes=tuple(self.field)))

    def _read(self, node: Node, within: list[str | Element] | None) -> None:
        """Read a child of the paragraph, or what is `within` an element of its line."""
        content = self.parts[-1] if within is None else within
        if node.tag == RUN and (self.depth or node.find(FIELD) is not None):
            self._read_field(node, within)
        elif node.tag == RUN:
            self._read_run(node, within)
        elif node.tag in CONTAINERS:
            inner: list[str | Element] = []
            holder = node.find(SDT_CONTENT) if node.tag == f"{WORD}sdt" else node
            for child in holder if holder is not None else ():
                self._read(child, inner)
            content.append(Container(content=inner, node=node))
        elif node.tag in STARTS:
            self.starts.append(Kept(nodes=(node,)))
        elif node.tag in ENDS:
            self.ends.append(Kept(nodes=(node,)))
        elif node.tag not in DROPPED:
            content.append(Kept(nodes=(node,)))

    def _read_run(self, run: Node, within: list[str | Element] | None) -> None:
        look = _look(run)
        for child in run:
            content = self.parts[-1] if within is None else within
            if child.tag == TEXT:
                self._add(content, child.text or "", look)
            elif child.tag == LOOK or child.tag in DROPPED:
                continue
            elif child.tag in BREAKS and within is None:
                self._stay(Kept(nodes=(child,), look=look))
            else:
                content.append(Kept(nodes=(child,), look=look))

    def _add(self, content: list[str | Element], text: str, look: bytes) -> None:
        if look == self.look:
            add_text(content, text)
        elif content and isinstance(content[-1], Run) and content[-1].look == look:
            add_text(content[-1].content, text)
        elif text:
            content.append(Run(content=[text], look=look))

    def _read_field(self, run: Node, within: list[str | Element] | None) -> None:
        """Read a run of a field, such as a page number, which stays as a whole."""
        self.field.append(run)
        for child in run.iter(FIELD):
            self.depth += {"begin": 1, "end": -1}.get(child.get(FIELD_KIND), 0)
        if self.depth > 0:
            return
        kept = Kept(nodes=tuple(self.field), is_kept=True)
        if self.depth < 0 or within is not None:  # it has begun elsewhere
            self.depth = 0
            self._stay(kept) if within is None else within.append(kept)
        else:
            self.parts[-1].append(kept)
        self.field = []

    def _stay(self, kept: Kept) -> None:
        self.parts += [kept, []]

    def paragraph(self, node: Node) -> Paragraph:
        return Paragraph(
            node, [*self.starts, *(part for part in self.parts if part != []), *self.ends], self.look
        )


def _look(run: Node) -> bytes:
    """Return the properties of a run as XML; empty where it has none."""
    from lxml import etree

    found = run.find(LOOK)
    return b"" if found is None else etree.tostring(found, with_tail=False)


def _usual_look(paragraph: Node) -> bytes:
    sizes: Counter[bytes] = Counter()
    for run in paragraph.iter(RUN):
        sizes[_look(run)] += sum(len(text.text or "") for text in run.iterchildren(TEXT))
    return max(sizes, key=lambda look: sizes[look], default=b"")


def _read(node: Node) -> Paragraph:
    return _Reader(node).paragraph(node)


def _write(paragraph: Paragraph, lines: Sequence[Content]) -> None:
    node = paragraph.node
    parts = paragraph.with_lines(lines)
    for child in list(node):
        if child.tag != f"{WORD}pPr":
            node.remove(child)
    for part in parts:
        _add_to(node, [part] if isinstance(part, Kept) else part, paragraph.look)


def _add_to(parent: Node, content: Content, look: bytes) -> None:
    for part in content:
        if isinstance(part, str):
            text = _run_in(parent, look).makeelement(TEXT, {SPACE: "preserve"})
            text.text = part
            parent[-1].append(text)
        elif isinstance(part, Run):
            _add_to(parent, part.content, part.look)
        elif isinstance(part, Container):
            _add_to(_copy_in(parent, part.node), part.content, look)
        elif isinstance(part, Kept) and part.look is not None:
            _run_in(parent, part.look).extend(part.nodes)
        elif isinstance(part, Kept):
            parent.extend(part.nodes)


def _run_in(parent: Node, look: bytes) -> Node:
    from lxml import etree

    run = parent.makeelement(RUN)
    if look:
        run.append(etree.fromstring(look))
    parent.append(run)
    return run


def _copy_in(parent: Node, node: Node) -> Node:
    """Add a node without the children that are text; return where others go."""
    made = parent.makeelement(node.tag, dict(node.attrib), nsmap=node.nsmap)
    parent.append(made)
    if node.tag != f"{WORD}sdt":
        return made
    made.extend(deepcopy(child) for child in node if child.tag != SDT_CONTENT)
    inner = made.makeelement(SDT_CONTENT)
    made.append(inner)
    return inner


DOCX = Format("word/document.xml", PARTS.fullmatch, (PARAGRAPH,), _read, _write)


def read_docx(content: bytes) -> OfficeDocument:
    """Read a document of Word. Raises DataError for what is none."""
    return OfficeDocument(content, DOCX)

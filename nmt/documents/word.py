"""DOCX: paragraphs of runs, each of which has a look, its formatting; breaks and tabs end a line.

The look that most of a paragraph's text has is no markup; text with another look is an element. A field, such as a page
number, stays as a whole; the text of a link is translated, and so is that of a field of several paragraphs, such as a
table of contents.
"""

import re
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from nmt.documents.marked import Content, Element
from nmt.documents.office import (
    Container,
    Format,
    Kept,
    Node,
    OfficeDocument,
    Paragraph,
    Parts,
    bytes_of,
    inside,
)

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
SPACE = "{http://www.w3.org/XML/1998/namespace}space"
PARTS = re.compile(r"word/(document|header\d*|footer\d*|footnotes|endnotes)\.xml")

PARAGRAPH, RUN, LOOK, TEXT = f"{WORD}p", f"{WORD}r", f"{WORD}rPr", f"{WORD}t"
BREAKS = {f"{WORD}{name}" for name in ("br", "cr", "tab", "ptab")}
CONTROL, CONTROL_CONTENT = f"{WORD}sdt", f"{WORD}sdtContent"
CONTAINERS = {
    f"{WORD}{name}" for name in ("bdo", "customXml", "dir", "hyperlink", "ins", "moveTo", "smartTag")
} | {CONTROL}
# Properties of containers, which stay the first of their children.
PROPERTIES = {f"{WORD}{name}" for name in ("customXmlPr", "smartTagPr")}
# A field lies between runs with marks: where its code begins, where that ends, and where the text that Word made of it
# ends. A simple field is one node, which has the code as an attribute.
FIELD, FIELD_KIND, CODE_TEXT = f"{WORD}fldChar", f"{WORD}fldCharType", f"{WORD}instrText"
SIMPLE_FIELD, CODE = f"{WORD}fldSimple", f"{WORD}instr"
FIELD_STATES = (f"{WORD}fldLock", f"{WORD}dirty")
LINK = re.compile(r"\s*HYPERLINK\b", re.IGNORECASE)
MARKS = ("bookmark", "commentRange", "perm", "moveFromRange", "moveToRange")
STARTS, ENDS = ({f"{WORD}{name}{end}" for name in MARKS} for end in ("Start", "End"))
# A hyphen at which no line breaks is a node of its own.
HYPHEN, HYPHEN_TEXT = f"{WORD}noBreakHyphen", "\u2011"
# The reading of a word goes with the word; the translation is read otherwise.
RUBY, RUBY_BASE = f"{WORD}ruby", f"{WORD}rubyBase"
# Marks where Word last found an error, or where a page ended, which Word finds again, and where a word may be broken.
DROPPED = {f"{WORD}{name}" for name in ("proofErr", "lastRenderedPageBreak", "softHyphen")}


@dataclass(frozen=True)
class Run(Element):
    """Text in a look of its own."""

    look: "Look | None" = None


class Look(NamedTuple):
    """A node of the properties of a run. As XML, it would repeat all namespaces of the document."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple["Look", ...]

    @classmethod
    def of(cls, node: Node) -> "Look":
        """Return a node with all that is in it, but for comments, which have no tag, and text, which has no meaning."""
        return cls(node.tag, tuple(node.attrib.items()), tuple(map(cls.of, node.iterchildren("*"))))

    @property
    def num_bytes(self) -> int:
        """About how many bytes it takes."""
        return bytes_of(self.tag, self.attributes) + sum(child.num_bytes for child in self.children)

    def add_to(self, parent: Node) -> None:
        """Add the node to a parent."""
        made = parent.makeelement(self.tag, dict(self.attributes))
        parent.append(made)
        for child in self.children:
            child.add_to(made)


class _Reader:
    """Reads the parts of one paragraph."""

    def __init__(self, node: Node) -> None:
        self.look = _usual_look(node)
        self.starts, self.ends = list[Kept](), list[Kept]()
        self.parts = Parts({CONTROL}, PROPERTIES)
        # Elements without those between which the text has a run of its own. Where they go in a translation, each
        # divides text of the usual look.
        self.num_elements = 0
        self._read_all([child for child in node if child.tag != f"{WORD}pPr"])

    def _read_all(self, nodes: Sequence[Node]) -> None:
        """Read the children of the paragraph, or of a container in it."""
        fields, here = _fields(nodes), 0
        while here < len(nodes):
            if nodes[here].tag == RUN and here in fields:
                here = self._read_field(nodes, here, *fields[here])
            else:
                self._read(nodes[here])
                here += 1

    def _read(self, node: Node) -> None:
        """Read a node in which no field begins."""
        if node.tag == RUN and node.find(FIELD) is not None:  # of a field that began in another paragraph
            self.parts.divide(Kept(nodes=(node,)))
        elif node.tag == RUN:
            self._read_run(node)
        elif node.tag in CONTAINERS or (node.tag == SIMPLE_FIELD and LINK.match(node.get(CODE, ""))):
            holder = node.find(CONTROL_CONTENT) if node.tag == CONTROL else node
            inner = [] if holder is None else [child for child in holder if child.tag not in PROPERTIES]
            self._read_container(node, inner)
        elif node.tag in STARTS:
            self.starts.append(Kept(nodes=(node,)))
        elif node.tag in ENDS:
            self.ends.append(Kept(nodes=(node,)))
        elif node.tag not in DROPPED:
            self.num_elements += 1
            self.parts.content.append(Kept(nodes=(node,)))

    def _read_container(self, node: Node, children: Sequence[Node]) -> None:
        self.num_elements += 1
        with self.parts.within(node):
            self._read_all(children)

    def _read_field(self, nodes: Sequence[Node], begin: int, text: int | None, end: int | None) -> int:
        """Read the field that begins at a place, and return the place to go on at.

        `text` is the place of the mark before its text, and `end` that of the mark behind it.
        """
        if end is None:  # it ends in another paragraph
            behind = len(nodes) if text is None else text + 1
            self.parts.divide(Kept(nodes=tuple(nodes[begin:behind])))
            return behind
        link = None if text is None else _as_simple_link(nodes[begin : text + 1], nodes[end])
        if text is not None and link is not None:
            self._read_container(link, nodes[text + 1 : end])
        else:
            self.num_elements += 1
            self.parts.content.append(Kept(nodes=tuple(nodes[begin : end + 1]), is_kept=True))
        return end + 1

    def _read_run(self, run: Node) -> None:
        look = _look(run)
        self.num_elements += -1 if look == self.look else 1
        # Each child is written as a run of its own, with the look of them all.
        num_more = sum(child.tag != LOOK for child in run) - 1
        if look is not None and num_more > 0:
            self.parts.repeat(num_more * look.num_bytes)
        for child in run:
            if child.tag == TEXT:
                self._add(self.parts.content, child.text or "", look)
            elif child.tag == HYPHEN:
                self._add(self.parts.content, HYPHEN_TEXT, look)
            elif child.tag == LOOK or child.tag in DROPPED:
                continue
            elif child.tag == RUBY:
                for inner in child.iterfind(f"{RUBY_BASE}/{RUN}"):
                    self._read_run(inner)
            elif child.tag in BREAKS:
                self.parts.divide(Kept(nodes=(child,), is_in_run=True, look=look))
            else:
                self.num_elements += 1
                self.parts.content.append(Kept(nodes=(child,), is_in_run=True, look=look))

    def _add(self, content: list[str | Element], text: str, look: Look | None) -> None:
        if not text:
            return
        if look == self.look:
            content.append(text)
        elif content and isinstance(content[-1], Run) and content[-1].look == look:
            content[-1].content.append(text)
        else:
            content.append(Run(content=[text], look=look))

    def paragraph(self, node: Node) -> Paragraph:
        if self.look is not None and self.num_elements > 0:
            self.parts.repeat(self.num_elements * self.look.num_bytes)
        parts = [*self.starts, *self.parts.close(), *self.ends]
        return Paragraph(node, parts, self.look, self.parts.num_repeated)


def _fields(nodes: Sequence[Node]) -> dict[int, tuple[int | None, int | None]]:
    """Return, by the places where fields begin, the places where their texts begin and end.

    None stands for a place that is not among these nodes. Of several fields that begin at one place, the outermost
    counts.
    """
    found: dict[int, tuple[int | None, int | None]] = {}
    opened: list[tuple[int, int | None]] = []
    for place, node in enumerate(nodes):
        for mark in inside(node, {PARAGRAPH}, {FIELD}):
            kind = mark.get(FIELD_KIND)
            if kind == "begin":
                opened.append((place, None))
            elif kind == "separate" and opened:
                opened[-1] = opened[-1][0], place
            elif kind == "end" and opened:
                begin, text = opened.pop()
                found[begin] = text, place
    return found | {begin: (text, None) for begin, text in reversed(opened)}


def _as_simple_link(code: Sequence[Node], end: Node) -> Node | None:
    """Return a simple field for the runs of the code of a link and its end; None for those of anything else."""
    runs = [*code, end]
    marks = [mark for run in runs for mark in inside(run, {PARAGRAPH}, {FIELD})]
    text = "".join(one.text or "" for run in code for one in inside(run, {PARAGRAPH}, {CODE_TEXT}))
    is_plain = len(marks) == 3 and all(run.tag == RUN and run.find(TEXT) is None for run in runs)
    if not is_plain or not LINK.match(text):
        return None
    states = {name: value for name in FIELD_STATES if (value := marks[0].get(name)) is not None}
    return end.makeelement(SIMPLE_FIELD, {CODE: text} | states)


def _look(run: Node) -> Look | None:
    """Return the properties of a run; None where it has none."""
    found = run.find(LOOK)
    return None if found is None else Look.of(found)


def _usual_look(paragraph: Node) -> Look | None:
    sizes: Counter[Look | None] = Counter()
    for run in inside(paragraph, {PARAGRAPH}, {RUN}):
        sizes[_look(run)] += sum(len(text.text or "") for text in run.iterchildren(TEXT))
    return max(sizes, key=lambda look: sizes[look], default=None)


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


def _add_to(parent: Node, content: Content, look: Look | None) -> None:
    for part in content:
        if isinstance(part, str):
            text = _run_in(parent, look).makeelement(TEXT, {SPACE: "preserve"})
            text.text = part
            parent[-1].append(text)
        elif isinstance(part, Run):
            _add_to(parent, part.content, part.look)
        elif isinstance(part, Container):
            _add_to(_copy_in(parent, part.node), part.content, look)
        elif isinstance(part, Kept):
            inner = reduce(_copy_in, part.within, parent)
            (_run_in(inner, part.look) if part.is_in_run else inner).extend(part.nodes)


def _run_in(parent: Node, look: Look | None) -> Node:
    run = parent.makeelement(RUN)
    parent.append(run)
    if look is not None:
        look.add_to(run)
    return run


def _copy_in(parent: Node, node: Node) -> Node:
    """Add a copy of a node without its content; return the node that new content goes into."""
    made = parent.makeelement(node.tag, dict(node.attrib))
    parent.append(made)
    if node.tag != CONTROL:
        made.extend(deepcopy(child) for child in node if child.tag in PROPERTIES)
        return made
    made.extend(deepcopy(child) for child in node if child.tag != CONTROL_CONTENT)
    inner = made.makeelement(CONTROL_CONTENT)
    made.append(inner)
    return inner


DOCX = Format("word/document.xml", f"{WORD}document", PARTS.fullmatch, (PARAGRAPH,), _read, _write)


def read_docx(content: bytes) -> OfficeDocument:
    """Read a document of Word. Raises DataError for what is none."""
    return OfficeDocument(content, DOCX)

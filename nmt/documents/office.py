"""Documents that are archives of XML: each paragraph is a line, or several; all else in them stays as it is."""

import codecs
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

from nmt.documents.marked import Content, Element, has_text
from nmt.documents.tags import MAX_DEPTH, require_few
from nmt.errors import DataError

Node = Any  # an element of lxml, which says nothing of its types

# Bytes of all files in an archive, and of those with text, which are in memory together; without these bounds, a small
# file could unpack to any size.
MAX_UNPACKED, MAX_TEXT = 1 << 28, 1 << 26
MAX_MEMBERS = 10_000
# Bytes of the nodes that are written more than once. Each break inside of a link repeats the link: a small file could
# be written to any size.
MAX_REPEATED = 1 << 26
NODE_BYTES = 50  # of a node, beside its tag and its attributes
# Encodings that XML may declare. All of these are decoded in time linear in the length; Python knows others, such as
# punycode, whose time is quadratic.
ENCODINGS = re.compile(
    r"utf-(7|8|16|16le|16be)|us-ascii|iso-8859-\d+|windows-125\d|koi8-[ru]|shift_jis|euc-(jp|kr)|gb(2312|k|18030)|big5",
    re.IGNORECASE,
)
DECLARED = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]*)")
# What no XML can hold (XML 1.0, 2.2); a model can write it.
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Container(Element):
    """A node of a line whose children are made anew; a copy of it takes `num_bytes`."""

    node: Node = None
    num_bytes: int = 0


@dataclass(frozen=True)
class Kept(Element):
    """Nodes that come out as they are; where they are in a run, it has to be made anew, with its `look`.

    `within` are the nodes around them whose children are made anew, from the outermost inwards.
    """

    nodes: tuple[Node, ...] = ()
    is_in_run: bool = False
    look: Any = None
    within: tuple[Node, ...] = ()


class Parts:
    """The parts of a paragraph while it is read: lines, what stays between them, and the containers that are open."""

    def __init__(self, undivided: Collection[str], properties: Collection[str] = ()) -> None:
        """Begin; a container with one of the tags `undivided` may be there once only, so no break divides it.

        Children of containers with one of the tags `properties` are in each copy.
        """
        self.undivided, self.properties = undivided, properties
        self.num_repeated = 0  # bytes of nodes that are written more than once
        self._found: list[Kept | list[str | Element]] = [[]]
        self._open: list[Container] = []

    @property
    def content(self) -> list[str | Element]:
        """The content so far of the current line, or of the innermost container that is open in it."""
        line = self._open[-1].content if self._open else self._found[-1]
        assert isinstance(line, list)
        return line

    @property
    def is_begun(self) -> bool:
        """Whether the current line has any text."""
        line = self._found[-1]
        return isinstance(line, list) and has_text(line)

    @contextmanager
    def within(self, node: Node) -> Iterator[None]:
        """Put what is read meanwhile into a container; its continuation behind a break is dropped if it stays empty.

        Raises DataError where containers are nested too deep.
        """
        if len(self._open) == MAX_DEPTH:
            raise DataError(
                f"file: at most {MAX_DEPTH} elements of a paragraph inside each other are needed; got more"
            )
        properties = (inner for child in node if child.tag in self.properties for inner in child.iter("*"))
        num_bytes = sum(bytes_of(one.tag, one.attrib.items()) for one in (node, *properties))
        first = self._begin(Container(node=node, num_bytes=num_bytes))
        yield
        last = self._open.pop()
        if last is not first and not last.content:
            self.content.pop()

    def divide(self, kept: Kept) -> None:
        """End the line with what stays; open containers go on behind it. An undivided one gets it as a space.

        Raises DataError where too much is repeated.
        """
        if any(container.node.tag in self.undivided for container in self._open):
            self.content.append(replace(kept, content=[" "], is_kept=True))
            return
        opened = list(self._open)
        # What stays is in copies of them, and so is what comes behind it.
        self.repeat(2 * sum(container.num_bytes for container in opened))
        while self._open:
            if not self._open.pop().content:
                self.content.pop()
        self._found += [replace(kept, within=tuple(container.node for container in opened)), []]
        for container in opened:
            self._begin(replace(container, content=[]))

    def repeat(self, num_bytes: int) -> None:
        """Count nodes that are written once more. Raises DataError for too many of them."""
        self.num_repeated += num_bytes
        require_few_repeated(self.num_repeated)

    def close(self) -> list[Kept | list[str | Element]]:
        """Return the lines that are not empty, and what stays between them."""
        return [_joined(part) if isinstance(part, list) else part for part in self._found if part != []]

    def _begin(self, container: Container) -> Container:
        self.content.append(container)
        self._open.append(container)
        return container


class Paragraph(NamedTuple):
    """A paragraph: what stays in its place, and lines between; `look` is that of most of its text."""

    node: Node
    parts: list[Kept | list[str | Element]]
    look: Any = None
    num_repeated: int = 0  # bytes of nodes that are written more than once

    @property
    def lines(self) -> list[Content]:
        """The lines of it."""
        return [part for part in self.parts if isinstance(part, list)]

    def with_lines(self, lines: Sequence[Content]) -> list[Kept | Content]:
        """Return its parts with other lines."""
        given = iter(lines)
        return [next(given) if isinstance(part, list) else part for part in self.parts]


class Format(NamedTuple):
    """How paragraphs are found, by the names of files and by tags, and how they are read and written."""

    name: str  # of a file that must be there
    root: str  # the tag of all of it
    has_text: Callable[[str], Any]
    tags: Iterable[str]
    read: Callable[[Node], Paragraph]
    write: Callable[[Paragraph, Sequence[Content]], None]


class OfficeDocument:
    """An archive with paragraphs in files of XML."""

    def __init__(self, content: bytes, how: Format) -> None:
        """Read an archive. Raises DataError for content that is not of the format."""
        self.how, self.content = how, content
        contents = {name: _as_utf_8(data) for name, data in _texts(content, how).items()}
        require_few(sum(content.count(b"<") for content in contents.values()))
        self.roots = {name: _parse(content) for name, content in contents.items()}
        tag = self.roots[how.name].tag
        if tag != how.root:  # such as Word's Strict Open XML, whose names all differ
            raise DataError(f"file: {how.root} in {how.name} is needed; got {tag}")
        self.paragraphs: list[tuple[str, Paragraph]] = []
        num_repeated = 0
        for name, root in self.roots.items():
            for node in root.iter(*how.tags):
                paragraph = how.read(node)
                if paragraph.lines:
                    self.paragraphs.append((name, paragraph))
                num_repeated += paragraph.num_repeated
                require_few_repeated(num_repeated)

    @property
    def blocks(self) -> list[Content]:
        """The lines of all paragraphs, in their order."""
        return [line for _, paragraph in self.paragraphs for line in paragraph.lines]

    def write(self, blocks: Sequence[Content]) -> bytes:
        """Return the archive with other lines; call it once. Files in it where no line changed are as they were."""
        from lxml import etree

        given, changed = iter(blocks), set()
        for name, paragraph in self.paragraphs:
            lines = [_without_control_characters(next(given)) for _ in paragraph.lines]
            if lines != paragraph.lines:
                self.how.write(paragraph, lines)
                changed.add(name)
        output = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(self.content)) as read, zipfile.ZipFile(output, "w") as written:
            for member in _members(read).values():
                if member.filename in changed:
                    tree = self.roots[member.filename].getroottree()
                    is_alone = tree.docinfo.standalone
                    data = etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=is_alone)
                else:
                    data = read.read(member)
                written.writestr(member, data, member.compress_type)
        return output.getvalue()


def bytes_of(tag: str, attributes: Iterable[tuple[str, str]]) -> int:
    """Return about how many bytes a node takes, without what is in it."""
    return NODE_BYTES + len(tag) + sum(len(name) + len(value) for name, value in attributes)


def require_few_repeated(num_bytes: int) -> None:
    """Raise DataError for more bytes of repeated nodes than MAX_REPEATED."""
    if num_bytes > MAX_REPEATED:
        raise DataError(
            f"file: breaks and looks of text that repeat at most {MAX_REPEATED} bytes of XML are needed; got more"
        )


def inside(paragraph: Node, paragraphs: Collection[str], wanted: Collection[str]) -> Iterator[Node]:
    """Yield the nodes with `wanted` tags in a paragraph, but not in those or in `paragraphs` inside of it.

    A search through all that is in a paragraph would take time quadratic in the depth of nested paragraphs.
    """
    opened = [iter(paragraph)]
    while opened:
        for child in opened[-1]:
            if child.tag in wanted:
                yield child
            elif child.tag not in paragraphs:
                opened.append(iter(child))
                break
        else:
            opened.pop()


def _joined(content: list[str | Element]) -> list[str | Element]:
    """Return content in which no two texts are neighbours.

    Joining them as they come would take time quadratic in their number, since each would copy all before it.
    """
    found: list[str | Element] = []
    for is_text, parts in groupby(content, key=lambda part: isinstance(part, str)):
        if is_text:
            found.append("".join(map(str, parts)))
        else:
            for part in parts:
                assert isinstance(part, Element)
                part.content[:] = _joined(part.content)
                found.append(part)
    return found


def _without_control_characters(line: Content) -> list[str | Element]:
    """Return a line without the characters that XML cannot hold."""
    return [
        CONTROL_CHARACTERS.sub("", part)
        if isinstance(part, str)
        else replace(part, content=_without_control_characters(part.content))
        for part in line
    ]


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files of an archive by their names, in their order; of two with one name, the last."""
    return {member.filename: member for member in archive.infolist()}


def _texts(content: bytes, how: Format) -> dict[str, bytes]:
    """Return the files of an archive that have text, by their names. Raises DataError if any file is damaged.

    The others, such as pictures, are unpacked one at a time when the archive is written.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS or sum(one.file_size for one in members) > MAX_UNPACKED:
                raise DataError(
                    f"file: at most {MAX_UNPACKED} bytes in {MAX_MEMBERS} files, unpacked, are needed; got more"
                )
            if not {one.compress_type for one in members} <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise DataError("file: an archive whose files are stored or deflated is needed; got another")
            texts = [one for one in _members(archive).values() if how.has_text(one.filename)]
            if sum(one.file_size for one in texts) > MAX_TEXT:
                raise DataError(f"file: at most {MAX_TEXT} bytes of XML, unpacked, are needed; got more")
            # zipfile reads no more of a file than its declared size.
            found = {one.filename: archive.read(one) for one in texts}
            if archive.testzip() is not None:  # which reads all files, block by block
                raise zipfile.BadZipFile
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError):
        raise DataError(f"file: an undamaged archive with {how.name} is needed; got another file") from None
    if how.name not in found:
        raise DataError(f"file: an archive with {how.name} is needed; got another")
    return found


def _as_utf_8(content: bytes) -> bytes:
    """Return XML of one of ENCODINGS as UTF-8, in which `<` begins each tag. Raises DataError for any other content."""
    declared = DECLARED.match(content)
    name = declared[1].decode() if declared else "utf-8"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name = "utf-16"
    if not ENCODINGS.fullmatch(name):
        raise DataError(f"file: XML in UTF-8 is needed in it; got {name}")
    try:
        return content.decode(name).encode().removeprefix(codecs.BOM_UTF8)
    except (LookupError, ValueError):
        raise DataError("file: well-formed XML is needed in it; got other") from None


def _parse(content: bytes) -> Node:
    """Return the root of XML in UTF-8, whatever encoding it declares. Raises DataError for damage or a DOCTYPE."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, encoding="utf-8"
    )
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise DataError("file: well-formed XML is needed in it; got other") from None
    if root.getroottree().docinfo.doctype:  # which may define entities, of entities, of entities
        raise DataError("file: XML without a document type is needed in it; got one")
    return root

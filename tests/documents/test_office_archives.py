"""DOCX: what strangers may have put into an archive."""

import io
import re
import tracemalloc
import zipfile
from dataclasses import replace

import pytest
from office_files import W, archive, docx, member, odt, run

from nmt.documents.opendocument import read_odt
from nmt.documents.word import read_docx
from nmt.errors import DataError


def test_another_kind_of_the_same_format_is_refused():
    usual = docx(f"<w:p>{run('eins')}</w:p>")
    text = (
        member(usual, "word/document.xml")
        .decode()
        .replace(W, "http://purl.oclc.org/ooxml/wordprocessingml/main")
    )
    with pytest.raises(
        DataError,
        match=r"^file: \{http://schemas\..*\}document in word/document.xml is needed; got \{http://purl",
    ):
        read_docx(archive(**{"word/document.xml": text}))


DOCTYPE = f'<!DOCTYPE x [<!ENTITY a "b">]><w:document xmlns:w="{W}"><w:p>{run("&a;")}</w:p></w:document>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "an undamaged archive with word/document.xml is needed; got another file"),
        (b"PK\x03\x04 nothing", "an undamaged archive with word/document.xml is needed; got another file"),
        (archive(**{"a.txt": "a"}), "an archive with word/document.xml is needed; got another"),
        (archive(**{"word/document.xml": "<a"}), "well-formed XML is needed in it; got other"),
        (archive(**{"word/document.xml": DOCTYPE}), "XML without a document type is needed in it; got one"),
        (archive(**{"word/document.xml": "<a>" * 100_000}), "well-formed XML is needed in it; got other"),
    ],
    ids=["empty", "broken", "another", "no XML", "entities", "deep"],
)
def test_what_is_no_document_is_refused(content, message):
    with pytest.raises(DataError, match=f"^file: {re.escape(message)}$"):
        read_docx(content)


def test_what_would_unpack_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr("nmt.documents.office.MAX_UNPACKED", 1000)
    with pytest.raises(DataError, match="at most 1000 bytes in 10000 files, unpacked, are needed; got more"):
        read_docx(docx("", **{"word/large": b"0" * 1000}))
    monkeypatch.setattr("nmt.documents.office.MAX_UNPACKED", 10**6)
    with monkeypatch.context() as patch:
        patch.setattr("nmt.documents.tags.MAX_TAGS", 1000)
        assert read_docx(docx("<w:p/>" * 900)).paragraphs == [], "what has no line is not kept"
        with pytest.raises(DataError, match="at most 1000 tags are needed in its text; got more"):
            read_docx(docx("<w:p/>" * 1000))
    with monkeypatch.context() as patch:
        patch.setattr("nmt.documents.office.MAX_TEXT", 1000)
        with pytest.raises(DataError, match="at most 1000 bytes of XML, unpacked, are needed; got more"):
            read_docx(docx("<w:p/>" * 200))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as made:
        made.writestr("word/document.xml", "x")
    with pytest.raises(DataError, match="stored or deflated"):
        read_docx(packed.getvalue())
    lying = bytearray(docx("", **{"word/large": b"0" * 100_000}))
    for place in [found.start() for found in re.finditer(re.escape((100_000).to_bytes(4, "little")), lying)]:
        lying[place : place + 4] = (10).to_bytes(4, "little")  # the archive says that the file is small
    with pytest.raises(DataError, match="an undamaged archive"):
        read_docx(bytes(lying))


def test_pictures_are_not_in_memory_while_lines_are_translated(translate):
    picture = bytes(20_000_000)
    given = docx(f"<w:p>{run('eins')}</w:p>", **{"word/media/b.png": picture})
    tracemalloc.start()
    document = read_docx(given)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < len(picture) / 4
    assert member(translate(document), "word/media/b.png") == picture


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "windows-1252", "utf-8-sig"])
def test_text_may_be_in_any_encoding(encoding):
    text = member(docx(f"<w:p>{run('Grüße')}</w:p>"), "word/document.xml").decode()
    text = text.replace("UTF-8", encoding.removesuffix("-be").removesuffix("-sig"))
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    document = read_docx(archive(**{"word/document.xml": (mark + text).encode(encoding)}))
    assert document.blocks == [["Grüße"]]


@pytest.mark.parametrize("encoding", ["punycode", "idna", "zlib", "none"])
def test_what_is_no_encoding_of_documents_is_not_tried(encoding):
    text = member(docx(""), "word/document.xml").decode().replace("UTF-8", encoding)
    with pytest.raises(DataError, match=f"^file: XML in UTF-8 is needed in it; got {encoding}$"):
        read_docx(archive(**{"word/document.xml": text}))


@pytest.mark.parametrize(("encoding", "tag"), [("UTF-16", "<w:p/>"), ("UTF-7", "+ADw-w:p/+AD4-")])
def test_tags_are_counted_whatever_the_encoding(monkeypatch, encoding, tag):
    monkeypatch.setattr("nmt.documents.tags.MAX_TAGS", 1000)

    def packed(number):
        text = member(docx(number * tag), "word/document.xml").decode().replace("UTF-8", encoding)
        return archive(**{"word/document.xml": text.encode("ascii" if encoding == "UTF-7" else encoding)})

    assert read_docx(packed(900)).paragraphs == []
    with pytest.raises(DataError, match="at most 1000 tags are needed"):
        read_docx(packed(1100))


LINK = f'<w:hyperlink r:id="{"x" * 1000}">{{}}</w:hyperlink>'
LOOK = f"<w:rPr>{'<w:b/>' * 20}</w:rPr>"
OF_ODT = f'<t:p><t:a href="{"x" * 1000}">eins{"<t:line-break/>zwei" * 9}</t:a></t:p>'


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (read_docx, docx(f"<w:p>{LINK.format('<w:r><w:br/><w:t>eins</w:t></w:r>' * 9)}</w:p>")),
        (read_docx, docx(f"<w:p>{LINK.format('<w:r><w:br/><w:t>eins</w:t></w:r>')}</w:p>" * 9)),
        (read_docx, docx(f"<w:p><w:r>{LOOK}{'<w:br/>' * 9}<w:t>eins</w:t></w:r></w:p>")),
        (read_docx, docx(f"<w:p>{run('eins zwei', LOOK)}{'<w:sdt/>' * 9}</w:p>")),
        (read_odt, odt(OF_ODT)),
    ],
    ids=["one link", "many links", "a look", "text between", "odt"],
)
def test_what_would_be_written_too_often_is_refused(monkeypatch, read, content):
    """Each break inside of a link repeats the link, and each in a run its look: a kilobyte would take gigabytes."""
    assert read(content).blocks
    monkeypatch.setattr("nmt.documents.office.MAX_REPEATED", 10_000)
    with pytest.raises(
        DataError, match=r"^file: breaks and looks of text that repeat at most 10000 bytes of XML"
    ):
        read(content)


def test_what_is_written_as_often_as_it_stood_there_is_not_counted(monkeypatch):
    monkeypatch.setattr("nmt.documents.office.MAX_REPEATED", 10_000)  # of 100,000 in all looks
    text = "".join(run(f"eins{i} ", LOOK) + run("zwei ", "<w:rPr><w:i/></w:rPr>") for i in range(50))
    assert len(read_docx(docx(f"<w:p>{text}{LINK.format(run('drei'))}</w:p>")).blocks) == 1


def test_what_is_nested_too_deep_is_refused(translate):
    def nested(depth):
        return docx(f"<w:p>{depth * '<w:ins>'}{run('eins')}{depth * '</w:ins>'}</w:p>")

    assert b"EINS" in member(translate(read_docx(nested(50))), "word/document.xml")
    with pytest.raises(DataError, match="at most 50 elements of a paragraph inside each other are needed"):
        read_docx(nested(51))


def test_unused_namespaces_and_many_texts_take_little_time():
    """Both take seconds; a reader that repeats all namespaces at each run, or all text at each text, takes minutes."""
    names = " ".join(f'xmlns:n{i}="urn:n{i}"' for i in range(4000))
    look = '<w:rPr><w:i/><n7:x n8:y="1"/></w:rPr>'
    text = f"<w:p><w:hyperlink r:id='r1'>{run('eins')}</w:hyperlink>{run('zwei', look)}</w:p>" * 3000
    xml = f'<w:document xmlns:w="{W}" xmlns:r="urn:r" {names}><w:body>{text}</w:body></w:document>'
    document = read_docx(archive(**{"word/document.xml": xml}))
    assert len(document.blocks) == 3000
    written = document.write([[line[0], replace(line[1], content=["drei"])] for line in document.blocks])
    found = member(written, "word/document.xml").decode()
    assert found.count(f'<w:r>{look}<w:t xml:space="preserve">drei</w:t></w:r>') == 3000
    assert found.count('<w:hyperlink r:id="r1"><w:r><w:t xml:space="preserve">eins</w:t>') == 3000
    assert found.count("xmlns:") == xml.count("xmlns:")
    texts = f"<w:t>{200 * 'a'}</w:t>" * 100_000
    document = read_docx(docx(f"<w:p><w:r>{texts}</w:r></w:p>"))
    assert [list(map(len, line)) for line in document.blocks] == [[200 * 100_000]]


def test_namespaces_of_odt_are_declared_once():
    names = " ".join(f'xmlns:n{i}="urn:n{i}"' for i in range(2000))
    text = "<t:p>eins<t:span n7:x='1'>zwei</t:span></t:p>" * 2000
    xml = member(odt(text), "content.xml").decode().replace('xmlns:x="urn:x"', names)
    document = read_odt(archive(**{"content.xml": xml}))
    written = document.write([["drei", line[1]] for line in document.blocks])
    found = member(written, "content.xml").decode()
    assert found.count('<t:p>drei<t:span n7:x="1">zwei</t:span></t:p>') == 2000
    assert found.count("xmlns:") == xml.count("xmlns:")

"""DOCX and ODT files made by hand, and what is in them."""

import io
import re
import zipfile

from lxml import etree

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
T = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"


def archive(**files):
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return output.getvalue()


def docx(body, **others):
    document = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<w:document xmlns:w="{W}" xmlns:r="urn:r" xmlns:mc="urn:mc"><w:body>{body}<w:sectPr/></w:body></w:document>'
    return archive(
        **{"[Content_Types].xml": "<Types/>", "word/document.xml": document, "word/media/a.png": b"\x89PNG\0"}
        | others
    )


def odt(body):
    content = f'<?xml version="1.0" encoding="UTF-8"?>\n<o:document-content xmlns:o="{OFFICE}" xmlns:t="{T}" xmlns:x="urn:x"><o:body><o:text>{body}</o:text></o:body></o:document-content>'
    return archive(**{"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def run(text, look="", space=""):
    return f"<w:r>{look}<w:t{space}>{text}</w:t></w:r>"


def member(content, name):
    with zipfile.ZipFile(io.BytesIO(content)) as read:
        return read.read(name)


def body(content, name="word/document.xml"):
    """Return the XML of a document without `xml:space` and without declarations of namespaces."""
    text = etree.tostring(etree.fromstring(member(content, name)), encoding="unicode")
    return re.sub(r' xml:space="preserve"| xmlns:\w+="[^"]*"', "", text)

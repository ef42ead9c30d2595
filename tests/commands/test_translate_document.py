"""`nmt translate` of files with markup: their lines are translated as any others, and all else stays."""

import io
import zipfile

import pytest

from nmt.documents.document import lines_of
from nmt.documents.formats import read_document

SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Der Hund schläft</i>
und das Kind liest.

2
00:00:03,000 --> 00:00:04,500
Die Lehrerin kauft ein Buch.
"""
HTML = (
    '<html><body class="a">\n<p>Der <b>kleine Hund</b> schläft.</p><hr><p>Das Kind liest.</p></body></html>'
)
MARKDOWN = "# Der Hund\n\nDas *Kind* liest.\n\n```\nwhile True: pass\n```\n"
WORD = (
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>'
    "Der Hund schläft.</w:t></w:r></w:p></w:body></w:document>"
)


def docx():
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as made:
        made.writestr("word/document.xml", WORD)
        made.writestr("word/media/dog.png", b"\x89PNG\0")
    return output.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "stays"),
    [
        ("film.srt", SRT.encode(), [b"00:00:01,000 --> 00:00:02,500\n", b"<i>", b"</i>"]),
        ("Page.HTML", HTML.encode(), [b'<html><body class="a">\n<p>', b"<b>", b"</b>", b"<hr>", b"</body></html>"]),
        ("read.md", MARKDOWN.encode(), [b"# ", b"\n\n```\nwhile True: pass\n```\n"]),
        ("letter.docx", docx(), [b"word/media/dog.png", b"\x89PNG\0"]),
    ],
)  # fmt: skip
def test_lines_of_a_document_are_translated_as_others_and_the_rest_stays(
    nmt, trained_run, tmp_path, name, content, stays
):
    (tmp_path / name).write_bytes(content)
    translate = ("translate", f"run={trained_run}", "precision=float32", "decoding=greedy")
    suffix = "." + name.lower().partition(".")[2]
    lines = lines_of(read_document(suffix, content))
    as_text = nmt(*translate, stdin="".join(f"{line}\n" for line in lines).encode()).stdout.decode()
    done = nmt(*translate, f"input={name}", "output=out")
    found = (tmp_path / "out").read_bytes()
    assert [line.split() for line in lines_of(read_document(suffix, found))] == [
        line.split() for line in as_text.split("\n")[:-1]
    ]
    assert all(part in found for part in stays)
    assert done.stderr.decode().endswith(f"out: {len(lines)} lines of text\n")
    assert nmt(*translate, f"input={name}").stdout == found
    again = nmt(*translate, f"input={name}", "output=out", code=2).stderr
    assert again.startswith(b"nmt: output: a new file is needed")


def test_standard_input_is_lines_whatever_it_holds(nmt, trained_run):
    done = nmt("translate", f"run={trained_run}", stdin=HTML.encode())
    assert done.stdout.count(b"\n") == HTML.count("\n") + 1


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        (
            "format=jsonl",
            "format: text is needed with a document (.html), which is translated as a whole; got jsonl",
        ),
        ("output=out resume=true", "resume: false is needed with a document (.html)"),
        ("output=out shard=1/2", "shard: null is needed with a document (.html)"),
        ("prefix=page.html", "prefix: null is needed with a document (.html)"),
        ("encoding=latin-1", "encoding: utf-8 is needed with a document (.html)"),
        ("input=none.srt", "input: no such file: none.srt"),
        ("input=none.docx", "input: no such file: none.docx"),
        (
            "input=no.docx",
            "input: an undamaged archive with word/document.xml is needed; got another file: no.docx",
        ),
        (
            "input=no.srt",
            "input: subtitles with times, as 00:00:01,000 --> 00:00:02,000, are needed; got none: no.srt",
        ),
    ],
)
def test_what_only_lines_have_and_what_is_no_document_is_refused_in_a_line(
    main, trained_run, tmp_path, monkeypatch, overrides, problem
):
    monkeypatch.chdir(tmp_path)
    for name in ("page.html", "no.docx", "no.srt"):
        (tmp_path / name).write_text(HTML)
    files = {path.name for path in tmp_path.iterdir()}
    code, out, errors = main("translate", f"run={trained_run}", "input=page.html", *overrides.split(" "))
    assert (code, out) == (2, "")
    assert errors.startswith(f"nmt: {problem}")
    assert errors.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == files

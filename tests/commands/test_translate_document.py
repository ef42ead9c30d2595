"""`nmt translate` of files with markup: their lines are translated as any others, and all else stays."""

import io
import os
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from command_line import run_command

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
    number = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    assert done.stderr.decode().endswith(f"out: a document with {number} of text\n")
    assert nmt(*translate, f"input={name}").stdout == found
    again = nmt(*translate, f"input={name}", "output=out", code=2).stderr
    assert again.startswith(b"nmt: output: a new file is needed")


def test_markdown_without_its_library_names_the_extra(tmp_path):
    """Run in a process of its own: one that has imported the parser keeps it."""
    (tmp_path / "read.md").write_text(MARKDOWN)
    program = "import sys; sys.modules['markdown_it'] = None; from nmt.cli.main import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "translate", "run=none", "input=read.md"],
        cwd=tmp_path, capture_output=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.stderr.startswith(b"nmt: input: the extra `serve` is needed: pip install 'nmt[serve]'")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)


def test_a_line_without_a_word_stays(nmt, trained_run, tmp_path):
    (tmp_path / "read.html").write_text("<p>✅</p><p>Der Hund schläft.</p><p>\xa0</p>")
    found = nmt("translate", f"run={trained_run}", "input=read.html").stdout.decode()
    assert found.startswith("<p>✅</p><p>")
    assert found.endswith("</p><p>\xa0</p>")


def test_standard_input_is_lines_whatever_it_holds(nmt, trained_run):
    done = nmt("translate", f"run={trained_run}", stdin=HTML.encode())
    assert done.stdout.count(b"\n") == HTML.count("\n") + 1


def test_an_output_that_is_a_pipe_or_a_link_is_written_into(trained_run, tmp_path):
    (tmp_path / "page.html").write_text(HTML)
    (tmp_path / "old.html").write_text("old")
    (tmp_path / "old.html").chmod(0o600)
    (tmp_path / "link.html").symlink_to("old.html")
    os.mkfifo(tmp_path / "pipe")
    translate = ["translate", f"run={trained_run}", "input=page.html"]
    with ThreadPoolExecutor() as pool:
        reading = pool.submit((tmp_path / "pipe").read_bytes)
        assert run_command([*translate, "output=pipe"], tmp_path).returncode == 0
        through_pipe = reading.result(60)
    assert (tmp_path / "pipe").is_fifo()
    assert run_command([*translate, "output=link.html", "overwrite=true"], tmp_path).returncode == 0
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "old.html").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "old.html").read_bytes() == through_pipe
    assert b"</body></html>" in through_pipe


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="has no place that is always full")
def test_a_full_place_and_a_failure_leave_a_line_and_no_half_of_a_document(nmt, trained_run, tmp_path):
    (tmp_path / "page.html").write_text(HTML)
    translate = ("translate", f"run={trained_run}", "input=page.html")
    done = nmt(*translate, "output=/dev/full", code=2)
    assert done.stderr == (
        b"nmt: output: a place that takes all lines is needed; got /dev/full: No space left on device\n"
    )
    nmt(*translate, "output=out", "checkpoint=step-99", code=2)
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").write_text("old")
    nmt(*translate, "output=out", "checkpoint=step-99", "overwrite=true", code=2)
    assert (tmp_path / "out").read_text() == "old"


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
        ("num_hypotheses=2 format=jsonl", "num_hypotheses: 1 is needed with a document (.html)"),
        ("input=film.srt.gz", "input: a document (.srt) that is not compressed is needed; got film.srt.gz"),
        (
            "output=none/out.html",
            "output: a place that takes all lines is needed; got none/out.html: No such file",
        ),
        (
            "encoding=latin-1",
            "encoding: utf-8 is needed with a document (.html), which is translated as a whole; got iso8859-1; "
            "`iconv -f iso8859-1 -t utf-8` makes it so",
        ),
        ("input=words.po", "input: lines, or a document (.txt, .srt, "),
        (
            "input=slides.pptx",
            "input: a file of lines, or .docx or .odt to translate, is needed; got slides.pptx",
        ),
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
    for name in ("page.html", "no.docx", "no.srt", "film.srt.gz", "slides.pptx"):
        (tmp_path / name).write_text(HTML)
    files = {path.name for path in tmp_path.iterdir()}
    code, out, errors = main("translate", f"run={trained_run}", "input=page.html", *overrides.split(" "))
    assert (code, out) == (2, "")
    assert errors.startswith(f"nmt: {problem}")
    assert errors.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == files

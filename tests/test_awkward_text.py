"""Awkward text through the real command line: what is expected of each line, and of each file."""

import gzip
import json
import os
import subprocess
import sys
import threading
from typing import NamedTuple

import pytest

from nmt.evaluation.plain_text import find_mark

# Two lines whose translations are known follow each awkward line, so that a line that became two is noticed.
AFTER = (b"", b"Das ist ein Haus.")
LINES = {
    # name: (line, whether it is blank, whether it is UTF-8)
    "vertical tab": (b"eins\x0bzwei", False, True),
    "form feed": (b"eins\x0czwei", False, True),
    "carriage return": (b"eins\rzwei", False, True),
    "carriage returns at the end": (b"eins\r\r", False, True),
    "file, group, record and unit separators": (b"eins\x1czwei\x1ddrei\x1evier\x1ff", False, True),
    "next line": ("eins\u0085zwei".encode(), False, True),
    "line separator": ("eins\u2028zwei".encode(), False, True),
    "paragraph separator": ("eins\u2029zwei".encode(), False, True),
    "nothing": (b"", True, True),
    "spaces": (b"   \t ", True, True),
    "ideographic space": ("\u3000".encode(), True, True),
    "line separators alone": ("\u2028\u2029\u0085\x0b\x0c\x1c".encode(), True, True),
    "NUL alone": (b"\0", True, True),
    "NUL between words": (b"eins\0zwei", False, True),
    "byte order mark inside": ("eins\ufeffzwei".encode(), False, True),
    "zero-width space alone": ("\u200b".encode(), True, True),
    "surrogate as bytes": (b"eins \xed\xa0\x80 zwei", False, False),
    "half a letter": ("schläft".encode()[:5], False, False),
    "UTF-16": ("Das Haus".encode("utf-16"), False, False),
    "Latin-1": ("schläft".encode("latin-1"), False, False),
    "highest code point": ("\U0010ffff".encode(), False, True),
    "right to left": ("הכלב ישן \u202e قطة \u202c".encode(), False, True),
    "combining marks": (("a" + "\u0301\u0323" * 50).encode(), False, True),
    "joined emoji": ("👩‍👩‍👧 🏴󠁧󠁢󠁳󠁣󠁴󠁿".encode(), False, True),
    "only punctuation": (b"?!... -- ,;: \"''", False, True),
    "what looks like special tokens": (b"<s> </s> <pad> <unk> \xe2\x96\x81", False, True),
    "100,000 characters of one word": (b"x" * 100_000, False, True),
    "100,000 characters of many words": (b"das Haus " * 11_112, False, True),
    "100,000 spaces": (b" " * 100_000, True, True),
}  # fmt: skip


@pytest.fixture(scope="module")
def translated(trained_run):
    """Translate all awkward lines at once; return standard output, and standard error as text."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "nmt",
            "translate",
            f"run={trained_run}",
            "precision=float32",
            "decoding.min_length=1",
        ],
        input=b"".join(line + b"\n" for awkward, _, _ in LINES.values() for line in (awkward, *AFTER)),
        capture_output=True,
        check=True,
    )
    return done.stdout, done.stderr.decode()


@pytest.mark.parametrize("name", LINES)
def test_a_line_stays_one_line_in_its_place(translated, name):
    _, is_blank, _ = LINES[name]
    out = translated[0].split(b"\n")
    assert len(out) == 3 * len(LINES) + 1
    index = 3 * list(LINES).index(name)
    line, blank, known = out[index : index + 3]
    assert (line.strip() == b"") == is_blank
    assert blank == b""
    assert known == out[2] != b""


def test_what_was_cut_or_replaced_is_counted(translated):
    names = list(LINES)
    broken = [3 * names.index(name) + 1 for name in names if not LINES[name][2]]
    long = [3 * names.index(name) + 1 for name in names if name.startswith("100,000 characters")]
    assert translated[1].splitlines() == [
        "4 lines were not UTF-8: lines {}, {}, {} and {}; what could not be read was replaced by U+FFFD".format(
            *broken
        ),
        "2 lines were longer than usual, and translated in parts: lines {} and {}".format(*long),
    ]


class Case(NamedTuple):
    """A whole input: its name and content, and how many lines come out, or the error message instead."""

    name: str
    content: bytes
    num_lines: int = 0
    error: str = ""


MANY = b"".join(b"das Haus %d\n" % number for number in range(3000))
INPUTS = [
    Case("nothing", b"", 0),
    Case("no line end", b"Haus", 1),
    Case("a million blank lines", b"\n" * 1_000_000, 1_000_000),
    Case("members.gz", gzip.compress(b"Haus\nHa") + gzip.compress(b"us\n"), 2),
    Case("cut.gz", gzip.compress(MANY)[:-40], error="input: a readable file is needed; got cut.gz: "),
]  # fmt: skip


@pytest.mark.parametrize("case", INPUTS, ids=lambda case: case.name)
def test_a_whole_input(nmt, trained_run, tmp_path, case):
    (tmp_path / case.name).write_bytes(case.content)
    done = nmt(
        "translate", f"run={trained_run}", f"input={case.name}", "output=out", code=2 if case.error else 0
    )
    if case.error:
        assert done.stderr.decode().startswith(f"nmt: {case.error}")
        assert done.stderr.count(b"\n") == 1
        assert not (tmp_path / "out").exists()
    else:
        assert (tmp_path / "out").read_bytes().count(b"\n") == case.num_lines
        assert (tmp_path / "out").read_bytes().count(b"\n\n") == max(0, case.content.count(b"\n\n"))


def feed(path, content):
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()


def test_pipes_by_name_are_read(nmt, trained_run, tmp_path):
    feed(tmp_path / "text", b"Haus\n\nBrot")
    feed(tmp_path / "text.gz", gzip.compress(b"Haus\n\nBrot"))
    plain = nmt("translate", f"run={trained_run}", "input=text").stdout
    assert plain.count(b"\n") == 3
    assert nmt("translate", f"run={trained_run}", "input=text.gz").stdout == plain


def test_scores_are_of_as_many_lines(nmt, trained_run, tmp_path):
    readable = [line for line, _, is_utf8 in LINES.values() if is_utf8 and not find_mark([line.decode()])]
    content = b"".join(line[:2000] + b"\n" for line in readable)
    (tmp_path / "text").write_bytes(content)
    feed(tmp_path / "pipe", content)
    nmt("evaluate", "hypothesis=pipe", "reference=text", "json=files.json")
    nmt("evaluate", f"run={trained_run}", "source=text", "reference=text", "json=run.json")
    for name in ("files.json", "run.json"):
        assert json.loads((tmp_path / name).read_bytes())["num_lines"] == len(readable)
    assert json.loads((tmp_path / "files.json").read_bytes())["bleu"] == pytest.approx(100)


def test_what_cannot_be_scored_is_named(nmt, tmp_path):
    (tmp_path / "bad").write_bytes(b"gut\n\n\xed\xa0\x80\n")
    (tmp_path / "good").write_bytes(b"gut\n\ngut\n")
    done = nmt("evaluate", "hypothesis=bad", "reference=good", code=2)
    assert done.stderr == (
        b"nmt: hypothesis: UTF-8 text is needed; got byte 0xed in bad, line 3; "
        b"encoding=NAME reads text of another encoding\n"
    )

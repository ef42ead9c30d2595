"""Text that is not UTF-8: refused by name, or read as what it is."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.cli.compose import compose
from nmt.data import lines as module
from nmt.data.encoding import find_wide, is_mostly_broken
from nmt.data.lines import read_lines
from nmt.data.sources import load_corpus
from nmt.errors import DataError, SettingsError

GERMAN = ["Die Bären schlafen.", "", "Der Käse ist für Jürgen.", "Ja."]
WIDE = {"utf-16": "utf-16", "utf-16-le": "utf-16-le", "utf-16-be": "utf-16-be", "utf-32": "utf-32"}
ALPHABETS = {
    "utf-16": "aä漢🙂\u2028\u0a0d\u010a\r", "utf-16-le": "aä漢🙂\u0a00", "utf-32": "aä漢🙂", "utf-8-sig": "aä漢🙂",
    "latin-1": "aäß\x85\xa0", "cp1251": "aбвг", "shift_jis": "a日本語ソ", "UTF8": "aä漢🙂",
}  # fmt: skip


@pytest.mark.parametrize("encoding", ALPHABETS)
@given(data=st.data(), size=st.integers(1, 7))
def test_lines_are_those_of_the_same_text_in_utf8(tmp_path_factory, encoding, data, size):
    text = data.draw(st.text(ALPHABETS[encoding] + "\n", max_size=20))
    path = tmp_path_factory.mktemp("encoded") / "text.gz"
    path.write_bytes(gzip.compress(text.encode(encoding)))
    *ended, last = text.split("\n")
    expected = [line.removesuffix("\r") for line in ended] + ([last] if last else [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_SIZE", size)
        assert read_lines(str(path), "key", encoding) == expected


@pytest.mark.parametrize("text", ["\n".join(GERMAN), "Дом стоит на горе, и в нём живёт кот.\n"])
@pytest.mark.parametrize("encoding", WIDE)
def test_text_of_two_and_four_bytes_is_refused_by_name(tmp_path, encoding, text):
    (tmp_path / "text").write_bytes(text.encode(encoding))
    with pytest.raises(DataError) as refused:
        read_lines(str(tmp_path / "text"), "data.train.source", "utf-8")
    assert str(refused.value) == (
        f"data.train.source: UTF-8 text is needed; got {encoding.upper()} in {tmp_path / 'text'}; "
        f"data.encoding={encoding} reads text of another encoding"
    )
    assert read_lines(str(tmp_path / "text"), "data.train.source", encoding) == text.removesuffix("\n").split(
        "\n"
    )


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8")))
def test_no_utf8_is_taken_for_another_encoding(text):
    content = text.encode()
    assert find_wide(content) is None
    assert not is_mostly_broken(content.split(b"\n"))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("\n".join(GERMAN).encode("latin-1"), True),
        ("Дом стоит на горе.\nКот спит.".encode("cp1251"), True),
        ("日本語です".encode("shift_jis"), True),
        ("\n".join(GERMAN).encode() + "\nKäse\n".encode("latin-1"), False),
        (b"a house\n" * 30 + "a caf\xe9\n".encode("latin-1"), False),
        ("\n".join(GERMAN * 5).encode() + b"\n" + "\n".join(GERMAN * 5).encode("latin-1"), True),
        ("\ufffd\n".encode() * 9, False),
    ],
    ids=[
        "German",
        "Russian",
        "Japanese",
        "one line of four",
        "one letter in thirty lines",
        "half",
        "U+FFFD itself",
    ],
)
def test_a_few_broken_letters_are_no_other_encoding(content, expected):
    assert is_mostly_broken(content.split(b"\n")) == expected


@pytest.mark.parametrize("encoding", ["utf-16-le", "shift_jis", "ascii"])
def test_what_is_broken_in_another_encoding_is_named(tmp_path, encoding):
    broken = b"\x00\xd8" if encoding == "utf-16-le" else b"\x81\xff"
    (tmp_path / "text").write_bytes("eins\nzwei".encode(encoding) + broken + "\ndrei".encode(encoding))
    with pytest.raises(
        DataError, match=rf"^key: {encoding.upper()} text is needed; got .* in .*text, line 2;"
    ):
        read_lines(str(tmp_path / "text"), "key", encoding)


@pytest.mark.parametrize("name", ["hex", "rot13", "zlib", "undefined", "utf-17", "", "a\0b"])
def test_only_encodings_of_text_are_taken(name):
    values = compose("translate", ["run=x"], None)
    values.values["encoding"] = name
    with pytest.raises(SettingsError, match=r"^encoding: utf-8, .* is needed; got"):
        values.settings()


@pytest.mark.parametrize("kind", ["files", "table"])
def test_a_corpus_of_another_encoding_is_the_same_corpus(tmp_path, data_settings, kind):
    found = []
    for encoding in ("utf-8", "utf-16", "latin-1"):
        rows = [f"{line}\tzu {line}" for line in GERMAN]
        names = {
            "s.txt": GERMAN,
            "t.txt": [f"zu {line}" for line in GERMAN],
            "all.tsv": ["source\ttarget", *rows],
        }
        for name, lines in names.items():
            (tmp_path / name).write_bytes("\n".join(lines).encode(encoding))
        files = [
            f"{split}.{side}={tmp_path}/{side[0]}.txt"
            for split in ("train", "validation")
            for side in ("source", "target")
        ]
        tables = [f"{split}={tmp_path}/all.tsv" for split in ("train", "validation")]
        typed = files if kind == "files" else tables
        found.append(load_corpus(data_settings(kind, *typed, f"encoding={encoding}")))
    assert found[0].train.source == GERMAN
    assert found[1] == found[2] == found[0]


def test_another_encoding_is_refused_and_translated_as_what_it_is(nmt, trained_run, tmp_path):
    content = "Das Mädchen schläft.\n\nDer Bär ist für Jürgen.\n"
    for encoding in ("utf-8", "utf-16", "latin-1"):
        (tmp_path / encoding).write_bytes(content.encode(encoding))
    (tmp_path / "precious").write_bytes(b"precious\n")
    translate = ("translate", f"run={trained_run}", "precision=float32")
    whole = nmt(*translate, "input=utf-8").stdout
    for encoding, got in (
        ("utf-16", "UTF-16 in utf-16"),
        ("latin-1", "much that is not, in the first 3 lines"),
    ):
        advised = encoding if encoding == "utf-16" else "NAME"
        message = f"nmt: input: UTF-8 text is needed; got {got}; encoding={advised} reads text of another encoding\n"
        for output in (("output=precious", "overwrite=true"), ("output=new",), ()):
            done = nmt(*translate, f"input={encoding}", *output, code=2)
            assert (done.stdout, done.stderr.decode()) == (b"", message)
        assert (tmp_path / "precious").read_bytes() == b"precious\n"
        assert not (tmp_path / "new").exists()
        assert nmt(*translate, f"encoding={encoding}", stdin=content.encode(encoding)).stdout == whole


def test_files_of_another_encoding_are_scored_alike(nmt, tmp_path):
    for name, encoding in (("hypothesis", "utf-16"), ("reference", "utf-16"), ("plain", "utf-8")):
        (tmp_path / name).write_bytes("\n".join(GERMAN).encode(encoding))
    one = nmt("evaluate", "hypothesis=hypothesis", "reference=reference", "encoding=utf-16")
    other = nmt("evaluate", "hypothesis=plain", "reference=plain")
    assert one.stdout == other.stdout
    (tmp_path / "no_mark").write_bytes("\n".join(GERMAN).encode("utf-16-le"))
    done = nmt("evaluate", "hypothesis=no_mark", "reference=reference", "encoding=utf-16", code=2)
    assert (
        b"hypothesis: text in utf-16 is needed, and utf-16-le or utf-16-be for text without a mark"
        in done.stderr
    )
    assert done.stderr.count(b"\n") == 1
    done = nmt("evaluate", "hypothesis=no_mark", "reference=reference", "encoding=idna", code=2)
    assert (
        b"encoding: utf-8, utf-16, latin-1 or another encoding of Python's is needed; got idna" in done.stderr
    )
    done = nmt("evaluate", "hypothesis=hypothesis", "reference=plain", code=2)
    assert b"got UTF-16 in hypothesis; encoding=utf-16 reads" in done.stderr

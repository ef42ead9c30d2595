"""Shards of a file are translated apart and joined: as many lines as there were, each in its place."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.commands.join import count_lines
from nmt.data.lines import follow_lines, read_raw_lines
from nmt.data.shards import Shard

SENTENCES = [
    "Das ist ein Haus.",
    "",
    "Wir lesen ein Buch, und der Hund liest mit.",
    "Brot.",
    "Schöne Bäume.",
] * 3
TRANSLATE = ("translate", "input=in.de", "output=out.en", "precision=float32")


@given(
    content=st.lists(
        st.sampled_from([b"a", b"\n", b"\r\n", b"\xef\xbb\xbf", "ä".encode(), b"bcdefgh"]), max_size=40
    ),
    count=st.integers(1, 9),
)
def test_every_line_belongs_to_one_shard(tmp_path_factory, content, count):
    path = tmp_path_factory.mktemp("cut") / "text"
    path.write_bytes(b"".join(content))
    shards = [Shard(number, count) for number in range(1, count + 1)]
    spans = [shard.span(str(path), "input") for shard in shards]
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    parts = [list(follow_lines(path, "input", span=span)) for span in spans]
    assert [line for part in parts for line in part] == list(read_raw_lines(path, "input"))
    assert [sum(count_lines(str(path), *span)) for span in spans] == [len(part) for part in parts]


def test_shards_are_about_as_long(tmp_path):
    (tmp_path / "text").write_bytes(b"".join(b"%d\n" % (number % 7) for number in range(1000)))
    sizes = [
        end - start for start, end in (Shard(n, 8).span(str(tmp_path / "text"), "input") for n in range(1, 9))
    ]
    assert max(sizes) - min(sizes) <= 2


@pytest.fixture
def sharded(nmt, trained_run, tmp_path):
    """Return a function that translates one shard of a text in the folder of the test."""
    (tmp_path / "in.de").write_text("".join(f"{line}\n" for line in SENTENCES), encoding="utf-8")

    def translate(*arguments, code=0):
        return nmt(*TRANSLATE, f"run={trained_run}", *arguments, code=code)

    return translate


def test_joined_shards_are_the_translation_of_the_whole(sharded, nmt, tmp_path):
    sharded()
    whole = (tmp_path / "out.en").read_bytes()
    for number in (2, 3, 1):
        sharded(f"shard={number}/3")
    joined = nmt("join", "input=in.de", "output=out.en", "shards=3", "overwrite=true")
    assert (tmp_path / "out.en").read_bytes() == whole
    assert joined.stderr == b"out.en: 15 lines of 3 shards\n"


def test_what_lacks_a_line_is_not_joined_and_goes_on(sharded, nmt, tmp_path):
    sharded("shard=1/2")
    sharded("shard=2/2")
    part = tmp_path / "out.en.2-of-2"
    whole = part.read_bytes()
    assert whole.endswith(b"\n")
    assert len(whole) > 1
    part.write_bytes(whole[:-1])  # as a full disk may leave it
    (tmp_path / "out.en.1-of-2").rename(tmp_path / "kept")
    refused = nmt("join", "input=in.de", "output=out.en", "shards=2", code=2).stderr.decode().split("\n")
    assert "lines are needed of shard 1/2; got 0 in out.en.1-of-2" in refused[0]
    assert f"shard 2/2; got {whole.count(10) - 1} in" in refused[1]
    assert "its command with shard=2/2 resume=true goes on with it" in refused[1]
    assert not (tmp_path / "out.en").exists()
    (tmp_path / "kept").rename(tmp_path / "out.en.1-of-2")
    sharded("shard=2/2", "resume=true")
    assert part.read_bytes() == whole
    nmt("join", "input=in.de", "output=out.en", "shards=2")
    assert (tmp_path / "out.en").read_bytes().count(b"\n") == len(SENTENCES)


def test_of_many_unfinished_shards_the_first_are_named(nmt, tmp_path):
    (tmp_path / "in.de").write_text("Brot.\n" * 100, encoding="utf-8")
    refused = (
        nmt("join", "input=in.de", "output=out.en", "shards=50", code=2).stderr.decode().strip().split("\n")
    )
    assert len(refused) == 21
    assert refused[-1] == "nmt: shards: 30 more are not whole"


def test_more_shards_than_lines(sharded, nmt, tmp_path):
    (tmp_path / "in.de").write_bytes(b"Brot.\nDas ist ein Haus.")
    (tmp_path / "begun").write_text("\nThis\n")
    for number in range(1, 4):
        sharded(f"shard={number}/4", "prefix=begun")
    refused = nmt("join", "input=in.de", "output=out.en", "shards=4", code=2).stderr.decode()
    assert (
        "shards: 0 lines are needed of shard 4/4; got 0 in out.en.4-of-4, which is not there; its command"
        in refused
    )
    sharded("shard=4/4", "prefix=begun")
    nmt("join", "input=in.de", "output=out.en", "shards=4")
    lines = (tmp_path / "out.en").read_text().split("\n")
    assert len(lines) == 3
    assert lines[1].startswith("This")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["shard=0/4"], "shard: a part of a file, such as 3/8, the third of eight"),
        (["shard=5/4"], "shard: a part of a file, such as 3/8, the third of eight"),
        (["shard=2"], "shard: a part of a file, such as 3/8, the third of eight"),
        (["shard=1/2", "input=null"], "input: a file is needed with shard=1/2; got null"),
        (["shard=1/2", "output=null"], "output: a file is needed with shard=1/2; got null"),
        (["shard=1/2", "encoding=utf-16"], "encoding: utf-8 is needed with shard=1/2; got utf-16"),
        (["shard=1/2", "input=in.de.gz"], "input: a file that is not compressed is needed for shard=1/2"),
    ],
)
def test_what_cannot_be_cut_is_refused(sharded, tmp_path, overrides, message):
    (tmp_path / "in.de.gz").write_bytes(gzip.compress(b"Brot.\n"))
    refused = sharded(*overrides, code=2)
    assert message in refused.stderr.decode()
    assert len(refused.stderr.decode().strip().split("\n")) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.de", "in.de.gz"]


def test_the_text_itself_is_never_replaced(nmt, tmp_path):
    (tmp_path / "in.de").write_text("eins\n")
    for number in (1, 2):
        (tmp_path / f"in.de.{number}-of-2").write_text("one\n" * (2 - number))
    done = nmt("join", "input=in.de", "output=./in.de", "shards=2", "overwrite=true", code=2)
    assert done.stderr == b"nmt: output: another file than the input is needed; got ./in.de\n"
    assert (tmp_path / "in.de").read_text() == "eins\n"

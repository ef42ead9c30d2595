"""`nmt shortlist`, and translating with what it writes, through the real command line."""

import json
import re
import shutil

import pytest
from german import GERMAN


@pytest.fixture
def run(trained_run, tmp_path):
    """Return a copy of a run that a test may write into."""
    shutil.copytree(trained_run, tmp_path / "mine")
    return tmp_path / "mine"


def test_a_shortlist_is_learned_and_translated_with(nmt, run, source):
    told = nmt("shortlist", "run=mine", "num_targets=1", "num_frequent=2", "max_pairs=110").stdout.decode()
    assert re.match(r"pairs        100  of training text .*, at even distances of 300\n", told)
    assert told.endswith(
        "\nmine/shortlist.txt is written; nmt translate run=mine decoding.shortlist=true uses it\n"
    )
    told_elsewhere = nmt("shortlist", "run=mine", "output=other.txt", "num_targets=1").stdout.decode()
    assert "\nother.txt is written; as mine/shortlist.txt, nmt translate run=mine " in told_elsewhere
    sizes = [int(size) for size in re.findall(r"size +(\d+)  of 200 target tokens", told)]
    shares = [float(share) for share in re.findall(r"coverage +([0-9.]+)%", told)]
    assert 64 <= sizes[0] < sizes[1] <= 200
    assert 0 < shares[0] < shares[1] <= 100
    lines = (run / "shortlist.txt").read_bytes().decode().split("\n")[:-1]
    assert lines[0].startswith("\t")
    assert lines[0].count(" ") == 1
    assert 50 < len(lines) < 200
    assert all(re.fullmatch("[^\t ]+\t[^\t ]+", line) for line in lines[1:])
    for kind in ("greedy", "beam", "sampling", "mbr"):
        given = f"decoding={kind}", "decoding.shortlist=true", "decoding.min_length=3"
        assert nmt("translate", "run=mine", "input=in.de", *given).stdout.count(b"\n") == len(GERMAN)


def test_log_probabilities_are_those_of_the_whole_model(nmt, run, source):
    """A shortlist restricts the search, and does not change the log-probability of a translation."""
    nmt("shortlist", "run=mine", "num_targets=1", "num_frequent=1")
    given = "run=mine", "input=in.de", "format=jsonl", "precision=float32", "prefix=in.de"
    found = [
        [json.loads(line)["hypotheses"][0] for line in nmt("translate", *given, *more).stdout.splitlines()]
        for more in ((), ("decoding.shortlist=true",))
    ]
    both = [pair for pair in zip(*found, strict=True) if pair[0]["tokens"] == pair[1]["tokens"]]
    assert len(both) > 1
    for one, other in both:
        assert one["log_prob"] == pytest.approx(other["log_prob"], abs=1e-4)


def test_what_is_missing_there_or_damaged_is_said_in_one_line(nmt, run, source):
    def refused(*arguments):
        done = nmt(*arguments, code=2)
        assert done.stdout == b""
        assert done.stderr.count(b"\n") == 1
        return done.stderr.decode()

    short = "translate", "run=mine", "input=in.de", "decoding.shortlist=true"
    assert refused(*short).startswith(
        "nmt: decoding.shortlist: false is needed for a run without a shortlist (`nmt sh"
    )
    nmt("shortlist", "run=mine")
    assert "output: a new file is needed, or overwrite=true; got mine/shortlist.txt" in refused(
        "shortlist", "run=mine"
    )
    nmt("shortlist", "run=mine", "output=other.txt", "num_targets=5")
    assert (run / "shortlist.txt").stat().st_size > (run.parent / "other.txt").stat().st_size
    whole = nmt(*short[:3]).stdout
    assert nmt(*short).stdout == whole, "all words of this corpus are likely"
    content = (run / "shortlist.txt").read_bytes()
    (run / "shortlist.txt").write_bytes(content + b"\x1b[2J\ta\n")
    number = content.count(b"\n") + 1
    assert f"got \\x1b[2J, which is none, in line {number} of mine/shortlist.txt" in refused(*short)
    assert nmt(*short[:3]).stdout == whole, "nobody else reads it"
    nmt("shortlist", "run=mine", "overwrite=true")
    assert (run / "shortlist.txt").read_bytes() == content
    assert "decoding.shortlist: false is needed in training" in refused(
        "train", "run=new", "decoding.shortlist=true"
    )


def test_a_run_is_evaluated_with_its_shortlist_and_with_others(nmt, run):
    nmt("shortlist", "run=mine", "num_targets=1", "num_frequent=1")
    given = "evaluate", "run=mine", "precision=float32", "decoding.min_length=5"
    bleus = [
        nmt(*given, *more).stdout
        for more in ((), ("decoding.shortlist=true",), ("decoding.shortlist=true", "ensemble=[mine]"))
    ]
    assert bleus[1] == bleus[2]
    assert all(b"BLEU" in bleu for bleu in bleus)

"""`nmt score`, and what `nmt translate` says in JSON, through the real command line."""

import json
import math

import pytest
from german import GERMAN


def records(done):
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def test_score_says_what_translate_says(nmt, trained_run, source, tmp_path):
    """The prefix leaves no room for more words, and its tokens are those that the tokenizer gives for the text."""
    whole = ["the dog sleeps .", "", "the teacher buys a book .", "a man reads ."]
    (tmp_path / "whole.en").write_text("".join(f"{line}\n" for line in whole), encoding="utf-8")
    run = f"run={trained_run}", "precision=float32"
    only = "prefix=whole.en", "decoding.max_length_ratio=0", "decoding.max_length_extra=1"
    translated = records(nmt("translate", *run, "input=in.de", "format=jsonl", *only))
    scored = records(nmt("score", *run, "source=in.de", "target=whole.en", "format=jsonl"))
    assert [one["line"] for one in scored] == [1, 2, 3, 4]
    for one, other, text in zip(translated, scored, whole, strict=True):
        best = one["hypotheses"][0]
        assert one["source"] == other["source"]
        assert best["text"] == other["text"] == text
        assert other["log_prob"] == pytest.approx(math.fsum(other["token_log_probs"]), abs=1e-4)
        if text:
            assert len(best["tokens"]) > 3
            assert best["tokens"] == other["tokens"]
            assert best["token_log_probs"] == pytest.approx(other["token_log_probs"], abs=1e-4)
    done = nmt("score", *run, "source=in.de", "target=whole.en")
    log_probs = [one["log_prob"] for one in scored]
    assert [float(line) for line in done.stdout.split()] == pytest.approx(log_probs, abs=1e-5)
    mean = math.fsum(log_probs) / sum(len(one["tokens"]) for one in scored)
    assert float(done.stderr.split()[-1]) == pytest.approx(math.exp(-mean), rel=1e-4)
    cut = records(
        nmt("score", *run, "source=in.de", "target=whole.en", "format=jsonl", "decoding.max_source_tokens=2")
    )
    assert cut[0]["log_prob"] != scored[0]["log_prob"], "what is typed counts"
    (tmp_path / "scores").write_text(f"{log_probs[0]:.6f}\n")
    again = nmt(
        "score", *run, "source=in.de", "target=whole.en", "output=scores", "resume=true"
    ).stderr.decode()
    assert again.splitlines()[-1].startswith("the last 4 pairs, "), "a chunk that was not whole is done again"
    assert again.splitlines()[-1].split(", ", 1)[1] == done.stderr.decode().splitlines()[-1].split(", ", 1)[1]


def test_a_translation_is_not_overwritten_by_what_is_said_of_it(nmt, trained_run, source, tmp_path):
    (tmp_path / "out.en").write_text("the dog sleeps .\n")
    score = (
        "score",
        f"run={trained_run}",
        "source=in.de",
        "target=out.en",
        "output=out.en",
        "overwrite=true",
    )
    assert nmt(*score, code=2).stderr.startswith(
        b"nmt: output: another file than the target is needed; got out.en"
    )
    assert (tmp_path / "out.en").read_text() == "the dog sleeps .\n"


def test_what_is_said_in_json_is_what_is_translated(nmt, trained_run, source):
    run = f"run={trained_run}", "precision=float32", "input=in.de"
    plain = nmt("translate", *run).stdout.decode().splitlines()
    found = records(nmt("translate", *run, "format=jsonl", "num_hypotheses=2"))
    assert [one["line"] for one in found] == [1, 2, 3, 4]
    assert [one["source"] for one in found] == GERMAN
    assert [one["hypotheses"][0]["text"] for one in found] == plain
    assert {len(one["hypotheses"]) for one in found if one["source"]} == {2}
    done = nmt("translate", *run, "num_hypotheses=2", code=2)
    assert "format: jsonl is needed with num_hypotheses=2" in done.stderr.decode()


def test_shards_of_scores_are_the_whole(nmt, trained_run, source, tmp_path):
    (tmp_path / "out.en").write_text("the dog\n\na teacher buys a book\nmen\n", encoding="utf-8")
    run = f"run={trained_run}", "precision=float32", "source=in.de", "target=out.en"
    whole = [float(line) for line in nmt("score", *run).stdout.split()]
    for number in (1, 2):
        nmt("score", *run, "output=scores", f"shard={number}/2")
    nmt("join", "input=in.de", "output=scores", "shards=2")
    assert [float(line) for line in (tmp_path / "scores").read_text().split()] == pytest.approx(
        whole, abs=1e-4
    )


def test_files_of_different_lengths_are_refused(nmt, trained_run, source, tmp_path):
    for lines, given in (("a\nb\n", "only 2"), ("a\nb\nc\nd\ne\n", "more than 4")):
        (tmp_path / "out.en").write_text(lines)
        done = nmt("score", f"run={trained_run}", "source=in.de", "target=out.en", code=2)
        assert (
            f"target: out.en: as many lines as the text has are needed; got {given}" in done.stderr.decode()
        )
    command = "score", f"run={trained_run}", "source=in.de", "target=out.en", "output=scores"
    nmt(*command, "shard=1/2")
    done = nmt(*command, "shard=2/2", code=2)  # whose lines are the last
    assert "target: out.en: as many lines as the text has are needed; got more than 4" in done.stderr.decode()


@pytest.mark.parametrize("kind", ["jsonl", "tsv", "parquet"])
def test_a_column_of_a_table_is_translated(nmt, trained_run, source, tmp_path, kind):
    path = tmp_path / f"in.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps({"text": line, "id": 1}) + "\n" for line in GERMAN))
    elif kind == "tsv":
        path.write_text("id\ttext\n" + "".join(f"1\t{line}\n" for line in GERMAN))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({"id": [1] * 4, "text": GERMAN}), path)
    run = f"run={trained_run}", "precision=float32"
    expected = nmt("translate", *run, "input=in.de").stdout
    assert nmt("translate", *run, f"input={path.name}", "column=text").stdout == expected
    done = nmt("translate", *run, f"input={path.name}", "column=texts", code=2)
    assert "texts" in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    refused = nmt("translate", *run, f"input={path.name}", code=2).stderr.decode()
    assert refused == (
        f"nmt: column: the name of a column is needed with a table; got null with {path.name}; "
        "a file of another ending is lines\n"
    )


def test_a_table_without_text_has_as_many_translations_as_rows(nmt, trained_run, tmp_path):
    for content, expected in ("", b""), ('{"text": null}\n{"text": ""}\n', b"\n\n"):
        (tmp_path / "in.jsonl").write_text(content)
        assert nmt("translate", f"run={trained_run}", "input=in.jsonl", "column=text").stdout == expected


def test_translations_begin_with_the_lines_of_a_file(nmt, trained_run, source, tmp_path):
    (tmp_path / "begin.en").write_text("the dog\n\na teacher\n\n")
    out = (
        nmt("translate", f"run={trained_run}", "input=in.de", "prefix=begin.en").stdout.decode().splitlines()
    )
    assert len(out) == 4
    assert out[0].startswith("the dog")
    assert out[2].startswith("a teacher")


def test_an_ensemble_needs_one_vocabulary(nmt, trained_run, source, tiny_training):
    run = f"run={trained_run}", "precision=float32", "input=in.de"
    alone = nmt("translate", *run, "format=jsonl")
    twice = nmt("translate", *run, "format=jsonl", f"ensemble=[{trained_run}]")
    for one, other in zip(records(alone), records(twice), strict=True):
        assert one["hypotheses"][0]["text"] == other["hypotheses"][0]["text"]
    nmt("train", "run=second", *tiny_training("rnn"), "seed=2")
    assert len(records(nmt("translate", *run, "format=jsonl", "ensemble=[second]"))) == 4
    nmt("train", "run=other", *tiny_training("rnn"), "tokenizer.vocabulary_size=150")
    done = nmt("translate", *run, "ensemble=[other]", code=2)
    assert "ensemble: runs with the vocabulary of" in done.stderr.decode()


@pytest.mark.parametrize(
    "search", ["decoding=sampling", "decoding=mbr", "decoding=greedy", "decoding.num_groups=2"]
)
def test_every_search_gives_as_many_lines_twice_the_same(nmt, trained_run, source, search):
    given = "translate", f"run={trained_run}", "input=in.de", search
    out = nmt(*given).stdout
    assert out.count(b"\n") == 4
    assert nmt(*given).stdout == out

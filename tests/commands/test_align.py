"""`nmt align`, and the links that `nmt translate` gives, through the real command line."""

import json

from german import GERMAN

import nmt as package


def test_translate_align_and_python_say_the_same(nmt, trained_run, source, tmp_path):
    run = f"run={trained_run}", "precision=float32"
    translated = nmt("translate", *run, "input=in.de", "format=jsonl").stdout.decode().splitlines()
    best = [json.loads(line)["hypotheses"][0] for line in translated]
    (tmp_path / "out.en").write_text("".join(f"{one['text']}\n" for one in best), encoding="utf-8")
    given = (*run, "source=in.de", "target=out.en")
    lines = nmt("align", *given).stdout.decode().split("\n")
    links = [[tuple(map(int, link.split("-"))) for link in line.split()] for line in lines[:-1]]
    assert len(links) == 4
    assert links[1] == []
    for found, text, one in zip(links, GERMAN, best, strict=True):
        assert [target for _, target in found] == list(range(len(one["text"].split())))
        assert all(0 <= word < len(text.split()) for word, _ in found)
    records = [json.loads(line) for line in nmt("align", *given, "format=jsonl").stdout.decode().splitlines()]
    assert [one["line"] for one in records] == [1, 2, 3, 4]
    assert [one["source"] for one in records] == GERMAN
    assert [[tuple(link) for link in one["alignment"]] for one in records] == links
    model = package.load(str(trained_run), precision="float32", device="cpu")
    pairs = [(text, one["text"]) for text, one in zip(GERMAN, best, strict=True)]
    assert model.align(pairs) == links
    assert list(model.align(iter(pairs))) == links
    # The search may have written other pieces than those into which the tokenizer cuts the same text.
    (again,) = model.score([pairs[2]])
    if again.tokens == best[2]["tokens"]:
        assert [tuple(link) for link in best[2]["alignment"]] == links[2]
    assert len(best[2]["alignment"]) == len(links[2])
    assert best[1]["alignment"] is None


def test_a_shard_is_a_part_of_the_whole(nmt, trained_run, source, tmp_path):
    (tmp_path / "out.en").write_text("the dog\n\na teacher buys a book\nmen\n", encoding="utf-8")
    run = f"run={trained_run}", "precision=float32", "source=in.de", "target=out.en"
    whole = nmt("align", *run).stdout.decode()
    for number in (1, 2):
        nmt("align", *run, "output=links", f"shard={number}/2")
    nmt("join", "input=in.de", "output=links", "shards=2")
    assert (tmp_path / "links").read_text() == whole


def test_a_model_without_attention_is_refused(nmt, source, tmp_path, tiny_training):
    nmt("train", "run=plain", *tiny_training("rnn"))
    done = nmt("align", "run=plain", "source=in.de", "target=in.de", code=2)
    (message,) = done.stderr.decode().splitlines()[-1:]
    assert message.startswith("nmt: run: model=attention or model=transformer is needed"), message
    assert done.stdout == b""
    (line, *_) = nmt("translate", "run=plain", "input=in.de", "format=jsonl").stdout.decode().splitlines()
    assert json.loads(line)["hypotheses"][0]["alignment"] is None


def test_an_ensemble_aligns_by_the_mean_of_its_models(nmt, trained_run, source, tmp_path):
    given = "precision=float32", "source=in.de", "target=in.de"
    alone = nmt("align", f"run={trained_run}", *given).stdout
    assert nmt("align", f"run={trained_run}", f"ensemble={trained_run}", *given).stdout == alone

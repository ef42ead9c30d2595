"""Context, the lines before a line, in scores, word alignments and reports."""

import json

import pytest
import torch
from lines_before import TWO_LINES, names_of
from students import lines_of

import nmt as package
from nmt.data import lines
from nmt.data.batching import Batch
from nmt.data.corpus import ParallelText
from nmt.decoding.search_settings import choose_search
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.evaluation.translating import mean_loss
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model


def test_evaluation_is_of_what_translating_gives(nmt, tiny, tmp_path):
    given = (tiny / "test.source").read_bytes()
    done = nmt("translate", f"run={tiny}/run", "precision=float32", stdin=given)
    assert "read with less context, as far as it fits: lines " in done.stderr.decode()
    (tmp_path / "out").write_bytes(done.stdout)
    nmt("evaluate", f"run={tiny}/run", "json=run.json", "precision=float32")
    nmt("evaluate", "hypothesis=out", f"reference={tiny}/test.target", "json=file.json")
    run, file = (json.loads((tmp_path / name).read_text()) for name in ("run.json", "file.json"))
    assert [run[name] for name in ("bleu", "chrf", "ter")] == [file[name] for name in ("bleu", "chrf", "ter")]
    tested = json.loads((tiny / "run" / "test.json").read_text())
    assert (tested["bleu"], tested["loss"]) == (run["bleu"], pytest.approx(run["loss"]))
    files = f"source={tiny}/test.source", f"target={tiny}/test.target"
    scored = nmt("score", f"run={tiny}/run", *files, "precision=float32")
    pairs = zip(lines_of(tiny / "test.source"), scored.stdout.split(), strict=True)
    total = -sum(float(value) for line, value in pairs if line)
    num_tokens = sum(len(line.split()) + 1 for line in lines_of(tiny / "test.source") if line)
    assert total / num_tokens == pytest.approx(run["loss"], rel=1e-4)
    assert nmt("verify", f"run={tiny}/run").returncode == 0


def test_scores_of_shards_are_those_of_the_whole(nmt, tiny, tmp_path):
    common = (
        "score",
        f"run={tiny}/run",
        f"source={tiny}/test.source",
        f"target={tiny}/test.target",
        "precision=float32",
    )
    whole = list(map(float, nmt(*common).stdout.split()))
    parts = []
    for number in (1, 2, 3):
        nmt(*common, "output=parts", f"shard={number}/3")
        parts += map(float, lines_of(tmp_path / f"parts.{number}-of-3"))
    assert parts == pytest.approx(whole, abs=1e-4)
    model = package.load(str(tiny / "run"), device="cpu", precision="float32")
    pairs = list(zip(*(lines_of(tiny / f"test.{side}") for side in ("source", "target")), strict=True))
    assert [one.log_prob for one in model.score(pairs)] == pytest.approx(whole, abs=1e-4)
    alone = [model.score([pair])[0].log_prob for pair in pairs]
    assert alone != pytest.approx(whole, abs=1e-4)
    many = (pairs * 30)[:1100]  # more than are read at once
    far = [one.log_prob for one in model.score(many)][1020:1040]
    assert far == pytest.approx([one.log_prob for one in model.score(many[1018:1040])][2:], abs=1e-4)


def test_the_loss_of_a_text_does_not_depend_on_how_much_of_it_is_read_at_once(tiny, monkeypatch):
    model, tokenizer = load_model(RunDirectory(tiny / "run"), "best")
    engine = TorchEngine(model, tokenizer, torch.device("cpu"), torch.float32)
    translator = Translator(engine, choose_search("greedy"))
    text = ParallelText(*(lines_of(tiny / f"test.{side}") for side in ("source", "target")))
    whole = mean_loss(translator, text)
    monkeypatch.setattr(lines, "LINES_AT_ONCE", 3)
    assert mean_loss(translator, text) == pytest.approx(whole, rel=1e-5)


def test_links_are_of_the_words_of_the_line_itself(tiny, learned, monkeypatch):
    model = package.load(str(learned / "run"), device="cpu")
    pairs = [("a", "a"), ("es k l a", "x k l a"), ("b", "b"), ("es l l", "y l l")]
    for (source, target), links in zip(pairs, model.align(pairs), strict=True):
        assert [word for _, word in links] == list(range(len(target.split())))
        assert all(0 <= word < len(source.split()) for word, _ in links)
    # Known attention: each target token attends to the source token at its own position within the line.
    reader = package.load(str(tiny / "run"), device="cpu").pair_reader()

    def diagonal(batch):
        weights = torch.zeros(*batch.target_out.shape, batch.source.shape[1])
        for row, length in enumerate(batch.device_lengths[0].tolist()):
            for i in range(3):
                weights[row, i, length - 4 + i] = 1.0  # three words, then EOS
        return weights

    monkeypatch.setattr(reader.engine.model, "alignment", diagonal)
    found = reader.align(["k l a", "a l k"], ["k l a", "k k k"], 0, ["l", "a b"])
    assert [one.alignment for one in found] == [[(0, 0), (1, 1), (2, 2)]] * 2


def test_coverage_is_that_of_the_line_alone(learned):
    model, tokenizer = load_model(RunDirectory(learned / "run"), "best")
    pairs = Translator(
        TorchEngine(model, tokenizer, torch.device("cpu"), torch.float32), choose_search("greedy")
    ).pairs
    before, source = pairs.read(["a", "es k l"])
    ((joined,), _), target = pairs.join([before], [source]), tokenizer.target.encode(["x k l"])[0]
    assert len(joined) > len(source)
    eos, bos = tokenizer.target.eos_id, tokenizer.target.bos_id
    lengths = torch.tensor([len(joined) + 1]), torch.tensor([len(target) + 1])
    ids, ends = torch.tensor([[*joined, eos]]), torch.tensor([[*target, eos]])
    weights = model.alignment(
        Batch(ids, lengths[0], torch.tensor([[bos, *target]]), ends, lengths[1], lengths)
    )[0]
    own = weights.sum(0)[len(joined) - len(source) : len(joined)]
    assert pairs.coverage([joined], [target]) == pytest.approx(
        [float(own.clamp(max=1).log().sum())], rel=1e-4
    )


def test_reports_take_lines_with_their_context(nmt, tiny, tmp_path):
    nmt("report", f"run={tiny}/run", "output=report.html", "num_maps=2", "num_resamples=40")
    page = (tmp_path / "report.html").read_text()
    assert "·&lt;context=2&gt;" in page  # a piece whose attention is drawn
    assert "300 " in nmt("data", *names_of(tiny), *TWO_LINES).stdout.decode()

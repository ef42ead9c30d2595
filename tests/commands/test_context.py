"""Lines before a line through the command line: a word that only the line before tells is learned, and kept right."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from itertools import chain

import numpy as np
import pytest
import torch
from command_line import run_command

import nmt as package
from nmt.config import TrainSettings
from nmt.config.check import check
from nmt.data import lines as module
from nmt.data.batching import Batch
from nmt.data.context import Context
from nmt.data.sources import load_corpus
from nmt.decoding.chunks import number_chunks
from nmt.decoding.search_settings import choose_search
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translation import Candidate
from nmt.decoding.translator import Shown, Translator
from nmt.evaluation.translating import translate_lines
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model
from nmt.training.ranks import Ranks
from nmt.training.setup import prepare

CPU = torch.device("cpu")
PRONOUNS = {"a": "x", "b": "y"}
# Names, of one word, are left out of training, and tell the pronoun of the next line nevertheless.
TRAINING = (
    "data=files", "tokenizer=word", "data.context=1", "data.filter.min_words=2", "model=transformer_tiny",
    "model.d_model=32", "model.d_ff=64", "model.num_heads=2", "model.num_encoder_layers=1",
    "model.num_decoder_layers=1", "model.dropout=0", "schedule=constant", "optimizer.learning_rate=0.007",
    "training.max_updates=200", "training.update_tokens=500", "training.validate_every=200",
    "training.checkpoint_every=200", "device=cpu", "precision=float32", "decoding=greedy",
)  # fmt: skip


def write_documents(folder, name, num_documents, draw):
    """Write lines of which every second has a pronoun for the name in the line before; return both sides."""
    source, target = [], []
    for _ in range(num_documents):
        for _ in range(4):
            name_of = draw.choice("ab")
            words = " ".join(draw.choice("klab") for _ in range(3))
            source += [name_of, f"es {words}"]
            target += [name_of, f"{PRONOUNS[name_of]} {words}"]
        source.append("")
        target.append("")
    for side, lines in (("source", source), ("target", target)):
        (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
    return source, target


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Train a model that reads the line before, within seconds; the folder holds the run and its text."""
    folder, draw, files = tmp_path_factory.mktemp("documents"), random.Random(0), []
    for split, size in (("train", 100), ("validation", 5), ("test", 20)):
        write_documents(folder, split, size, draw)
        files += [f"data.{split}.{side}={folder}/{split}.{side}" for side in ("source", "target")]
    done = run_command(["train", "run=run", *files, *TRAINING], folder)
    assert done.returncode == 0, done.stderr.decode()
    return folder


def lines_of(path):
    return path.read_text().split("\n")[:-1]


def names_of(folder):
    splits = ("train", "validation", "test")
    return [
        f"data.{split}.{side}={folder}/{split}.{side}" for split in splits for side in ("source", "target")
    ]


def with_pronoun(source, lines):
    return [line for given, line in zip(source, lines, strict=True) if given.startswith("es")]


@pytest.fixture(scope="module")
def whole(learned):
    """The translation of the test text by the real command line."""
    done = run_command(["translate", "run=run", f"input={learned}/test.source"], learned)
    return done.stdout.decode().split("\n")[:-1]


def test_what_only_the_line_before_tells_is_learned(learned, whole):
    source, target = (lines_of(learned / f"test.{side}") for side in ("source", "target"))
    assert len(whole) == len(source)
    assert [line == "" for line in whole] == [line == "" for line in source]
    right = sum(map(str.__eq__, with_pronoun(source, whole), with_pronoun(source, target)))
    assert right >= 76  # of 80; a coin finds 40
    log = (learned / "run" / "train.log").read_text()
    assert "left out of 900 training pairs: 400 by min_words" in log


def test_each_line_is_translated_as_beside_its_neighbour_alone(learned, whole):
    source = lines_of(learned / "test.source")
    model = package.load(str(learned / "run"), device="cpu")
    assert [one.text for one in model.translate(source)] == whole
    assert [one.text for one in model.translate(iter(source))] == whole
    for i in range(1, 40):
        assert model.translate(source[i - 1 : i + 1])[-1].text == whole[i]
    assert model.translate(["a", "", "es k l a"])[-1].text == model.translate(["b", "", "es k l a"])[-1].text
    assert model.translate(["a", "es k l a"])[-1].text != model.translate(["b", "es k l a"])[-1].text


def test_shards_joined_and_a_translation_gone_on_with_are_the_whole(nmt, learned, whole, tmp_path):
    common = ("translate", f"run={learned}/run", f"input={learned}/test.source")
    for number in range(1, 8):
        nmt(*common, "output=parts", f"shard={number}/7")
    parts = [lines_of(tmp_path / f"parts.{number}-of-7") for number in range(1, 8)]
    assert list(chain.from_iterable(parts)) == whole
    sources = lines_of(learned / "test.source")
    starts = np.cumsum([len(part) for part in parts])[:-1]
    assert any(sources[start].startswith("es") for start in starts)  # whose name is in the shard before
    (tmp_path / "some").write_text("".join(f"{line}\n" for line in whole[:101]))
    nmt(*common, "output=some", "resume=true")
    assert lines_of(tmp_path / "some") == whole


def test_chunks_tell_the_lines_before_them_wherever_they_are_translated(learned, whole, monkeypatch):
    source = lines_of(learned / "test.source")
    model = package.load(str(learned / "run"), device="cpu")
    translator = model.translator(model.decoding)
    chunks = [source[start : start + 3] for start in range(0, len(source), 3)]
    numbered = list(number_chunks(iter(chunks), None, "", "utf-8", context=1))
    found = {
        chunk.num_before: translator.find(*chunk) for chunk in reversed(numbered)
    }  # by any worker, in any order
    assert [one.text for number in sorted(found) for one in found[number]] == whole
    monkeypatch.setattr("nmt.data.lines.LINES_AT_ONCE", 5)
    assert list(translator.translate(source)) == whole


def test_a_sender_has_its_answer_at_once(learned):
    command = [sys.executable, "-m", "nmt", "translate", f"run={learned}/run", "device=cpu"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        answers = []
        for line in (b"a", b"es k l a", b"b", b"es k l a", b"", b"a", b"es l l k"):
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            answers.append(process.stdout.readline())
        process.stdin.close()
    assert [answers[i] for i in (1, 3, 4, 6)] == [b"x k l a\n", b"y k l a\n", b"\n", b"x l l k\n"]


def write_lines(folder, name, num_lines):
    """Write lines of none to five words, of which some come again."""
    draw = random.Random(name)
    lines = [" ".join(draw.choice("klab") for _ in range(draw.randrange(6))) for _ in range(num_lines)]
    for side in ("source", "target"):
        (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
    return [f"data.{name}.{side}={folder}/{name}.{side}" for side in ("source", "target")]


TWO_LINES = ("data=files", "tokenizer=word", "data.context=2", "data.max_length=9", "data.filter.min_words=2")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory, tiny_training):
    """Train a model that reads up to two lines before each line for two updates; what it says is of no worth."""
    folder = tmp_path_factory.mktemp("tiny")
    files = [
        *write_lines(folder, "train", 300),
        *write_lines(folder, "validation", 30),
        *write_lines(folder, "test", 40),
    ]
    sizes = [option for option in tiny_training() if not option.startswith(("data.", "tokenizer."))]
    done = run_command(
        ["train", "run=run", *files, *sizes, *TWO_LINES, "training.max_updates=2", "precision=float32"],
        folder,
    )
    assert done.returncode == 0, done.stderr.decode()
    return folder


@pytest.mark.parametrize("large", [1, 1 << 25], ids=["stored", "held"])
def test_training_and_translating_read_the_same_ids(tiny, tmp_path, monkeypatch, large):
    monkeypatch.setattr("nmt.data.corpus.LARGE", large)
    config = RunDirectory(tiny / "run").read_config()
    config["data"]["filter"]["duplicates"] = "source"
    settings = check(TrainSettings, {**config, "run": str(tmp_path / "new"), "resume": False})
    prepared = prepare(settings, RunDirectory(tmp_path / "new"), Ranks())
    step, dataset = prepared.trainer.step, prepared.trainer.pairs.plain
    translator = Translator(
        TorchEngine(step.model, prepared.tokenizer, step.device, step.dtype), settings.decoding
    )
    translated = {}

    def search(found):
        translated.update({sentence.number: list(sentence.source) for sentence in found})
        return [([], 0.0)] * len(found)

    monkeypatch.setattr(translator, "_find", search)
    monkeypatch.setattr(translator, "_rank", lambda _, demands: [Shown(Candidate(""), [], [])])
    read = load_corpus(settings.data).train
    assert read.is_stored is (large == 1)
    translator.find(read.source[:])
    places = np.flatnonzero(prepared.text.kept)[prepared.trainer.pairs.selected]
    assert len(places) < 200
    learned_from = [
        dataset.source.take(np.array([row])).tokens.tolist() for row in prepared.trainer.pairs.selected
    ]
    assert learned_from == [translated[place] for place in places]
    separator = Context.of(prepared.tokenizer.source).separator_id
    assert {ids.count(separator) for ids in learned_from} == {0, 1, 2}
    assert max(map(len, learned_from)) == 9 == step.model.learned_lengths.with_context
    assert step.model.learned_lengths.longest == 5


def test_what_does_not_fit_is_counted_and_said_once(tiny):
    log = (tiny / "run" / "train.log").read_text()
    (said,) = [line for line in log.split("\n") if "have fewer than 2 lines before them" in line]
    lines = lines_of(tiny / "train.source")
    joined, short = Context(2, -1).join([], [line.split() for line in lines], 9)
    kept = [i for i, line in enumerate(lines) if len(line.split()) >= 2 or not line]
    assert f"context      {len(set(short) & set(kept))} of {len(kept)} training lines" in said
    assert json.loads((tiny / "run" / "data.json").read_text())["source_tokens"]["with_context"] == 9
    assert len(joined) == len(lines)


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


def test_links_are_of_the_words_of_the_line_itself(tiny, learned, monkeypatch):
    model = package.load(str(learned / "run"), device="cpu")
    pairs = [("a", "a"), ("es k l a", "x k l a"), ("b", "b"), ("es l l", "y l l")]
    for (source, target), links in zip(pairs, model.align(pairs), strict=True):
        assert [word for _, word in links] == list(range(len(target.split())))
        assert all(0 <= word < len(source.split()) for word, _ in links)
    # Attention that is known: each target token looks at the source token of its own place, counted from the line.
    reader = package.load(str(tiny / "run"), device="cpu").pair_reader()

    def diagonal(batch):
        weights = torch.zeros(*batch.target_out.shape, batch.source.shape[1])
        for row, length in enumerate(batch.lengths[0].tolist()):
            for i in range(3):
                weights[row, i, length - 4 + i] = 1.0  # three words, then EOS
        return weights

    monkeypatch.setattr(reader.engine.model, "alignment", diagonal)
    found = reader.align(["k l a", "a l k"], ["k l a", "k k k"], 0, ["l", "a b"])
    assert [one.alignment for one in found] == [[(0, 0), (1, 1), (2, 2)]] * 2


def test_a_line_in_parts_has_the_parts_before_as_context(tiny, monkeypatch):
    model = package.load(str(tiny / "run"), device="cpu")
    translator = model.translator(choose_search("greedy", split="sentences"))
    pieces = translator.tokenizer.source.pieces
    given = []
    found = translator.search
    monkeypatch.setattr(
        translator, "search", lambda some: given.extend(s.source for s in some) or found(some)
    )
    monkeypatch.setattr(
        translator.cutter, "split_into_sentences", lambda line: re.split("(?<=b)(?= [bl])", line)
    )
    translator.find(["a b b l", "k"], 0, None, ["a", "l"])
    separator = "<context=2>"
    read = [[pieces[i].lstrip("▁") for i in ids] for ids in given]
    assert read == [
        ["a", separator, "l", separator, "a", "b"],
        ["l", separator, "a", "b", separator, "b"],
        ["a", "b", separator, "b", separator, "l"],
        ["l", separator, "a", "b", "b", "l", separator, "k"],
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["run=RUN", "resume=true", "data.context=1"], "data.context"),
        (
            ["run=new", "training.from_run=RUN", "data.context=0"],
            "data.context: 2 is needed, since the vocabulary",
        ),
        (
            ["run=new", "training.from_run=RUN", "data.context=1"],
            "training.from_run: a vocabulary with the piece <con",
        ),
    ],
)
def test_another_context_is_refused(nmt, tiny, tmp_path, options, message):
    shutil.copytree(tiny / "run", tmp_path / "RUN")
    done = nmt("train", *options, "training.max_updates=3", code=2)
    error = done.stderr.decode()
    assert message in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "new").exists()


def test_a_vocabulary_of_ones_own_needs_the_piece(nmt, tiny, tmp_path, trained_run):
    shutil.copy(trained_run / "tokenizer.model", tmp_path / "mine")
    done = nmt(
        "train", "run=new", "data=files", *names_of(tiny), "data.context=3", "tokenizer.model=mine", code=2
    )
    assert done.stderr.decode() == (
        "nmt: tokenizer.model: a vocabulary with the piece <context=3> is needed; got none\n"
    )


def test_runs_of_other_contexts_make_no_ensemble(nmt, tiny, learned):
    done = nmt("translate", f"run={tiny}/run", f"ensemble=[{learned}/run]", code=2)
    assert "ensemble: runs with the vocabulary of" in done.stderr.decode()


@pytest.mark.parametrize("kind", ["attention", "rnn"])
def test_other_models_subword_sampling_and_several_files_go_together_with_it(
    nmt, tiny, tmp_path, tiny_training, kind
):
    sizes = [option for option in tiny_training(kind) if not option.startswith(("data.", "tokenizer."))]
    texts = [f"data.train.{side}=[{tiny}/train.{side},{tiny}/test.{side}]" for side in ("source", "target")]
    texts += [f"data.validation.{side}={tiny}/validation.{side}" for side in ("source", "target")]
    options = (
        "data=files",
        "data.context=1",
        "tokenizer=bpe",
        "tokenizer.vocabulary_size=13",
        "training.max_updates=2",
    )
    nmt("train", "run=run", *sizes, *texts, *options, "training.subword_sampling=0.3")
    again = nmt("train", "run=run", "resume=true", "training.max_updates=3").stderr
    assert b"stopped at update 3" in again
    assert nmt("translate", "run=run", stdin=b"a b\n\nk l\n").stdout.count(b"\n") == 3


def test_reports_take_lines_with_their_context(nmt, tiny, tmp_path):
    nmt("report", f"run={tiny}/run", "output=report.html", "num_maps=2", "num_resamples=40")
    page = (tmp_path / "report.html").read_text()
    assert "·&lt;context=2&gt;" in page  # a piece whose attention is drawn
    assert "300 " in nmt("data", *names_of(tiny), *TWO_LINES).stdout.decode()


def test_the_page_of_an_export_reads_lines_as_nmt_does(nmt, learned, whole, tmp_path, monkeypatch):
    pytest.importorskip("ctranslate2")
    out = nmt("export", f"run={learned}/run", "output=model").stdout.decode()
    assert "identical" in out
    monkeypatch.chdir(tmp_path / "model")
    namespace = {}
    exec((tmp_path / "model" / "README.md").read_text().split("```python\n")[1].split("```")[0], namespace)
    assert namespace["translate"](lines_of(learned / "test.source")) == whole


def test_the_page_of_an_export_leaves_out_what_does_not_fit(nmt, tiny, tmp_path, monkeypatch):
    pytest.importorskip("ctranslate2")
    nmt("export", f"run={tiny}/run", "output=model")
    monkeypatch.chdir(tmp_path / "model")
    namespace = {}
    exec((tmp_path / "model" / "README.md").read_text().split("```python\n")[1].split("```")[0], namespace)
    source = package.load(str(tiny / "run"), device="cpu").pair_reader()
    ids = source.read(lines_of(tiny / "test.source"))
    joined, short = source.join([], ids)
    assert short
    assert namespace["with_context"](ids) == joined


def test_details_of_a_text_have_context_across_chunks(learned, monkeypatch):
    run = RunDirectory(learned / "run")
    model, tokenizer = load_model(run, "best")
    lines, greedy = lines_of(learned / "test.source"), choose_search("greedy")
    engine = TorchEngine(model, tokenizer, CPU, torch.float32)
    translator = Translator(engine, greedy).searching(greedy, details=True)
    together = [one.text for one in translate_lines(translator, lines)]
    monkeypatch.setattr(module, "LINES_AT_ONCE", 1)
    assert [one.text for one in translate_lines(translator, lines)] == together


def test_coverage_is_that_of_the_line_alone(learned):
    model, tokenizer = load_model(RunDirectory(learned / "run"), "best")
    pairs = Translator(TorchEngine(model, tokenizer, CPU, torch.float32), choose_search("greedy")).pairs
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

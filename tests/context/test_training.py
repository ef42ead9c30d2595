"""Context, the lines before a line, in training: what is read of it, and which runs and vocabularies allow it."""

import json
import shutil

import numpy as np
import pytest
from lines_before import names_of
from students import lines_of

from nmt.config import TrainSettings
from nmt.config.check import check
from nmt.data.context import Context
from nmt.data.sources import load_corpus
from nmt.decoding.chunks import Chunk
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translation import Candidate
from nmt.decoding.translator import Shown, Translator
from nmt.errors import RunError
from nmt.runs.directory import RunDirectory
from nmt.training.checkpoint import refuse_other_origins
from nmt.training.ranks import Ranks
from nmt.training.setup import prepare


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
    monkeypatch.setattr(translator, "_rank", lambda _, part: [Shown(Candidate(""), [], [])])
    read = load_corpus(settings.data).train
    assert read.is_stored is (large == 1)
    translator.translate_chunk(Chunk(read.source[:]))
    places = np.flatnonzero(prepared.text.kept)[prepared.trainer.pairs.rows_of_epoch]
    assert len(places) < 200
    learned_from = [
        dataset.source.take(np.array([row])).tokens.tolist() for row in prepared.trainer.pairs.rows_of_epoch
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


def test_a_line_that_is_left_out_is_context_and_must_stay_when_a_run_goes_on(tiny):
    source = tiny / "train.source"
    before = source.read_bytes()
    lines = before.decode().split("\n")
    (place, *_) = [i for i, line in enumerate(lines) if len(line.split()) == 1]  # too short to be learned
    lines[place] = "other"
    settings = check(
        TrainSettings, {**RunDirectory(tiny / "run").read_config(), "run": "run", "resume": True}
    )
    try:
        origins = []
        for content in (before, "\n".join(lines).encode()):
            source.write_bytes(content)
            prepared = prepare(settings, RunDirectory(tiny / "run"), Ranks())
            origins.append(prepared.trainer.progress.origins)
    finally:
        source.write_bytes(before)
    assert origins[0]["data.train"] == origins[1]["data.train"]
    with pytest.raises(RunError, match=r"^data.train with its context: what the run began with, of hash"):
        refuse_other_origins(*origins)


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
            "training.from_run: a vocabulary with <context=",
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
        "nmt: tokenizer.model: a vocabulary with <context=3> is needed, for data.tags or data.context; got one without; with "
        "another tokenizer.vocabulary_size, or tokenizer.model=null, one is learned\n"
    )


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

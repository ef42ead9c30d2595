"""What teachers expect of each word, against a plain computation over all logits and in trainings."""

import json
import os
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional
from torch.testing import assert_close

from nmt import memory
from nmt.cli.compose import compose
from nmt.config import TrainSettings
from nmt.config.check import check
from nmt.data.batching import collate
from nmt.data.dataset import Dataset, Ids
from nmt.errors import RunError
from nmt.models.ensemble import Ensemble
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model
from nmt.training import word_teacher
from nmt.training.objective import Objective
from nmt.training.word_teacher import WordTeacher, ask_teachers, hashed, likeliest

PAD = 0


def expected_in(batch, found):
    """Return a batch with the expected words at each of its positions, which `found` has pair by pair."""
    is_token = torch.arange(batch.target_out.shape[1]) < batch.target_lengths.unsqueeze(1)

    def laid(part):
        rectangle = part.new_zeros(*is_token.shape, part.shape[1])
        rectangle[is_token] = part
        return rectangle

    return replace(batch, expected=found.map(laid))


def plain_loss(model, batch, weight, smoothing):
    """Cross-entropy with the mixed target, over all logits at once."""
    log_probs = model.project(model(batch).outputs).flatten(0, 1).log_softmax(-1)
    targets = batch.target_out.flatten()
    num_words = log_probs.shape[1]
    true = functional.one_hot(targets, num_words) * (1 - smoothing) + smoothing / num_words
    words, probabilities = (part.flatten(0, 1) for part in batch.expected)
    rest = (1 - probabilities.sum(1, keepdim=True)) / num_words
    taught = (functional.one_hot(words, num_words) * probabilities.unsqueeze(2)).sum(1) + rest
    mixed = weight * taught + (1 - weight) * true
    return -(mixed * log_probs)[targets != PAD].sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weight", [0.3, 1.0])
@pytest.mark.parametrize("chunk", [2, 1000])
@pytest.mark.parametrize("num_kept", [3, 11])
def test_loss_and_gradients_equal_the_plain_computation(
    num_kept, chunk, weight, smoothing, tiny_model, tiny_batch, monkeypatch
):
    monkeypatch.setattr(memory, "LOGITS_AT_ONCE", {"cpu": chunk * 11})
    model, batch = tiny_model("transformer", tied="three_way", dropout=0.0), tiny_batch()
    members = [tiny_model("transformer", seed=1), tiny_model("attention", seed=2)]
    taught = expected_in(batch, likeliest(Ensemble(members), batch, num_kept))
    objective = Objective(model, smoothing, teacher_weight=weight).train()
    loss = objective(taught)
    (loss.total * 0.5).backward()
    found = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    plain = plain_loss(model, taught, weight, smoothing)
    (plain * 0.5).backward()
    assert_close(loss.total, plain)
    for name, parameter in model.named_parameters():
        assert_close(found[name], parameter.grad, msg=name)
    assert_close(loss.negative_log_likelihood, objective(batch).negative_log_likelihood)
    with torch.no_grad():
        assert_close(objective(taught).total, plain.detach())


def test_the_likeliest_words_are_those_of_the_mean_of_all_teachers(tiny_model, tiny_batch):
    members, batch = [tiny_model("transformer", seed=1), tiny_model("attention", seed=2)], tiny_batch()
    with torch.no_grad():
        each = [member.project(member(batch).outputs).softmax(-1) for member in members]
    mean = ((each[0] + each[1]) / 2)[batch.target_out != PAD]
    words, probabilities = likeliest(Ensemble(members), batch, 4)
    ordered = mean.sort(-1, descending=True)
    assert torch.equal(words, ordered.indices[:, :4])
    assert_close(probabilities, ordered.values[:, :4])


def test_what_a_model_expects_itself_teaches_it_nothing_and_no_word_counts_in_validation(
    tiny_model, tiny_batch
):
    model, batch = tiny_model("rnn", dropout=0.0), tiny_batch()
    taught = expected_in(batch, likeliest(model, batch, 11))
    objective = Objective(model, 0.0, teacher_weight=1.0)
    objective.train()(taught).total.backward()
    for parameter in model.parameters():
        assert_close(parameter.grad, torch.zeros_like(parameter))
    loss = objective.eval()(taught)
    assert_close(loss.total, loss.negative_log_likelihood)


def test_bfloat16_agrees_with_float32(tiny_model, tiny_batch):
    model, batch = tiny_model("transformer", width=32, d_ff=64, dropout=0.0).float(), tiny_batch()
    teacher = tiny_model("transformer", width=32, d_ff=64, seed=3).float()
    taught = expected_in(
        batch,
        likeliest(teacher, batch, 3).map(
            lambda part: part.half() if part.is_floating_point() else part.int()
        ),
    )
    objective = Objective(model, 0.1, teacher_weight=0.5).train()
    exact = objective(taught).total
    with torch.autocast("cpu", torch.bfloat16):
        rough = objective(taught).total
    assert rough.dtype == torch.float32
    assert rough.item() == pytest.approx(exact.item(), rel=0.05)


@pytest.fixture
def pairs(trained_run):
    """Return a tokenizer, a data set of its pieces, and the settings of a training."""
    run = RunDirectory(str(trained_run))
    tokenizer = run.read_tokenizer()
    generator = np.random.default_rng(1)
    sizes = generator.integers(1, 9, (2, 40))
    sides = [
        [generator.integers(4, tokenizer.source.num_pieces, size).tolist() for size in side] for side in sizes
    ]
    settings = check(TrainSettings, compose("train", ["device=cpu", "precision=float32"], None).values)
    return tokenizer, Dataset(*map(Ids.of, sides), name="pairs"), settings


def test_teachers_are_asked_once_for_the_pairs_that_are_learned(pairs, trained_run, monkeypatch, tmp_path):
    tokenizer, dataset, settings = pairs
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    teachers, selected = hashed([RunDirectory(str(trained_run))]), np.arange(0, 40, 3)
    monkeypatch.setattr(word_teacher, "MAX_TOKENS", 30)  # several batches
    monkeypatch.setattr(word_teacher, "PAIRS_READ_AT_ONCE", 17)
    expected = ask_teachers(teachers, settings, dataset, selected, tokenizer)
    with_them = replace(dataset, expected=expected)
    model, _ = load_model(teachers[0].run, "best")
    rows = np.array([3, 9, 27, 0])
    batch = collate(with_them, rows, tokenizer)
    assert batch.expected.words.shape == (*batch.target_out.shape, 8)
    for row in rows:
        alone = collate(with_them, np.array([row]), tokenizer)
        found = likeliest(model.eval(), alone, 8)
        assert_close(
            alone.expected.probabilities[0].float(), found.probabilities.float(), rtol=2e-3, atol=1e-6
        )
        (place,) = np.flatnonzero(
            [torch.equal(ids[: len(alone.source[0])], alone.source[0]) for ids in batch.source]
        )
        assert torch.equal(batch.expected.words[place, : len(found.words)], alone.expected.words[0])
    assert not any(collate(with_them, np.array([1]), tokenizer).expected.probabilities.flatten())
    monkeypatch.setattr(word_teacher, "load_engine", None)
    again = ask_teachers(teachers, settings, dataset, selected, tokenizer)
    assert all(map(torch.equal, again, expected))
    with pytest.raises(TypeError):  # other pairs have to be read, for which no engine is there
        ask_teachers(teachers, settings, replace(dataset, name="others"), selected, tokenizer)


def test_words_that_were_read_before_an_interruption_are_not_read_again(
    pairs, trained_run, monkeypatch, tmp_path
):
    tokenizer, dataset, settings = pairs
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(word_teacher, "PAIRS_READ_AT_ONCE", 10)
    teachers, selected = hashed([RunDirectory(str(trained_run))]), np.arange(40)
    expected = ask_teachers(teachers, settings, dataset, selected, tokenizer)
    (entry,) = (tmp_path / "cache").iterdir()
    shutil.rmtree(entry)
    read = []

    def stopped(model, batch, num_kept, most=25):
        read.append(len(batch.source))
        if sum(read) > most:
            raise KeyboardInterrupt
        return likeliest(model, batch, num_kept)

    monkeypatch.setattr(word_teacher, "likeliest", stopped)
    with pytest.raises(KeyboardInterrupt):
        ask_teachers(teachers, settings, dataset, selected, tokenizer)
    read.clear()
    monkeypatch.setattr(word_teacher, "likeliest", partial(stopped, most=40))
    found = ask_teachers(teachers, settings, dataset, selected, tokenizer)
    assert sum(read) == 20
    assert all(map(torch.equal, found, expected))
    assert list((tmp_path / "cache").iterdir()) == [entry]
    entry.with_name(f"{entry.name}-0-10").mkdir()  # as of a process that was killed after it made the whole
    ask_teachers(teachers, settings, dataset, selected, tokenizer)
    assert list((tmp_path / "cache").iterdir()) == [entry]


def test_a_teacher_that_gets_better_while_it_is_loaded_is_refused(pairs, trained_run, tmp_path, monkeypatch):
    tokenizer, dataset, settings = pairs
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    before = [WordTeacher(RunDirectory(str(trained_run)), "0" * 16)]
    refused = r"^training.teacher: a run that is not in training is needed; got /.+, whose best weights have changed$"
    with pytest.raises(RunError, match=refused):
        ask_teachers(before, settings, dataset, np.arange(40), tokenizer)
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.fixture
def taught(nmt, tmp_path, trained_run, tiny_training):
    """Return a function that trains `run` with the vocabulary of a trained run, which is its teacher, too."""

    def train(run, *overrides, **kwargs):
        vocabulary = f"tokenizer.model={trained_run / 'tokenizer.model'}"
        teacher = f"training.teacher={trained_run}"
        return nmt(
            "train", f"run={run}", *tiny_training("transformer"), vocabulary, teacher, *overrides, **kwargs
        )

    return train


def weights_of(run):
    """Return the weights of the last checkpoint of a run."""
    last = max((run / "checkpoints").glob("step-*"))
    return {name: tensor.tolist() for name, tensor in load_file(last / "model.safetensors").items()}


def test_a_training_that_was_stopped_goes_on_with_its_teacher_to_the_same_weights(taught, nmt, tmp_path):
    taught("whole", "training.max_updates=4")
    taught("parts", "training.max_updates=2")
    empty = str(tmp_path / "empty")  # with an empty cache the teacher has to read the pairs once more
    nmt("train", "run=parts", "resume=true", "training.max_updates=4", NMT_CACHE=empty)
    assert weights_of(tmp_path / "parts") == weights_of(tmp_path / "whole")
    taught("alone", "training.max_updates=4", "training.teacher=null")
    assert weights_of(tmp_path / "alone") != weights_of(tmp_path / "whole")


def test_a_finished_training_whose_last_checkpoint_is_damaged_learns_the_rest_from_its_teacher(
    taught, nmt, tmp_path
):
    taught("run", "training.max_updates=4", "training.checkpoint_every=2")
    whole = weights_of(tmp_path / "run")
    weights = tmp_path / "run" / "checkpoints" / "step-000004" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    done = nmt("train", "run=run", "resume=true")
    assert b"resumed from update 2" in done.stderr
    assert weights_of(tmp_path / "run") == whole


def test_a_plan_times_updates_with_a_teacher_that_has_read_nothing(taught, tmp_path, trained_run):
    cache = tmp_path / "cache"
    done = taught("run", "training.max_updates=40", "--plan", NMT_CACHE=str(cache))
    assert f"teacher      {trained_run}, whose words are 0.5 of the loss".encode() in done.stdout
    assert b"measured just now over" in done.stdout
    assert b"reads each training pair once" not in done.stderr
    assert [path.name for path in cache.iterdir() if path.name.startswith("words")] == []
    assert not (tmp_path / "run").exists()
    damaged = shutil.copytree(trained_run, tmp_path / "damaged")
    for weights in damaged.rglob("model.safetensors"):
        weights.write_bytes(weights.read_bytes()[:-100] + bytes(100))
    done = taught("run", "--plan", f"training.teacher={damaged}", code=2)
    assert done.stderr.startswith(b"nmt: training.teacher: undamaged weights are needed")


def test_another_teacher_is_refused_where_a_run_goes_on(taught, nmt, tmp_path):
    taught("other", "training.max_updates=2")
    taught("run", "training.max_updates=2")
    arguments = ("train", "run=run", "resume=true", "training.max_updates=4")
    done = nmt(*arguments, "training.teacher=other", code=2)
    assert done.stderr.startswith(b"nmt: training.teacher: what the run began with, of hash ")
    nmt(*arguments, "training.teacher=null")


def test_a_run_is_gone_on_with_by_the_teacher_that_was_the_last_and_needs_none_when_it_is_finished(
    nmt, tmp_path, trained_run, tiny_training
):
    teacher = tmp_path / "outputs" / "teacher"
    shutil.copytree(trained_run, teacher)
    vocabulary = "tokenizer.model=outputs/teacher/tokenizer.model"
    typed = (*tiny_training("transformer"), vocabulary, "training.teacher=last")
    nmt("train", "run=outputs/run", *typed, "training.max_updates=2")
    config = json.loads((tmp_path / "outputs" / "run" / "config.json").read_text())
    assert config["training"]["teacher"] == "outputs/teacher"
    nmt("train", "run=outputs/run", "resume=true", "training.max_updates=4")
    shutil.move(teacher, tmp_path / "moved")
    done = nmt("train", "run=outputs/run", "resume=true", "training.max_updates=4")
    assert b"is finished" in done.stderr
    done = nmt("train", "run=outputs/run", "resume=true", "training.max_updates=6", code=2)
    assert done.stderr == (
        b"nmt: training.teacher: the folder of a run is needed; got outputs/teacher: no such folder\n"
    )
    nmt("train", "run=outputs/run", "resume=true", "training.max_updates=6", "training.teacher=moved")


def test_no_run_that_goes_on_is_its_own_teacher_or_has_last_as_its_name(nmt, tmp_path, tiny_training):
    """The newest run is the one that goes on, in the next resumption, too."""
    nmt("train", "run=outputs/run", *tiny_training("transformer"), "training.max_updates=2")
    more = ("train", "run=outputs/run", "resume=true", "training.max_updates=4")
    for name in ("last", "outputs/run", "outputs/../outputs/run"):
        done = nmt(*more, f"training.teacher={name}", code=2)
        assert done.stderr == (
            b"nmt: training.teacher: another run is needed; got outputs/run, which is to learn from it\n"
        )
    shutil.copytree(tmp_path / "outputs" / "run", tmp_path / "outputs" / "newer")
    os.utime(tmp_path / "outputs" / "newer" / "config.json", (2e9, 2e9))
    nmt(*more, "training.teacher=last")
    config = json.loads((tmp_path / "outputs" / "run" / "config.json").read_text())
    assert config["training"]["teacher"] == "outputs/newer"


@pytest.mark.parametrize("teacher", ["last", "[a,last]", "a,last", "'last'"])
def test_a_sweep_has_no_last_run_as_a_teacher(taught, nmt, teacher):
    done = nmt("train", "-m", "run=sweep", f"training.teacher={teacher}", "seed=1,2", code=2)
    assert done.stderr.startswith(b"nmt: training.teacher: a folder is needed in a sweep")


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        (
            ["training.teacher=none"],
            "training.teacher: the folder of a run is needed; got none: no such folder",
        ),
        (["tokenizer.model=null"], "training.teacher: a run with the vocabulary of this training is needed"),
        (
            ["data.max_length=2000", "model.max_positions=2001"],
            "training.teacher: a run of more than data.max_length=2000 positions is needed",
        ),
        (["consistency=r_drop"], "consistency: none is needed with training.teacher"),
        (["data/augment=usual"], "data/augment: none is needed with training.teacher; got changes of pairs"),
        (
            ["training.subword_sampling=0.1"],
            "training.subword_sampling: null is needed with training.teacher; got 0.1",
        ),
        (["teacher_forcing=linear"], "teacher_forcing: constant is needed with training.teacher; got linear"),
        (["training.teacher_forcing_ratio=0.5"], "training.teacher_forcing_ratio: 1 is needed with"),
        (["training.teacher_weight=0"], "training.teacher_weight: greater than 0 is needed; got 0"),
    ],
)
def test_a_teacher_that_cannot_teach_is_refused_in_one_line(taught, tmp_path, overrides, problem):
    done = taught("run", *overrides, "tokenizer.vocabulary_size=90", code=2)
    assert done.stderr.decode().startswith(f"nmt: {problem}")
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "run").exists()

"""What teachers expect of each word, against a plain computation over all logits and in trainings."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional
from torch.testing import assert_close

from nmt.models.ensemble import Ensemble
from nmt.training import cross_entropy
from nmt.training.objective import Objective
from nmt.training.word_teacher import WordTeacher

PAD = 0


def plain_loss(model, probabilities, batch, weight, smoothing):
    """Cross-entropy with the mixed target, over all logits at once."""
    log_probs = model.project(model(batch).outputs).flatten(0, 1).log_softmax(-1)
    targets = batch.target_out.flatten()
    num_words = log_probs.shape[1]
    true = functional.one_hot(targets, num_words) * (1 - smoothing) + smoothing / num_words
    mixed = weight * probabilities.flatten(0, 1) + (1 - weight) * true
    return -(mixed * log_probs)[targets != PAD].sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weight", [0.3, 1.0])
@pytest.mark.parametrize("chunk", [2, 1000])
def test_loss_and_gradients_equal_the_plain_computation(
    chunk, weight, smoothing, tiny_model, tiny_batch, monkeypatch
):
    monkeypatch.setattr(cross_entropy, "LOGITS_AT_ONCE", {"cpu": chunk * 11})
    model, batch = tiny_model("transformer", tied="three_way", dropout=0.0), tiny_batch()
    members = [tiny_model("transformer", seed=1), tiny_model("attention", seed=2)]
    loss = Objective(model, smoothing, teacher=WordTeacher(Ensemble(members), weight)).train()(batch)
    (loss.total * 0.5).backward()
    found = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    each = [member.project(member(batch).outputs).softmax(-1).detach() for member in members]
    plain = plain_loss(model, (each[0] + each[1]) / 2, batch, weight, smoothing)
    (plain * 0.5).backward()
    assert_close(loss.total, plain)
    for name, parameter in model.named_parameters():
        assert_close(found[name], parameter.grad, msg=name)
    alone = Objective(model, smoothing).train()(batch)
    assert_close(loss.negative_log_likelihood, alone.negative_log_likelihood)
    assert all(parameter.grad is None for member in members for parameter in member.parameters())
    with torch.no_grad():
        unlearned = Objective(model, smoothing, teacher=WordTeacher(Ensemble(members), weight)).train()(batch)
    assert_close(unlearned.total, plain.detach())


def test_what_a_model_expects_itself_teaches_it_nothing_and_validation_asks_no_teacher(
    tiny_model, tiny_batch
):
    model, batch = tiny_model("rnn", dropout=0.0), tiny_batch()
    objective = Objective(model, 0.0, teacher=WordTeacher(model, 1.0))
    objective.train()(batch).total.backward()
    for parameter in model.parameters():
        assert_close(parameter.grad, torch.zeros_like(parameter))
    loss = objective.eval()(batch)
    assert_close(loss.total, loss.negative_log_likelihood)


def test_bfloat16_agrees_with_float32(tiny_model, tiny_batch):
    model, batch = tiny_model("transformer", width=32, d_ff=64, dropout=0.0).float(), tiny_batch()
    teacher = tiny_model("transformer", width=32, d_ff=64, seed=3)
    exact = Objective(model, 0.1, teacher=WordTeacher(teacher.float(), 0.5)).train()(batch).total
    with torch.autocast("cpu", torch.bfloat16):
        taught = WordTeacher(teacher.bfloat16(), 0.5)
        rough = Objective(model, 0.1, teacher=taught).train()(batch).total
    assert rough.dtype == torch.float32
    assert rough.item() == pytest.approx(exact.item(), rel=0.05)


@pytest.fixture
def taught(nmt, tmp_path, trained_run, tiny_training):
    """Return a function that trains `run` with the vocabulary of a trained run, whose words are learned, too."""

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
    nmt("train", "run=parts", "resume=true", "training.max_updates=4")
    assert weights_of(tmp_path / "parts") == weights_of(tmp_path / "whole")
    taught("alone", "training.max_updates=4", "training.teacher=null")
    assert weights_of(tmp_path / "alone") != weights_of(tmp_path / "whole")


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
        (["data.augment.exchange=0.5"], "data.augment.exchange: 0 is needed with training.teacher; got 0.5"),
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

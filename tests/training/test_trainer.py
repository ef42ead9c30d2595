"""The loop against a plain computation."""

import copy
import json
import logging
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from nmt.cli.compose import compose
from nmt.config import TrainSettings
from nmt.config.check import check
from nmt.data.batching import collate
from nmt.data.tokenizer import Tokenizer, Vocabulary
from nmt.files.writing import file_facts
from nmt.runs.directory import RunDirectory
from nmt.runs.weights import average
from nmt.training import progress as figures_module
from nmt.training import trainer as trainer_module
from nmt.training.checkpoint import save_checkpoint
from nmt.training.objective import Objective
from nmt.training.validation import Validation


def test_accumulated_micro_batches_equal_one_batch(make_trainer):
    whole = make_trainer("training.update_tokens=60", "training.max_tokens=10000")
    parts = make_trainer("training.update_tokens=60", "training.max_tokens=12")
    for plan in (whole.enter(0), parts.enter(0)):
        assert len(plan) > 1
    assert len(parts.enter(0)[0]) > len(whole.enter(0)[0])
    for trainer in (whole, parts):
        trainer.step.run(1, trainer.enter(0)[0])
    for left, right in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        assert_close(left, right)


def test_an_update_is_adam_on_the_clipped_mean_gradient(make_trainer):
    trainer = make_trainer(
        "training.max_gradient_norm=0.05", "optimizer=adam", "optimizer.learning_rate=0.01"
    )
    reference = copy.deepcopy(trainer.model)
    update = trainer.enter(0)[0]
    figures = trainer.step.run(1, update)
    (rows,) = update
    batch = collate(trainer.pairs.dataset, trainer.pairs.rows[rows], trainer.step.tokenizer)
    (Objective(reference, 0.1).train()(batch).total / batch.num_tokens).backward()
    norm = torch.sqrt(sum((p.grad**2).sum() for p in reference.parameters()))
    assert figures.gradient_norm == pytest.approx(float(norm))
    assert norm > 0.05
    for parameter, trained in zip(reference.parameters(), trainer.model.parameters(), strict=True):
        gradient = parameter.grad * 0.05 / (norm + 1e-6)
        # The first step of Adam: both moments are corrected to the gradient and its square.
        expected = parameter - 0.01 * gradient / (gradient.abs() + 1e-8)
        assert_close(trained, expected, rtol=1e-6, atol=1e-9)


def test_an_update_without_a_finite_gradient_is_not_applied(make_trainer):
    trainer = make_trainer()
    with torch.no_grad():
        next(trainer.model.parameters())[5, 0] = torch.inf
    before = [parameter.clone() for parameter in trainer.model.parameters()]
    trainer.step.run(1, trainer.enter(0)[0])
    for left, right in zip(before, trainer.model.parameters(), strict=True):
        assert torch.equal(left, right)


def test_weight_decay_spares_embeddings_and_vectors(make_trainer):
    trainer = make_trainer("optimizer=adamw", "optimizer.weight_decay=0.5")
    names = {id(parameter): name for name, parameter in trainer.model.named_parameters()}
    decaying, others = (
        {names[id(p)] for p in group["params"]} for group in trainer.step.optimizer.param_groups
    )
    assert trainer.step.optimizer.param_groups[0]["weight_decay"] == 0.5
    assert trainer.step.optimizer.param_groups[1]["weight_decay"] == 0.0
    assert decaying | others == set(names.values())
    assert all(
        name.endswith("weight") and "norm" not in name and "embedding" not in name for name in decaying
    )
    assert "encoder.layers.0.feed_forward.inner.weight" in decaying
    assert "source_embedding.weight" in others


def test_averaging_is_the_mean():
    generator = np.random.default_rng(0)
    arrays = generator.normal(size=(3, 4, 5)).astype(np.float32)
    mean = average([{"w": torch.from_numpy(array)} for array in arrays])["w"]
    assert mean.dtype == torch.float32
    np.testing.assert_allclose(mean.numpy(), arrays.astype(np.float64).mean(0), rtol=1e-6)


def test_vocabulary_of_a_trained_model_round_trips(tokenizer, tmp_path):
    run = RunDirectory(tmp_path)
    run.write_config(check(TrainSettings, compose("train", ["tokenizer.joint=true"], None).values))
    run.write_tokenizer(tokenizer)
    again = run.read_tokenizer()
    assert again.joint
    assert again.source.encode(["a b c"]) == tokenizer.source.encode(["a b c"])
    run.write_config(check(TrainSettings, compose("train", ["tokenizer.joint=false"], None).values))
    run.write_tokenizer(Tokenizer(tokenizer.source, Vocabulary(tokenizer.source.model)))
    assert not run.read_tokenizer().joint


def test_the_largest_micro_batch_that_fits_is_found_and_kept(make_trainer, monkeypatch):
    trainer = make_trainer("training.update_tokens=60")
    longer = np.maximum(trainer.pairs.source_lengths, trainer.pairs.target_lengths)
    whole = trainer.enter(0).max_tokens
    assert all(len(update) == 1 for update in trainer.enter(0))
    tried = []

    def fits(rows):
        tried.append(len(rows) * int(longer[rows].max()))
        return tried[-1] <= 20

    limited = make_trainer("training.update_tokens=60")
    monkeypatch.setattr(limited.step, "fits", fits)
    assert limited.enter(0).max_tokens == whole
    assert not tried, "of the CPU's memory a trial would tell nothing"
    limited.progress.max_tokens = None
    monkeypatch.setattr(limited.step, "device", torch.device("cuda"))
    assert limited.enter(0).max_tokens < whole
    assert tried[0] > 20
    assert all(
        len(rows) * longer[rows].max() <= limited.enter(0).max_tokens
        for update in limited.enter(0)
        for rows in update
    )
    found = limited.enter(0).max_tokens
    save_checkpoint(limited.run, limited.step.weights(), limited.step.state(), limited.progress, 5)
    resumed = make_trainer("training.update_tokens=60")
    monkeypatch.setattr(resumed.step, "device", torch.device("cuda"))
    monkeypatch.setattr(resumed.step, "fits", lambda rows: pytest.fail("looked again"))
    resumed.resume()
    assert resumed.enter(0).max_tokens == found
    assert make_trainer("training.max_tokens=77").enter(0).max_tokens == 77


def test_probing_learns_nothing(make_trainer):
    trainer = make_trainer()
    before = [parameter.clone() for parameter in trainer.model.parameters()]
    assert trainer.step.fits(np.arange(20))
    assert all(parameter.grad is None for parameter in trainer.model.parameters())
    assert all(map(torch.equal, before, trainer.model.parameters()))


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory."),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_running_out_of_memory_splits_the_micro_batch(error, make_trainer, monkeypatch, caplog):
    limits = ("training.update_tokens=60", "training.max_tokens=60")
    whole, split = make_trainer(*limits), make_trainer(*limits)
    update = whole.enter(0)[0]
    halves = np.array_split(np.concatenate(update), 2)
    expected = whole.step.run(1, halves)
    forward, sizes = split.step.objective.forward, []

    def limited(batch, sample_mask=None):
        sizes.append(len(batch.source))
        if len(sizes) == 2:  # the first half has left its gradients by then
            raise error
        return forward(batch, sample_mask)

    monkeypatch.setattr(split.step.objective, "forward", limited)
    with caplog.at_level(logging.WARNING, "nmt"):
        found = split.step.run(1, halves)
    assert len(sizes) == 2 + 4
    assert found.ran_out_of_memory
    assert not expected.ran_out_of_memory
    assert "ran out of memory" in caplog.text
    assert_close(found.total, expected.total)
    for left, right in zip(whole.model.parameters(), split.model.parameters(), strict=True):
        assert_close(left, right)
    monkeypatch.setattr(split.step, "_accumulate", lambda *_: (_ for _ in ()).throw(error))
    with pytest.raises(type(error)):
        split.step.run(2, [np.array([0])])


def test_of_equal_bleu_the_lower_loss_is_better_for_the_best_and_for_patience(
    make_trainer, monkeypatch, caplog
):
    validations = [
        (1, math.nan),
        (1, 5.0),
        (1, 4.0),
        (1, 4.5),
        (1, math.nan),
        (2, 9.0),
        (2, 9.0),
        (1.5, 1.0),
        (2, 9.5),
    ]
    following = iter(validations)

    def validate(*_):
        bleu, loss = next(following)
        return Validation(loss, bleu)

    monkeypatch.setattr(trainer_module, "validate", validate)
    limits = ("training.validate_every=1", "training.checkpoint_every=1000", "training.patience=3",
              "training.keep_checkpoints=20")  # fmt: skip
    best_steps = []
    with caplog.at_level(logging.INFO, "nmt"):
        for last in (1, 4, 100):  # a resumed run still knows the best score
            trainer = make_trainer(*limits, f"training.max_updates={last}")
            trainer.resume()
            trainer.train()
            best_steps.append(json.loads((trainer.run.path / "best.json").read_text())["step"])
            assert best_steps[-1] in trainer.run.steps()
    assert best_steps == [1, 3, 6]
    lines = [line for line in caplog.text.split("\n") if "validation loss" in line]
    assert [line.endswith("(best)") for line in lines] == [
        True,
        True,
        True,
        False,
        False,
        True,
        False,
        False,
        False,
    ]
    assert trainer.progress.update == len(validations)
    assert "stopped at update 9: training.patience=3 validations without a gain" in caplog.text


def test_a_state_without_the_loss_of_the_best_is_gone_on_with(make_trainer):
    trainer = make_trainer()
    trainer.progress.best_bleu, trainer.progress.best_step = 3.0, 0
    trainer.save()
    folder = trainer.run.step_path(0)
    state = json.loads((folder / "state.json").read_text())
    del state["best_loss"]
    (folder / "state.json").write_text(json.dumps(state))
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(
        json.dumps(manifest | {"state.json": file_facts(folder / "state.json")})
    )
    trainer.resume()
    assert trainer.progress.best_bleu == 3.0
    assert trainer.progress.is_improved_by(3.0, 9.0)
    assert not trainer.progress.is_improved_by(3.0, math.inf)
    assert not trainer.progress.is_improved_by(2.9, 1.0)


def test_after_an_update_without_enough_memory_the_next_ones_take_half(make_trainer, monkeypatch):
    trainer = make_trainer("training.max_updates=3", "training.update_tokens=60")
    trainer.progress.max_tokens = 64  # as if `auto` had found it
    learn, sizes = trainer.step._learn, []

    def limited(batch, num_tokens):
        sizes.append(max(batch.source.numel(), batch.target_in.numel()))
        if len(sizes) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return learn(batch, num_tokens)

    monkeypatch.setattr(trainer.step, "_learn", limited)
    trainer.train()
    assert sizes[0] > 32
    assert trainer.progress.max_tokens == 32
    assert max(sizes[3:]) <= 32


def test_time_tokens_and_the_scale_of_the_loss_go_on_where_they_were(make_trainer):
    def make(last):
        trainer = make_trainer("training.update_tokens=20", f"training.max_updates={last}")
        trainer.step.scaler = torch.amp.GradScaler("cpu", init_scale=64.0 / last)
        trainer.resume()
        return trainer

    trainer = make(4)
    trainer.progress.seconds = 1000.0
    trainer.train()
    assert trainer.progress.seconds > 1000
    plan = [
        rows for epoch in range(3) for update in trainer.enter(epoch) for rows in [np.concatenate(update)]
    ]
    counted = [int(trainer.pairs.target_lengths[rows].sum()) for rows in plan]
    assert trainer.progress.num_tokens == sum(counted[:4])
    again = make(7)
    assert again.step.scaler.get_scale() == trainer.step.scaler.get_scale() == 16
    again.train()
    assert again.progress.seconds > trainer.progress.seconds
    assert again.progress.num_tokens == sum(counted[:7])


def test_a_validation_where_a_run_happens_to_stop_costs_no_patience(make_trainer, monkeypatch):
    bleu = iter([5.0, 4.0, 4.0])
    monkeypatch.setattr(trainer_module, "validate", lambda *_: Validation(1.0, next(bleu)))
    trainer = make_trainer("training.validate_every=2", "training.max_updates=5", "training.update_tokens=20")
    trainer.train()
    assert trainer.progress.validations_without_gain == 1


def test_the_seconds_of_all_sessions_count_for_the_limit(make_trainer):
    trainer = make_trainer("training.max_seconds=1000", "training.max_updates=4", "training.validate_every=4")
    trainer.progress.seconds = 1000.0
    trainer.train()
    assert trainer.progress.update == 1


def test_tokens_per_second_are_those_of_training_alone(make_trainer, monkeypatch, tmp_path):
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(trainer_module, "time", clock)
    monkeypatch.setattr(figures_module, "time", clock)
    trainer = make_trainer("training.update_tokens=20", "training.max_updates=4", "training.log_every=4",
                           "training.validate_every=2")  # fmt: skip
    run = trainer.step.run

    def run_for_two_seconds(*given):
        now[0] += 2
        return run(*given)

    def validate_for_an_hour(*_):
        now[0] += 3600
        return Validation(5.0, 1.0)

    def compile_for_a_minute(*_):
        now[0] += 60

    def save_for_two_minutes(*_):
        now[0] += 120

    enter, entered = trainer.enter, []

    def lay_out_for_seven_seconds(number):
        now[0] += 7
        entered.append(number)
        return enter(number)

    monkeypatch.setattr(trainer.step, "run", run_for_two_seconds)
    monkeypatch.setattr(trainer.step, "compile", compile_for_a_minute)
    monkeypatch.setattr(trainer, "enter", lay_out_for_seven_seconds)
    monkeypatch.setattr(trainer_module, "validate", validate_for_an_hour)
    monkeypatch.setattr(trainer_module, "save_checkpoint", save_for_two_minutes)
    trainer.train()
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().split("\n")[:-1]]
    (line,) = (row for row in rows if row["kind"] == "training")
    waiting = 7 * len(entered)
    assert line["tokens_per_second"] == pytest.approx(trainer.progress.num_tokens / (8 + waiting))
    assert waiting > 0
    assert waiting <= line["seconds_waiting_for_data"] < waiting + 1

"""An update whose numbers are not finite is not applied; it is counted, and too many in a row end the run."""

import json

import pytest
import torch
from pretended_gpu.device import WAITING
from torch.utils._python_dispatch import TorchDispatchMode

from nmt.errors import RunError
from nmt.runs.directory import RunDirectory
from nmt.training import optimizer
from nmt.training.objective import Loss


def spoil(monkeypatch, trainer, spoiled, spoil_loss):
    """Spoil the loss of those updates, which are counted from 1 and have one batch each."""
    forward, calls = trainer.step.objective.forward, []

    def spoiling(batch, sample_mask=None):
        loss = forward(batch, sample_mask)
        if trainer.step.objective.training:
            calls.append(batch)
            if len(calls) in spoiled:
                return Loss(spoil_loss(loss.total), loss.negative_log_likelihood)
        return loss

    monkeypatch.setattr(trainer.step.objective, "forward", spoiling)


def add_infinity(total):
    return total + torch.inf  # the gradient stays as it was


def infinite_gradient(total):
    return total + (torch.sqrt(total - total.detach()))  # the loss stays as it was


def state_of(trainer):
    state = trainer.step.weights() | {f"moment {name}": value for name, value in trainer.step.state().items()}
    return {name: value.clone() for name, value in state.items()}


@pytest.mark.parametrize("fused_on", [("cpu",), ()], ids=["fused", "not fused"])
@pytest.mark.parametrize("spoil_loss", [add_infinity, infinite_gradient])
def test_it_leaves_no_trace(spoil_loss, fused_on, make_trainer, monkeypatch):
    # The CPU stands for MPS, whose fused kernel would apply the update.
    monkeypatch.setattr(optimizer, "FUSED_ON", fused_on)
    trainer = make_trainer("training.max_tokens=10000", "training.ema_decay=0.9")
    assert trainer.step.optimizer.defaults["fused"] == bool(fused_on)
    update = trainer.enter(0)[0]
    spoil(monkeypatch, trainer, [2], spoil_loss)
    trainer.step.run(1, update)
    before = state_of(trainer)
    figures = trainer.step.run(2, update)
    after = state_of(trainer)
    assert not figures.gradient_norm.isfinite()
    assert [name for name in before if not before[name].equal(after[name])] == []
    trainer.step.run(3, update)
    assert any(not before[name].equal(value) for name, value in state_of(trainer).items())


def test_it_is_counted_wherever_the_lines_of_the_log_are(make_trainer, monkeypatch, tmp_path, caplog):
    trainer = make_trainer(
        "training.max_tokens=10000", "training.max_updates=9", "training.log_every=4",
        "training.validate_every=3", "training.update_tokens=20",
    )  # fmt: skip
    spoil(monkeypatch, trainer, [2, 5, 6], add_infinity)
    trainer.train()
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().split("\n")[:-1]]
    training = [row for row in rows if row["kind"] == "training"]
    assert [(row["update"], row["updates_skipped"]) for row in training] == [(4, 1), (8, 2), (9, 0)]
    assert all(row["loss"] > 0 for row in training)
    assert "2 updates skipped: their loss or gradient was not finite" in caplog.text


def test_too_many_in_a_row_end_the_run(make_trainer, monkeypatch, tmp_path):
    limits = ("training.max_tokens=10000", "training.max_updates=30", "training.update_tokens=20",
              "training.checkpoint_every=2", "training.max_updates_skipped=5", "training.log_every=2")  # fmt: skip
    trainer = make_trainer(*limits)
    spoil(monkeypatch, trainer, {2, 3, 4, 5, *range(7, 30)}, add_infinity)
    message = (
        r"^training: finite losses and gradients are needed; got none in 6 updates in a row "
        r"\(training.max_updates_skipped\), by update 12; with a lower optimizer.learning_rate, resume=true goes on; "
        r"the last good .* step-10$"
    )
    with pytest.raises(RunError, match=message):
        trainer.train()
    # A run that was stopped and resumed meanwhile goes on counting.
    again = make_trainer(*limits)
    again.resume()
    spoil(monkeypatch, again, range(30), add_infinity)
    with pytest.raises(RunError, match=message):
        again.train()
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().split("\n")[:-1]]
    assert rows[-1]["loss"] is None


FIGURES = {torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.bool}


def test_an_update_does_not_wait_for_the_device(make_trainer):
    trainer = make_trainer("training.max_tokens=10000", "training.ema_decay=0.9")
    update = trainer.enter(0)[0]

    class Readings(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), options=None):
            # Lengths and the like are integers, which the host has.
            name = function.overloadpacket.__name__
            is_figure = any(isinstance(one, torch.Tensor) and one.dtype in FIGURES for one in arguments)
            by_mask = name == "index" and any(
                one.dtype == torch.bool for one in arguments[1] if one is not None
            )
            if (is_figure and name in WAITING) or by_mask:
                raise AssertionError("a figure is read within an update")
            return function(*arguments, **(options or {}))

    trainer.step.run(1, update)
    with Readings():
        figures = trainer.step.run(2, update)
        trainer.window.add(figures)
    for read in (float, lambda total: bool(total.isfinite()), torch.nonzero, lambda total: total[total > 0]):
        with pytest.raises(AssertionError, match="is read"), Readings():
            read(figures.total.unsqueeze(0) if read is not float else figures.total)


def spoil_weight(trainer):
    trainer.model.output.bias.data[2] = torch.nan


def spoil_moment(trainer):
    trainer.step.optimizer.state[trainer.model.output.bias]["exp_avg_sq"][2] = torch.inf


def spoil_average(trainer):
    trainer.step.moving_average.averages["output.bias"][2] = -torch.inf


@pytest.mark.parametrize(
    ("spoil", "name"),
    [
        (spoil_weight, "output.bias/weight_in_training"),
        (spoil_moment, "output.bias/exp_avg_sq"),
        (spoil_average, "output.bias"),
    ],
)
def test_what_is_not_finite_is_never_saved(spoil, name, make_trainer, monkeypatch):
    limits = ("training.checkpoint_every=2", "training.validate_every=1000", "training.update_tokens=20",
              "training.keep_checkpoints=2", "training.ema_decay=0.9")  # fmt: skip
    trainer = make_trainer(*limits)
    run = trainer.step.run

    def run_and_spoil(number, update):
        figures = run(number, update)
        if number == 6:
            spoil(trainer)
        return figures

    monkeypatch.setattr(trainer.step, "run", run_and_spoil)
    message = (
        f"^training: finite weights and moments are needed; got {name} after update 6, which is not; "
        "with a lower optimizer.learning_rate, resume=true goes on; the last good checkpoint is step-4$"
    )
    with pytest.raises(RunError, match=message):
        trainer.train()
    assert trainer.run.steps() == [2, 4]
    assert not list(trainer.run.checkpoints_path.glob(".*"))
    again = make_trainer(*limits)
    again.resume()
    assert again.progress.update == 4


def test_a_rate_that_leaves_no_finite_weight_ends_with_one_line_before_anything_is_saved(
    train_in, monkeypatch, tmp_path
):
    monkeypatch.setattr("nmt.training.step.learning_rate", lambda *_: 1e39)  # infinite in 32 bits
    with pytest.raises(RunError, match=r"after update 2, which is not; .*; no checkpoint was saved yet$"):
        train_in("run")
    assert not (tmp_path / "run" / "checkpoints").exists()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    train_in("run")
    assert RunDirectory(tmp_path / "run").steps()

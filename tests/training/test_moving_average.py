"""The moving average of weights against a loop, and as what is saved and validated."""

import torch
from safetensors.torch import load_file
from torch import nn
from torch.testing import assert_close

from nmt.training.checkpoint import load_checkpoint, save_checkpoint
from nmt.training.moving_average import MovingAverage
from nmt.training.validation import Validation


def test_averages_follow_the_weights():
    torch.manual_seed(0)
    model = nn.Linear(3, 2).double()
    average, expected = MovingAverage(model, 0.9), model.weight.detach().clone()
    for number in range(1, 200):
        with torch.no_grad():
            model.weight.add_(torch.randn(2, 3, dtype=torch.float64))
        is_applied = number % 7 != 3
        average.update(number, torch.tensor(is_applied))
        decay = min(0.9, number / (number + 10)) if is_applied else 1.0
        expected = decay * expected + (1 - decay) * model.weight.detach()
        assert_close(average.averages["weight"], expected)
    weight = model.weight.detach().clone()
    with average.in_place():
        assert_close(model.weight.detach(), expected)
    assert torch.equal(model.weight, weight)
    assert_close(average.averages["weight"], expected)


def test_averages_are_what_translates_and_weights_are_what_goes_on(make_trainer):
    trainer = make_trainer("training.ema_decay=0.9", "schedule=constant", "optimizer.learning_rate=0.01")
    updates = [*trainer.enter(0), *trainer.enter(1)]
    for number, update in enumerate(updates, start=1):
        trainer.step.run(number, update)
    trainer.progress.update = len(updates)
    folder = save_checkpoint(
        trainer.run, trainer.step.weights(), trainer.step.state(), trainer.progress, keep=5
    )
    saved = load_file(folder / "model.safetensors")
    assert_close(saved, trainer.step.moving_average.averages)
    own = {name: parameter.detach() for name, parameter in trainer.model.named_parameters()}
    assert not any(torch.equal(saved[name], own[name]) for name in own if own[name].dim() == 2)
    other = make_trainer("training.ema_decay=0.9", "schedule=constant", "optimizer.learning_rate=0.01")
    load_checkpoint(trainer.run, other.step, {})
    for name, parameter in other.model.named_parameters():
        assert torch.equal(parameter, own[name])
    assert_close(other.step.moving_average.averages, saved)
    for trained in (trainer, other):
        trained.step.run(len(updates) + 1, updates[0])
    assert_close(other.step.moving_average.averages, trainer.step.moving_average.averages)


def test_it_is_the_averages_that_are_validated(make_trainer, monkeypatch):
    trainer = make_trainer("training.ema_decay=0.9", "training.max_updates=3", "training.validate_every=3")
    seen = []

    def validate(*_):
        seen.append(
            {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}
        )
        return Validation(1.0, 0.0)

    monkeypatch.setattr("nmt.training.trainer.validate", validate)
    trainer.train()
    (validated,) = seen
    assert_close(validated, trainer.step.moving_average.averages)
    assert not torch.equal(validated["decoder.norm.weight"], trainer.model.decoder.norm.weight)

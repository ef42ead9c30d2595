"""One update: its learning rate, its random numbers, and what happens where memory runs out within it."""

import copy
import itertools
import json
import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from nmt.data.batching import collate
from nmt.training.checkpoint import load_checkpoint, save_checkpoint
from nmt.training.objective import Objective
from nmt.training.progress import Progress


class Killed(BaseException):
    """Stands for the end of a process: nothing in the package catches it."""


def rate_by_hand(schedule, number):
    """Return the learning rate of one of 12 updates, where the highest is 0.02 after a warm-up of 3."""
    if number < 3:
        return 0.02 * number / 3
    factors = {
        "constant": 1,
        "inverse_square_root": math.sqrt(3 / number),
        "cosine": 0.5 * (1 + math.cos(math.pi * (number - 3) / 9)),
    }
    return 0.02 * factors[schedule]


@pytest.mark.parametrize("schedule", ["constant", "inverse_square_root", "cosine"])
def test_each_update_is_adamw_at_the_rate_of_the_schedule_after_a_stop_as_well(
    schedule, make_trainer, monkeypatch, tmp_path
):
    options = (
        f"schedule={schedule}", "schedule.warmup_updates=3", "optimizer=adamw", "optimizer.learning_rate=0.02",
        "optimizer.weight_decay=0.1", "optimizer.betas=[0.8,0.9]", "optimizer.epsilon=1e-6",
        "training.max_updates=12", "training.update_tokens=20", "training.max_gradient_norm=1e9",
        "training.label_smoothing=0.0", "training.log_every=1", "training.checkpoint_every=5",
        "training.validate_every=100", *(["schedule.final_share=0.0"] if schedule == "cosine" else []),
    )  # fmt: skip
    trainer = make_trainer(*options)
    decaying = {id(p) for p in trainer.step.optimizer.param_groups[0]["params"]}
    decays = [0.1 if id(p) in decaying else 0.0 for p in trainer.model.parameters()]
    reference = copy.deepcopy(trainer.model)

    monkeypatch.setattr(trainer.step, "run", dying_at(7, trainer.step.run))
    with pytest.raises(Killed):
        trainer.train()
    trainer = make_trainer(*options)
    trainer.resume()
    assert trainer.progress.update == 5
    trainer.train()
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().split("\n")[:-1]]
    rates = [row["learning_rate"] for row in rows if row["kind"] == "training"]
    assert rates == pytest.approx([rate_by_hand(schedule, number) for number in range(1, 13)], abs=1e-12)

    objective, weights = Objective(reference, 0.0).train(), list(reference.parameters())
    first, second = ([torch.zeros_like(weight) for weight in weights] for _ in range(2))
    updates = itertools.chain.from_iterable(trainer.enter(epoch) for epoch in itertools.count())
    for number, update in enumerate(itertools.islice(updates, 12), start=1):
        reference.zero_grad()
        for rows in update:
            batch = collate(trainer.pairs.dataset, trainer.pairs.rows[rows], trainer.step.tokenizer)
            objective(batch).total.backward()
        num_tokens = sum(trainer.pairs.target_lengths[rows].sum() for rows in update)
        with torch.no_grad():
            for weight, m, v, decay in zip(weights, first, second, decays, strict=True):
                m.mul_(0.8).add_(0.2 * weight.grad / num_tokens)
                v.mul_(0.9).add_(0.1 * (weight.grad / num_tokens) ** 2)
                change = m / (1 - 0.8**number) / ((v / (1 - 0.9**number)).sqrt() + 1e-6)
                weight.sub_(rate_by_hand(schedule, number) * (change + decay * weight))
    for weight, trained in zip(weights, trainer.model.parameters(), strict=True):
        assert_close(trained, weight, rtol=1e-5, atol=1e-7)


def test_a_checkpoint_that_holds_the_baseline_of_older_versions_goes_on(make_trainer):
    trainer = make_trainer(kind="attention")
    trainer.step.run(1, [np.arange(9)])
    old = trainer.step.state() | {"objective/baseline": torch.ones(2)}
    save_checkpoint(trainer.run, trainer.step.weights(), old, Progress(update=1), keep=1)
    again = make_trainer(kind="attention")
    assert load_checkpoint(again.run, again.step, {}).update == 1
    for each in (trainer, again):
        each.step.run(2, [np.arange(9, 15)])
    expected, found = ({**each.step.weights(), **each.step.state()} for each in (trainer, again))
    assert "objective/baseline" not in found
    assert [name for name in expected if not expected[name].equal(found[name])] == []


def dying_at(number, run):
    """Return a function that runs updates, and dies at the update `number`."""

    def run_or_die(other, update):
        if other == number:
            raise Killed
        return run(other, update)

    return run_or_die


def test_no_two_micro_batches_draw_the_same_and_each_draws_the_same_again(make_trainer, monkeypatch):
    seen = []

    def run(seed, number):
        trainer = make_trainer(f"seed={seed}")
        learn = trainer.step._learn

        def note_and_learn(*given):
            seen.append(torch.get_rng_state().numpy().tobytes())
            return learn(*given)

        monkeypatch.setattr(trainer.step, "_learn", note_and_learn)
        trainer.step.run(number, [np.arange(4)] * 2)

    for _ in range(2):
        for seed, number in itertools.product((1, 2), (1, 2, 1000)):
            run(seed, number)
    assert seen[:12] == seen[12:]
    assert len(set(seen)) == 12


def test_what_is_dropped_differs_from_update_to_update(make_trainer):
    norms = []
    for number in (1, 2, 1):
        trainer = make_trainer("model.dropout=0.5")
        trainer.step.objective.eval()  # as a validation leaves it
        norms.append(float(trainer.step.run(number, [np.arange(9)]).gradient_norm))
    assert norms[0] == norms[2]
    assert norms[0] != pytest.approx(norms[1], rel=1e-3)


def test_true_tokens_become_as_few_as_the_schedule_says_update_by_update(make_trainer, monkeypatch):
    trainer = make_trainer("training.teacher_forcing_ratio=0.9", "teacher_forcing=linear",
                           "teacher_forcing.final_ratio=0.1", "teacher_forcing.num_updates=10")  # fmt: skip
    forward, masks = trainer.step.objective.forward, []

    def note(batch, sample_mask):
        masks.append(sample_mask)
        return forward(batch, sample_mask)

    monkeypatch.setattr(trainer.step.objective, "forward", note)
    for number, true_share in ((1, 0.82), (5, 0.5), (10, 0.1), (20, 0.1)):
        trainer.step.run(number, [np.tile(np.arange(20), 50)])
        assert masks[-1].double().mean() == pytest.approx(1 - true_share, abs=0.04)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("transformer", ("model.dropout=0.3", "training.teacher_forcing_ratio=0.5", "consistency=r_drop")),
        ("attention", ("model.dropout=0.3", "model.attention.choice=straight_through")),
    ],
)
def test_an_update_that_ran_out_of_memory_leaves_what_one_that_did_not_leaves(
    kind, options, make_trainer, monkeypatch
):
    options = (*options, "training.update_tokens=60", "training.ema_decay=0.9")
    whole, retried = make_trainer(*options, kind=kind), make_trainer(*options, kind=kind)
    halves = np.array_split(np.concatenate(whole.enter(0)[0]), 2)
    quarters = [part for half in halves for part in np.array_split(half, 2)]
    learn, calls = retried.step._learn, []

    def limited(*given):
        calls.append(given)
        loss = learn(*given)
        if len(calls) == 2:  # when both have left gradients, and whatever else they leave
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return loss

    monkeypatch.setattr(retried.step, "_learn", limited)
    for number, (expected_rows, rows) in enumerate([(quarters, halves), (halves, halves)], start=1):
        expected, found = whole.step.run(number, expected_rows), retried.step.run(number, rows)
        assert found.ran_out_of_memory == (number == 1)
        assert found.num_tokens == expected.num_tokens
        for name in ("total", "negative_log_likelihood", "gradient_norm"):
            assert torch.equal(getattr(found, name), getattr(expected, name)), name
        for left, right in (
            (whole.step.weights(), retried.step.weights()),
            (whole.step.state(), retried.step.state()),
        ):
            assert left.keys() == right.keys()
            assert [name for name in left if not left[name].equal(right[name])] == []
    assert len(calls) == 2 + 4 + 2


def test_as_long_as_some_micro_batch_can_be_halved_memory_may_run_out(make_trainer, monkeypatch):
    trainer = make_trainer()
    learn, sizes = trainer.step._learn, []

    def limited(batch, num_tokens):
        sizes.append(len(batch.source))
        if sizes[-1] > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return learn(batch, num_tokens)

    monkeypatch.setattr(trainer.step, "_learn", limited)
    trainer.step.run(1, [np.array([0]), np.arange(1, 9)])
    assert sizes[-5:] == [1, 2, 2, 2, 2]


def test_a_layer_that_was_left_out_has_gradients_of_zero(make_trainer):
    """Otherwise ranks that leave out different layers, or all of them, would learn something else than one rank."""
    trainer = make_trainer("model.layer_dropout=0.999")
    trainer.step.run(1, trainer.enter(0)[0])
    moments = {name: trainer.step.optimizer.state[one] for name, one in trainer.model.named_parameters()}
    of_layers = [state["exp_avg"] for name, state in moments.items() if ".layers." in name]
    assert any(not moment.any() for moment in of_layers)
    assert all(state["step"] == 1 for state in moments.values())

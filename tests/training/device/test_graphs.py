"""A graph that was recorded for one batch serves every batch of its shape."""

import dataclasses
import logging

import pytest
import torch
from torch.testing import assert_close

from nmt.data.expected_words import ExpectedWords
from nmt.models.kernels import rooms_of
from nmt.training.device.graphs import MAX_GRAPHS, Replay
from nmt.training.objective import Loss, Objective


class Recorder:
    """Stands for a GPU: a recorded computation runs only when it is started, each time on the same tensors."""

    def __init__(self, num_losses=2):
        self.num_recorded, self.num_losses = 0, num_losses

    def __call__(self, compute):
        self.num_recorded += 1
        loss = Loss(*torch.zeros(self.num_losses, dtype=torch.float64).unbind())

        def start():
            for kept, new in zip(loss, compute(), strict=True):
                if kept is not None:
                    kept.copy_(new)

        return loss, start


def learner(model):
    objective = Objective(model, 0.1, alignment_weight=0.3, teacher_weight=0.5).train()

    def learn(batch, num_tokens):
        loss = objective(batch)
        (loss.total / num_tokens).backward()
        return loss._replace(total=loss.total.detach())

    return learn


@pytest.mark.parametrize("is_guided", [False, True])
@pytest.mark.parametrize("is_taught", [False, True])
def test_replayed_batches_teach_what_eager_ones_teach(tiny_model, tiny_batch, is_guided, is_taught):
    model, recorder = tiny_model("transformer", dropout=0.0), Recorder(3 if is_guided else 2)
    model.is_guided = is_guided
    learn = learner(model)
    replay = Replay(learn, recorder)
    shapes = [
        ((5, 3, 7), (4, 6, 2)),
        ((6, 6), (9, 5)),
        ((1, 7, 1, 1), (3, 2, 2, 2)),
        ((9,), (15,)),
        ((30, 2), (2, 40)),
    ]
    batches = [tiny_batch(seed, *shape) for seed, shape in enumerate(shapes)]
    assert len({rooms_of(batch) for batch in batches}) == 2  # the last batch needs more room
    if is_guided:
        shares = [torch.rand(*batch.target_out.shape, batch.source.shape[1]) for batch in batches]
        batches = [
            dataclasses.replace(batch, alignment=share) for batch, share in zip(batches, shares, strict=True)
        ]
    if is_taught:  # at each position one word alone
        batches = [
            dataclasses.replace(
                batch,
                expected=ExpectedWords(words := (batch.target_out.unsqueeze(2) + 1) % 11, words * 0 + 0.7),
            )
            for batch in batches
        ]
    for batch in (*batches, *batches[::-1]):
        num_tokens = torch.tensor(batch.num_tokens + 3)
        found = []
        for run in (learn, replay):
            model.zero_grad()
            loss = run(batch, num_tokens)
            found.append([*loss, *(parameter.grad.clone() for parameter in model.parameters())])
        assert_close(found[1], found[0])
    assert recorder.num_recorded == 2


def test_a_shape_is_recorded_when_it_comes_again_and_only_so_many_are(tiny_model, tiny_batch, monkeypatch):
    model, recorder = tiny_model("transformer"), Recorder()
    replay = Replay(learner(model), recorder)
    monkeypatch.setattr("nmt.training.device.graphs.MAX_GRAPHS", 2)
    assert MAX_GRAPHS > 2
    counts = []
    for longest in (5, 40, 70, 5, 40, 70, 70, 5):
        model.max_positions = 128
        replay(tiny_batch(1, (longest, 2), (3, 3)), torch.tensor(6))
        counts.append(recorder.num_recorded)
    assert counts == [0, 0, 0, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    "options",
    [
        ("training.max_tokens=4096",),
        ("training.max_tokens=100",),
        ("training.teacher_forcing_ratio=0.5",),
        ("model.dropout=0.2", "model.attention_dropout=0.1", "consistency=r_drop"),
        ("consistency=simcut", "consistency.cutoff=0.3", "model.positions=relative"),
    ],
    ids=" ".join,
)
def test_training_with_recordings_is_training_without(make_trainer, options):
    trained = []
    for recorder in (None, Recorder()):
        trainer = make_trainer(*options)
        if recorder is not None:
            trainer.step.record(recorder)
        updates = [*trainer.enter(0), *trainer.enter(1)]
        figures = [trainer.step.run(number + 1, update) for number, update in enumerate(updates)]
        losses = [float(figure.total) for figure in figures]
        trained.append((losses, [parameter.detach().clone() for parameter in trainer.model.parameters()]))
    assert recorder.num_recorded > 0
    assert_close(trained[1], trained[0])


def test_what_was_recorded_is_forgotten_with_its_gradients(make_trainer):
    trainer, recorder = make_trainer(), Recorder()
    trainer.step.record(recorder)
    (update, *_) = trainer.enter(0)
    for number in (1, 2, 3):
        trainer.step.run(number, update)
    assert recorder.num_recorded == 1
    trainer.step.forget_gradients()
    assert all(parameter.grad is None for parameter in trainer.model.parameters())
    trainer.step.run(4, update)
    assert recorder.num_recorded == 1  # its shape counts as new again
    trainer.step.run(5, update)
    assert recorder.num_recorded == 2


def test_a_batch_says_its_room_from_lengths_alone(tiny_batch):
    batch = tiny_batch()
    wider = dataclasses.replace(batch, source=torch.nn.functional.pad(batch.source, [0, 9, 0, 2]))
    assert rooms_of(wider) == rooms_of(batch)


def test_where_nothing_can_be_recorded_training_goes_on_without(tiny_model, tiny_batch, caplog):
    model, batch = tiny_model("transformer", dropout=0.0), tiny_batch()

    def broken(compute):
        raise RuntimeError("operation not permitted when stream is capturing")

    replay = Replay(learner(model), broken)
    caplog.set_level(logging.WARNING, "nmt")
    losses = [replay(batch, torch.tensor(6)).total for _ in range(4)]
    assert_close(losses, [losses[0]] * 4)
    assert caplog.text.count("going on without more CUDA graphs") == 1

    replay.forget()  # as where memory runs out
    for _ in range(2):
        replay(batch, torch.tensor(6))
    assert caplog.text.count("going on without more CUDA graphs") == 1, "what failed is not tried again"

    def full(compute):
        raise torch.OutOfMemoryError("out of memory")

    replay = Replay(learner(model), full)
    replay(batch, torch.tensor(6))
    with pytest.raises(torch.OutOfMemoryError):
        replay(batch, torch.tensor(6))

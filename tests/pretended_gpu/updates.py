"""Updates of all models on the pretended GPU."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from pretended_gpu.device import GPU, held, pretended_gpu
from torch.testing import assert_close

from nmt.data.batching import collate
from nmt.data.expected_words import ExpectedWords
from nmt.models.ensemble import Ensemble
from nmt.models.kernels import Dropout
from nmt.training.pairs import TrainingPairs
from nmt.training.ranks import Ranks
from nmt.training.step import TrainingStep
from nmt.training.word_teacher import likeliest

UPDATE = [np.arange(16), np.arange(16, 24)]

TRANSFORMERS = [
    (),
    ("model.num_key_value_heads=1", "model.positions=rotary", "model.activation=swiglu", "model.normalization=rms",
     "consistency=r_drop", "training.ema_decay=0.9"),
    ("model.positions=relative", "consistency=simcut", "training.teacher_forcing_ratio=0.5"),
]  # fmt: skip
ATTENTIONS = [
    (),
    ("model.cell=gru", "model.attention.coverage=true", "model.attention.span=local_p",
     "training.teacher_forcing_ratio=0.5", "training.ema_decay=0.9"),
    ("model.attention.join=input", "consistency=simcut", "model.num_layers=2"),
    ("model.attention.score=dot", "model.attention.span=local_m", "model.attention.choice=straight_through"),
]  # fmt: skip
RNNS = [
    (),
    ("model.cell=gru", "model.context=mean", "training.teacher_forcing_ratio=0.5", "consistency=r_drop"),
]
CASES = [
    *(("transformer", options) for options in TRANSFORMERS),
    *(("attention", options) for options in ATTENTIONS),
    *(("rnn", options) for options in RNNS),
]


def without_dropout(made):
    """Return the given model without its dropout, which the CPU draws in another way."""
    for module in made.model.modules():
        if isinstance(module, Dropout):
            module.share, module.scale = 0.0, 1.0
    return made


def steps_on(device, made, dataset, dtype, ranks=None, update=UPDATE):
    """Yield figures of three updates by a process alone or by one of `ranks`."""
    pairs = TrainingPairs(dataset, np.arange(len(dataset)), device)
    step = TrainingStep(made.settings, made.model, made.tokenizer, pairs, device, dtype, ranks or Ranks())
    for number in (1, 2, 3):
        yield step.run(number, update)
    step.weights()  # puts the moving average in their place, if there is one


@pytest.mark.parametrize(
    ("kind", "options"), CASES, ids=lambda given: given if isinstance(given, str) else " ".join(given)
)
def test_an_update_is_that_of_the_cpu_and_waits_for_nothing(kind, options, make, dataset):
    made = [without_dropout(make(kind, "precision=float32", *options)) for _ in range(2)]
    expected = [
        (figures.total, figures.gradient_norm)
        for figures in steps_on(torch.device("cpu"), made[0], dataset, torch.float32)
    ]
    with pretended_gpu() as gpu:
        steps = steps_on(GPU, made[1], dataset, torch.float32)
        figures = [next(steps)]  # allocates what stays: copies of the text, moments
        gpu.waits.clear()
        figures += steps
    assert dict(gpu.waits) == {}
    found = [(held(each.total), held(each.gradient_norm)) for each in figures]
    assert_close(found, expected, rtol=1e-3, atol=1e-4)


@pytest.fixture
def taught(make, dataset):
    """Return the data set with the words that an ensemble of two models expects at each position."""
    made = [make(name, "precision=float32") for name in ("transformer", "attention")]
    teacher = Ensemble([one.model.eval() for one in made])
    found = [
        likeliest(teacher, collate(dataset, np.array([row]), made[0].tokenizer), 8)
        for row in range(len(dataset))
    ]
    words, probabilities = map(torch.cat, zip(*found, strict=True))
    return replace(dataset, expected=ExpectedWords(words.int(), probabilities.half()))


@pytest.mark.parametrize("kind", ["transformer", "attention"])
def test_words_of_teachers_are_learned_as_on_the_cpu_and_wait_for_nothing(kind, make, dataset, taught):
    made = [without_dropout(make(kind, "precision=float32")) for _ in range(2)]
    alone = [figures.total for figures in steps_on(torch.device("cpu"), made[0], dataset, torch.float32)]
    made[0] = without_dropout(make(kind, "precision=float32"))
    expected = [
        (figures.total, figures.gradient_norm)
        for figures in steps_on(torch.device("cpu"), made[0], taught, torch.float32)
    ]
    assert all(abs(one - other) > 1e-3 for one, (other, _) in zip(alone, expected, strict=True))
    with pretended_gpu() as gpu:
        steps = steps_on(GPU, made[1], taught, torch.float32)
        figures = [next(steps)]
        gpu.waits.clear()
        figures += steps
    assert dict(gpu.waits) == {}
    found = [(held(each.total), held(each.gradient_norm)) for each in figures]
    assert_close(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["transformer", "attention", "rnn"])
def test_autocast_reaches_attention_and_cells_but_no_recurrent_layer(kind, dtype, make, dataset):
    made = make(kind, f"precision={str(dtype).removeprefix('torch.')}")
    before = [parameter.detach().clone() for parameter in made.model.parameters()]
    with pretended_gpu() as gpu:
        figures = list(steps_on(GPU, made, dataset, dtype))
    after = [parameter.held for parameter in made.model.parameters()]
    assert all(held(each.total).isfinite() for each in figures)
    assert any(not torch.equal(*pair) for pair in zip(before, after, strict=True))
    assert gpu.types == {
        "transformer": {("attention", dtype)},
        "attention": {("lstm", torch.float32), ("lstm_cell", dtype)},
        "rnn": {("lstm", torch.float32)},
    }[kind]  # fmt: skip


def test_a_deterministic_run_finds_all_it_needs(make, dataset):
    made = make(
        "attention", "precision=float32", "model.attention.choice=straight_through", "deterministic=true"
    )
    torch.use_deterministic_algorithms(True)
    try:
        with pretended_gpu():
            figures = list(steps_on(GPU, made, dataset, torch.float32))
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(held(each.total).isfinite() for each in figures)


def test_what_the_pretended_gpu_refuses_and_notes():
    with pretended_gpu() as gpu:
        there = torch.ones(3, device=GPU)
        with pytest.raises(RuntimeError, match="two devices"):
            there + torch.ones(3)
        with pytest.raises(RuntimeError, match="two devices"):
            torch.cat([there, torch.ones(3)])
        torch.ones(3).pin_memory().to(GPU, non_blocking=True)
        there[0] = 1
        assert gpu.waits.total() == 0
        for wait in (
            lambda: there.tolist(),
            lambda: float(there.sum()),
            lambda: there[there > 0],
            lambda: there.cpu(),
            lambda: torch.ones(3).to(GPU, non_blocking=True),
            lambda: torch.tensor([1, 2], device=GPU),
            lambda: there[torch.tensor([1, 2])],
        ):
            gpu.waits.clear()
            wait()
            assert gpu.waits.total() >= 1

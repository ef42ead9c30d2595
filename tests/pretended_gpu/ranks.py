"""Updates that two processes share, each with a pretended GPU of its own; both of them run this file."""

import os

import numpy as np
import pytest
import torch
from pretended_gpu.device import GPU, OnGPU, held, pretended_gpu
from pretended_gpu.updates import TRANSFORMERS, steps_on, without_dropout
from torch import distributed
from torch.testing import assert_close

from nmt.training.ranks import Ranks

# They draw no random numbers: with uneven micro-batches two ranks would draw others than one.
CASES = [
    *(("transformer", options) for options in TRANSFORMERS[:2]),
    ("attention", ()),
    ("attention", ("model.cell=gru", "model.attention.join=input", "model.num_layers=2")),
    ("rnn", ()),
]
EVEN, UNEVEN = [np.arange(12), np.arange(12, 24)], [np.arange(16), np.arange(16, 24)]


@pytest.fixture(scope="module")
def ranks():
    """Return the ranks, of which this process is one; the fixture below lets devices exchange tensors, as NCCL does."""
    distributed.init_process_group("gloo")
    yield Ranks(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    distributed.destroy_process_group()


@pytest.fixture(autouse=True)
def _of_devices(monkeypatch):
    all_reduce, broadcast = distributed.all_reduce, distributed.broadcast
    monkeypatch.setattr(distributed, "all_reduce", lambda tensor, *given: all_reduce(held(tensor), *given))
    monkeypatch.setattr(distributed, "broadcast", lambda tensor, origin: broadcast(held(tensor), origin))


@pytest.mark.parametrize("update", [EVEN, UNEVEN], ids=["even", "uneven"])
@pytest.mark.parametrize(
    ("kind", "options"), CASES, ids=lambda given: given if isinstance(given, str) else " ".join(given)
)
def test_two_gpus_learn_what_one_processor_learns_and_wait_for_nothing(
    kind, options, update, make, dataset, ranks
):
    made = [without_dropout(make(kind, "precision=float32", *options)) for _ in range(2)]
    alone = steps_on(torch.device("cpu"), made[0], dataset, torch.float32, Ranks(), update)
    expected = [(figures.total, figures.gradient_norm) for figures in alone]
    with pretended_gpu() as gpu:
        steps = steps_on(GPU, made[1], dataset, torch.float32, ranks, update)
        figures = [next(steps)]  # allocates what stays: copies of the text, moments
        gpu.waits.clear()
        figures += steps
    assert dict(gpu.waits) == {}
    found = [(held(each.total), held(each.gradient_norm)) for each in figures]
    assert_close(found, expected, rtol=1e-3, atol=1e-4)
    for ours, theirs in zip(made[1].model.parameters(), made[0].model.parameters(), strict=True):
        assert_close(ours.held, theirs.detach(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["transformer", "attention", "rnn"])
def test_both_take_the_same_step_in_half_precision(kind, dtype, make, dataset, ranks):
    made = make(kind, f"precision={str(dtype).removeprefix('torch.')}")
    with pretended_gpu():
        figures = list(steps_on(GPU, made, dataset, dtype, ranks, UNEVEN))
    assert all(held(each.total).isfinite() for each in figures)
    sums = [float(parameter.held.double().sum()) for parameter in made.model.parameters()]
    first, second = ranks.gather(sums)
    assert first == second


def test_weights_of_the_first_go_to_the_other(ranks):
    with pretended_gpu():
        there = torch.full((3,), float(ranks.rank + 1)).to(GPU)
        ranks.broadcast([there])
    assert isinstance(there, OnGPU)
    assert there.held.tolist() == [1.0] * 3

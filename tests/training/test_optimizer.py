"""Muon: which parameters it moves, and how far."""

import copy
import math
import re

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from nmt.models.layers import Embedding

# All parts of a decoder with one layer but its matrices.
BIASES = ("self_attention.output", "cross_attention.output", "feed_forward.inner", "feed_forward.outer")
VECTORS = [
    "decoder.norm",
    "decoder.layers.0.residuals",
    *(f"decoder.layers.0.{name}.bias" for name in BIASES),
]


@pytest.mark.parametrize("kind", ["transformer", "attention"])
def test_muon_moves_matrices_along_their_singular_vectors_and_adamw_the_rest(kind, make_trainer):
    options = (
        "optimizer=muon", "optimizer.learning_rate=0.01", "schedule=constant", "schedule.warmup_updates=0",
        "optimizer.weight_decay=0.0", "training.max_gradient_norm=1e9", "training.label_smoothing=0.0",
        "model.tied_embeddings=none",
    )  # fmt: skip
    trainer = make_trainer(*options, kind=kind)
    before = copy.deepcopy(trainer.model)
    rows = [np.arange(9)]
    trainer.step.optimizer.zero_grad = lambda set_to_none: None  # its gradients are read below
    trainer.step.run(1, rows)
    vectors = {
        id(p)
        for module in trainer.model.modules()
        if isinstance(module, Embedding)
        for p in module.parameters()
    }
    num_matrices = 0
    for old, new in zip(before.parameters(), trainer.model.parameters(), strict=True):
        change = (old - new) / 0.01
        if new.dim() < 2 or id(new) in vectors or new is trainer.model.output.weight:
            # The first update of Adam is the sign of the gradient.
            assert_close(change, new.grad / (new.grad.abs() + 1e-8), atol=1e-3, rtol=1e-3)
            continue
        num_matrices += 1
        # U S V of the gradient becomes U S' V, in which the singular values that are not small are near 1.
        u, values, v = torch.linalg.svd(new.grad, full_matrices=False)
        inside = u.T @ change @ v.T / (0.2 * math.sqrt(max(new.shape)))
        is_large = values > 0.05 * values.square().sum().sqrt()
        assert bool(is_large.any())
        inside = inside[is_large][:, is_large]
        assert bool(((inside.diag() > 0.5) & (inside.diag() < 1.4)).all())
        off = inside - torch.diag(inside.diag())
        assert off.abs().max() < 0.1, "bfloat16, in which it is computed, has three digits"
    assert num_matrices > 1


def test_muon_has_the_momentum_and_the_weight_decay_that_were_asked_for(make_trainer):
    options = {"momentum": 0.5, "weight_decay": 0.25}
    overrides = [f"optimizer.{name}={value}" for name, value in options.items()]
    trainer = make_trainer("optimizer=muon", "optimizer.learning_rate=0.01", *overrides)
    trainer.step.optimizer.zero_grad = lambda set_to_none: None  # its gradients are read below
    matrix = trainer.model.encoder.layers[0].feed_forward.inner.weight
    alone = matrix.detach().clone()
    muon = torch.optim.Muon([alone], lr=0.01, adjust_lr_fn="match_rms_adamw", **options)
    for number, rows in enumerate((np.arange(9), np.arange(9, 18)), 1):
        trainer.step.run(number, [rows])
        alone.grad = matrix.grad.clone()
        muon.step()
        assert_close(matrix.detach(), alone)


def test_muon_leaves_out_an_update_that_is_not_finite(make_trainer):
    trainer = make_trainer("optimizer=muon")
    trainer.step.run(1, [np.arange(9)])
    weights = trainer.step.weights()
    moments = {name: value.clone() for name, value in trainer.step.state().items()}
    assert any(name.endswith("/momentum_buffer") for name in moments)
    trainer.step.optimizer.found_inf = torch.ones(())
    for parameter in trainer.model.parameters():
        parameter.grad = torch.full_like(parameter, math.nan)
    trainer.step.optimizer.step()
    for name, value in {**trainer.step.weights(), **trainer.step.state()}.items():
        assert value.equal({**weights, **moments}[name])


def test_a_run_of_muon_that_had_no_matrix_to_learn_goes_on_with_all_of_them(train_in):
    train_in("run", "optimizer=muon", "training.max_updates=2", "training.freeze=[encoder,decoder]")
    run = train_in("run", "optimizer=muon", "training.max_updates=4", "training.freeze=[]")
    state = load_file(run / "checkpoints" / "step-000004" / "training.safetensors")
    assert "decoder.layers.0.feed_forward.inner.weight/momentum_buffer" in state


@pytest.mark.parametrize(
    "frozen",
    [
        "encoder",
        "encoder,decoder",  # no matrix is left to learn
        f"source_embedding,target_embedding,output,encoder,{','.join(VECTORS)}",  # only matrices are left
    ],
)
def test_a_run_of_muon_goes_on_with_other_parts_that_learn(frozen, train_in):
    muon = ("optimizer=muon", "model.tied_embeddings=none")
    saved = []
    for number, parts in enumerate(("", frozen, ""), 1):
        run = train_in("run", *muon, f"training.max_updates={2 * number}", f"training.freeze=[{parts}]")
        folder = run / "checkpoints" / f"step-{2 * number:06d}"
        saved.append([load_file(folder / name) for name in ("model.safetensors", "training.safetensors")])
    is_frozen = re.compile(f"({frozen.replace(',', '|')})($|[./])").match
    for first, second, third in zip(*saved, strict=True):
        assert first.keys() == second.keys() == third.keys()
        for name, value in first.items():
            assert torch.equal(value, second[name]) is bool(is_frozen(name)), name
            assert not torch.equal(second[name], third[name]), name

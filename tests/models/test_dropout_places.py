"""Where dropout is, seen by dropping everything."""

import pytest
import torch
from torch.nn.utils.rnn import PackedSequence

from nmt.models import transformer_layers
from nmt.models.kernels import Dropout
from nmt.models.layers import LayerOptions
from nmt.models.transformer import Stack
from nmt.models.transformer_layers import Residual

OPTIONS = {"d_model": 8, "d_ff": 12, "num_heads": 2, "dropout": 0.1}


@pytest.fixture(autouse=True)
def _drop_everything(monkeypatch):
    """Have active dropout drop everything."""
    monkeypatch.setattr(Dropout, "_draw_kept", lambda module, x: torch.zeros_like(x))


def test_what_a_sublayer_adds_is_dropped():
    x = torch.randn(5, 8)
    residual = Residual(LayerOptions(**OPTIONS, norm="pre"))
    assert torch.equal(residual.train()(x, torch.exp), x)
    assert not torch.equal(residual.eval()(x, torch.exp), x)
    residual = Residual(LayerOptions(**OPTIONS, norm="post")).train()
    assert torch.equal(residual(x, torch.exp), residual.norm(x))


def test_what_enters_the_first_layer_is_dropped_with_its_positions():
    stack, vectors, positions = Stack([], LayerOptions(**OPTIONS), 64), torch.ones(5, 8), torch.arange(5)
    assert stack.eval().enter(vectors, positions, 5).abs().min() > 0
    assert not stack.train().enter(vectors, positions, 5).any()


def test_all_attention_of_a_transformer_has_its_dropout_in_training_only(tiny_model, tiny_batch, monkeypatch):
    model, attend, shares = tiny_model("transformer", attention_dropout=0.25), transformer_layers.attend, []

    def attend_and_tell(query, memory, mask=None, causal=False, dropout=0.0, relative=None):
        shares.append(dropout)
        return attend(query, memory, mask, causal, dropout, relative)

    monkeypatch.setattr(transformer_layers, "attend", attend_and_tell)
    num_parts = len(model.encoder.layers) + 2 * len(model.decoder.layers)
    for is_training in (True, False):
        shares.clear()
        model.train(is_training)(tiny_batch())
        assert shares == [0.25 * is_training] * num_parts


@pytest.mark.parametrize("kind", ["rnn", "attention"])
def test_all_that_recurrent_layers_read_is_dropped(kind, tiny_model, tiny_batch):
    model, read = tiny_model(kind, num_layers=2), {}
    layers = [*model.encoder.layers, *(model.decoder if kind == "rnn" else model.cells)]
    for layer in layers:
        layer.register_forward_pre_hook(lambda module, given: read.setdefault(module, []).append(given[0]))
    for is_training in (True, False):
        read.clear()
        model.train(is_training)(tiny_batch())
        assert read.keys() == set(layers)
        for inputs in read.values():
            values = [x.data if isinstance(x, PackedSequence) else x for x in inputs]
            assert any(bool(x.any()) for x in values) is not is_training


def test_the_memory_of_recurrent_attention_is_dropped(tiny_model, tiny_batch, monkeypatch):
    model, batch, memories = tiny_model("attention"), tiny_batch(), []
    project = model.attention.project_memory
    monkeypatch.setattr(
        model.attention,
        "project_memory",
        lambda memory, mask: memories.append(memory) or project(memory, mask),
    )
    for is_training in (True, False):
        model.train(is_training).start(batch.source, batch.source_lengths)
        assert bool(memories[-1].any()) is not is_training

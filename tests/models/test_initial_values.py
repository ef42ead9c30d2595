"""Where every parameter of every model starts: each is held against the distribution that it should come from."""

import math
import re
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from nmt.cli.compose import compose
from nmt.config import TrainSettings
from nmt.config.check import check
from nmt.models.build import build_model

TOKENIZER = SimpleNamespace(joint=False, source=SimpleNamespace(size=900), target=SimpleNamespace(size=700))
SIZES = {
    "transformer": ["d_model=64", "d_ff=96", "num_heads=4", "num_encoder_layers=2", "num_decoder_layers=2"],
    "rnn": ["d_embedding=64", "d_hidden=48", "num_layers=2"],
    "attention": ["d_embedding=64", "d_hidden=48", "num_layers=2", "attention.d_attention=64"],
}
MODELS = [
    ("transformer",),
    ("transformer", "positions=learned", "normalization=rms", "activation=swiglu", "num_key_value_heads=2", "tied_embeddings=none"),
    ("transformer", "positions=relative", "norm=post", "tied_embeddings=three_way", "attention_bias=true"),
    ("transformer", "initial_gain=3"),
    ("rnn", "cell=lstm"),
    ("rnn", "cell=gru", "context_join=add", "tied_embeddings=none"),
    ("attention", "cell=lstm", "attention.join=input", "attention.num_heads=4"),
    ("attention", "cell=tanh", "attention.score=general", "attention.num_heads=4", "attention.span=local_p"),
    ("attention", "cell=gru", "attention.score=additive", "attention.num_heads=4", "attention.coverage=true"),
    ("attention", "attention.score=location", "attention.num_heads=4"),
    ("attention", "attention.score=dot"),
]  # fmt: skip
NUM_GATES = {"LSTM": 4, "LSTMCell": 4, "GRU": 3, "GRUCell": 3, "RNN": 1, "RNNCell": 1}
# Layers that compute several projections at once, each of which starts as if it stood alone.
NUM_PROJECTIONS = {
    "query_key_value": 3, "self_attention.key_value": 2, "cross_attention.key_value": 2,
    "attention.additive": 4, "attention.general": 4, "attention.location": 4, "attention.span.place": 4,
}  # fmt: skip


def settings_of(kind, *options):
    overrides = [f"model={kind}", *(f"model.{option}" for option in (*SIZES[kind], *options))]
    return check(TrainSettings, compose("train", overrides, None).values).model


def build(kind, *options):
    torch.manual_seed(3)
    return build_model(settings_of(kind, *options), TOKENIZER)


def assert_is_uniform(values, bound):
    """Assert that maximum, mean and mean square fit a uniform distribution, as closely as so many numbers allow."""
    n, values = values.numel(), values.double()
    assert bound * (1 - 15 / n) < values.abs().max() <= bound * (1 + 1e-6)
    assert abs(values.mean()) < 5 * bound / math.sqrt(3 * n)
    assert values.square().mean() == pytest.approx(bound**2 / 3, abs=5 * bound**2 * math.sqrt(4 / 45 / n))


def assert_is_normal(values, deviation):
    n, values = values.numel(), values.double()
    assert 3 * deviation < values.abs().max() < 7 * deviation  # a uniform one would end at 1.73
    assert abs(values.mean()) < 5 * deviation / math.sqrt(n)
    assert values.square().mean() == pytest.approx(deviation**2, rel=5 * math.sqrt(2 / n))


def assert_is_xavier(weight, num_blocks):
    """Each block (out, in) is uniform within √(6 / (in + out))."""
    for block in weight.chunk(num_blocks):
        assert_is_uniform(block, math.sqrt(6 / sum(block.shape)))


def assert_is_orthogonal(weight, num_blocks):
    for block in weight.chunk(num_blocks):
        torch.testing.assert_close(block @ block.T, torch.eye(len(block)), rtol=0, atol=1e-5)


def assert_starts_right(owner, name, leaf, parameter, is_swiglu):
    """Assert that a parameter, `leaf` of the module `owner` called `name`, starts as the rules say."""
    kind = type(owner).__name__
    if kind in NUM_GATES:
        if leaf.startswith("weight_ih"):
            assert_is_xavier(parameter, NUM_GATES[kind])
        elif leaf.startswith("weight_hh"):
            assert_is_orthogonal(parameter, NUM_GATES[kind])
        else:
            num_ones = owner.hidden_size if kind.startswith("LSTM") and leaf.startswith("bias_ih") else 0
            assert (parameter == 1).sum() == num_ones  # the test below finds out which gate has them
            assert (parameter == 0).sum() == parameter.numel() - num_ones
    elif isinstance(owner, (nn.LayerNorm, nn.RMSNorm)):
        assert (parameter == (leaf == "weight")).all()
    elif name in ("source_embedding", "target_embedding", "output") or name.endswith("positions.table"):
        if leaf == "bias":
            assert not parameter.any()
        else:
            assert_is_normal(parameter, parameter.shape[1] ** -0.5)
    elif re.search(r"relative\.(keys|values)$", name):
        assert_is_xavier(parameter, 1)
    elif leaf == "bias":
        assert not parameter.any()
    else:
        assert isinstance(owner, nn.Linear), name
        projections = NUM_PROJECTIONS | ({"feed_forward.inner": 2} if is_swiglu else {})
        found = [number for ending, number in projections.items() if name.endswith(ending)]
        assert_is_xavier(parameter, found[0] if found else 1)


@pytest.mark.parametrize("model", MODELS, ids=" ".join)
def test_every_parameter_starts_where_it_should(model):
    built, gain = build(*model), getattr(settings_of(*model), "initial_gain", 1.0)
    num_seen = 0
    for name, module in built.named_modules():
        for leaf, parameter in module.named_parameters(recurse=False):
            num_seen += 1
            by_rule = parameter.detach() / (gain if parameter.dim() > 1 else 1.0)
            assert_starts_right(module, name, leaf, by_rule, "activation=swiglu" in model)
    assert num_seen >= len(list(built.parameters()))


@pytest.mark.parametrize("kind", ["rnn", "attention"])
def test_an_lstm_begins_by_remembering(kind):
    """With weights of zero only biases count: the forget gate's bias of one keeps most of the cell for any input."""
    built = build(kind, "cell=lstm")
    layers = [module for module in built.modules() if isinstance(module, (nn.LSTM, nn.LSTMCell))]
    assert len(layers) == 4
    for layer in layers:
        for name, parameter in layer.named_parameters():
            if name.startswith("weight"):
                parameter.data.zero_()
        num_directions = 2 if getattr(layer, "bidirectional", False) else 1
        shape = (1, 48) if isinstance(layer, nn.LSTMCell) else (num_directions, 1, 48)
        cell = torch.randn(shape)
        x = (
            torch.randn(1, layer.input_size)
            if isinstance(layer, nn.LSTMCell)
            else torch.randn(1, 1, layer.input_size)
        )
        found = layer(x, (torch.zeros(shape), cell))
        hidden, after = found if isinstance(layer, nn.LSTMCell) else found[1]
        kept = torch.sigmoid(torch.tensor(1.0)) * cell
        torch.testing.assert_close(after, kept)
        torch.testing.assert_close(hidden, 0.5 * torch.tanh(kept))

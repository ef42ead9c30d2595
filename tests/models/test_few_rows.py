"""Layers written out for few rows: they compute what the layers compute, and are taken where they should be."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from nmt.models import few_rows
from nmt.models.few_rows import FewRowsLayer
from nmt.models.prepare import prepare_for_translating
from nmt.models.transformer_layers import DecoderLayer, Residual

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="oneDNN is needed")


def all_logits(model, beam_size, joined):
    """Return the logits of six positions of two sentences, in one group or two, with `beam_size` hypotheses each."""
    lengths = (7, 4)
    sources = [torch.randint(4, 11, (1, length)) for length in lengths]
    if joined:
        padded = nn.utils.rnn.pad_sequence([source[0] for source in sources], batch_first=True)
        state = model.start(padded, torch.tensor(lengths))
    else:
        state, other = (
            model.start(source, torch.tensor([length]))
            for source, length in zip(sources, lengths, strict=True)
        )
        state.join(other)
    state.expand(beam_size)
    tokens = torch.randint(4, 11, (6, 2 * beam_size))
    found = []
    for position in range(6):
        found.append(model.project(model.step(tokens[position], state).outputs))
        state.reorder(torch.tensor([0] * beam_size + [2 * beam_size - 1] * beam_size))
    return torch.stack(found)


@pytest.mark.parametrize("joined", [True, False], ids=["one group", "two"])
@pytest.mark.parametrize("beam_size", [1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": "post"},
        {"normalization": "rms"},
        {"activation": "gelu"},
        {"activation": "silu"},
        {"activation": "swiglu"},
        {"attention_bias": True},
        {"num_key_value_heads": 1},
        {"num_key_value_heads": 1, "attention_bias": True},
        {"positions": "rotary"},
        {"positions": "rotary", "num_key_value_heads": 1},
        {"positions": "learned"},
    ],
    ids=str,
)
@torch.inference_mode()
def test_few_rows_find_what_the_layers_find(options, beam_size, joined, tiny_model, monkeypatch):
    model = tiny_model("transformer", **options).float()
    torch.manual_seed(3)
    expected = all_logits(model, beam_size, joined)
    prepared = copy.deepcopy(model)
    prepare_for_translating(prepared)
    for layer in prepared.decoder.layers:
        assert type(layer) is FewRowsLayer
        monkeypatch.setattr(layer.layer, "forward", None)  # which would be called with more rows
    torch.manual_seed(3)
    assert_close(all_logits(prepared, beam_size, joined), expected, rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_more_rows_are_left_to_the_layers(tiny_model, monkeypatch):
    model = tiny_model("transformer").float()
    prepared = copy.deepcopy(model)
    prepare_for_translating(prepared)
    monkeypatch.setattr(few_rows.FewRowsLayer, "_attend", None)  # which would be called with fewer
    torch.manual_seed(3)
    expected = all_logits(model, 5, True)
    torch.manual_seed(3)
    assert_close(all_logits(prepared, 5, True), expected, rtol=1e-4, atol=1e-4)


def test_layers_with_relative_positions_are_not_written_out(tiny_model):
    model = tiny_model("transformer", positions="relative").float()
    prepare_for_translating(model)
    assert not [module for module in model.modules() if isinstance(module, FewRowsLayer)]


class Halved(DecoderLayer):
    def forward(self, *given, **named):
        return 0.5 * super().forward(*given, **named)


class Damped(Residual):
    def forward(self, x, sublayer):
        return super().forward(x, lambda h: 0.1 * sublayer(h))


@pytest.mark.parametrize("kind", [Halved, Damped])
@torch.inference_mode()
def test_layers_that_compute_something_else_are_not_written_out(kind, tiny_model):
    model = tiny_model("transformer").float()
    for layer in model.decoder.layers:
        (layer if kind is Halved else layer.residuals[1]).__class__ = kind
    prepared = copy.deepcopy(model)
    prepare_for_translating(prepared)
    found = []
    for one in (model, prepared):
        torch.manual_seed(3)
        found.append(all_logits(one, 1, True))
    assert_close(found[1], found[0], rtol=1e-4, atol=1e-4)

"""Attention maps show what attention does: the forward pass that is written out gives the model's own outputs."""

import pytest
import torch

from nmt.models.kernels import observing

TRANSFORMERS = [
    {},
    {"norm": "post"},
    {"normalization": "rms", "activation": "swiglu"},
    {"positions": "learned"},
    {"positions": "rotary"},
    {"positions": "rotary", "num_key_value_heads": 1},
    {"positions": "relative", "max_relative_distance": 2},
    {"num_key_value_heads": 1, "num_heads": 4, "positions": "relative"},
]


@pytest.mark.parametrize("options", TRANSFORMERS, ids=str)
def test_written_out_attention_is_the_models_own(tiny_model, tiny_batch, options):
    model, batch = tiny_model("transformer", **options), tiny_batch()
    with torch.no_grad():
        expected = model(batch).outputs
        with observing() as observed:
            # The layers go on with the values as the observed weights weight them.
            found = model(batch).outputs
        again = model(batch).outputs
    is_token = batch.target_out != 0
    torch.testing.assert_close(found[is_token], expected[is_token], rtol=1e-9, atol=1e-11)
    assert torch.equal(again, expected), "nobody looks any more"
    assert [(one.kind, one.layer) for one in model.attention_maps(batch)] == [
        ("encoder", 1), ("encoder", 2), ("decoder", 1), ("cross", 1), ("decoder", 2), ("cross", 2),
    ]  # fmt: skip
    assert all(
        torch.equal(one.weights, weights[:3, :, : one.weights.shape[2], : one.weights.shape[3]])
        for one, weights in zip(model.attention_maps(batch), observed, strict=True)
    )


def test_weights_are_shares_of_what_can_be_seen(tiny_model, tiny_batch):
    model, batch = tiny_model("transformer"), tiny_batch()
    for one in model.attention_maps(batch):
        assert one.weights.shape[1] == 2
        for i, (source, target) in enumerate(zip(batch.source_lengths, batch.target_lengths, strict=True)):
            height, width = {
                "encoder": (source, source),
                "decoder": (target, target),
                "cross": (target, source),
            }[one.kind]
            weights = one.weights[i, :, :height]
            torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
            assert not weights[:, :, width:].any(), "padding has no weight"
            if one.kind == "decoder":
                assert not weights.triu(1).any(), "nothing is seen that is not yet written"


def test_a_change_of_the_weights_shows(tiny_model, tiny_batch):
    model, batch = tiny_model("transformer"), tiny_batch()
    before = model.attention_maps(batch)
    with torch.no_grad():
        model.decoder.layers[0].cross_attention.query.weight.mul_(2)
    after = model.attention_maps(batch)
    changed = [not torch.allclose(a.weights, b.weights) for a, b in zip(before, after, strict=True)]
    assert changed == [False, False, False, True, True, True]


@pytest.mark.parametrize("join", ["input", "output", "output_only"])
@pytest.mark.parametrize("span", ["global", "local_m", "local_p"])
@pytest.mark.parametrize("choice", ["soft", "straight_through"])
def test_maps_of_recurrent_attention(tiny_model, tiny_batch, join, span, choice):
    batch = tiny_batch()
    model = tiny_model("attention", join=join, span=span, choice=choice, window=1)
    (found,) = model.attention_maps(batch)
    assert torch.equal(found.weights[:, 0], model(batch).attention)
    if choice == "straight_through":
        assert set(found.weights.unique().tolist()) == ({0.0, 1.0})
    if span == "global":
        assert found.is_seen is None
        return
    assert found.is_seen.shape == found.weights.shape
    assert not found.weights[~found.is_seen].any()
    if span == "local_m":
        expected = torch.zeros(6, 7, dtype=torch.bool)
        for t in range(6):
            expected[t, max(0, t - 1) : t + 2] = True
        assert torch.equal(found.is_seen[2, 0], expected)
    assert not model.attention.span._forward_hooks


def test_a_plain_recurrent_model_has_none(tiny_model, tiny_batch):
    assert tiny_model("rnn").attention_maps(tiny_batch()) == []

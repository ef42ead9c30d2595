"""Attention by two products against PyTorch's own and against its definition, forward and backward."""

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from nmt.models.kernels import attention as scaled_attention
from nmt.models.kernels.attention import attend


@pytest.mark.parametrize("is_view", [False, True])
@pytest.mark.parametrize(
    # No model is causal and masked at once, and fused attention refuses it.
    ("has_memory", "causal", "masked"),
    [
        (False, False, False),
        (False, True, False),
        (False, False, True),
        (True, False, False),
        (True, False, True),
    ],
)
def test_plain_attention_equals_fused_attention_and_the_definition(
    has_memory, causal, masked, is_view, monkeypatch
):
    torch.manual_seed(0)

    # (parts, B, H, T, d); a view, as in decoding, has the heads of a position side by side.
    def random(*shape):
        values = torch.randn(*shape, dtype=torch.float64)
        return (values.transpose(2, 3).contiguous().transpose(2, 3) if is_view else values).requires_grad_()

    heads = random(1 if has_memory else 3, 2, 2, 5, 4)
    memory = random(2, 2, 2, 6, 4) if has_memory else None
    leaves = [leaf for leaf in (heads, memory) if leaf is not None]
    length = 6 if has_memory else 5
    visible = torch.arange(length) < torch.tensor([length - 1, 2]).view(2, 1, 1, 1)
    mask = torch.zeros(visible.shape).masked_fill(~visible, -torch.inf) if masked else None
    plain = attend(heads, memory, mask, causal)
    weights = torch.randn_like(plain)
    gradients = torch.autograd.grad((plain * weights).sum(), leaves)

    monkeypatch.setattr(scaled_attention, "LARGEST_BATCHED_SCORES", 0)
    fused = attend(heads, memory, mask, causal)
    assert_close(fused, plain)
    assert_close(torch.autograd.grad((fused * weights).sum(), leaves), gradients)

    key, value = heads[1:] if memory is None else memory
    scores = torch.einsum("bhtd,bhsd->bhts", heads[0], key) / 2
    if causal:
        scores = scores.masked_fill(torch.arange(5)[None, :] > torch.arange(5)[:, None], -1e30)
    if masked:
        scores = scores.masked_fill(~visible, -1e30)
    assert_close(torch.einsum("bhts,bhsd->bhtd", functional.softmax(scores, -1), value), plain)


@pytest.mark.parametrize("num_shared", [4, 2])
@pytest.mark.parametrize("masked", [False, True])
@torch.inference_mode()
def test_few_sentences_by_one_call_equal_those_by_products(masked, num_shared, monkeypatch):
    torch.manual_seed(0)
    heads = torch.randn(1, 3, 4, 1, 8, dtype=torch.float64)
    memory = tuple(torch.randn(2, 3, num_shared, 6, 8, dtype=torch.float64))
    mask = None
    if masked:
        mask = torch.zeros(3, 1, 1, 6).masked_fill(torch.rand(3, 1, 1, 6) < 0.4, -torch.inf)
        mask[..., 0] = 0
    found = []
    for most in (0, 12):
        monkeypatch.setattr(scaled_attention, "FEW_SENTENCE_HEADS", most)
        found.append(attend(heads, memory, mask))
    assert_close(*found)
    key, value = (part.repeat_interleave(4 // num_shared, 1) for part in memory)
    assert_close(
        found[0],
        functional.scaled_dot_product_attention(
            heads[0], key, value, None if mask is None else mask.double()
        ),
    )

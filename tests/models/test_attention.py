"""Attention of recurrent models against its definitions."""

import math

import pytest
import torch
from torch.testing import assert_close

from nmt.models.attention import Attention


@pytest.mark.parametrize("score", ["additive", "dot", "scaled_dot", "general"])
def test_scores_by_hand(score):
    torch.manual_seed(0)
    attention = Attention(score, d_query=4, d_memory=3, d_attention=5).double()
    query, memory = torch.randn(2, 4, dtype=torch.float64), torch.randn(6, 3, dtype=torch.float64)
    lengths = 4  # of six positions, two are padding
    mask = (torch.arange(6) < lengths).unsqueeze(0)
    found, weights = attention(query.unsqueeze(0), **attention.project_memory(memory.unsqueeze(0)), mask=mask)
    for i in range(2):
        q = attention.query(query[i])
        scores = []
        for s in range(lengths):
            k = attention.key(memory[s])
            if score == "additive":
                scores.append((attention.additive.weight[0] @ torch.tanh(q + k)).item())
            elif score == "general":
                scores.append((q @ (attention.general.weight @ k)).item())
            else:
                scores.append((q @ k).item() / (math.sqrt(5) if score == "scaled_dot" else 1))
        total = sum(math.exp(value) for value in scores)
        expected = [math.exp(value) / total for value in scores] + [0.0, 0.0]
        assert_close(weights[0, i], torch.tensor(expected, dtype=torch.float64))
        context = sum(w * attention.value(memory[s]) for s, w in enumerate(expected))
        assert_close(found[0, i], context)


@pytest.mark.parametrize("join", ["input", "output", "output_only"])
def test_weights_sum_to_one_and_ignore_padding(join, tiny_model, tiny_batch):
    batch = tiny_batch()
    weights = tiny_model("attention", join=join)(batch).attention  # (B, T, S)
    assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
    for row, length in enumerate(batch.source_lengths.tolist()):
        assert weights[row, :, length:].abs().max() == 0 if length < weights.shape[2] else True


def test_feeding_is_what_tells_output_from_output_only(tiny_model, tiny_batch):
    batch = tiny_batch()
    model = tiny_model("attention", join="output")
    with torch.no_grad():
        fed = model(batch).outputs
        for cell in model.cells[:1]:
            cell.weight_ih[:, 8:] = 0  # the columns that read what was fed
        unfed = model(batch).outputs
    assert_close(fed[:, 0], unfed[:, 0])
    assert not torch.allclose(fed[:, 1], unfed[:, 1])

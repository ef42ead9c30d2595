"""What a model says of the tokens of a text, against sums token by token."""

import pytest
import torch

from nmt.decoding import token_scores as module
from nmt.decoding.token_scores import token_log_probs


@pytest.mark.parametrize("kind", ["rnn", "attention", "transformer"])
def test_the_loss_is_the_sum_over_the_tokens_that_there_are(tiny_model, tiny_batch, kind, monkeypatch):
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 2)
    model, batch = tiny_model(kind).double().eval(), tiny_batch()
    log_probs = model.project(model(batch).outputs).log_softmax(-1).detach()
    expected = -sum(
        float(log_probs[row, position, batch.target_out[row, position]])
        for row, length in enumerate(batch.target_lengths.tolist())
        for position in range(length)
    )
    with torch.no_grad():
        assert -float(token_log_probs(model, batch).sum()) == pytest.approx(expected)


def test_half_precision_is_normalised_in_full(tiny_model, tiny_batch):
    model, batch = tiny_model("transformer", dropout=0.0).eval(), tiny_batch()
    with torch.no_grad():
        model.output.bias[0] += 40.0  # all other tokens become rarer than 16 bits can express
        exact = -float(token_log_probs(model.double(), batch).sum())
        rough = -float(token_log_probs(model.half(), batch).sum())
    assert exact > 30 * batch.num_tokens
    assert rough == pytest.approx(exact, rel=0.01)

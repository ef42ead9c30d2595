"""R-Drop and SimCut against a plain computation of their losses."""

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from nmt import memory
from nmt.config import NoConsistency, RDropSettings, SimCutSettings
from nmt.models.layers import Embedding
from nmt.training.consistency import agreement, cut_words, divergence
from nmt.training.objective import Objective

PAD = 0
R_DROP = RDropSettings(kind="r_drop", weight=5.0)
SIMCUT = SimCutSettings(kind="simcut", weight=3.0, cutoff=0.4)


def plain_loss(model, batch, settings, smoothing):
    """Return the losses of the papers over all logits, from two passes with the objective's random numbers."""
    first = model.project(model(batch).outputs)
    with cut_words(model, agreement(settings).cutoff):
        second = model.project(model(batch).outputs)
    targets = batch.target_out.flatten()
    p, q = (logits.flatten(0, 1)[targets != PAD].log_softmax(-1) for logits in (first, second))
    targets = targets[targets != PAD]
    own = [
        functional.nll_loss(x, targets, reduction="sum") * (1 - smoothing) - smoothing * x.mean(-1).sum()
        for x in (p, q)
    ]
    forth = functional.kl_div(q, p, log_target=True, reduction="sum")
    back = functional.kl_div(p, q, log_target=True, reduction="sum")
    nll = functional.nll_loss(p, targets, reduction="sum")
    if settings.kind == "r_drop":
        return (own[0] + own[1] + 5.0 * (forth + back) / 2) / 2, nll
    return own[0] + 3.0 * forth, nll


@pytest.mark.parametrize("kind", ["rnn", "transformer"])
@pytest.mark.parametrize("chunk", [2, 1000])
@pytest.mark.parametrize("settings", [R_DROP, SIMCUT], ids=["r_drop", "simcut"])
def test_loss_and_gradients_equal_the_plain_computation(
    settings, chunk, kind, tiny_model, tiny_batch, monkeypatch
):
    monkeypatch.setattr(memory, "LOGITS_AT_ONCE", {"cpu": chunk * 11})
    model, batch = tiny_model(kind, tied="three_way", dropout=0.3).train(), tiny_batch()
    torch.manual_seed(5)
    loss = Objective(model, 0.1, agreement(settings)).train()(batch)
    (loss.total * 0.5).backward()
    found = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    torch.manual_seed(5)
    total, nll = plain_loss(model, batch, settings, 0.1)
    (total * 0.5).backward()
    assert_close(loss.total, total)
    assert_close(loss.negative_log_likelihood, nll.detach())
    assert_close(found, [parameter.grad for parameter in model.parameters()])


def test_two_equal_passes_agree_and_cost_what_one_does(tiny_model, tiny_batch):
    model, batch = tiny_model("transformer", dropout=0.0).train(), tiny_batch()
    once = Objective(model, 0.1, agreement(NoConsistency(kind="none"))).train()(batch)
    twice = Objective(model, 0.1, agreement(R_DROP)).train()(batch)
    assert_close(twice.total, once.total)
    evaluated = Objective(model, 0.1, agreement(SIMCUT)).eval()(batch)
    assert_close(evaluated.total, once.negative_log_likelihood)


def test_divergence_is_the_sum_over_words():
    p, q = torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[0.25, 0.25, 0.5]])
    expected = 0.5 * torch.tensor(0.5 / 0.25).log() + 0.25 * torch.tensor(0.25 / 0.5).log()
    assert_close(divergence(p.log(), q.log()), expected.unsqueeze(0))


def test_words_are_cut_whole_as_often_as_asked_and_only_meanwhile():
    torch.manual_seed(0)
    embedding = Embedding(7, 4)
    ids = torch.randint(7, (100, 300))
    with cut_words(embedding, 0.4):
        vectors = embedding(ids)
    is_cut = (vectors == 0).all(-1)
    assert is_cut.float().mean().item() == pytest.approx(0.4, abs=0.01)
    assert_close(vectors[~is_cut], embedding(ids)[~is_cut])
    with pytest.raises(KeyError), cut_words(embedding, 0.4):
        raise KeyError
    assert (embedding(ids) != 0).all()


@pytest.mark.parametrize("settings", [R_DROP, SIMCUT], ids=["r_drop", "simcut"])
def test_bfloat16_agrees_with_float32(settings, tiny_model, tiny_batch):
    model, batch = tiny_model("transformer", width=32, d_ff=64, dropout=0.0).float(), tiny_batch()
    losses = []
    for enabled in (False, True):
        torch.manual_seed(1)
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            loss = Objective(model, 0.1, agreement(settings)).train()(batch).total
        loss.backward()
        losses.append(loss)
    assert losses[1].dtype == torch.float32
    assert losses[1].item() == pytest.approx(losses[0].item(), rel=0.05)

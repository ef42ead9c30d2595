"""The SSRU against its formula, and the type of its state; test_contract.py compares steps with whole sequences."""

import pytest
import torch
from tiny_models import make_batch, make_model
from torch.testing import assert_close

from nmt.errors import RunError
from nmt.export.onnx.graph import check
from nmt.export.weights import require_transformer
from nmt.models.kernels import Packing, room_for
from nmt.models.layers import LayerOptions
from nmt.models.simple_recurrence import SSRU, scan


def by_hand(forget, new):
    """Return s_t = f_t s_{t-1} + new_t, position by position."""
    state, states = torch.zeros_like(new[:, 0]), []
    for t in range(new.shape[1]):
        state = forget[:, t] * state + new[:, t]
        states.append(state)
    return torch.stack(states, 1)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 33, 64])
def test_the_scan_is_the_recurrence_and_so_is_its_gradient(length):
    torch.manual_seed(length)
    forget = torch.rand(2, length, 3, dtype=torch.float64, requires_grad=True)
    new = torch.randn(2, length, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(2, length, 3, dtype=torch.float64)
    found, expected = scan(forget, new), by_hand(forget, new)
    assert_close(found, expected)
    gradients = [
        torch.autograd.grad((states * weights).sum(), (forget, new), materialize_grads=True)
        for states in (found, expected)
    ]
    assert_close(gradients[0], gradients[1])


@pytest.mark.parametrize("gate", [0.0, 1e-38, 1e-6, 1 - 1e-6, 1.0])
def test_gates_at_their_ends_do_no_harm(gate):
    new = torch.randn(1, 300, 2, generator=torch.Generator().manual_seed(0))
    forget = torch.full_like(new, gate, requires_grad=True)
    found = scan(forget, new)
    exact = by_hand(forget.detach().double(), new.double())
    assert_close(found.detach(), exact.float(), rtol=1e-4, atol=1e-5)
    (gradient,) = torch.autograd.grad(found.sum(), forget)
    assert gradient.isfinite().all()


def test_a_sequence_is_what_the_formula_says_and_ends_where_its_sentence_does():
    torch.manual_seed(0)
    unit, lengths = SSRU(LayerOptions(d_model=4, d_ff=8, num_heads=1)).double(), torch.tensor([3, 5])
    for parameter in unit.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.randn(2, 5, 4, dtype=torch.float64)
    layout = Packing(lengths, room_for(lengths))
    found = layout.unpack(unit(layout.pack(x), layout), x.shape[:2])
    for sentence, length in enumerate(lengths.tolist()):
        state = torch.zeros(4, dtype=torch.float64)
        for t in range(length):
            gate = 1 / (1 + torch.exp(-(unit.forget.weight @ x[sentence, t] + unit.forget.bias)))
            state = gate * state + (1 - gate) * (unit.candidate.weight @ x[sentence, t])
            assert_close(found[sentence, t], state.clamp(min=0))


def test_what_is_kept_is_one_vector_a_layer_that_is_never_rounded_to_16_bits():
    model, batch = make_model("transformer", decoder="ssru").to(torch.bfloat16), make_batch()
    with torch.inference_mode():
        state = model.start(batch.source, batch.source_lengths)
        state.expand(2)
        for _ in range(3):
            model.step(torch.full((6,), 5), state)
    assert {name: tuple(kept.shape) for name, kept in state.hypotheses.items()} == {
        "own_state_0": (6, 8), "own_state_1": (6, 8),
    }  # fmt: skip
    assert {kept.dtype for kept in state.hypotheses.values()} == {torch.float32}


def test_attention_of_such_a_decoder_is_that_to_the_source():
    model, batch = make_model("transformer", decoder="ssru"), make_batch()
    kinds = [(one.kind, one.layer) for one in model.attention_maps(batch)]
    assert kinds == [("encoder", 1), ("encoder", 2), ("cross", 1), ("cross", 2)]
    weights = model.alignment(batch)
    assert_close(weights.sum(-1)[0, :4], torch.ones(4, dtype=torch.float64))


def test_formats_without_it_say_so():
    model = make_model("transformer", decoder="ssru")
    with pytest.raises(
        RunError, match=r"^run: model.decoder=attention is needed, since the files for ONNX Runtime cannot"
    ):
        check(model)
    with pytest.raises(RunError, match=r"CTranslate2 cannot hold a recurrent decoder; got ssru$"):
        require_transformer(model, "CTranslate2", "it has no recurrent layers")

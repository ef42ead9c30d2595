"""The Transformer's options against their definitions."""

import math
import os
import subprocess
import sys
from dataclasses import fields

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.testing import assert_close

from nmt import memory
from nmt.config import TransformerSettings
from nmt.models.kernels import ActivationDropout
from nmt.models.kernels import attention as scaled_attention
from nmt.models.kernels.attention import attend
from nmt.models.kernels.packing import Packing, room_for
from nmt.models.layers import LayerOptions, normalisation
from nmt.models.positions import Positions, RelativePositions, rotate, rotate_queries_and_keys
from nmt.models.transformer import TransformerEncoder
from nmt.models.transformer_layers import FeedForward, SelfAttention
from nmt.training.objective import Objective


def options(**changes):
    return LayerOptions(**{"d_model": 8, "d_ff": 12, "num_heads": 2, "dropout": 0.0, **changes})


def test_no_model_leaves_an_option_of_its_layers_to_a_default():
    assert {field.name for field in fields(LayerOptions)} <= TransformerSettings.model_fields.keys()


def test_a_product_of_rotated_vectors_depends_on_their_distance_alone():
    torch.manual_seed(0)
    positions = Positions("rotary", 8, 6, 64)
    query, key = torch.randn(2, 1, 1, 6)

    def product(i, j):
        turned = (rotate(x, positions.rotation(torch.tensor([place]))) for x, place in ((query, i), (key, j)))
        return torch.stack(list(turned)).prod(0).sum()

    for distance in (0, 1, 5, 17):
        assert_close(product(distance, 0), product(distance + 23, 23))
        assert not torch.isclose(product(distance, 0), product(distance + 1, 0))
    # The first pair turns by one radian a position.
    turned = rotate(query, positions.rotation(torch.tensor([2])))[0, 0]
    first, second = query[0, 0, 0], query[0, 0, 3]
    assert_close(turned[0], first * math.cos(2) - second * math.sin(2))
    assert_close(turned[3], first * math.sin(2) + second * math.cos(2))
    assert_close(turned.norm(), query.norm())


@pytest.mark.parametrize("num_shared", [1, 2])
def test_queries_and_keys_are_turned_and_values_are_not(num_shared):
    rotation = Positions("rotary", 8, 4, 64).rotation(torch.tensor([0, 3, 9]))
    rows = torch.randn(3, (2 + 2 * num_shared) * 4, dtype=torch.float64)
    found = rotate_queries_and_keys(rows, rotation, 2, num_shared).view(3, -1, 4)
    heads = rows.view(3, -1, 4)
    num_turned = 2 + num_shared
    assert_close(found[:, :num_turned], rotate(heads[:, :num_turned], rotation))
    assert torch.equal(found[:, num_turned:], heads[:, num_turned:])


@pytest.mark.parametrize(
    ("causal", "num_queries", "first"), [(False, 5, 0), (True, 5, 0), (False, 1, 4), (False, 2, 1)]
)
def test_relative_positions_equal_an_explicit_loop(causal, num_queries, first):
    torch.manual_seed(0)
    relative = RelativePositions(2, 3).double()
    query = torch.randn(1, 2, 2, num_queries, 3, dtype=torch.float64)
    memory = torch.randn(2, 2, 2, 5, 3, dtype=torch.float64)
    found = attend(query, memory, causal=causal, relative=relative.look_up(num_queries, 5, first))
    for b in range(2):
        for h in range(2):
            for place in range(num_queries):
                i = place + first
                visible = range(i + 1) if causal else range(5)
                distances = [min(2, max(-2, j - i)) + 2 for j in visible]
                scores = torch.stack(
                    [
                        query[0, b, h, place] @ (memory[0, b, h, j] + relative.keys.weight[r])
                        for j, r in zip(visible, distances, strict=True)
                    ]
                )
                weights = (scores / 3**0.5).softmax(0)
                values = [
                    memory[1, b, h, j] + relative.values.weight[r]
                    for j, r in zip(visible, distances, strict=True)
                ]
                expected = sum(w * v for w, v in zip(weights, values, strict=True))
                assert_close(found[b, h, place], expected)


@pytest.mark.parametrize("largest", [0, 128 * 128])
@pytest.mark.parametrize(("causal", "masked"), [(False, False), (True, False), (False, True)])
def test_shared_heads_equal_heads_of_their_own_that_are_alike(causal, masked, largest, monkeypatch):
    monkeypatch.setattr(scaled_attention, "LARGEST_BATCHED_SCORES", largest)
    torch.manual_seed(0)
    query = torch.randn(1, 2, 4, 5, 3, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(2, 2, 2, 5, 3, dtype=torch.float64, requires_grad=True)
    mask = None
    if masked:
        mask = torch.zeros(2, 1, 1, 5, dtype=torch.float64)
        mask[1, ..., 3:] = -torch.inf
    shared = attend(query, memory, mask, causal)
    alike = attend(query, memory.repeat_interleave(2, 2), mask, causal)
    assert_close(shared, alike)
    weights = torch.randn_like(shared)
    gradients = [torch.autograd.grad((found * weights).sum(), [query, memory]) for found in (shared, alike)]
    assert_close(gradients[0], gradients[1])


def test_as_many_shared_heads_as_heads_are_plain_attention():
    torch.manual_seed(0)
    plain, grouped = (SelfAttention(options(num_heads=4, num_key_value_heads=n)).double() for n in (None, 1))
    assert SelfAttention(options(num_heads=4, num_key_value_heads=4)).is_grouped is False
    query, key, value = (torch.randn(n, 8, dtype=torch.float64) for n in (8, 2, 2))
    with torch.no_grad():
        plain.query_key_value.weight.copy_(torch.cat([query, key.repeat(4, 1), value.repeat(4, 1)]))
        grouped.query.weight.copy_(query)
        grouped.key_value.weight.copy_(torch.cat([key, value]))
        grouped.output.load_state_dict(plain.output.state_dict())
    lengths = torch.tensor([4, 2])
    layouts = [Packing(lengths, room_for(lengths), 4, num_shared) for num_shared in (1, 4)]
    rows = torch.randn(len(layouts[0].cell_of_row), 8, dtype=torch.float64)
    for causal in (False, True):
        found = [
            model(rows, each, None, causal) for model, each in zip((grouped, plain), layouts, strict=True)
        ]
        assert_close(found[0][:6], found[1][:6])


@pytest.mark.parametrize("is_large", [False, True])
def test_attention_dropout_drops_weights_and_scales_the_others(is_large, monkeypatch):
    if is_large:
        monkeypatch.setattr(scaled_attention, "LARGEST_BATCHED_SCORES", 0)
    torch.manual_seed(0)
    query = torch.zeros(1, 1, 300, 50, 50)
    identity = torch.eye(50).expand(2, 1, 300, 50, 50)  # so that attention returns its weights
    weights = attend(query, identity, dropout=0.25) * 50
    assert (weights == 0).float().mean().item() == pytest.approx(0.25, abs=0.003)
    assert_close(weights[weights != 0], torch.full_like(weights[weights != 0], 1 / 0.75))
    attention = SelfAttention(options(attention_dropout=0.5)).double()
    lengths = torch.tensor([5, 3])
    layout = Packing(lengths, room_for(lengths), 2, 2)
    rows = torch.randn(len(layout.cell_of_row), 8, dtype=torch.float64)
    trained, evaluated, again = (
        attention.train(on)(rows, layout, None, False) for on in (True, False, False)
    )
    assert not torch.allclose(trained, evaluated)
    assert_close(evaluated, again)


def test_swiglu_and_rms_normalisation_are_their_formulas():
    torch.manual_seed(0)
    x = torch.randn(7, 6, dtype=torch.float64)
    gate, value = x[:, :3], x[:, 3:]
    assert_close(ActivationDropout("swiglu", 0.0)(x), gate / (1 + torch.exp(-gate)) * value)
    norm = normalisation("rms", 6).double()
    nn.init.normal_(norm.weight)
    assert_close(norm(x), x / (x.square().mean(1, keepdim=True) + 1e-6).sqrt() * norm.weight)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "swiglu"])
def test_activation_dropout_is_its_own(activation):
    torch.manual_seed(0)
    x = torch.randn(400, 8, dtype=torch.float64)
    quiet = FeedForward(options(activation=activation, dropout=0.9, activation_dropout=0.0)).double().train()
    assert_close(quiet(x), quiet.eval()(x))
    as_dropout = FeedForward(options(activation=activation, dropout=0.5)).double().train()
    assert not torch.allclose(as_dropout(x), as_dropout.eval()(x))
    torch.manual_seed(1)
    mean = torch.stack([as_dropout.train()(x) for _ in range(400)]).mean(0)
    assert (mean - as_dropout.eval()(x)).abs().mean() < 0.05


def test_layers_are_left_out_in_training_only_and_as_often_as_asked(monkeypatch):
    torch.manual_seed(0)
    encoder = TransformerEncoder(10, options(layer_dropout=0.3), 64).double()
    vectors, lengths = torch.randn(2, 4, 8, dtype=torch.float64), torch.tensor([4, 2])
    whole = encoder.eval().read(vectors, lengths)
    assert_close(encoder.read(vectors, lengths), whole)
    ran = []
    for layer in encoder.layers:
        layer.register_forward_hook(lambda *_: ran.append(1))
    encoder.train()
    for _ in range(200):
        encoder.read(vectors, lengths)
    assert len(ran) / 2000 == pytest.approx(0.7, abs=0.04)
    encoder = TransformerEncoder(2, options(layer_dropout=0.999), 64).double().train()
    layout = encoder.lay_out(lengths, vectors.device, 4)
    left = encoder.norm(encoder.enter(layout.pack(vectors), layout.positions, 4))
    assert_close(encoder.read(vectors, lengths), layout.unpack(left, (2, 4)))


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "relative"])
def test_an_encoder_reads_sentences_one_by_one_and_causally_where_asked(positions):
    torch.manual_seed(0)
    encoder = TransformerEncoder(2, options(positions=positions, max_relative_distance=2), 64).double().eval()
    for parameter in encoder.parameters():
        nn.init.normal_(parameter, std=0.5)
    vectors, lengths = torch.randn(3, 6, 8, dtype=torch.float64), torch.tensor([6, 2, 4])
    wide = torch.nn.functional.pad(vectors, [0, 0, 0, 60])
    assert encoder.read(wide, lengths).shape == wide.shape
    assert_close(encoder.read(wide, lengths)[0, :6], encoder.read(vectors, lengths)[0])
    for causal in (False, True):
        together = encoder.read(vectors, lengths, causal)
        for row, length in enumerate(lengths.tolist()):
            alone = encoder.read(vectors[row : row + 1, :length], lengths[row : row + 1], causal)
            assert_close(together[row, :length], alone[0])
        changed = vectors.clone()
        changed[0, 4, 0] += 1
        differs = (encoder.read(changed, lengths, causal) - together)[0].abs().amax(1) > 1e-9
        assert differs.tolist() == [not causal] * 4 + [True, True]


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "relative"])
def test_order_matters(positions):
    torch.manual_seed(0)
    encoder = TransformerEncoder(1, options(positions=positions), 64).double().eval()
    vectors, lengths = torch.randn(1, 5, 8, dtype=torch.float64), torch.tensor([5])
    swapped = vectors[:, [0, 2, 1, 3, 4]]
    found, of_swapped = encoder.read(vectors, lengths), encoder.read(swapped, lengths)
    assert not torch.allclose(found[0, 0], of_swapped[0, 0])


def test_a_padded_layout_turns_each_token_by_its_own_position():
    positions = Positions("rotary", 8, 4, 64)
    lengths = torch.tensor([3, 1, 2])
    layout = Packing(lengths, room_for(lengths))
    assert layout.positions[:6].tolist() == [0, 1, 2, 0, 0, 1]
    cosines = positions.rotation(layout.positions)[0, :6, 0, 0]
    assert_close(cosines, torch.tensor([0.0, 1, 2, 0, 0, 1]).cos())
    assert functional.pad(layout.positions, [0, 1])[-1] == 0


def test_gradients_of_relative_positions_do_not_depend_on_the_order_of_threads():
    code = (
        "import torch; from nmt.models.positions import RelativePositions; torch.manual_seed(0);"
        "relative = RelativePositions(4, 64); weights = torch.randn(128, 128, 64);"
        "keys, _ = relative.look_up(128, 128); (keys * weights).sum().backward();"
        "print(relative.keys.weight.grad.double().sum(1).tolist())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": "2"},
        ).stdout
        for _ in range(4)
    }
    assert len(found) == 1


@pytest.mark.parametrize("normalization", ["layer", "rms"])
def test_bfloat16_agrees_with_float32_with_and_without_sampling(normalization, tiny_model, tiny_batch):
    options = {"width": 32, "d_ff": 64, "dropout": 0.0, "normalization": normalization}
    model, batch = tiny_model("transformer", **options).float(), tiny_batch()
    nowhere = torch.zeros(batch.target_in.shape, dtype=torch.bool)
    found = []
    for enabled, mask in ((False, None), (True, None), (True, nowhere)):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            loss = Objective(model, 0.1).train()(batch, mask).total
        loss.backward()
        found.append([loss.detach(), *(parameter.grad.clone() for parameter in model.parameters())])
    assert found[1][0].item() == pytest.approx(found[0][0].item(), rel=0.05)
    assert_close(found[2], found[1])  # the first pass, without gradients, takes none from the second


def test_sinusoids_that_are_kept_are_those_that_are_computed():
    torch.manual_seed(0)
    plain, keeping = (Positions("sinusoidal", 8, 4, 100) for _ in range(2))
    keeping.keep_sinusoids()
    for longest in (1, 2, 3, 40, 7, 100):
        vectors, positions = torch.randn(5, 8), torch.randint(longest, (5,))
        assert torch.equal(
            keeping.add_to(vectors, positions, longest), plain.add_to(vectors, positions, longest)
        )
    assert len(keeping.kept) < 2 * 100


def test_a_start_from_zeros_knows_nothing_of_the_begin_token(tiny_model, tiny_batch):
    model, batch = tiny_model("transformer", tied="two_way").eval(), tiny_batch()
    begin, with_begin = int(batch.target_in[0, 0]), model(batch).outputs
    model.target_embedding.zero_id = begin
    before = model(batch).outputs
    assert not torch.allclose(before, with_begin)
    with torch.no_grad():
        model.target_embedding.weight[begin] = 7.0
    assert_close(model(batch).outputs, before)
    state = model.start(batch.source, batch.source_lengths)
    assert_close(model.step(batch.target_in[:, 0], state).outputs, before[:, 0])
    with torch.no_grad():
        model.target_embedding.weight[begin] = 0.0
    model.target_embedding.zero_id = None
    assert_close(model(batch).outputs, before)


def test_what_the_first_of_two_passes_predicts_is_found_in_chunks(tiny_model, tiny_batch, monkeypatch):
    model, batch = tiny_model("transformer"), tiny_batch()
    everywhere = torch.ones(batch.target_in.shape, dtype=torch.bool)
    expected = model(batch, everywhere).outputs
    vocabulary_size, sizes = model.output.out_features, []
    monkeypatch.setattr(memory, "LOGITS_AT_ONCE", {"cpu": 2 * vocabulary_size})
    model.output.register_forward_hook(lambda layer, given, logits: sizes.append(logits.shape))
    assert_close(model(batch, everywhere).outputs, expected)
    assert len(sizes) > 2
    assert set(sizes) == {(2, vocabulary_size)}

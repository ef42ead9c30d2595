"""The Transformer in 8-bit integers, against floating point and against sums of integers."""

import copy

import pytest
import torch
from tiny_models import make_model
from torch import nn
from torch.testing import assert_close

from nmt.device import choose_precision, floating_point
from nmt.errors import DeviceError, SettingsError
from nmt.models.kernels.int8 import QuantizedLinear, QuantizedNorm, quantize
from nmt.models.kernels.packing import Grid
from nmt.models.kernels.prepare import prepare_for_translating
from nmt.models.layers import RMSNorm, normalisation


def transformer(**options):
    """Make a model whose normalisations have weights that tell when they are left out."""
    sizes = {"d_ff": 96, "num_heads": 4, "sizes": (48, 48)}
    model = make_model("transformer", 64, is_random=False, **sizes, **options)
    for name, parameter in model.named_parameters():
        if "norm" in name:
            nn.init.uniform_(parameter, 0.5, 1.5) if name.endswith("weight") else nn.init.normal_(
                parameter, std=0.3
            )
        elif name.endswith("bias"):
            nn.init.normal_(parameter, std=0.1)
    return model


@torch.no_grad()
def logits_of(model, sentences, target):
    """Return the logits (T, B, V) that follow each position of `target` (T, B)."""
    lengths = torch.tensor([len(ids) for ids in sentences])
    state = model.start(nn.utils.rnn.pad_sequence(sentences, batch_first=True), lengths)
    return torch.stack([model.project(model.step(tokens, state).outputs).float() for tokens in target])


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_a_normalised_vector_is_within_half_a_step(kind):
    torch.manual_seed(0)
    norm = normalisation(kind, 256)
    x = 3 * torch.randn(50, 256, dtype=torch.float64) + 1
    x[0] = 0
    x[0, 7], x[1, 7] = 1000, -1000  # nearly all of the square: 16 and -16 after it
    centred = x - x.mean(1, keepdim=True) if kind == "layer" else x
    exact = centred / (centred.pow(2).mean(1, keepdim=True) + norm.eps).sqrt()
    found = QuantizedNorm(norm)(x.float())
    assert found.dtype == torch.uint8
    assert_close((found.double() - 128) / 16, exact.clamp(-8, 127 / 16), rtol=0, atol=0.5 / 16 + 1e-4)
    assert found[0, 7] == 255
    assert found[1, 7] == 0


@pytest.mark.parametrize("rows", [1, 37])
def test_a_product_of_bytes_is_a_sum_of_integers(rows, int8):
    torch.manual_seed(0)
    weight, bias = torch.randn(40, 24), torch.randn(40)
    weight[3] = 0
    layer = QuantizedLinear(weight, bias, 1 / 16, 128, torch.float32)
    x = torch.randint(0, 256, (rows, 24), dtype=torch.uint8)
    scales = weight.abs().amax(1) / (127 if torch.cpu._is_vnni_supported() else 64)
    steps = (weight / scales.unsqueeze(1)).nan_to_num().round().long()
    sums = (x.long() - 128) @ steps.T
    assert_close(layer(x), (sums.double() * scales / 16 + bias).float(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 37])
def test_the_largest_products_are_not_too_large(rows, int8):
    weight, x = torch.ones(40, 24), torch.full((rows, 24), 255, dtype=torch.uint8)
    weight[::2] = -1
    for zero in (0, 128):
        found = QuantizedLinear(weight, torch.zeros(40), 1.0, zero, torch.float32)(x)
        assert_close(found, (weight.sum(1) * (255 - zero)).expand(rows, -1))


def test_outputs_in_bytes_are_rectified_and_cut(int8):
    torch.manual_seed(0)
    weight, bias = torch.randn(40, 24) / 24, torch.randn(40)
    x = torch.randint(0, 256, (37, 24), dtype=torch.uint8)
    floats = QuantizedLinear(weight, bias, 1 / 16, 128, torch.float32)(x)
    found = QuantizedLinear(weight, bias, 1 / 16, 128, torch.uint8)(x)
    assert found.dtype == torch.uint8
    assert floats.min() < 0
    assert floats.max() > 1
    assert_close(found.float(), 255 * floats.clamp(0, 1), rtol=0, atol=0.5 + 1e-3)


@pytest.mark.parametrize(
    "dtype", sorted({torch.float32, floating_point(torch.int8, torch.device("cpu"))}, key=str)
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalization": "rms"},
        {"activation": "gelu"},
        {"activation": "swiglu"},
        {"num_key_value_heads": 2},
        {"positions": "rotary"},
        {"positions": "relative"},
        {"positions": "learned"},
    ],
    ids=str,
)
def test_a_quantized_model_computes_nearly_the_same(options, dtype, int8):
    model = transformer(**options)
    quantized = copy.deepcopy(model).to(dtype)
    prepare_for_translating(quantized, torch.int8)
    kinds = [type(module) for module in quantized.modules()]
    assert not {nn.LayerNorm, RMSNorm} & set(kinds)
    # All but what reads what attention finds, or what an activation other than ReLU gives.
    num_layers = 2 * 3 + 2 * 5 + 1
    num_layers += 4 if "num_key_value_heads" in options else -4 if "activation" in options else 0
    assert kinds.count(QuantizedLinear) == num_layers
    sentences = [torch.randint(4, 48, (length,)) for length in (7, 3, 12)]
    target = torch.randint(4, 48, (5, 3))
    exact, found = logits_of(model, sentences, target), logits_of(quantized, sentences, target)
    assert 0 < (found - exact).norm() < 0.06 * exact.norm()


@torch.no_grad()
def test_values_are_rounded_around_their_means(int8):
    model = transformer()
    nn.init.normal_(model.encoder.norm.bias, std=20)  # far more than what is around them
    quantized = copy.deepcopy(model)
    quantize(quantized.encoder, quantized.decoder, [(quantized, "output")])
    encoded, x, mask = torch.randn(6, 64), torch.randn(3, 64), torch.zeros(1, 1, 1, 6)

    def found_by(model):
        layer = model.decoder.layers[0]
        memory = layer.cross_attention.project_memory(model.encoder.norm(encoded), Grid(1))
        return layer.cross_attention(layer.residuals[1].norm(x), Grid(1), [(tuple(memory), mask)])

    attention = model.decoder.layers[0].cross_attention
    means = attention.output(attention.key_value(model.encoder.norm.bias)[64:])
    exact = found_by(model)
    assert (found_by(quantized) - exact).norm() < 0.1 * (exact - means).norm()


def test_models_without_normalised_inputs_are_refused(tiny_model):
    with pytest.raises(
        SettingsError, match=r"^precision: float32 or bfloat16 is needed with model.norm=post; got int8$"
    ):
        prepare_for_translating(transformer(norm="post"), torch.int8)
    for kind in ("rnn", "attention"):
        with pytest.raises(
            SettingsError,
            match=r"^precision: float32 or bfloat16 is needed for this kind of model; got int8$",
        ):
            prepare_for_translating(tiny_model(kind), torch.int8)


@pytest.mark.parametrize(("device", "capability"), [("cpu", "DEFAULT"), ("cuda", "AVX2"), ("mps", "AVX512")])
def test_a_device_without_such_products_is_refused(device, capability, monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr("nmt.device._has_bfloat16", lambda device: True)
    with pytest.raises(DeviceError, match=f"^precision: auto is needed, .* got int8 on this {device}$"):
        choose_precision("int8", torch.device(device))

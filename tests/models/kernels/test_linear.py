"""Linear layers prepared for translating."""

import copy

import pytest
import torch
from torch import nn

from nmt.models.prepare import PreparedLinear, prepare_linears

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="oneDNN is needed")


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(1, 24), (37, 24), (3, 5, 24)])
@torch.inference_mode()
def test_a_prepared_layer_computes_the_same(shape, dtype, bias):
    torch.manual_seed(1)
    linear = nn.Linear(24, 40, bias=bias).to(dtype)
    x = torch.randn(shape).to(dtype)
    model = nn.Sequential(linear)
    prepare_linears(model)
    has_kernel = dtype == torch.float32 or torch.ops.mkldnn._is_mkldnn_bf16_supported()
    assert type(model[0]) is (PreparedLinear if has_kernel else nn.Linear)
    assert torch.allclose(
        model(x).float(), copy.deepcopy(linear).float()(x.float()), rtol=2 * torch.finfo(dtype).eps, atol=0.02
    )


def test_all_linear_layers_are_replaced_where_there_is_a_kernel():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    prepare_linears(model)
    assert [type(module) for module in model.modules() if not list(module.children())] == [
        PreparedLinear,
        nn.ReLU,
        PreparedLinear,
    ]
    wide = nn.Sequential(nn.Linear(4, 4)).double()
    prepare_linears(wide)
    assert type(wide[0]) is nn.Linear

"""A whole model fitted to a machine: weights laid out for translating, layers to compile, steps to record."""

import copy
from typing import cast

import torch
from torch import Tensor, nn

from nmt.models.ensemble import Ensemble
from nmt.models.interface import Seq2Seq
from nmt.models.kernels.few_rows import FewRowsLayer
from nmt.models.transformer import Transformer
from nmt.models.transformer_layers import DecoderLayer


class PreparedLinear(nn.Module):
    """A linear layer by oneDNN, on weights in oneDNN's own layout; it cannot be trained or saved.

    In float32 that is up to twice as fast as the library that PyTorch calls otherwise, where the processor is not
    Intel's; in bfloat16 the layout saves a copy of the weights at each call.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())
        self.bias = None if linear.bias is None else linear.bias.detach()
        self.plain: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Return (…, d_out) for x (…, d_in)."""
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return result

    def rectified(self, x: Tensor) -> Tensor:
        """Return the same with zero in place of what is negative."""
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "relu", [], "")
        return result

    def choose(self, rows: Tensor) -> "PreparedLinear":
        """Return a layer that gives the outputs of these `rows` (N) alone."""
        if self.plain is None:  # kept for those who ask once, since they will again
            self.plain = self.weight.to_dense()
        chosen = copy.copy(self)
        chosen.weight = torch.ops.mkldnn._reorder_linear_weight(self.plain[rows])
        chosen.bias = None if self.bias is None else self.bias[rows]
        return chosen

    def added_to(self, residual: Tensor, x: Tensor) -> Tensor:
        """Return the same plus `residual` (…, d_out)."""
        result: Tensor = torch.ops.mkldnn._linear_pointwise.binary(x, residual, self.weight, self.bias, "add")
        return result


def prepare_linears(model: nn.Module) -> bool:
    """Replace the linear layers of `model` by prepared ones; return whether there is a kernel for all of them."""
    if not torch.backends.mkldnn.is_available():
        return False
    dtypes = {torch.float32}
    if torch.ops.mkldnn._is_mkldnn_bf16_supported():
        dtypes.add(torch.bfloat16)
    for module in list(model.modules()):
        for name, child in module.named_children():
            if (
                type(child) is nn.Linear
                and child.weight.device.type == "cpu"
                and child.weight.dtype in dtypes
            ):
                setattr(module, name, PreparedLinear(child))
    return not any(isinstance(module, nn.Linear) for module in model.modules())


def write_out_layers(model: Transformer) -> list[nn.Module]:
    """Return the layers of the decoder, with prepared linear layers; those that can be are written out for few rows."""
    return [
        FewRowsLayer(layer)
        if isinstance(layer, DecoderLayer) and layer.self_attention.relative is None
        else layer
        for layer in model.decoder.layers
    ]


def prepare_for_translating(model: Seq2Seq) -> None:
    """Lay out the weights for speed where that helps; they can no longer be trained or saved."""
    if isinstance(model, Ensemble):
        for member in model.members:
            prepare_for_translating(cast(Seq2Seq, member))
        return
    if isinstance(model, Transformer):
        if prepare_linears(model):
            model.decoder.layers = nn.ModuleList(write_out_layers(model))
        for stack in (model.encoder, model.decoder):
            stack.positions.keep_sinusoids()


def compiled_regions(model: Seq2Seq) -> list[nn.Module]:
    """Return the parts that torch.compile is good for; none, where the time goes into recurrent kernels.

    Layers of a Transformer are alike, so that what is compiled for one serves all.
    """
    return [*model.encoder.layers, *model.decoder.layers] if isinstance(model, Transformer) else []


def is_recordable(model: Seq2Seq) -> bool:
    """Tell whether a training step depends on the host for nothing but the shape of its batch.

    A GPU can repeat such a step by itself; the host draws which layers are left out.
    """
    return isinstance(model, Transformer) and model.options.layer_dropout == 0

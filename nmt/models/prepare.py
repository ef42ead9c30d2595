"""A whole model fitted to a machine: weights laid out for translating, layers to compile, steps to record."""

import copy
from typing import cast

import torch
from torch import Tensor, nn

from nmt.models.ensemble import Ensemble
from nmt.models.few_rows import FewRowsLayer, can_be_written_out
from nmt.models.interface import Seq2Seq
from nmt.models.transformer import Transformer
from nmt.models.transformer_layers import DecoderLayer


class PreparedLinear(nn.Module):
    """A linear layer by oneDNN, on weights in oneDNN's own layout; it cannot be trained or saved.

    In float32, on processors that are not Intel's, it is up to twice as fast as the library that PyTorch calls
    otherwise. In bfloat16, the layout saves a copy of the weights at each call.
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
        """Return the same after a ReLU."""
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "relu", [], "")
        return result

    def choose(self, rows: Tensor) -> "PreparedLinear":
        """Return a layer that gives the outputs of these `rows` (N) alone."""
        if self.plain is None:  # kept: a caller that chooses rows will do so again
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
    """Return the decoder's layers, written out for few rows where possible; their linear layers must be prepared."""
    return [
        FewRowsLayer(cast(DecoderLayer, layer)) if can_be_written_out(layer) else layer
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
    """Return the modules that gain from torch.compile; none where recurrent kernels take the time.

    Layers of a Transformer are alike, so that code compiled for one serves all.
    """
    return [*model.encoder.layers, *model.decoder.layers] if isinstance(model, Transformer) else []


def is_recordable(model: Seq2Seq) -> bool:
    """Return whether a training step needs nothing from the host but the shape of its batch.

    A GPU can record such a step and repeat it. With layer dropout it cannot, since the host draws the layers.
    """
    return isinstance(model, Transformer) and model.options.layer_dropout == 0

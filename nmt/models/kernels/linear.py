"""Linear layers whose weights are laid out once, for a model on the CPU that only translates."""

import torch
from torch import Tensor, nn


class PreparedLinear(nn.Module):
    """What `nn.Linear` computes, by oneDNN on weights in oneDNN's own layout; it cannot be trained or saved.

    In float32 that is up to twice as fast as the library that PyTorch calls otherwise, where the processor is not
    Intel's; in bfloat16 the layout saves a copy of the weights at each call.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())
        self.bias = None if linear.bias is None else linear.bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        """Return (…, d_out) for x (…, d_in)."""
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return result


def prepare_linears(model: nn.Module) -> None:
    """Replace the linear layers of `model` by prepared ones, where there is a kernel for them."""
    if not torch.backends.mkldnn.is_available():
        return
    for module in list(model.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Linear and _has_kernel(child.weight):
                setattr(module, name, PreparedLinear(child))


def _has_kernel(weight: Tensor) -> bool:
    if weight.dtype == torch.bfloat16 and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return False
    return weight.device.type == "cpu" and weight.dtype in (torch.float32, torch.bfloat16)

"""Adam and AdamW over the parameters of a model."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from nmt.config import AdamWSettings, OptimizerSettings

# The fused kernels of these devices leave out an update if they are told to; that of MPS does not.
FUSED_ON = ("cpu", "cuda")


class SkippingAdamW(torch.optim.AdamW):
    """AdamW that leaves out an update, moments and all, where `found_inf` is not zero."""

    found_inf: Tensor | None = None  # in one number, on the device

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Apply the gradients. Where no kernel looks at `found_inf`, the host does, and waits for it."""
        if not self.defaults["fused"]:
            found_inf, self.found_inf = self.found_inf, None
            if found_inf is not None and bool(found_inf):
                return None
        return super().step(closure)


def build_optimizer(settings: OptimizerSettings, model: nn.Module) -> torch.optim.Optimizer:
    """Make the optimizer that the settings name; only matrices of layers decay, not embeddings or vectors."""
    embeddings = {
        id(parameter)
        for module in model.modules()
        if isinstance(module, nn.Embedding)
        for parameter in module.parameters()
    }
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    decaying = [p for p in parameters if p.dim() >= 2 and id(p) not in embeddings]
    others = [p for p in parameters if p.dim() < 2 or id(p) in embeddings]
    decay = settings.weight_decay if isinstance(settings, AdamWSettings) else 0.0
    groups = [{"params": decaying, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    return SkippingAdamW(
        [group for group in groups if group["params"]],
        lr=settings.learning_rate,
        betas=settings.betas,
        eps=settings.epsilon,
        fused=all(parameter.device.type in FUSED_ON for parameter in parameters),
    )

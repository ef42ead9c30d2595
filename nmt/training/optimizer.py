"""Adam and AdamW over the parameters of a model."""

import torch
from torch import nn

from nmt.config import AdamWSettings, OptimizerSettings


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
    groups = [
        {"params": decaying, "weight_decay": decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=settings.learning_rate,
        betas=settings.betas,
        eps=settings.epsilon,
        fused=True,
    )

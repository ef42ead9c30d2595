"""Adam, AdamW and Muon over the parameters of a model."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from nmt.config import AdamWSettings, MuonSettings, OptimizerSettings
from nmt.models.interface import Seq2Seq

# The fused kernels of these devices skip an update if `found_inf` is set; that of MPS does not.
FUSED_ON = ("cpu", "cuda")
# Names of the state that each optimizer keeps of a parameter, from its first update on.
MOMENTS_OF_ADAM = ("step", "exp_avg", "exp_avg_sq")
MOMENTS_OF_MUON = ("momentum_buffer",)


class SkippingAdamW(torch.optim.AdamW):
    """AdamW that skips an update, that of its moments included, where `found_inf` is not zero."""

    found_inf: Tensor | None = None  # in one number, on the device

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Apply the gradients. Without a fused kernel that checks `found_inf`, the host checks it, and waits for it."""
        if not self.defaults["fused"]:
            found_inf, self.found_inf = self.found_inf, None
            if found_inf is not None and bool(found_inf):
                return None
        return super().step(closure)


class MuonWithAdamW(torch.optim.Optimizer):
    """Muon for matrices of layers (Jordan et al. 2024) and AdamW for all other parameters, as one optimizer.

    An update of a matrix is as large as one of AdamW (Liu et al. 2025), so that both have one learning rate. Frozen
    matrices are among the `matrices`, too, so that saved moments of theirs still count as Muon's.
    """

    found_inf: Tensor | None = None  # in one number, on the device

    def __init__(
        self, settings: MuonSettings, matrices: list[nn.Parameter], others: list[nn.Parameter]
    ) -> None:
        self.matrices = {id(matrix) for matrix in matrices}
        self.parts: list[torch.optim.Optimizer] = []
        if learning := [matrix for matrix in matrices if matrix.requires_grad]:
            muon = torch.optim.Muon(
                learning,
                lr=settings.learning_rate,
                momentum=settings.momentum,
                weight_decay=settings.weight_decay,
                adjust_lr_fn="match_rms_adamw",
            )
            self.parts.append(muon)
        if others:
            self.parts.append(_adamw(settings, [{"params": others, "weight_decay": 0.0}]))
        super().__init__([group for part in self.parts for group in part.param_groups], {})
        for part in self.parts:
            part.state = self.state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Apply the gradients, unless `found_inf` is not zero."""
        found_inf, self.found_inf = self.found_inf, None
        if found_inf is None or not bool(found_inf):
            for part in self.parts:
                part.step()


def moments_of(optimizer: torch.optim.Optimizer, parameter: Tensor) -> tuple[str, ...]:
    """Return the names of the moments that the optimizer keeps of a parameter."""
    if isinstance(optimizer, MuonWithAdamW) and id(parameter) in optimizer.matrices:
        return MOMENTS_OF_MUON
    return MOMENTS_OF_ADAM


def build_optimizer(settings: OptimizerSettings, model: Seq2Seq) -> torch.optim.Optimizer:
    """Make the optimizer that the settings name; weight decay is for matrices of layers, not embeddings or vectors."""
    embeddings = {
        id(parameter)
        for module in model.modules()
        if isinstance(module, nn.Embedding)
        for parameter in module.parameters()
    }
    of_layers = [p for p in model.parameters() if p.dim() >= 2 and id(p) not in embeddings]
    learning = [p for p in model.parameters() if p.requires_grad]
    if isinstance(settings, MuonSettings):
        matrices = [p for p in of_layers if p.dim() == 2 and p is not model.output.weight]
        ids = {id(p) for p in matrices}
        return MuonWithAdamW(settings, matrices, [p for p in learning if id(p) not in ids])
    ids = {id(p) for p in of_layers}
    decaying = [p for p in learning if id(p) in ids]
    others = [p for p in learning if id(p) not in ids]
    decay = settings.weight_decay if isinstance(settings, AdamWSettings) else 0.0
    groups = [{"params": decaying, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    return _adamw(settings, groups)


def _adamw(settings: OptimizerSettings, groups: list[dict[str, Any]]) -> SkippingAdamW:
    groups = [group for group in groups if group["params"]]
    return SkippingAdamW(
        groups,
        lr=settings.learning_rate,
        betas=settings.betas,
        eps=settings.epsilon,
        fused=all(p.device.type in FUSED_ON for group in groups for p in group["params"]),
    )

"""What all layers of a Transformer have in common."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt.models.kernels import Packing, pack_sentences
from nmt.models.layers import normalisation


@dataclass(frozen=True)
class LayerOptions:
    """What all layers of a model have in common; see conf/model/transformer.yaml."""

    d_model: int
    d_ff: int
    num_heads: int
    num_key_value_heads: int | None = None
    norm: str = "pre"
    normalization: str = "layer"
    positions: str = "sinusoidal"
    max_relative_distance: int = 16
    activation: str = "relu"
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float | None = None
    layer_dropout: float = 0.0

    @property
    def d_head(self) -> int:
        """Width of a head."""
        return self.d_model // self.num_heads

    @property
    def num_shared_heads(self) -> int:
        """Heads of keys and values."""
        return self.num_key_value_heads or self.num_heads

    def lay_out(self, lengths: Tensor, device: torch.device, longest: int = 0) -> Packing:
        """Lay out sentences of `lengths` (B, on the host) on `device`, at least `longest` positions wide."""
        return pack_sentences(lengths, device, self.num_heads, self.num_shared_heads, longest)

    def final_norm(self) -> nn.Module:
        """Make what follows the last layer: with norm=pre the last sum has not been normalised."""
        return normalisation(self.normalization, self.d_model) if self.norm == "pre" else nn.Identity()

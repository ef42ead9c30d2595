"""The simpler simple recurrent unit (SSRU, Kim et al. 2019), which takes the place of a decoder's self-attention.

It keeps one vector of all earlier positions, so that a step costs the same however long a translation is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmt.models.kernels import Layout, Memory, Packing, Queries
from nmt.models.layers import LayerOptions, xavier_linear
from nmt.models.transformer_layers import CrossAttention, FeedForward, Residual


@dataclass
class RecurrentState:
    """What one layer keeps of each hypothesis: `vectors` (N, D), the state after the positions decoded so far."""

    vectors: Tensor


class SSRU(nn.Module):
    """s_t = f_t · s_{t-1} + (1 - f_t) · W x_t and o_t = ReLU(s_t), where f_t = σ(W_f x_t + b) and s_0 = 0."""

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        self.candidate = xavier_linear(options.d_model, options.d_model, bias=False)
        self.forget = xavier_linear(options.d_model, options.d_model)

    def forward(self, x: Tensor, layout: Layout, state: RecurrentState | None = None) -> Tensor:
        """Return (N, D) for rows x (N, D); with `state`, each row is the next position of a hypothesis."""
        forget = torch.sigmoid(self.forget(x))
        forget, candidate = (part.to(state_dtype(x.dtype)) for part in (forget, self.candidate(x)))
        new = (1 - forget) * candidate
        if state is not None:
            state.vectors = forget * state.vectors + new
            return functional.relu(state.vectors).to(x.dtype)
        assert isinstance(layout, Packing), "whole sequences are laid out end to end"
        shape = layout.row_of_cell.shape
        states = scan(*(layout.unpack(rows, shape) for rows in (forget, new)))
        return functional.relu(layout.pack(states)).to(x.dtype)


def state_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the type of states, at least float32: in fewer bits, each step would round a sum over the sentence."""
    return torch.promote_types(dtype, torch.float32)


def scan(forget: Tensor, new: Tensor) -> Tensor:
    """Return all states (B, T, D) of s_t = forget_t · s_{t-1} + new_t, in log T steps of all positions at once.

    Each position combines the last 1, 2, 4 … positions, twice as many after each step (Hillis & Steele 1986). The scan
    takes no logarithms and no quotients, so that forget gates near 0 and 1 do no harm.
    """
    span, length = 1, new.shape[1]
    while span < length:
        earlier = [0, 0, span, 0]  # zeros before the first position
        new = new + forget * functional.pad(new[:, :-span], earlier)
        forget = forget * functional.pad(forget[:, :-span], earlier)
        span *= 2
    return new


class RecurrentDecoderLayer(nn.Module):
    """SSRU over the positions before, attention to the source, then feed-forward."""

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        self.recurrence = SSRU(options)
        self.cross_attention = CrossAttention(options)
        self.feed_forward = FeedForward(options)
        self.residuals = nn.ModuleList(Residual(options) for _ in range(3))

    def forward(
        self,
        x: Tensor,
        layouts: tuple[Layout, Layout],
        rotation: Tensor | None,
        memories: Sequence[Memory],
        state: RecurrentState | None = None,
        queries: Queries = None,
    ) -> Tensor:
        """Return (N, D) for rows x (N, D) as DecoderLayer does; `rotation` is unused, since no keys are turned."""
        own, shared = layouts
        x = self.residuals[0](x, lambda h: self.recurrence(h, own, state))
        x = self.residuals[1](x, lambda h: self.cross_attention(h, shared, memories, queries))
        return self.residuals[2](x, self.feed_forward)

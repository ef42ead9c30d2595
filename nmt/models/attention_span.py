"""Local attention of recurrent models: only source positions near one place count (Luong et al. 2015, section 3.2)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from nmt.models.layers import xavier_linear


class Span(NamedTuple):
    """What of the source some queries see; a dimension of size one stands for all heads."""

    is_inside: Tensor  # (B, H, Q, S): True in the window
    log_factors: Tensor | None  # (B, H, Q, S): logarithm of what the weights are multiplied with


class MonotonicSpan(nn.Module):
    """local_m: source and target are taken to go in parallel, so target position t looks around source position t.

    Behind the last position of the sentence it keeps looking around that one.
    """

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def forward(self, query: Tensor, lengths: Tensor, places: Tensor, longest: int) -> Span:
        """Return the span of queries (B, Q, d_query) at the target positions `places` (Q).

        `lengths` (B) of the sources that can be seen are floating-point numbers, `longest` is S.
        """
        centres = torch.minimum(places.to(lengths.dtype), lengths.unsqueeze(1) - 1)  # (B, Q)
        distances = _distances(centres.unsqueeze(1), longest)
        return Span(distances.abs() <= self.window, None)


class PredictiveSpan(nn.Module):
    """local_p: the place p = S · sigmoid(v · tanh(W q)) to look around is predicted, for each head by its own v.

    The weights in the window are multiplied with a Gaussian around p, whose standard deviation is half of
    `window`: by it alone the gradient reaches v and W. p is less than one beyond the last position, so with a
    window of at least one there is always something in it.
    """

    def __init__(self, window: int, d_query: int, d_attention: int, num_heads: int) -> None:
        super().__init__()
        self.window = window
        self.hidden = xavier_linear(d_query, d_attention, bias=False)
        self.place = xavier_linear(d_attention, num_heads, num_blocks=num_heads, bias=False)

    def forward(self, query: Tensor, lengths: Tensor, places: Tensor, longest: int) -> Span:
        """Return the span of queries (B, Q, d_query), for any `places`; the rest as in `MonotonicSpan.forward`."""
        logits = self.place(torch.tanh(self.hidden(query))).transpose(1, 2)  # (B, H, Q)
        shares = torch.sigmoid(logits.to(lengths.dtype))
        distances = _distances(lengths.view(-1, 1, 1) * shares, longest)
        deviation = self.window / 2
        return Span(distances.abs() <= self.window, -distances.square() / (2 * deviation**2))


def _distances(centres: Tensor, longest: int) -> Tensor:
    """Return how far source positions are behind the centres (B, H, Q), as (B, H, Q, S)."""
    positions = torch.arange(longest, dtype=centres.dtype, device=centres.device)
    return positions - centres.unsqueeze(-1)

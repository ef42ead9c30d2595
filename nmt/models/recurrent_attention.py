"""Attention of recurrent models: which source positions matter to a query (Bahdanau et al. 2015; Luong et al. 2015).

A query q is a state of the decoder, h_s the encoder's output at source position s. All kinds of attention share one
scheme: weights = softmax(score(q, h_s)) over the positions s of a span, context = Σ weights_s · V h_s. The classes
differ in the score; span, hard choice and coverage are optional.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmt.models.layers import xavier_linear


class Span(nn.Module):
    """Positions s with |s - p| ≤ window around a place p of the source are seen (Luong et al. 2015, section 3.2).

    local_m: p = t, the target position, as if both sides ran in parallel, but at most the last source position.
    local_p: p = S · sigmoid(v · tanh(W q)), each head with its own v. Weights are multiplied with
    exp(-(s - p)² / 2σ²), σ = window / 2: the gradient reaches v and W only through this factor. p is less than one
    beyond the last position, so that a window of at least one is never empty.
    """

    def __init__(self, kind: str, window: int, d_query: int, d_attention: int, num_heads: int) -> None:
        super().__init__()
        self.window, self.is_predicted = window, kind == "local_p"
        if self.is_predicted:
            self.hidden = xavier_linear(d_query, d_attention, bias=False)  # W
            self.place = xavier_linear(d_attention, num_heads, num_blocks=num_heads, bias=False)  # v

    def forward(
        self, query: Tensor, lengths: Tensor, places: Tensor, longest: int
    ) -> tuple[Tensor, Tensor | None]:
        """Return a mask (B, H or 1, Q, S): True where queries (B, Q, d_query) at target `places` (Q) may attend.

        Return also the logarithm of the factors of the weights, or None for local_m. `lengths` (B) of the visible
        sources are floating-point numbers, `longest` is S.
        """
        if self.is_predicted:
            logits = self.place(torch.tanh(self.hidden(query))).transpose(1, 2)  # (B, H, Q)
            centres = lengths.view(-1, 1, 1) * torch.sigmoid(logits.to(lengths.dtype))
        else:
            centres = torch.minimum(places.to(lengths.dtype), lengths.unsqueeze(1) - 1).unsqueeze(1)
        positions = torch.arange(longest, dtype=centres.dtype, device=centres.device)
        distances = positions - centres.unsqueeze(-1)  # (B, H or 1, Q, S)
        log_factors = -distances.square() / (2 * (self.window / 2) ** 2) if self.is_predicted else None
        return distances.abs() <= self.window, log_factors


def choose(logits: Tensor, temperature: float | None) -> Tensor:
    """Return one-hot weights (…, S) for logits (…, S), which are -inf at hidden positions.

    In training, with a `temperature`, the position is sampled with Gumbel noise g, and the gradient is that of
    softmax((logits + g) / temperature): straight-through (Jang et al. 2017). Without, it is the most probable one.
    """
    if temperature is None:
        return _one_hot(logits)
    # Types of fewer than 32 bits have too few numbers near zero to give the rare large noise.
    wide = torch.promote_types(logits.dtype, torch.float32)
    exponential = torch.empty_like(logits, dtype=wide, requires_grad=False).exponential_()
    noisy = logits - exponential.clamp_min_(torch.finfo(wide).tiny).log_()  # zero would make infinite noise
    soft = (noisy / temperature).softmax(-1, dtype=noisy.dtype)
    # In this order the difference is exactly zero, so the weights are exactly one-hot.
    return _one_hot(noisy) + (soft - soft.detach())


def _one_hot(logits: Tensor) -> Tensor:
    best = logits.detach().argmax(-1, keepdim=True)
    return torch.zeros_like(logits, requires_grad=False).scatter_(-1, best, 1)


class Coverage(nn.Module):
    """C_s = Σ weights_s so far / (2 · sigmoid(U h_s)): the attention that position s has had, over its fertility.

    It enters the key of the position as k_s + C_s · u (Tu et al. 2016, the linguistic kind; 2 is their N).
    """

    def __init__(self, d_memory: int, d_attention: int) -> None:
        super().__init__()
        self.fertility = xavier_linear(d_memory, 1, bias=False)  # U
        self.direction = xavier_linear(1, d_attention, bias=False)  # u

    def predict_fertilities(self, memory: Tensor) -> Tensor:
        """Return the fertilities (B, S) of the encoded source (B, S, C): how many target words a position is worth.

        They have 32 bits at least, since coverage is a sum over the whole sentence.
        """
        logits = self.fertility(memory).squeeze(-1)
        return 2 * torch.sigmoid(logits.to(torch.promote_types(logits.dtype, torch.float32)))


class Attention(nn.Module):
    """Multi-head attention, from queries to contexts; subclasses define the score.

    Queries, keys and values of width d_attention are split over `num_heads`, which attend independently
    (Vaswani et al. 2017, section 3.2.2). `span` global sees the whole sentence, local_m and local_p a window of it.
    `choice` soft takes the weighted mean of the values, straight_through the value of one position, unscaled; the
    Gaussian of local_p then multiplies the probabilities before the choice. `location_positions` concerns the location
    score alone.
    """

    def __init__(
        self,
        d_query: int,
        d_memory: int,
        d_attention: int,
        num_heads: int,
        span: str,
        window: int,
        choice: str,
        temperature: float,
        coverage: bool,
        location_positions: int,
    ) -> None:
        super().__init__()
        self.num_heads, self.d_head = num_heads, d_attention // num_heads
        self.choice, self.temperature = choice, temperature
        self.location_positions = location_positions
        self.value = xavier_linear(d_memory, d_attention)
        self.span = None if span == "global" else Span(span, window, d_query, d_attention, num_heads)
        self.coverage = Coverage(d_memory, d_attention) if coverage else None

    def project_memory(self, memory: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """Return all that queries need of the encoded source (B, S, C), each (B, …).

        `mask` (B, S) is True where there is a token.
        """
        projected = {"values": self.split_heads(self.value(memory)).contiguous(), "mask": mask}
        if self.span is not None:  # places in long sentences need the digits of 32 bits
            projected["lengths"] = mask.sum(1).to(torch.promote_types(memory.dtype, torch.float32))
        if self.coverage is not None:
            projected["fertilities"] = self.coverage.predict_fertilities(memory)
        return projected

    def forward(
        self, query: Tensor, memory: dict[str, Tensor], places: Tensor | None, covered: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return contexts (B, Q, d_attention) and weights (B, Q, S), the mean over heads, of queries (B, Q, d_query).

        `memory` is what `project_memory` made; `places` (Q) are the target positions of the queries, needed for
        spans; `covered` (B, Q, S) is the coverage, needed where there is one.
        """
        scores = self.score(query, memory, covered)  # (B, H, Q, S)
        is_seen, log_factors = memory["mask"][:, None, None], None
        if self.span is not None:
            is_inside, log_factors = self.span(query, memory["lengths"], places, scores.shape[-1])
            is_seen = is_seen & is_inside
        scores = scores.masked_fill(~is_seen, -torch.inf)
        if self.choice == "straight_through":
            logits = scores if log_factors is None else scores + log_factors
            weights = choose(logits, self.temperature if self.training else None)
        else:
            weights = scores.softmax(-1, dtype=scores.dtype)
            if log_factors is not None:
                weights = weights * log_factors.exp()
        weights = weights.to(memory["values"].dtype)  # spans, coverage and noise have 32 bits at least
        contexts = (weights @ memory["values"]).transpose(1, 2).flatten(2)
        return contexts, weights.mean(1) if self.num_heads > 1 else weights.squeeze(1)

    def score(self, query: Tensor, memory: dict[str, Tensor], covered: Tensor | None) -> Tensor:
        """Return scores (B, H, Q, S), hidden positions included; arguments as in `forward`."""
        raise NotImplementedError

    def split_heads(self, x: Tensor) -> Tensor:
        """Return x (B, …, d_attention) as (B, H, …, d_head), where `…` is one dimension."""
        return x.unflatten(-1, (self.num_heads, self.d_head)).transpose(1, 2)


class AdditiveAttention(Attention):
    """score = v · tanh(W q + U h_s) (Bahdanau et al. 2015); each head has its own v."""

    def __init__(self, d_query: int, d_memory: int, d_attention: int, **options: Any) -> None:
        super().__init__(d_query, d_memory, d_attention, **options)
        self.query = xavier_linear(d_query, d_attention)
        self.key = xavier_linear(d_memory, d_attention, bias=False)
        self.additive = xavier_linear(self.d_head, self.num_heads, num_blocks=self.num_heads, bias=False)

    def project_memory(self, memory: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """Add keys (B, S, d_attention)."""
        return super().project_memory(memory, mask) | {"keys": self.key(memory)}

    def score(self, query: Tensor, memory: dict[str, Tensor], covered: Tensor | None) -> Tensor:
        """Return scores (B, H, Q, S)."""
        summed = self.query(query).unsqueeze(2) + memory["keys"].unsqueeze(1)  # (B, Q, S, d_attention)
        if self.coverage is not None and covered is not None:
            summed = summed + self.coverage.direction(covered.unsqueeze(-1).to(summed.dtype))
        weight = self.additive.weight
        if self.num_heads > 1:
            # One product with a matrix of zeros but for each head's v is faster than moving the heads apart.
            weight = torch.block_diag(*weight.split(1))  # (H, d_attention)
        return functional.linear(torch.tanh(summed), weight).permute(0, 3, 1, 2)


class DotAttention(Attention):
    """score = q' · k_s, of projections q' = W q and k_s = U h_s (Luong et al. 2015)."""

    is_scaled = False

    def __init__(self, d_query: int, d_memory: int, d_attention: int, **options: Any) -> None:
        super().__init__(d_query, d_memory, d_attention, **options)
        self.query = xavier_linear(d_query, d_attention, bias=False)
        self.key = xavier_linear(d_memory, d_attention, bias=False)
        self.scale = self.d_head**-0.5 if self.is_scaled else 1.0

    def project_memory(self, memory: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """Add keys (B, H, S, d_head)."""
        keys = self.transform(self.split_heads(self.key(memory)))
        return super().project_memory(memory, mask) | {"keys": keys.contiguous()}

    def score(self, query: Tensor, memory: dict[str, Tensor], covered: Tensor | None) -> Tensor:
        """Return scores (B, H, Q, S); the keys stay shared: q · (k + C u) is q · k + C (q · u)."""
        queries = self.split_heads(self.query(query) * self.scale)  # (B, H, Q, d_head)
        scores = queries @ memory["keys"].transpose(2, 3)
        if self.coverage is not None and covered is not None:
            direction = self.transform(self.split_heads(self.coverage.direction.weight.view(1, 1, -1)))
            scores = scores + covered.unsqueeze(1) * (queries * direction).sum(-1, keepdim=True)
        return scores

    def transform(self, keys: Tensor) -> Tensor:
        """Return keys (B, H, S, d_head) in the form that queries are multiplied with."""
        return keys


class ScaledDotAttention(DotAttention):
    """score = q' · k_s / √d_head (Vaswani et al. 2017)."""

    is_scaled = True


class GeneralAttention(DotAttention):
    """score = q' · W k_s (Luong et al. 2015); each head has its own W."""

    def __init__(self, d_query: int, d_memory: int, d_attention: int, **options: Any) -> None:
        super().__init__(d_query, d_memory, d_attention, **options)
        self.general = xavier_linear(self.d_head, d_attention, num_blocks=self.num_heads, bias=False)

    def transform(self, keys: Tensor) -> Tensor:
        """Return W k of each head's keys (B, H, S, d_head)."""
        blocks = self.general.weight.view(self.num_heads, self.d_head, self.d_head)
        return torch.einsum("bhsi,hoi->bhso", keys, blocks)


class LocationAttention(Attention):
    """score = (W q)_s, one row of W for each source position (Luong et al. 2015, equation 8): keys play no part.

    W has rows for the first `location_positions` source positions; the end of a longer sentence is not seen.
    """

    def __init__(self, d_query: int, d_memory: int, d_attention: int, **options: Any) -> None:
        super().__init__(d_query, d_memory, d_attention, **options)
        num_rows = self.num_heads * self.location_positions
        self.location = xavier_linear(d_query, num_rows, num_blocks=self.num_heads, bias=False)

    def project_memory(self, memory: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """Hide positions without a row in W; spans stay within the others, so that they are never empty."""
        is_known = torch.arange(mask.shape[1], device=mask.device) < self.location_positions
        return super().project_memory(memory, mask & is_known)

    def score(self, query: Tensor, memory: dict[str, Tensor], covered: Tensor | None) -> Tensor:
        """Return scores (B, H, Q, S)."""
        longest = memory["mask"].shape[1]
        num_known = min(longest, self.location_positions)
        rows = self.location.weight.unflatten(0, (self.num_heads, -1))[:, :num_known]  # (H, …, d_query)
        scores = functional.linear(query, rows.flatten(0, 1)).unflatten(-1, (self.num_heads, num_known))
        return functional.pad(scores.transpose(1, 2), (0, longest - num_known))


ATTENTIONS: dict[str, type[Attention]] = {
    "additive": AdditiveAttention,
    "dot": DotAttention,
    "scaled_dot": ScaledDotAttention,
    "general": GeneralAttention,
    "location": LocationAttention,
}

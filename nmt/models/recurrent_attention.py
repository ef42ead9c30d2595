"""Attention of recurrent models: which source positions matter to a query.

The way from queries to contexts is the same for all: scores, the span of positions that count, softmax, perhaps the
choice of one position, weighted mean. Classes differ in the score; the other parts are there only if asked for.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmt.models.attention_choice import EXPECTED_SHARE, ScoreFunction, StraightThrough
from nmt.models.attention_span import MonotonicSpan, PredictiveSpan
from nmt.models.interface import Choices
from nmt.models.layers import xavier_linear


class Attended(NamedTuple):
    """What some queries found, Q for each sentence."""

    contexts: Tensor  # (B, Q, d_attention)
    weights: Tensor  # (B, Q, S), the mean over heads
    choices: Choices | None  # (B, Q), summed over heads


class Coverage(nn.Module):
    """How much of its attention each source position has had (Tu et al. 2016, the linguistic kind, with fertility).

    The coverage of position j is the sum of the weights it had so far, over its fertility N · sigmoid(U h_j). It
    enters the key of the position as k_j + C_j · u.
    """

    MAX_FERTILITY = 2  # N of the paper, section 4.1.1

    def __init__(self, d_memory: int, d_attention: int) -> None:
        super().__init__()
        self.fertility = xavier_linear(d_memory, 1, bias=False)
        self.direction = xavier_linear(1, d_attention, bias=False)  # u

    def predict_fertilities(self, memory: Tensor) -> Tensor:
        """Return how many target words each position of the encoded source (B, S, C) is worth, (B, S).

        In 32 bits at least: coverage is a sum over the whole sentence.
        """
        logits = self.fertility(memory).squeeze(-1)
        wide = torch.promote_types(logits.dtype, torch.float32)
        return self.MAX_FERTILITY * torch.sigmoid(logits.to(wide))


class Attention(nn.Module):
    """Which source positions matter to a query: scores, softmax, weighted mean.

    Queries, keys and values of width d_attention are split over `num_heads`, which attend independently
    (Vaswani et al. 2017, section 3.2.2). `span` global sees the whole sentence, local_m and local_p a window of it;
    `choice` soft is the weighted mean, straight_through and score_function choose one position. For these two the
    Gaussian of local_p multiplies the probabilities before the choice: it is made from their renormalised product,
    and the context is the value of that position, unscaled.
    """

    def __init__(
        self,
        d_query: int,
        d_memory: int,
        d_attention: int,
        num_heads: int = 1,
        span: str = "global",
        window: int = 10,
        choice: str = "soft",
        temperature: float = 1.0,
        coverage: bool = False,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.d_head = d_attention // num_heads
        self.value = xavier_linear(d_memory, d_attention)
        self.span: MonotonicSpan | PredictiveSpan | None = None
        if span == "local_m":
            self.span = MonotonicSpan(window)
        elif span == "local_p":
            self.span = PredictiveSpan(window, d_query, d_attention, num_heads)
        self.choice: StraightThrough | ScoreFunction | None = None
        if choice == "straight_through":
            self.choice = StraightThrough(temperature)
        elif choice == "score_function":
            self.choice = ScoreFunction(EXPECTED_SHARE)
        self.coverage = Coverage(d_memory, d_attention) if coverage else None

    def project_memory(self, memory: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """Return all that queries need of the encoded source (B, S, C), each (B, …).

        `mask` (B, S) is True where there is a token.
        """
        projected = {"values": self.split_heads(self.value(memory)).contiguous(), "mask": mask}
        if self.span is not None:
            wide = torch.promote_types(
                memory.dtype, torch.float32
            )  # places in long sentences need the digits
            projected["lengths"] = mask.sum(1).to(wide)
        if self.coverage is not None:
            projected["fertilities"] = self.coverage.predict_fertilities(memory)
        return projected

    def forward(
        self,
        query: Tensor,
        memory: dict[str, Tensor],
        places: Tensor | None = None,
        covered: Tensor | None = None,
    ) -> Attended:
        """Attend with Q queries (B, Q, d_query) a sentence to what `project_memory` made.

        `places` (Q) are the target positions of the queries, needed for spans; `covered` (B, Q, S) is the
        coverage, needed where there is one.
        """
        scores = self.score(query, memory, covered)  # (B, H, Q, S)
        is_seen, log_factors = memory["mask"][:, None, None], None
        if self.span is not None:
            is_inside, log_factors = self.span(query, memory["lengths"], places, scores.shape[-1])
            is_seen = is_seen & is_inside
        scores = scores.masked_fill(~is_seen, -torch.inf)
        choices = None
        if self.choice is not None:
            weights, choices = self.choice(scores if log_factors is None else scores + log_factors)
        else:
            weights = scores.softmax(-1, dtype=scores.dtype)
            if log_factors is not None:
                weights = weights * log_factors.exp()
        weights = weights.to(
            memory["values"].dtype
        )  # places, coverage and noise are never in less than 32 bits
        contexts = (weights @ memory["values"]).transpose(1, 2).flatten(2)
        return Attended(contexts, weights.mean(1) if self.num_heads > 1 else weights.squeeze(1), choices)

    def score(self, query: Tensor, memory: dict[str, Tensor], covered: Tensor | None) -> Tensor:
        """Return scores (B, H, Q, S), also of positions that are not to be seen; arguments as in `forward`."""
        raise NotImplementedError

    def split_heads(self, x: Tensor) -> Tensor:
        """Return x (B, …, d_attention) as (B, H, …, d_head), where `…` is one dimension."""
        return x.unflatten(-1, (self.num_heads, self.d_head)).transpose(1, 2)


class AdditiveAttention(Attention):
    """Score v · tanh(q + k) (Bahdanau et al. 2015); each head has its own v."""

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
    """Score q · k (Luong et al. 2015), or with `is_scaled` q · k / √d_head (Vaswani et al. 2017)."""

    def __init__(
        self, d_query: int, d_memory: int, d_attention: int, is_scaled: bool = False, **options: Any
    ) -> None:
        super().__init__(d_query, d_memory, d_attention, **options)
        self.query = xavier_linear(d_query, d_attention, bias=False)
        self.key = xavier_linear(d_memory, d_attention, bias=False)
        self.scale = self.d_head**-0.5 if is_scaled else 1.0

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
        """Return keys (B, H, S, d_head) as queries are to meet them."""
        return keys


class GeneralAttention(DotAttention):
    """Score q · W k (Luong et al. 2015); each head has its own W."""

    def __init__(self, d_query: int, d_memory: int, d_attention: int, **options: Any) -> None:
        super().__init__(d_query, d_memory, d_attention, **options)
        self.general = xavier_linear(self.d_head, d_attention, num_blocks=self.num_heads, bias=False)

    def transform(self, keys: Tensor) -> Tensor:
        """Return W k of each head's keys (B, H, S, d_head)."""
        blocks = self.general.weight.view(self.num_heads, self.d_head, self.d_head)
        return torch.einsum("bhsi,hoi->bhso", keys, blocks)


class LocationAttention(Attention):
    """Score W q, one number for each source position (Luong et al. 2015, equation 8): keys play no part.

    W has rows for the first `location_positions` source positions; the end of a longer sentence is not seen.
    """

    def __init__(
        self, d_query: int, d_memory: int, d_attention: int, location_positions: int = 128, **options: Any
    ) -> None:
        super().__init__(d_query, d_memory, d_attention, **options)
        self.location_positions = location_positions
        self.location = xavier_linear(
            d_query, self.num_heads * location_positions, num_blocks=self.num_heads, bias=False
        )

    def project_memory(self, memory: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """Hide what has no row in W; spans stay within what is left, so they never are empty."""
        is_known = torch.arange(mask.shape[1], device=mask.device) < self.location_positions
        return super().project_memory(memory, mask & is_known)

    def score(self, query: Tensor, memory: dict[str, Tensor], covered: Tensor | None) -> Tensor:
        """Return scores (B, H, Q, S)."""
        longest = memory["mask"].shape[1]
        num_known = min(longest, self.location_positions)
        rows = self.location.weight.unflatten(0, (self.num_heads, -1))[:, :num_known]  # (H, …, d_query)
        scores = functional.linear(query, rows.flatten(0, 1)).unflatten(-1, (self.num_heads, num_known))
        return functional.pad(scores.transpose(1, 2), (0, longest - num_known))


def make_attention(
    score: str,
    d_query: int,
    d_memory: int,
    d_attention: int,
    location_positions: int = 128,
    **options: Any,
) -> Attention:
    """Make the attention with this score; `options` are the rest of what `Attention` takes."""
    sizes = (d_query, d_memory, d_attention)
    match score:
        case "additive":
            return AdditiveAttention(*sizes, **options)
        case "general":
            return GeneralAttention(*sizes, **options)
        case "location":
            return LocationAttention(*sizes, location_positions=location_positions, **options)
        case _:
            return DotAttention(*sizes, is_scaled=score == "scaled_dot", **options)

"""Encodings of the positions of tokens for a Transformer."""

import math

import torch
from torch import Tensor, nn


class Positions(nn.Module):
    """The position encodings of one side, of one of four kinds.

    sinusoidal and learned: a vector is added to the word vector (Vaswani et al. 2017, section 3.5); rotary: queries and
    keys are turned by an angle that grows with the position, so that their product depends on the distance (Su et al.
    2021); relative: nothing is done here, since attention looks up distances itself (`RelativePositions`).
    """

    def __init__(self, kind: str, d_model: int, d_head: int, max_positions: int) -> None:
        super().__init__()
        self.kind, self.d_model, self.d_head = kind, d_model, d_head
        self.kept: Tensor | None = None  # sinusoids of the first positions
        self.table = nn.Embedding(max_positions, d_model) if kind == "learned" else None
        if self.table is not None:
            nn.init.normal_(self.table.weight, std=d_model**-0.5)

    def keep_sinusoids(self) -> None:
        """Keep computed sinusoids from now on: a search asks for one position at a time."""
        self.kept = torch.empty(0, self.d_model)

    def add_to(self, vectors: Tensor, positions: Tensor, longest: int) -> Tensor:
        """Return vectors (N, D) plus the vectors of their positions (N, or 1 for all), which are below `longest`."""
        if self.table is not None:
            added = self.table(positions)
        elif self.kind == "sinusoidal":
            added = self._sinusoids(longest, vectors).index_select(0, positions)
        else:
            return vectors
        return vectors + added.to(vectors.dtype)

    def _sinusoids(self, length: int, like: Tensor) -> Tensor:
        """Return the sinusoids of positions below `length`, perhaps of more, to be added to vectors like `like`."""
        kept = self.kept  # read once, since several threads may search at the same time
        if kept is None:
            return sinusoids(length, self.d_model, like.device)
        if len(kept) < length:
            kept = self.kept = sinusoids(1 << length.bit_length(), self.d_model, like.device).to(like.dtype)
        return kept

    def rotation(self, positions: Tensor) -> Tensor | None:
        """Return cosines and sines (2, N, 1, d/2) of the angles at positions (N); None unless they are rotary."""
        if self.kind != "rotary":
            return None
        angles = positions.to(torch.float32).unsqueeze(1) * _rates(self.d_head, positions.device)
        return torch.stack([angles.cos(), angles.sin()]).unsqueeze(2)


class RelativePositions(nn.Module):
    """Vectors of distances, added to keys and to values (Shaw et al. 2018); one set for all heads of a layer.

    Distances beyond `max_distance` are clipped to it.
    """

    def __init__(self, max_distance: int, d_head: int) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.keys, self.values = (nn.Embedding(2 * max_distance + 1, d_head) for _ in range(2))
        for table in (self.keys, self.values):
            nn.init.xavier_uniform_(table.weight)

    def look_up(self, num_queries: int, num_keys: int, first: int = 0) -> tuple[Tensor, Tensor]:
        """Return the vectors (T, S, d) of keys and of values for S keys, and T queries from position `first` on."""
        queries = torch.arange(first, first + num_queries, device=self.keys.weight.device)
        distances = torch.arange(num_keys, device=queries.device) - queries.unsqueeze(1)
        index = distances.clamp(-self.max_distance, self.max_distance) + self.max_distance
        return self.keys(index), self.values(index)


def rotate(heads: Tensor, rotation: Tensor) -> Tensor:
    """Turn the vectors of heads (N, H, d), or (1, N, H, d): dimension i and i + d/2 are a pair."""
    cosines, sines = rotation.to(heads.dtype)  # (N, 1, d/2) each
    first, second = heads.chunk(2, -1)
    return torch.cat([first * cosines - second * sines, first * sines + second * cosines], -1)


def rotate_queries_and_keys(rows: Tensor, rotation: Tensor, num_heads: int, num_shared_heads: int) -> Tensor:
    """Turn queries and keys of rows (N, queries, keys and values side by side); values stay."""
    num_turned, d_head = num_heads + num_shared_heads, rows.shape[1] // (num_heads + 2 * num_shared_heads)
    turned, values = rows.split([num_turned * d_head, num_shared_heads * d_head], 1)
    return torch.cat([rotate(turned.unflatten(1, (-1, d_head)), rotation).flatten(1), values], 1)


def sinusoids(length: int, width: int, device: torch.device) -> Tensor:
    """Return the vectors (length, width) of positions 0 … `length - 1` (Vaswani et al. 2017, section 3.5).

    Sines fill the first half and cosines the second; interleaving them, as the paper does, is the same up to
    an order of the columns.
    """
    angles = torch.arange(length, dtype=torch.float32, device=device).unsqueeze(1) * _rates(width, device)
    return torch.cat([angles.sin(), angles.cos()], 1)


def _rates(width: int, device: torch.device) -> Tensor:
    """Return the angle by which each of width/2 pairs turns from one position to the next."""
    return torch.exp(torch.arange(width // 2, device=device) * (-math.log(10_000.0) / (width // 2)))

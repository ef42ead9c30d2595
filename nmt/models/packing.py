"""Sentences laid end to end, so that layers which look at one position at a time do no work on padding.

The number of rows is rounded up a little, and so are the sides of the rectangles that attention works on: a
process then meets few different shapes. Each new one costs a kernel that is compiled for it (oneDNN, on the CPU;
torch.compile) and memory of a new size.
"""

from typing import Any

import torch
from torch import Tensor

# Lengths of rectangles are multiples of it: one vector register of bfloat16.
LANES = 32


def round_up(count: int) -> int:
    """Return the next number that is a multiple of 8 and at most a sixteenth larger than a large `count`."""
    step = max(8, 1 << max(0, count.bit_length() - 5))
    return -(-count // step) * step


class _Gather(torch.autograd.Function):
    """Rows of x by an index whose inverse is known, so that the gradient is gathered, too, and not scattered."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, inverse: Tensor, num_valid: int) -> Tensor:
        ctx.save_for_backward(inverse)
        ctx.num_valid = num_valid
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        (inverse,) = ctx.saved_tensors
        gradient = gradients[0].index_select(0, inverse)
        gradient[ctx.num_valid :] = 0
        return gradient, None, None, None


class Packing:
    """Where the tokens of B sentences lie: in N rows end to end, and in rectangles of cells, one row a sentence.

    Rows from `num_tokens` on are fillers; there is always one, and the cells behind a sentence's end hold the
    last. What a filler holds never reaches a token, forward or backward.
    """

    def __init__(self, lengths: Tensor, longest: int, device: torch.device) -> None:
        """Lay out sentences of `lengths` (B, on the host, each at least 1); their rectangle is (B, longest)."""
        self.num_sentences, self.longest = len(lengths), longest
        self.num_tokens = int(lengths.sum())
        self.num_rows = round_up(self.num_tokens + 1)
        self.height = round_up(self.num_sentences)  # B'
        self.width = -(-longest // LANES) * LANES  # L'
        inside = torch.arange(self.width) < lengths.unsqueeze(1)  # (B, L')
        places = inside.flatten().nonzero().squeeze(1)  # cell of each token
        cells = torch.full((self.height * self.width,), self.num_rows - 1)
        cells[places] = torch.arange(self.num_tokens)
        rows = torch.zeros(self.num_rows, dtype=torch.long)
        rows[: self.num_tokens] = places
        self.cells = cells.to(device, non_blocking=True)  # (B'·L'): row of each cell
        self.rows = rows.to(device, non_blocking=True)  # (N): cell of each row
        self.positions = self.rows % self.width  # (N): place of each row in its sentence
        hidden = torch.zeros(self.height, 1, 1, self.width)
        hidden[: self.num_sentences].masked_fill_(~inside[:, None, None], -torch.inf)
        self.mask = hidden.to(device, non_blocking=True)  # (B', 1, 1, L'): added to scores; 0 or -inf
        self._head_indices: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}

    def _places(self) -> Tensor:
        """Return the place (N) of each row in the rectangle (B, longest)."""
        return self.rows // self.width * self.longest + self.positions

    def pack(self, rectangle: Tensor) -> Tensor:
        """Return the rows (N, …) of a rectangle (B, longest, …)."""
        flat = rectangle.flatten(0, 1)
        if not flat.is_floating_point():
            return flat.index_select(0, self._places())
        index = self.cells.view(self.height, self.width)[: self.num_sentences, : self.longest].flatten()
        packed: Tensor = _Gather.apply(flat, self._places(), index, len(flat))  # type: ignore[no-untyped-call]
        return packed

    def unpack(self, rows: Tensor) -> Tensor:
        """Return the rectangle (B, longest, D) of rows (N, D)."""
        index = self.cells.view(self.height, self.width)[: self.num_sentences, : self.longest].flatten()
        given = (rows, index, self._places(), self.num_tokens)
        flat: Tensor = _Gather.apply(*given)  # type: ignore[no-untyped-call]
        return flat.view(self.num_sentences, self.longest, -1)

    def to_heads(self, rows: Tensor, num_parts: int, num_heads: int) -> Tensor:
        """Return rectangles (parts, B', H, L', d) of rows (N, parts·H·d)."""
        heads, inverse = self._head_index(num_parts, num_heads)
        num_valid = self.num_tokens * num_parts * num_heads
        flat: Tensor = _Gather.apply(  # type: ignore[no-untyped-call]
            rows.view(self.num_rows * num_parts * num_heads, -1), heads, inverse, num_valid
        )
        return flat.view(num_parts, self.height, num_heads, self.width, -1)

    def from_heads(self, heads: Tensor) -> Tensor:
        """Return rows (N, H·d) of rectangles (B', H, L', d)."""
        num_heads = heads.shape[1]
        index, inverse = self._head_index(1, num_heads)
        flat = heads.reshape(-1, heads.shape[-1])
        rows: Tensor = _Gather.apply(flat, inverse, index, len(flat))  # type: ignore[no-untyped-call]
        return rows.view(self.num_rows, -1)

    def _head_index(self, num_parts: int, num_heads: int) -> tuple[Tensor, Tensor]:
        """Return where in rows (N, parts, H) each cell (parts, B', H, L') is found, and the inverse, both flat."""
        key = num_parts, num_heads
        if key not in self._head_indices:
            parts = torch.arange(num_parts, device=self.cells.device)
            heads = torch.arange(num_heads, device=self.cells.device)
            cells = self.cells.view(self.height, 1, self.width)
            index = (cells * num_parts + parts.view(-1, 1, 1, 1)) * num_heads + heads.view(-1, 1)
            rows = self.rows.view(-1, 1, 1)
            sentences, positions = rows // self.width, rows % self.width
            inverse = ((parts.view(-1, 1) * self.height + sentences) * num_heads + heads) * self.width + positions
            self._head_indices[key] = index.flatten(), inverse.flatten()
        return self._head_indices[key]


class Grid:
    """The same for rows that are a rectangle already: B sentences of `length` rows each, as decoding has them."""

    def __init__(self, num_sentences: int) -> None:
        self.num_sentences = num_sentences

    def to_heads(self, rows: Tensor, num_parts: int, num_heads: int) -> Tensor:
        """Return (parts, B, H, L, d) of rows (B·L, parts·H·d)."""
        length = len(rows) // self.num_sentences
        return rows.view(self.num_sentences, length, num_parts, num_heads, -1).permute(2, 0, 3, 1, 4)

    def from_heads(self, heads: Tensor) -> Tensor:
        """Return rows (B·L, H·d) of rectangles (B, H, L, d)."""
        return heads.transpose(1, 2).flatten(0, 1).flatten(1)

"""Sentences laid end to end, so that layers which look at one position at a time do no work on padding.

The number of rows is rounded up a little, and so are the sides of the rectangles that attention works on: a
process then meets few different shapes. Each new one costs a kernel that is compiled for it (oneDNN, on the CPU;
torch.compile) and memory of a new size.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

# Lengths of rectangles are multiples of it: one vector register of bfloat16.
LANES = 32


def round_up(count: int) -> int:
    """Return the next number that is a multiple of 8 and at most a sixteenth larger than a large `count`."""
    step = max(8, 1 << max(0, count.bit_length() - 5))
    return -(-count // step) * step


class _Gather(torch.autograd.Function):
    """Rows of x by an index whose inverse is known, so that the gradient is gathered, too, and not scattered."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(inverse)
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (inverse,) = ctx.saved_tensors
        return gradients[0].index_select(0, inverse), None, None


def _send(tensor: Tensor, device: torch.device) -> Tensor:
    """Return the tensor on `device`, without waiting for it where the device can fetch it by itself."""
    return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)


def _gather(x: Tensor, index: Tensor, inverse: Tensor) -> Tensor:
    rows: Tensor = _Gather.apply(x, index, inverse)  # type: ignore[no-untyped-call]
    return rows


class Packing:
    """Where the tokens of B sentences lie: in N rows end to end, and in rectangles (B', L') of cells, a row a sentence.

    Both have room to spare: rows from `num_tokens` on are fillers, at least one; the cells behind a sentence's end
    and the sentences from B on are empty, at least one sentence. Empty cells are filled from the last row, fillers
    from the last cell. As no loss depends on a filler, and no token on an empty cell, the gradient of both is zero,
    and what they hold never reaches a token, forward or backward.
    """

    def __init__(self, lengths: Tensor, longest: int, device: torch.device, num_heads: int = 0) -> None:
        """Lay out sentences of `lengths` (B, on the host, each at least 1), the longest of which is `longest`."""
        self.num_sentences, self.longest = len(lengths), longest
        self.num_tokens = int(lengths.sum())
        num_rows = round_up(self.num_tokens + 1)  # N
        height = round_up(self.num_sentences + 1)  # B'
        width = -(-longest // LANES) * LANES  # L'
        inside = torch.arange(width) < lengths.unsqueeze(1)  # (B, L')
        places = inside.flatten().nonzero().squeeze(1)  # cell of each token
        cells = torch.full((height * width,), num_rows - 1)
        cells[places] = torch.arange(self.num_tokens)
        rows = torch.full((num_rows,), len(cells) - 1)
        rows[: self.num_tokens] = places
        self.cells = _send(cells.view(height, width), device)  # (B', L'): row of each cell
        self.rows = _send(rows, device)  # (N): cell of each row
        self.positions = (self.rows % width).clamp(max=longest - 1)  # (N): place of each row in its sentence
        # An empty sentence sees itself: there is no softmax of nothing.
        hidden = torch.zeros(height, 1, 1, width)
        hidden[: self.num_sentences].masked_fill_(~inside[:, None, None], -torch.inf)
        self.mask = _send(hidden, device)  # (B', 1, 1, L'): added to scores; 0 or -inf
        self.num_heads = num_heads
        # All at once: what comes later would have each compiled layer look whether it is there.
        self._head_indices = [self._head_index(num_parts) for num_parts in (1, 2, 3)] if num_heads else []

    def pack(self, rectangle: Tensor) -> Tensor:
        """Return the rows (N, …) of a rectangle (B, longest, …)."""
        height, width = self.cells.shape
        beyond = [0, 0] * (rectangle.dim() - 2) + [0, width - self.longest, 0, height - self.num_sentences]
        return _gather(functional.pad(rectangle, beyond).flatten(0, 1), self.rows, self.cells.flatten())

    def unpack(self, rows: Tensor) -> Tensor:
        """Return the rectangle (B, longest, …) of rows (N, …)."""
        cells = _gather(rows, self.cells.flatten(), self.rows).unflatten(0, self.cells.shape)
        return cells[: self.num_sentences, : self.longest]

    def to_heads(self, rows: Tensor, num_parts: int) -> Tensor:
        """Return rectangles (parts, B', H, L', d) of rows (N, parts·H·d), for up to three parts."""
        index, inverse = self._head_indices[num_parts - 1]
        d_head = rows.shape[1] // (num_parts * self.num_heads)
        flat = _gather(rows.view(-1, d_head), index, inverse)
        height, width = self.cells.shape
        return flat.view(num_parts, height, self.num_heads, width, d_head)

    def from_heads(self, heads: Tensor) -> Tensor:
        """Return rows (N, H·d) of rectangles (B', H, L', d)."""
        inverse, index = self._head_indices[0]
        d_head = heads.shape[-1]
        return _gather(heads.reshape(-1, d_head), index, inverse).view(-1, self.num_heads * d_head)

    def _head_index(self, num_parts: int) -> tuple[Tensor, Tensor]:
        """Return where in rows (N, parts, H) each cell (parts, B', H, L') is found, and the inverse, both flat."""
        height, width = self.cells.shape
        parts = torch.arange(num_parts, device=self.cells.device).view(-1, 1, 1, 1)
        heads = torch.arange(self.num_heads, device=self.cells.device)
        index = (self.cells.unsqueeze(1) * num_parts + parts) * self.num_heads + heads.view(-1, 1)
        rows = self.rows.view(-1, 1, 1)
        inverse = (parts.view(-1, 1) * height + rows // width) * self.num_heads + heads  # (N, parts, H)
        # Copies: for a view, a compiled layer would look at the shape of what it is a view of.
        return index.flatten().clone(), (inverse * width + rows % width).flatten().clone()


class Grid:
    """The same for rows that are a rectangle already: B sentences of `length` rows each, as decoding has them."""

    def __init__(self, num_sentences: int, num_heads: int) -> None:
        self.num_sentences, self.num_heads = num_sentences, num_heads

    def to_heads(self, rows: Tensor, num_parts: int) -> Tensor:
        """Return (parts, B, H, L, d) of rows (B·L, parts·H·d)."""
        length = len(rows) // self.num_sentences
        return rows.view(self.num_sentences, length, num_parts, self.num_heads, -1).permute(2, 0, 3, 1, 4)

    def from_heads(self, heads: Tensor) -> Tensor:
        """Return rows (B·L, H·d) of rectangles (B, H, L, d)."""
        return heads.transpose(1, 2).flatten(0, 1).flatten(1)

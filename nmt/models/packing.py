"""Sentences laid end to end, so that layers which look at one position at a time do no work on padding."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from nmt.data.batching import Room


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


def _gather(x: Tensor, index: Tensor, inverse: Tensor) -> Tensor:
    rows: Tensor = _Gather.apply(x, index, inverse)  # type: ignore[no-untyped-call]
    return rows


class Packing:
    """Where the tokens of B sentences lie: in N rows end to end, and in rectangles (B', L') of cells, a row a sentence.

    Both have room to spare: rows from the last token on are fillers, at least one; the cells behind a sentence's end
    and the sentences from B on are empty, at least one sentence. Empty cells are filled from the last row, fillers
    from the last cell. As no loss depends on a filler, and no token on an empty cell, the gradient of both is zero,
    and what they hold never reaches a token, forward or backward.
    """

    def __init__(self, lengths: Tensor, room: Room, head_shapes: Iterable[tuple[int, int]] = ()) -> None:
        """Lay out sentences of `lengths` (B, on the device), a length of 0 standing for none at all.

        `head_shapes` are the (parts, H) that rows will be asked for in `to_heads`.
        All that is asked of the host are the sizes of the room, so that the device need not be waited for.
        """
        num_rows, height, width = room
        device = lengths.device
        lengths = functional.pad(lengths, [0, height - len(lengths)])  # (B')
        ends = lengths.cumsum(0)
        starts = ends - lengths
        columns, order = torch.arange(width, device=device), torch.arange(num_rows, device=device)
        inside = columns < lengths.unsqueeze(1)  # (B', L')
        self.cells = torch.where(
            inside, starts.unsqueeze(1) + columns, num_rows - 1
        )  # (B', L'): row of each cell
        sentences = torch.searchsorted(ends, order, right=True).clamp_(max=height - 1)  # (N)
        self.is_token = order < ends[-1]  # (N)
        self.positions = torch.where(
            self.is_token, order - starts[sentences], 0
        )  # (N): place in its sentence
        self.rows = torch.where(
            self.is_token, sentences * width + self.positions, height * width - 1
        )  # (N): cell
        # An empty sentence sees itself: there is no softmax of nothing.
        visible = inside | (lengths == 0).unsqueeze(1)
        hidden = torch.zeros(height, width, device=device).masked_fill_(~visible, -torch.inf)
        self.mask = hidden[:, None, None]  # (B', 1, 1, L'): added to scores; 0 or -inf
        # All at once: what comes later would have each compiled layer look whether it is there.
        self._head_indices = {shape: self._head_index(*shape) for shape in head_shapes}

    def pack(self, rectangle: Tensor) -> Tensor:
        """Return the rows (N, …) of a rectangle (B, L, …) that fits into the room."""
        height, width = self.cells.shape
        beyond = [0, width - rectangle.shape[1], 0, height - len(rectangle)]
        padded = functional.pad(rectangle, [0, 0] * (rectangle.dim() - 2) + beyond)
        return _gather(padded.flatten(0, 1), self.rows, self.cells.flatten())

    def unpack(self, rows: Tensor, shape: torch.Size) -> Tensor:
        """Return the rectangle (*shape, …) of rows (N, …), where shape is (B, L)."""
        cells = _gather(rows, self.cells.flatten(), self.rows).unflatten(0, self.cells.shape)
        return cells[: shape[0], : shape[1]]

    def to_heads(self, rows: Tensor, num_parts: int, num_heads: int) -> Tensor:
        """Return rectangles (parts, B', H, L', d) of rows (N, parts·H·d)."""
        index, inverse = self._head_indices[num_parts, num_heads]
        d_head = rows.shape[1] // (num_parts * num_heads)
        flat = _gather(rows.view(-1, d_head), index, inverse)
        height, width = self.cells.shape
        return flat.view(num_parts, height, num_heads, width, d_head)

    def from_heads(self, heads: Tensor) -> Tensor:
        """Return rows (N, H·d) of rectangles (B', H, L', d)."""
        num_heads, d_head = heads.shape[1], heads.shape[-1]
        inverse, index = self._head_indices[1, num_heads]
        return _gather(heads.reshape(-1, d_head), index, inverse).view(-1, num_heads * d_head)

    def _head_index(self, num_parts: int, num_heads: int) -> tuple[Tensor, Tensor]:
        """Return where in rows (N, parts, H) each cell (parts, B', H, L') is found, and the inverse, both flat."""
        height, width = self.cells.shape
        parts = torch.arange(num_parts, device=self.cells.device).view(-1, 1, 1, 1)
        heads = torch.arange(num_heads, device=self.cells.device)
        index = (self.cells.unsqueeze(1) * num_parts + parts) * num_heads + heads.view(-1, 1)
        rows = self.rows.view(-1, 1, 1)
        inverse = (parts.view(-1, 1) * height + rows // width) * num_heads + heads  # (N, parts, H)
        # Copies: for a view, a compiled layer would look at the shape of what it is a view of.
        return index.flatten().clone(), (inverse * width + rows % width).flatten().clone()


class Grid:
    """The same for rows that are a rectangle already: B sentences of several rows each, as decoding has them."""

    def __init__(self, num_sentences: int) -> None:
        self.num_sentences = num_sentences

    def to_heads(self, rows: Tensor, num_parts: int, num_heads: int) -> Tensor:
        """Return (parts, B, H, L, d) of rows (B·L, parts·H·d)."""
        length = len(rows) // self.num_sentences
        return rows.view(self.num_sentences, length, num_parts, num_heads, -1).permute(2, 0, 3, 1, 4)

    def from_heads(self, heads: Tensor) -> Tensor:
        """Return rows (B·L, H·d) of rectangles (B, H, L, d)."""
        return heads.transpose(1, 2).reshape(-1, heads.shape[1] * heads.shape[-1])

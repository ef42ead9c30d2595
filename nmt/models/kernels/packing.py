"""Sentences laid end to end, so that position-wise layers do no work on padding."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nmt.data.batching import Batch

# The room for the longest sentence is a multiple of this number: half a vector register of bfloat16.
LANES = 16


class Room(NamedTuple):
    """The room for the sentences of one side, rounded up so that all batches have a few sizes.

    Each new size costs a compiled kernel (oneDNN on the CPU, torch.compile), a graph (CUDA), and memory of its own.
    """

    num_rows: int  # N, of sentences laid end to end: more than there are tokens
    num_sentences: int  # more than there are
    longest: int  # positions of a sentence


def room_for(lengths: Tensor, longest: int = 0) -> Room:
    """Return the room for sentences of `lengths` (B, on the host), in a rectangle that is at least `longest` wide."""
    longest = -(-max(longest, int(lengths.max())) // LANES) * LANES
    return Room(round_up(int(lengths.sum()) + 1), round_up(len(lengths) + 1), longest)


def rooms_of(batch: Batch) -> tuple[Room, Room]:
    """Return the room for source and target of a batch."""
    return room_for(batch.source_lengths), room_for(batch.target_lengths)


def round_up(count: int) -> int:
    """Return `count` rounded up to a multiple of 8, or of a larger power of two if that adds at most a sixteenth."""
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


def _gather(x: Tensor, index: Tensor, inverse: Tensor) -> Tensor:
    rows: Tensor = _Gather.apply(x, index, inverse)  # type: ignore[no-untyped-call]
    return rows


class Packing:
    """Where the tokens of B sentences lie: in N rows, end to end, and in a rectangle (B', L') of cells.

    The tokens a b c and d of two sentences, where `-` is unused:

        rows         rectangle
        a b c d -    a b c -
                     d - - -
                     - - - -

    At least the last row and the last cell are unused. Unused cells read the last row, and unused rows the last cell,
    so that each gather has an inverse, which is a gather, too. The loss leaves out unused rows, and attention masks
    unused cells; so the gradient of both is zero, and their content never reaches a token, forward or backward.
    """

    def __init__(self, lengths: Tensor, room: Room, num_heads: int = 0, num_shared_heads: int = 0) -> None:
        """Lay out sentences of `lengths` (B, on the device); a length of 0 means that there is no sentence.

        Queries have `num_heads`, keys and values `num_shared_heads`; rows that are never split into heads need neither.
        Only the sizes of the room come from the host, so that nothing waits for the device.
        """
        num_rows, height, width = room
        device = lengths.device
        lengths = functional.pad(lengths, [0, height - len(lengths)])  # (B')
        ends = lengths.cumsum(0)
        starts = ends - lengths
        columns, order = torch.arange(width, device=device), torch.arange(num_rows, device=device)
        inside = columns < lengths.unsqueeze(1)  # (B', L')
        self.row_of_cell = torch.where(inside, starts.unsqueeze(1) + columns, num_rows - 1)  # (B', L')
        sentences = torch.searchsorted(ends, order, right=True).clamp_(max=height - 1)  # (N)
        self.is_token = order < ends[-1]  # (N)
        # The place of each row in its sentence, (N).
        self.positions = torch.where(self.is_token, order - starts[sentences], 0)
        cells = sentences * width + self.positions
        self.cell_of_row = torch.where(self.is_token, cells, height * width - 1)  # (N)
        # An empty sentence sees its own cells, since the softmax over no cell is undefined.
        visible = inside | (lengths == 0).unsqueeze(1)
        hidden = torch.zeros(height, width, device=device).masked_fill_(~visible, -torch.inf)
        self.padding_mask = hidden[:, None, None]  # (B', 1, 1, L'): added to scores; 0 or -inf
        # All indices are made now: a compiled layer would have to check whether one that is made later exists.
        heads = {(num_heads,), 2 * (num_shared_heads,), (num_heads, num_shared_heads, num_shared_heads)}
        self._head_indices = {counts: self._head_index(counts) for counts in heads if num_heads}

    def places(self, rows: Tensor) -> tuple[Tensor, int]:
        """Return the position (N) of each of the rows (N, …) in its sentence, and a number above all positions."""
        return self.positions, self.row_of_cell.shape[1]

    def pack(self, rectangle: Tensor) -> Tensor:
        """Return the rows (N, …) of a rectangle (B, L, …) that fits into the room."""
        height, width = self.row_of_cell.shape
        beyond = [0, width - rectangle.shape[1], 0, height - len(rectangle)]
        padded = functional.pad(rectangle, [0, 0] * (rectangle.dim() - 2) + beyond)
        return _gather(padded.flatten(0, 1), self.cell_of_row, self.row_of_cell.flatten())

    def unpack(self, rows: Tensor, shape: torch.Size) -> Tensor:
        """Return the rectangle (*shape, …) of rows (N, …), where shape is (B, L)."""
        cells = _gather(rows, self.row_of_cell.flatten(), self.cell_of_row).unflatten(
            0, self.row_of_cell.shape
        )
        return cells[: shape[0], : shape[1]]

    def to_heads(self, rows: Tensor, num_parts: int, num_heads: int) -> Tensor:
        """Return rectangles (parts, B', H, L', d) of rows (N, parts·H·d)."""
        height, width = self.row_of_cell.shape
        heads = self._gather_heads(rows, num_parts * (num_heads,))
        return heads.view(num_parts, height, num_heads, width, heads.shape[1])

    def self_heads(self, rows: Tensor, num_heads: int, num_shared: int) -> tuple[Tensor, Tensor | None]:
        """Return queries, keys and values (3, B', H, L', d) of rows (N, H·d + 2·G·d), G being `num_shared`, and None.

        Where heads share keys and values (G < H): queries (1, B', H, L', d), keys and values (2, B', G, L', d) apart.
        """
        if num_shared == num_heads:
            return self.to_heads(rows, 3, num_heads), None
        height, width = self.row_of_cell.shape
        heads = self._gather_heads(rows, (num_heads, num_shared, num_shared))
        query, memory = heads.split([height * num_heads * width, 2 * height * num_shared * width])
        return (
            query.view(1, height, num_heads, width, query.shape[1]),
            memory.view(2, height, num_shared, width, memory.shape[1]),
        )

    def from_heads(self, heads: Tensor) -> Tensor:
        """Return rows (N, H·d) of rectangles (B', H, L', d)."""
        num_heads, d_head = heads.shape[1], heads.shape[-1]
        inverse, index = self._head_indices[(num_heads,)]
        return _gather(heads.reshape(-1, d_head), index, inverse).view(-1, num_heads * d_head)

    def _gather_heads(self, rows: Tensor, counts: tuple[int, ...]) -> Tensor:
        index, inverse = self._head_indices[counts]
        return _gather(rows.view(-1, rows.shape[1] // sum(counts)), index, inverse)

    def _head_index(self, counts: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        """Return the index in rows (N, all heads) of each cell (B', H, L') of each part, and the inverse, both flat.

        `counts` are the heads of each part; the parts lie side by side in a row and one after the other in cells.
        """
        height, width = self.row_of_cell.shape
        rows, index, inverse, first = self.cell_of_row.unsqueeze(1), [], [], 0
        for count in counts:
            heads = torch.arange(count, device=rows.device)
            index.append((self.row_of_cell.unsqueeze(1) * sum(counts) + first + heads.view(-1, 1)).flatten())
            # Row b·L' + l of a head is at ((first·B' + b·count) + head)·L' + l among the cells: (N, H).
            inverse.append(((first * height + rows // width * count) + heads) * width + rows % width)
            first += count
        # `cat` copies even a single part: for a view, a compiled layer would also check the shape of its base.
        return torch.cat(index), torch.cat(inverse, 1).flatten()


class Grid:
    """The counterpart of Packing for B sentences of equally many rows, which form a rectangle without any padding.

    Examples are a single sentence that is encoded, and the hypotheses of all sentences at one position.
    """

    padding_mask: Tensor | None = None

    def __init__(self, num_sentences: int) -> None:
        self.num_sentences = num_sentences

    def places(self, rows: Tensor) -> tuple[Tensor, int]:
        """Return the position (N) of each of the rows (N, …) in its sentence, and the number of positions."""
        length = len(rows) // self.num_sentences
        return torch.arange(length, device=rows.device).repeat(self.num_sentences), length

    def pack(self, rectangle: Tensor) -> Tensor:
        """Return the rows (B·L, …) of a rectangle (B, L, …)."""
        return rectangle.flatten(0, 1)

    def to_heads(self, rows: Tensor, num_parts: int, num_heads: int) -> Tensor:
        """Return (parts, B, H, L, d) of rows (B·L, parts·H·d)."""
        length = len(rows) // self.num_sentences
        return rows.view(self.num_sentences, length, num_parts, num_heads, -1).permute(2, 0, 3, 1, 4)

    def self_heads(self, rows: Tensor, num_heads: int, num_shared: int) -> tuple[Tensor, Tensor | None]:
        """Return queries, keys and values as `Packing.self_heads` does."""
        if num_shared == num_heads:
            return self.to_heads(rows, 3, num_heads), None
        d_head = rows.shape[1] // (num_heads + 2 * num_shared)
        query, memory = rows.split([num_heads * d_head, 2 * num_shared * d_head], 1)
        return self.to_heads(query, 1, num_heads), self.to_heads(memory, 2, num_shared)

    def from_heads(self, heads: Tensor) -> Tensor:
        """Return rows (B·L, H·d) of rectangles (B, H, L, d)."""
        return heads.transpose(1, 2).reshape(-1, heads.shape[1] * heads.shape[-1])


Layout = Packing | Grid

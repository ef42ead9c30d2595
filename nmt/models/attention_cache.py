"""Keys and values of the positions decoded so far: written once, and never moved when hypotheses are."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

# Shapes stay the same for so many positions at a time, or an eighth to a quarter of those there are: a GPU can record
# them, and the CPU makes a kernel for each, but pays for positions that are not there.
POSITIONS_AT_ONCE = {"cpu": 4, "cuda": 32, "mps": 32}
# The buffers grow by at least so many positions of the hypotheses that there are.
FIRST_POSITIONS = 32


@dataclass(frozen=True)
class LayerCache:
    """What one layer keeps, at one position."""

    position: int
    buffer: Tensor  # (rows · 2·H, d)
    rows: slice  # that are for this position
    index: Tensor  # (2 · N · H · P): where in the buffer the keys and values of each hypothesis are
    shape: tuple[int, ...]  # (2, N, H, P, d)
    mask: Tensor  # (1, 1, 1, P): added to scores; -inf where there is no position yet

    def append(self, key_value: Tensor) -> Tensor:
        """Store keys and values (N, 2·H·d) of this position; return those of all, (2, N, H, P, d)."""
        self.buffer[self.rows] = key_value.reshape(-1, self.shape[-1])
        return self.buffer.index_select(0, self.index).view(self.shape)


class AttentionCache:
    """A row for each position of each hypothesis, in one buffer a layer.

    A hypothesis knows the rows of its positions, its `places` (N, P): when hypotheses are reordered, copied or dropped,
    only these numbers are. What attention reads is then gathered, so that it lies side by side.
    """

    def __init__(self, num_layers: int, num_heads: int, like: Tensor) -> None:
        """Make room for `num_heads` heads of keys and as many of values, of the type and width of `like` (…, d)."""
        self.buffers = [like.new_empty(0, like.shape[-1]) for _ in range(num_layers)]
        self.per_row = 2 * num_heads
        self.heads = torch.arange(self.per_row, device=like.device).view(2, 1, num_heads, 1)
        self.num_rows = 0
        self.mask = like.new_empty(1, 1, 1, 0)

    def advance(self, places: Tensor, length: int) -> tuple[Tensor, list[LayerCache]]:
        """Make room for a position of hypotheses with `places` (N, P), which come after `length` positions.

        Returns the places with those of the new one, and what each layer is to read and write.
        """
        first, self.num_rows = self.num_rows, self.num_rows + len(places)
        per_row, size = self.per_row, len(self.buffers[0])
        if self.num_rows * per_row > size:
            size += max(FIRST_POSITIONS * len(places) * per_row, size)
            self.buffers = [_grown(buffer, size, first * per_row) for buffer in self.buffers]
        rows = torch.arange(first, self.num_rows, device=places.device)
        if length == places.shape[1]:  # any row that there is will do for a position that is not
            more = max(POSITIONS_AT_ONCE[places.device.type], (1 << length.bit_length()) // 8)
            places = torch.cat([places, rows.unsqueeze(1).expand(-1, more)], 1)
            self.mask = functional.pad(self.mask, [0, more], value=-torch.inf)
        else:
            places[:, length] = rows
        self.mask[..., length] = 0
        index = torch.add(self.heads, places.unsqueeze(1), alpha=per_row)  # (2, N, H, P)
        of_position = slice(first * per_row, self.num_rows * per_row)
        shape, flat = (*index.shape, self.buffers[0].shape[-1]), index.flatten()
        return places, [
            LayerCache(length, buffer, of_position, flat, shape, self.mask) for buffer in self.buffers
        ]


def _grown(buffer: Tensor, size: int, num_used: int) -> Tensor:
    """Return a buffer of `size` rows, whose first are those that are used."""
    grown = buffer.new_empty(size, *buffer.shape[1:])
    grown[:num_used] = buffer[:num_used]
    return grown

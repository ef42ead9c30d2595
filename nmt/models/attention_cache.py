"""Keys and values of the positions decoded so far: written once, and never moved when hypotheses are."""

from dataclasses import dataclass

import torch
from torch import Tensor

# On a GPU shapes stay the same for so many positions at a time; the CPU does no work on positions that are not there.
POSITIONS_AT_ONCE = {"cpu": 1, "cuda": 32, "mps": 32}
# The buffers grow by at least so many positions of the hypotheses that there are.
FIRST_POSITIONS = 32


@dataclass(frozen=True)
class LayerCache:
    """What one layer keeps, at one position."""

    buffer: Tensor  # (rows, 2·H, d)
    rows: slice  # that are for this position
    index: Tensor  # (2, N, H, P): where in (rows · 2·H) the keys and values of each hypothesis are
    mask: Tensor | None  # (1, 1, 1, P): added to scores; -inf where there is no position yet; None: nowhere

    def append(self, key_value: Tensor) -> Tensor:
        """Store keys and values (N, 2·H·d) of this position; return those of all, (2, N, H, P, d)."""
        self.buffer[self.rows] = key_value.unflatten(1, self.buffer.shape[1:])
        gathered = self.buffer.flatten(0, 1).index_select(0, self.index.flatten())
        return gathered.view(*self.index.shape, -1)


class AttentionCache:
    """A row for each position of each hypothesis, in one buffer a layer.

    A hypothesis knows the rows of its positions, its `places` (N, P): when hypotheses are reordered, copied or dropped,
    only these numbers are. What attention reads is then gathered, so that it lies side by side.
    """

    def __init__(self, num_layers: int, num_heads: int, like: Tensor, block: int = 1) -> None:
        """Make room for `num_heads` heads of keys and as many of values, of the type and width of `like` (…, d).

        P is a multiple of `block`.
        """
        self.buffers = [like.new_empty(0, 2 * num_heads, like.shape[-1]) for _ in range(num_layers)]
        self.num_heads, self.block = num_heads, block
        self.num_rows = 0

    def advance(self, places: Tensor, length: int) -> tuple[Tensor, list[LayerCache]]:
        """Make room for a position of hypotheses with `places` (N, P), which come after `length` positions.

        Returns the places with those of the new one, and what each layer is to read and write.
        """
        first, self.num_rows = self.num_rows, self.num_rows + len(places)
        if self.num_rows > len(self.buffers[0]):
            size = len(self.buffers[0]) + max(FIRST_POSITIONS * len(places), len(self.buffers[0]))
            self.buffers = [_grown(buffer, size, first) for buffer in self.buffers]
        rows = torch.arange(first, self.num_rows, device=places.device)
        if length == places.shape[1]:  # any row that there is will do for a position that is not
            places = torch.cat([places, rows.unsqueeze(1).expand(-1, self.block)], 1)
        else:
            places[:, length] = rows
        heads = torch.arange(2 * self.num_heads, device=places.device).view(2, 1, self.num_heads, 1)
        index = places.unsqueeze(1) * (2 * self.num_heads) + heads
        mask = None
        if self.block > 1:
            columns = torch.arange(places.shape[1], device=places.device)
            hidden = columns > length
            mask = torch.zeros(hidden.shape, device=places.device).masked_fill_(hidden, -torch.inf)
            mask = mask[None, None, None]
        rows_of_position = slice(first, self.num_rows)
        return places, [LayerCache(buffer, rows_of_position, index, mask) for buffer in self.buffers]


def _grown(buffer: Tensor, size: int, num_used: int) -> Tensor:
    """Return a buffer of `size` rows, whose first are those that are used."""
    grown = buffer.new_empty(size, *buffer.shape[1:])
    grown[:num_used] = buffer[:num_used]
    return grown

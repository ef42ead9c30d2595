"""The cache of keys and values of the positions decoded so far, with room for some of the next ones."""

from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.models.kernels.packing import Layout

# Room grows by so many positions, or by an eighth to a quarter of the present ones if that is more. The room for the
# source is a multiple of this number, too. Shapes stay the same between two growths, so that a GPU can record steps and
# the CPU makes few kernels, one for each shape; but the CPU pays for empty positions.
POSITIONS_AT_ONCE = {"cpu": 4, "cuda": 32, "mps": 32}


@dataclass(frozen=True)
class Cache:
    """Keys and values of each hypothesis in one layer, with room for P positions, and the position to write next."""

    key: Tensor  # (N, H, P, d)
    value: Tensor  # (N, H, P, d)
    position: int
    mask: Tensor  # (1, 1, 1, P): added to scores; -inf where nothing is written yet

    def append(self, rows: Tensor, layout: Layout, num_heads: int) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Write the keys and values of this position's rows (N, queries, keys and values side by side).

        Returns the queries (1, N, H, 1, d), and keys and values of all positions, (N, H, P, d) each.
        """
        num_rows, num_shared, _, width = self.key.shape
        query, key_value = rows.split([num_heads * width, 2 * num_shared * width], 1)
        key, value = key_value.view(num_rows, 2, num_shared, width).unbind(1)
        self.key.select(2, self.position).copy_(key)
        self.value.select(2, self.position).copy_(value)
        return layout.to_heads(query, 1, num_heads), (self.key, self.value)


def width_for(lengths: Tensor, device: torch.device) -> int:
    """Return the room for the longest source of `lengths` (B, on the host), in positions."""
    step = POSITIONS_AT_ONCE[device.type]
    return -(-int(lengths.max()) // step) * step


def with_room(kept: Tensor, position: int) -> Tensor:
    """Return keys or values (N, H, P, d) with room for `position`: P grows where it is too small."""
    if position < kept.shape[2]:
        return kept
    more = max(POSITIONS_AT_ONCE[kept.device.type], (1 << position.bit_length()) // 8)
    return torch.cat([kept, kept.new_zeros(*kept.shape[:2], more, kept.shape[3])], 2)


def positions_mask(like: Tensor, position: int) -> Tensor:
    """Return the mask (1, 1, 1, P) of keys `like` (N, H, P, d), written up to and including `position`."""
    mask = like.new_zeros(1, 1, 1, like.shape[2])
    mask[..., position + 1 :] = -torch.inf
    return mask

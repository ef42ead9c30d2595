"""Keys and values of the positions decoded so far, with room for some that are to come."""

from dataclasses import dataclass

import torch
from torch import Tensor

# There is room for a multiple of so many positions, those of the source among them, or for an eighth to a quarter more
# than there are: shapes stay the same meanwhile. A GPU can record them, and the CPU makes a kernel for each, but pays
# for positions that are not there.
POSITIONS_AT_ONCE = {"cpu": 4, "cuda": 32, "mps": 32}


@dataclass(frozen=True)
class LayerCache:
    """What one layer keeps of each hypothesis, with room for P positions, and where it is to write."""

    key: Tensor  # (N, H, P, d)
    value: Tensor  # (N, H, P, d)
    position: int
    mask: Tensor  # (1, 1, 1, P): added to scores; -inf where nothing is written yet

    def append(self, key_value: Tensor) -> tuple[Tensor, Tensor]:
        """Write keys and values (N, 2·H·d) of this position; return those of all, (N, H, P, d) each."""
        num_rows, num_heads, _, width = self.key.shape
        key, value = key_value.view(num_rows, 2, num_heads, width).unbind(1)
        self.key.select(2, self.position).copy_(key)
        self.value.select(2, self.position).copy_(value)
        return self.key, self.value


def with_room(kept: Tensor, position: int) -> Tensor:
    """Return keys or values (N, H, P, d) with room for one more `position`."""
    if position < kept.shape[2]:
        return kept
    more = max(POSITIONS_AT_ONCE[kept.device.type], (1 << position.bit_length()) // 8)
    return torch.cat([kept, kept.new_zeros(*kept.shape[:2], more, kept.shape[3])], 2)


def positions_mask(like: Tensor, position: int) -> Tensor:
    """Return the mask of keys `like` (N, H, P, d), of which those up to `position` are written."""
    mask = like.new_zeros(1, 1, 1, like.shape[2])
    mask[..., position + 1 :] = -torch.inf
    return mask

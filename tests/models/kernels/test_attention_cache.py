"""The cache that attention reads in a search, against keys and values that are concatenated."""

import torch
from torch.testing import assert_close

from nmt.models.kernels import Grid
from nmt.models.kernels.attention_cache import POSITIONS_AT_ONCE, Cache, positions_mask, with_room

NUM_HEADS, WIDTH = 2, 3


def test_each_hypothesis_reads_its_own_positions_after_any_reordering():
    torch.manual_seed(0)
    key, value = (torch.empty(3, NUM_HEADS, 0, WIDTH) for _ in range(2))
    kept = torch.empty(3, 0, 2, NUM_HEADS, WIDTH)  # (N, P, 2, H, d)
    for position in range(60):
        key, value = with_room(key, position), with_room(value, position)
        mask = positions_mask(key, position)
        new = torch.randn(len(key), 2, NUM_HEADS, WIDTH)
        query = torch.randn(len(key), NUM_HEADS, WIDTH)
        rows = torch.cat([query.flatten(1), new.flatten(1)], 1)
        layer = Cache(key, value, position, mask)
        heads, memory = layer.append(rows, Grid(len(key)), NUM_HEADS)
        assert torch.equal(heads[0, :, :, 0], query)
        found = torch.stack(memory)  # (2, N, H, P, d)
        kept = torch.cat([kept, new.unsqueeze(1)], 1)
        assert mask.flatten().tolist() == [0.0 if i <= position else -torch.inf for i in range(key.shape[2])]
        assert_close(found[:, :, :, : position + 1], kept.permute(2, 0, 3, 1, 4))
        assert found.isfinite().all()  # hidden positions are multiplied by zero: infinity becomes NaN
        chosen = torch.randint(len(key), (int(torch.randint(1, 5, ())),))
        key, value, kept = key[chosen], value[chosen], kept[chosen]


def test_a_long_search_meets_few_shapes_and_wastes_little():
    key, sizes = torch.empty(1, 1, 0, 1), set()
    for position in range(500):
        key = with_room(key, position)
        size = key.shape[2]
        assert position < size <= max(position + POSITIONS_AT_ONCE["cpu"], 1.25 * position)
        sizes.add(size)
    assert len(sizes) < 30

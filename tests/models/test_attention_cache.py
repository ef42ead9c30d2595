"""What attention of a search reads, against keys and values that are simply kept."""

import torch
from torch.testing import assert_close

from nmt.models.attention_cache import POSITIONS_AT_ONCE, AttentionCache

NUM_HEADS, WIDTH = 2, 3


def test_each_hypothesis_reads_its_own_positions_after_any_reordering():
    torch.manual_seed(0)
    cache = AttentionCache(1, NUM_HEADS, torch.empty(0, WIDTH))
    places = torch.empty(3, 0, dtype=torch.long)
    kept = torch.empty(3, 0, 2, NUM_HEADS, WIDTH)  # (N, P, 2, H, d)
    for length in range(60):
        new = torch.randn(len(places), 2, NUM_HEADS, WIDTH)
        places, (layer,) = cache.advance(places, length)
        found = layer.append(new.flatten(1))  # (2, N, H, P, d)
        kept = torch.cat([kept, new.unsqueeze(1)], 1)
        is_there = layer.mask.flatten() == 0
        assert is_there.tolist() == [position <= length for position in range(places.shape[1])]
        assert_close(found[:, :, :, is_there], kept.permute(2, 0, 3, 1, 4))
        chosen = torch.randint(len(places), (int(torch.randint(1, 5, ())),))
        places, kept = places[chosen], kept[chosen]


def test_a_long_search_meets_few_shapes_and_wastes_little():
    cache = AttentionCache(1, NUM_HEADS, torch.empty(0, WIDTH))
    places, sizes = torch.empty(1, 0, dtype=torch.long), set()
    for length in range(500):
        places, (layer,) = cache.advance(places, length)
        size = layer.shape[-2]
        assert length < size <= max(length + POSITIONS_AT_ONCE["cpu"], 1.25 * length)
        sizes.add(size)
    assert len(sizes) < 30

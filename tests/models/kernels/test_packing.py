"""Packed rows and padded rectangles against explicit loops; nothing passes from padding to tokens."""

import pytest
import torch
from torch.testing import assert_close

from nmt.models.kernels.packing import Grid, Packing, room_for, round_up
from nmt.training.objective import Objective

LENGTHS = (5, 3, 7)


def packing(lengths=LENGTHS, num_heads=2, num_shared=2):
    return Packing(torch.tensor(lengths), room_for(torch.tensor(lengths)), num_heads, num_shared)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 63, 64, 300, 1000, 4097, 100_000])
def test_counts_are_rounded_up_to_few_numbers(count):
    rounded = round_up(count)
    assert count <= rounded < count + max(8, count / 8)
    assert round_up(rounded) == rounded
    assert len({round_up(i) for i in range(4096, 8192)}) <= 17


def test_rows_are_the_tokens_sentence_by_sentence():
    layout, rectangle = packing(), torch.randn(3, 7, 4)
    rows = layout.pack(rectangle)
    expected = torch.cat([rectangle[i, :length] for i, length in enumerate(LENGTHS)])
    assert torch.equal(rows[layout.is_token], expected)
    assert len(rows) == round_up(15 + 1)
    back = layout.unpack(rows, rectangle.shape[:2])
    assert back.shape == rectangle.shape
    for i, length in enumerate(LENGTHS):
        assert torch.equal(back[i, :length], rectangle[i, :length])


def test_heads_are_the_tokens_of_each_part_and_head():
    layout = packing()
    rows = torch.randn(len(layout.cell_of_row), 3 * 2 * 4)
    heads = layout.to_heads(rows, 3, 2)
    first = 0
    for sentence, length in enumerate(LENGTHS):
        tokens = rows[first : first + length].view(length, 3, 2, 4)
        assert torch.equal(heads[:, sentence, :, :length], tokens.permute(1, 2, 0, 3))
        first += length
    assert torch.equal(layout.from_heads(heads[0])[:15], rows[:15, :8])
    grid = Grid(3)
    assert torch.equal(grid.from_heads(grid.to_heads(rows[:6], 3, 2)[0]), rows[:6, :8])


def test_heads_that_share_keys_and_values_are_those_of_each_part():
    layout = packing(num_heads=4, num_shared=2)
    rows = torch.randn(len(layout.cell_of_row), (4 + 2 + 2) * 3)
    query, memory = layout.self_heads(rows, 4, 2)
    parts = [part.unflatten(1, (-1, 3)) for part in rows.split([4 * 3, 2 * 3, 2 * 3], 1)]
    first = 0
    for sentence, length in enumerate(LENGTHS):
        for found, part in zip((query[0], *memory), parts, strict=True):
            assert torch.equal(found[sentence, :, :length], part[first : first + length].transpose(0, 1))
        first += length


def test_the_mask_shows_the_tokens_of_a_sentence_and_an_empty_sentence_to_itself():
    visible = packing().padding_mask[:, 0, 0] == 0
    assert visible[:3].sum(1).tolist() == list(LENGTHS)
    assert visible[3:].all()
    assert len(visible) > 3


def test_gradients_are_those_of_indexing():
    layout = packing()
    rows = torch.randn(len(layout.cell_of_row), 2 * 2 * 4, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(2, 3, 2, 7, 4, dtype=torch.float64)
    inside = (torch.arange(7) < torch.tensor(LENGTHS).unsqueeze(1))[None, :, None, :, None]
    (layout.to_heads(rows, 2, 2)[:, :3, :, :7] * weights * inside).sum().backward()
    expected = torch.cat(
        [weights[:, i, :, :n].permute(2, 0, 1, 3).reshape(n, -1) for i, n in enumerate(LENGTHS)]
    )
    assert_close(rows.grad[:15], expected)
    assert not rows.grad[15:].any()


def test_a_table_of_positions_need_not_reach_beyond_the_longest(tiny_model, tiny_batch):
    model = tiny_model("transformer", positions="learned", max_positions=9)
    model(tiny_batch(source_lengths=(9, 3), target_lengths=(2, 9))).outputs.sum().backward()
    assert model.encoder.positions.table.weight.grad is not None


def test_what_fillers_hold_reaches_no_token(tiny_model, tiny_batch):
    model, batch = tiny_model("transformer", dropout=0.0), tiny_batch()

    def learn():
        model.zero_grad()
        loss = Objective(model, 0.1).train()(batch).total
        loss.backward()
        return [loss.detach(), *(parameter.grad.clone() for parameter in model.parameters())]

    plain = learn()
    num_tokens = {"encoder": int(batch.source_lengths.sum()), "decoder": batch.num_tokens}
    for side, count in num_tokens.items():
        for layer in getattr(model, side).layers:
            layer.register_forward_pre_hook(
                lambda _, given, count=count: (
                    torch.cat([given[0][:count], given[0][count:] + 1e3]),
                    *given[1:],
                )
            )
            layer.register_forward_hook(
                lambda _, given, rows, count=count: torch.cat([rows[:count], rows[count:] - 1e3])
            )
    assert_close(learn(), plain)

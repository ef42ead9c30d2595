"""The state of a search, while sentences leave it."""

import pytest
import torch

from nmt.models.interface import DecoderState

# How many sentences each group has, and which of all stay.
CASES = [
    ([5], [0, 2, 4]),
    ([5], [0, 1, 2]),
    ([4, 3], [1, 2, 3, 4]),
    ([4, 3], [0, 2, 5]),
    ([4, 3], [0, 1]),
    ([4, 3], [6]),
    ([2, 3, 4], [0, 2, 4, 5, 8]),
    ([2, 3, 4, 1], [1, 3, 7, 9]),
]


def state_of(sizes, beam_size=1):
    """Make a state whose tensors say which sentence each row belongs to."""
    first, groups = 0, []
    for size in sizes:
        groups.append({"sentence": torch.arange(first, first + size).repeat(3, 1).T.contiguous()})
        first += size
    state = DecoderState(groups, {"a": torch.arange(first).view(-1, 1), "b": torch.arange(first) + 0.5})
    state.expand(beam_size)
    return state


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize(("sizes", "kept"), CASES)
def test_those_who_stay_are_all_there_in_the_same_order_everywhere(sizes, kept, beam_size):
    state = state_of(sizes, beam_size)
    order = state.keep(torch.tensor(kept))
    assert sorted(order.tolist()) == kept
    assert state.num_sentences == len(kept)
    assert torch.equal(
        torch.cat([group["sentence"] for group in state.groups]), order.unsqueeze(1).repeat(1, 3)
    )
    rows = order.repeat_interleave(beam_size)
    assert torch.equal(state.hypotheses["a"], rows.unsqueeze(1))
    assert torch.equal(state.hypotheses["b"], rows + 0.5)


def test_hypotheses_of_one_sentence_keep_their_order():
    state = state_of([2, 2], beam_size=2)
    state.hypotheses["a"] = torch.arange(8)
    order = state.keep(torch.tensor([0, 2, 3]))
    assert torch.equal(state.hypotheses["a"].view(3, 2), torch.stack([2 * order, 2 * order + 1], 1))


def test_a_state_without_groups():
    state = DecoderState([], {"a": torch.arange(6)})
    order = state.keep(torch.tensor([1, 2, 4]))
    assert torch.equal(state.hypotheses["a"], order)
    assert sorted(order.tolist()) == [1, 2, 4]


def test_sentences_leave_again_and_again():
    state, sentences = state_of([7, 6]), torch.arange(13)
    for kept in ([0, 1, 3, 4, 6, 7, 8, 11, 12], [0, 1, 2, 4, 5, 8], [1, 3, 4], [2]):
        order = state.keep(torch.tensor(kept))
        sentences = sentences[order]
        assert torch.equal(state.hypotheses["a"].flatten(), sentences)
        assert torch.equal(torch.cat([group["sentence"][:, 0] for group in state.groups]), sentences)


@pytest.mark.parametrize("sizes", [[10], [6, 4]])
def test_no_more_rows_move_than_leave(sizes):
    leaving = [1, 4, 8]
    state = state_of(sizes)
    before = {int(row): row.data_ptr() for row in state.hypotheses["a"]}
    state.keep(torch.tensor([i for i in range(10) if i not in leaving]))
    after = {int(row): row.data_ptr() for row in state.hypotheses["a"]}
    assert sum(before[row] != place for row, place in after.items()) <= len(leaving)

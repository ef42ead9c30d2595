"""Batches side by side: who gets which, and that nothing else changes."""

import threading
import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.decoding.side_by_side import Stoppable, deal, side_by_side


@given(st.integers(0, 60), st.integers(1, 5), st.integers(1, 5))
def test_all_groups_are_dealt_and_neighbours_go_to_different_hands(num_groups, num_hands, hand_size):
    hands = deal(range(num_groups), num_hands, hand_size)
    assert sorted(group for hand in hands for group in hand) == list(range(num_groups))
    assert all(1 <= len(hand) <= hand_size for hand in hands)
    for first in range(0, len(hands), num_hands):
        sizes = [len(hand) for hand in hands[first : first + num_hands]]
        assert max(sizes) - min(sizes) <= 1
        if len(sizes) == num_hands:
            assert [hand[0] for hand in hands[first : first + num_hands]] == list(
                range(hands[first][0], hands[first][0] + num_hands)
            )


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_workers_are_threads_of_one_core_each_and_results_are_in_order(three_threads):
    meeting = threading.Barrier(3, timeout=60)

    def work(item, stopped):
        meeting.wait()  # three at a time, or nobody gets on
        return item, torch.get_num_threads()

    assert side_by_side(work, range(6), 3) == [(item, 1) for item in range(6)]
    assert torch.get_num_threads() == 3
    assert side_by_side(lambda item, stopped: torch.get_num_threads(), range(1), 3) == [3]


def test_an_error_stops_what_goes_on_and_what_is_not_begun(three_threads):
    begun, goes_on = [], threading.Event()

    def work(item, stopped):
        begun.append(item)
        if item == 0:
            assert goes_on.wait(60)
            raise ValueError(f"item {item}")
        goes_on.set()
        while True:  # a decoder that is not stopped never ends
            Stoppable(Decoder(), stopped).step(None, None)

    with pytest.raises(ValueError, match="item 0"):
        side_by_side(work, range(1000), 2)
    assert len(begun) < 1000
    assert torch.get_num_threads() == 3


class Decoder:
    """One whose steps take a moment."""

    project = None

    def step(self, tokens, state):
        time.sleep(0.01)

"""Batches side by side: who gets which, and that nothing else changes."""

import threading
import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.decoding.side_by_side import TOKENS_OF_A_STEP, Stoppable, share_out, side_by_side

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=200).map(np.array)


@given(LENGTHS, st.integers(1, 6), st.integers(1, 5))
def test_all_sentences_are_shared_out_once_and_the_longest_come_first(lengths, num_hands, beam_size):
    hands = share_out(lengths, num_hands, beam_size)
    assert 1 <= len(hands) <= num_hands
    assert all(len(hand) for hand in hands)
    shared = np.concatenate(hands)
    assert sorted(shared) == list(range(len(lengths)))
    assert (np.diff(lengths[shared]) <= 0).all()


@given(st.lists(st.integers(1, 60), min_size=200, max_size=400).map(np.array), st.integers(2, 4))
def test_who_has_the_longest_sentences_has_fewer_tokens_for_the_steps_that_these_take(lengths, num_hands):
    hands = share_out(lengths, num_hands)
    work = [lengths[hand].sum() + TOKENS_OF_A_STEP * lengths[hand[0]] for hand in hands]
    # No cut can be nearer to an equal one than half a sentence; the shares settle on their own longest sentences.
    assert max(work) - min(work) <= 0.1 * sum(work) / num_hands + 2 * lengths.max()


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

"""Batches side by side, one on each processor core: faster than all cores on one batch, whose steps are short."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from itertools import repeat
from threading import Event
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from nmt.data.dataset import Int64Array
from nmt.decoding.search import Decoder
from nmt.models.interface import Decoded, DecoderState

# By itself, a step costs as much as so many hypotheses in it; a sentence takes about as many steps as it has tokens.
TOKENS_OF_A_STEP = 16
# The longest sentence of each hand depends on the shares, which depend on it: after a few rounds neither changes.
ROUNDS_OF_SHARING = 8

Item = TypeVar("Item")
Result = TypeVar("Result")


def share_out(lengths: Int64Array, num_hands: int, beam_size: int = 1) -> list[Int64Array]:
    """Share out sentences of `lengths` (one at least), longest first, in at most `num_hands` parts of about equal work.

    Work is counted in tokens: those of the sentences, and what the steps of the longest of them are worth. Returns the
    indices of each part.
    """
    order = np.argsort(-lengths, kind="stable")
    tokens = lengths[order].cumsum()
    firsts = np.zeros(num_hands, dtype=np.int64)
    for _ in range(ROUNDS_OF_SHARING):
        steps = TOKENS_OF_A_STEP / beam_size * lengths[order[firsts]]
        shares = (tokens[-1] + steps.sum()) / num_hands - steps
        firsts[1:] = np.searchsorted(tokens, shares.clip(0).cumsum()[:-1]).clip(max=len(order) - 1)
    return [hand for hand in np.split(order, firsts[1:]) if len(hand)]


def side_by_side(
    function: Callable[[Item, Event], Result], items: Sequence[Item], num_workers: int
) -> list[Result]:
    """Return `function` of each item; `num_workers` threads have one core each, unless there is but one item.

    The event that `function` is given is set when its result is no longer wanted: after an error or a signal.
    """
    num_workers, stopped = min(num_workers, len(items)), Event()
    if num_workers < 2:
        return [function(item, stopped) for item in items]
    num_threads = torch.get_num_threads()
    try:
        # Each thread has its own number of threads for what it calls; the last one set is that of threads to come.
        with ThreadPoolExecutor(num_workers, initializer=torch.set_num_threads, initargs=(1,)) as workers:
            try:
                return list(workers.map(function, items, repeat(stopped)))
            except BaseException:
                stopped.set()  # who leaves here waits for the workers
                raise
    finally:
        torch.set_num_threads(num_threads)


class Stoppable:
    """A decoder that goes no step further once an event is set."""

    def __init__(self, decoder: Decoder, stopped: Event) -> None:
        self.decoder, self.stopped = decoder, stopped
        self.project = decoder.project

    def step(self, tokens: Tensor, state: DecoderState) -> Decoded:
        """Decode one position. Raises CancelledError where nobody waits for it any more."""
        if self.stopped.is_set():
            raise CancelledError
        return self.decoder.step(tokens, state)

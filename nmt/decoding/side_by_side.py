"""Batches side by side, one on each processor core: faster than all cores on one batch, whose steps are short."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from itertools import repeat
from threading import Event
from typing import TypeVar

import torch
from torch import Tensor

from nmt.decoding.search import Decoder
from nmt.models.interface import Decoded, DecoderState

Item = TypeVar("Item")
Result = TypeVar("Result")


def deal(groups: Sequence[Item], num_hands: int, hand_size: int) -> list[Sequence[Item]]:
    """Deal groups out into hands of at most `hand_size`, `num_hands` of which at a time have neighbouring groups.

    So those are about as much work as one another, if the groups are sorted by it, and the order stays.
    """
    num_rounds = -(-len(groups) // (num_hands * hand_size))
    hands: list[Sequence[Item]] = []
    for i in range(num_rounds):
        dealt = groups[len(groups) * i // num_rounds : len(groups) * (i + 1) // num_rounds]
        hands.extend(dealt[first::num_hands] for first in range(min(num_hands, len(dealt))))
    return hands


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

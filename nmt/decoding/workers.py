"""Independent work on the CPU, side by side in threads of one process."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

# What Python does between two operations, one thread at a time, would hold up more of them.
MAX_WORKERS = 8

Given = TypeVar("Given")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Given], Result], given: Sequence[Given]) -> list[Result]:
    """Return what `work` makes of each.

    PyTorch's threads work at different things, and not each at a part of the same one, where they would wait for each
    other at the end of many small operations. They share the model's weights.
    """
    num_threads = torch.get_num_threads()
    num_workers = min(num_threads, MAX_WORKERS, len(given))
    if num_workers < 2:
        return [work(each) for each in given]
    share = (num_threads // num_workers,)
    try:
        with ThreadPoolExecutor(num_workers, initializer=torch.set_num_threads, initargs=share) as pool:
            return list(pool.map(work, given))
    finally:
        torch.set_num_threads(num_threads)  # what new threads begin with

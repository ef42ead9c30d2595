"""Plans of epochs, or of parts of epochs: each is made once, the next one while the present one trains."""

import ctypes
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.context import ForkProcess
from typing import IO, Any, NamedTuple

import numpy as np
import torch

from nmt.data.batching import EpochPlan, plan_epoch
from nmt.data.dataset import Dataset, Ids
from nmt.training.pairs import EpochPart, TrainingPairs

# If laying out a part takes longer than this, in seconds, it is worth a process of its own.
WORTH_A_PROCESS = 0.5
PR_SET_PDEATHSIG = 1  # of Linux's <linux/prctl.h>: the signal for a process whose parent has ended


def can_fork() -> bool:
    """Tell whether this process may fork: on other systems than Linux, libraries do not survive a fork."""
    # A daemonic process may have no children.
    return sys.platform == "linux" and not multiprocessing.current_process().daemon


def fork(function: Callable[..., None], *arguments: Any) -> ForkProcess:
    """Fork this process; the child calls `function` in a single thread, and is killed when this process ends.

    Raises OSError where the system allows no more processes.
    """
    process = multiprocessing.get_context("fork").Process(
        target=_run, args=(function, *arguments), daemon=True
    )
    with warnings.catch_warnings():
        # Python warns that nobody releases the locks of other threads in the fork. PyTorch's threads are idle then,
        # and its DataLoader forks in the same way.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process


def _run(function: Callable[..., None], *arguments: Any) -> None:
    # The child inherits the connections of its parent. If it outlived a parent that was killed, they would stay open,
    # and their other ends would go on waiting for an answer.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    parent = multiprocessing.parent_process()
    if parent is None or os.getppid() != parent.pid:
        os._exit(1)
    # A terminal sends SIGINT and SIGHUP to all processes; the parent handles them, and ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)
    function(*arguments)


class LaidOut(NamedTuple):
    """The pairs of an epoch, or of a part of one, as they are segmented in it, and the plan of its updates."""

    part: EpochPart
    plan: EpochPlan


class Epochs:
    """Lays out one epoch after the other, or one part after the other where the text is long; each has a number.

    Segmenting and planning millions of pairs takes seconds to minutes, in which a GPU would wait. On Linux, a fork of
    this process therefore lays out the next part; it shares the text and writes the result into an unnamed file. A
    thread would compete with the training loop for Python's global interpreter lock.
    """

    def __init__(self, pairs: TrainingPairs, seed: int, update_tokens: int) -> None:
        self.pairs, self.seed, self.update_tokens = pairs, seed, update_tokens
        self._number: int | None = None
        self._plan: EpochPlan | None = None
        self._seconds = 0.0  # of the last layout in this process
        self._prefetch: _Prefetch | None = None

    def enter(self, number: int) -> EpochPlan:
        """Switch the pairs to part `number`, and return its plan."""
        if self._plan is None or number != self._number:
            found = self._take_prefetched(number)
            if found is None:
                began = time.monotonic()
                found = self._lay_out(number)
                self._seconds = time.monotonic() - began
            self.pairs.enter(found.part)
            self._number, self._plan = number, found.plan
        return self._plan

    def prefetch_next(self) -> None:
        """Have another process lay out the next part, if that takes long and has not begun yet."""
        is_worth_it = self._seconds > WORTH_A_PROCESS and can_fork()
        if is_worth_it and self._prefetch is None and self._number is not None:
            with suppress(OSError):  # without another process, `enter` lays it out
                self._prefetch = _Prefetch(self, self._number + 1)

    def close(self) -> None:
        """Kill the process that lays out a part ahead, if there is one."""
        self._take_prefetched(None)

    def _take_prefetched(self, number: int | None) -> LaidOut | None:
        """Return the part that was laid out ahead, if it is part `number` and its process succeeded; else None."""
        prefetch, self._prefetch = self._prefetch, None
        if prefetch is None:
            return None
        with prefetch.file:
            if prefetch.number != number:
                prefetch.process.kill()
            prefetch.process.join()
            is_usable = prefetch.number == number and prefetch.process.exitcode == 0
            return _read(prefetch.file, self.pairs.plain) if is_usable else None

    def _lay_out(self, number: int) -> LaidOut:
        part = self.pairs.segment(number)
        source_lengths, target_lengths = self.pairs.lengths_of(part)
        plan = plan_epoch(self.seed, number, source_lengths, target_lengths, self.update_tokens)
        return LaidOut(part, plan)


class _Prefetch:
    """A part that a forked process lays out, and the file for the result."""

    def __init__(self, epochs: Epochs, number: int) -> None:
        self.number = number
        self.file = tempfile.TemporaryFile()  # noqa: SIM115  it is read when the process has ended
        self.process: ForkProcess = fork(_write, epochs, number, self.file)


def _write(epochs: Epochs, number: int, file: IO[bytes]) -> None:
    """Lay out a part into a file; after a failure, such as a full disk, the parent lays it out itself."""
    try:
        part, plan = epochs._lay_out(number)
        arrays: dict[str, Any] = {
            "rows": np.concatenate(plan.updates),
            "ends": np.cumsum([len(rows) for rows in plan.updates])[:-1],
            "longer": plan.longer,
            "of_text": part.rows,
        }
        if part.dataset is not epochs.pairs.plain:
            for name, ids in (("source", part.dataset.source), ("target", part.dataset.target)):
                arrays |= {f"{name}_tokens": ids.tokens.numpy(), f"{name}_offsets": ids.offsets}
        np.savez(file, allow_pickle=False, **arrays)
        file.flush()
    except (OSError, MemoryError):
        sys.exit(1)


def _read(file: IO[bytes], plain: Dataset) -> LaidOut:
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        dataset = plain
        if "source_tokens" in arrays:
            source, target = (
                Ids(torch.from_numpy(arrays[f"{name}_tokens"]), arrays[f"{name}_offsets"])
                for name in ("source", "target")
            )
            dataset = Dataset(source, target)
        plan = EpochPlan(np.split(arrays["rows"], arrays["ends"]), arrays["longer"])
        return LaidOut(EpochPart(dataset, arrays["of_text"]), plan)

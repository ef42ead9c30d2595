"""Batches side by side, each on a processor core: faster than all cores on one batch, whose steps are short."""

import contextlib
import multiprocessing
import signal
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, Generic, TypeVar, cast

import torch

from nmt.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")


def num_workers(device: torch.device) -> int:
    """Return how many batches are searched side by side: on the CPU one for each of PyTorch's threads."""
    return torch.get_num_threads() if device.type == "cpu" and can_fork() else 1


def can_fork() -> bool:
    """Tell whether this process may go on as two: libraries of other systems than Linux do not survive it."""
    # A daemon may have no processes of its own.
    return sys.platform == "linux" and not multiprocessing.current_process().daemon


def fork(function: Callable[..., None], *arguments: Any) -> ForkProcess:
    """Start a process of one thread that calls `function`, with all that this one holds; it ends with this one.

    Raises OSError where the system allows no more processes.
    """
    process = multiprocessing.get_context("fork").Process(
        target=_run, args=(function, *arguments), daemon=True
    )
    with warnings.catch_warnings():
        # Python warns of other threads, whose locks nobody opens in the fork. Those of PyTorch are idle then, and
        # PyTorch's DataLoader forks in the same way.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process


def _run(function: Callable[..., None], *arguments: Any) -> None:
    # A terminal sends these to all, and the first process sees to the rest.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)
    function(*arguments)


class Workers(Generic[Item, Result]):
    """Processes of one thread each that compute `function` of what they are sent.

    They are forked when they are first needed, and share what `function` holds, such as a model. They end with this
    object or with this process, however that ends. Threads would need no fork, but wait for Python's lock between all
    the short calls of a search.
    """

    def __init__(self, function: Callable[[Item], Result], num_workers: int) -> None:
        self.function, self.num_workers = function, num_workers
        self._processes: dict[Connection, ForkProcess] = {}

    def map(self, items: Sequence[Item]) -> list[Result]:
        """Return `function` of each item; one item alone is computed here.

        Raises what `function` raises, and UserError if there can be no more processes, or one was ended from outside;
        all end then.
        """
        if min(self.num_workers, len(items)) < 2:
            return [self.function(item) for item in items]
        results: dict[int, Result] = {}
        at_work: dict[Connection, int] = {}
        try:
            if not self._processes:
                self._start()
            numbered, idle = enumerate(items), list(self._processes)
            while len(results) < len(items):
                for connection, (i, item) in zip(idle, numbered, strict=False):
                    at_work[connection] = i
                    connection.send(item)
                idle = cast(list[Connection], wait(list(at_work)))
                for connection in idle:
                    results[at_work.pop(connection)] = _received(connection)
        except (EOFError, ConnectionError):
            _end(self._processes)
            raise UserError(
                "a process that translates was ended from outside; if memory ran out, a smaller decoding.max_tokens "
                "needs less"
            ) from None
        except BaseException:
            _end(self._processes)
            raise
        return [results[i] for i in range(len(items))]

    def _start(self) -> None:
        weakref.finalize(self, _end, self._processes)
        pipes = [multiprocessing.Pipe() for _ in range(self.num_workers)]
        ends = [end for pipe in pipes for end in pipe]
        for ours, theirs in pipes:
            try:
                self._processes[ours] = fork(_serve, self.function, theirs, ends)
            except OSError as error:
                raise UserError(
                    f"OMP_NUM_THREADS: a number of processes that the system allows is needed; got "
                    f"{self.num_workers}: {error.strerror}"
                ) from None
        for _, theirs in pipes:
            theirs.close()


def _received(connection: Connection) -> Any:
    answer = connection.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _serve(function: Callable[[Item], Result], connection: Connection, ends: Iterable[Connection]) -> None:
    """Answer items until nobody is there to send them; of the `ends` of pipes, `connection` is the only one to keep."""
    for end in ends:
        if end is not connection:
            end.close()
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            item = connection.recv()
            try:
                answer: Result | Exception = function(item)
            except Exception as error:
                error.add_note("".join(traceback.format_exception(error)))
                answer = error
            connection.send(answer)


def _end(processes: dict[Connection, ForkProcess]) -> None:
    for connection, process in processes.items():
        process.kill()
        connection.close()
    for process in processes.values():
        process.join()
    processes.clear()

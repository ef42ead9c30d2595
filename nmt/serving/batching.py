"""Lines of many requests in one batch: a queue in front of a model, and a thread that takes batches from it."""

import asyncio
import math
import threading
import time
from bisect import insort
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import NamedTuple, TypeVar

from nmt.decoding.translation import Translation
from nmt.serving.metrics import Metrics
from nmt.serving.refusal import RETRY_SECONDS, Refused

# A long text goes through the queue in parts. This many parts fill a batch, so one part leaves room for other texts.
PARTS_OF_BATCH = 4
# A text may have this many times as many lines as may wait: most lines of so long a text must be blank.
LINES_OF_TEXT = 4

T = TypeVar("T")


class Wanted(NamedTuple):
    """What is wanted of each line: how many translations, and whether with `details`, such as their alignment."""

    num_hypotheses: int = 1
    details: bool = False


# A function from lines, and what is wanted of each, to their translations.
Translate = Callable[[Sequence[str], Wanted], list[Translation]]


class Job(NamedTuple):
    """Lines of a text that are translated together, the future of their translations, and their `turn` in the queue."""

    lines: Sequence[str]
    wanted: Wanted
    future: Future[list[Translation]]
    turn: int


def refuse_more(num_lines: int, most: int) -> None:
    """Raise Refused for a request with more than `most` lines, which could never all wait."""
    if num_lines > most:
        raise Refused(413, f"Invalid request: at most {most} lines are needed")


class Batcher:
    """Translates the jobs in its queue, at most `max_lines` a batch unless one job has more, in a thread of its own.

    A job that comes while the thread is idle begins at once. After a batch, the thread waits up to `wait_seconds`,
    until as many jobs wait as were there when the batch was done, or jobs with `part_lines` lines. Clients that have
    just been answered ask again at once and join the next batch; of many clients, some are translated while others are
    answered.

    A job whose future was cancelled before it began is dropped. Where a batch fails, each of its jobs is tried alone.
    Requests take turns (start-time fair queuing, Goyal et al. 1996): the turn of a job is the present one plus the
    number of lines that its request has queued before it. So a book does not hold up other requests, nor they the
    book: at least one part of it, of `part_lines` lines, goes with each batch.
    """

    def __init__(
        self, translate: Translate, max_lines: int, wait_seconds: float, max_waiting: int, metrics: Metrics
    ) -> None:
        self.translate, self.max_lines, self.wait_seconds = translate, max_lines, wait_seconds
        self.max_waiting = max_waiting
        self.part_lines = -(-max_lines // PARTS_OF_BATCH)
        self.metrics = metrics
        self._waiting: list[Job] = []  # in the order of their turns
        self._num_lines = 0  # of all waiting jobs that were not cancelled
        self._turn = 0  # of the last batch
        self._num_present = 0  # jobs that were translated, or waited, when the last batch was done
        self._free_since = -math.inf
        self._changed = threading.Condition()
        threading.Thread(target=self._work, daemon=True).start()

    def require_room(self, num_lines: int, num_before: int) -> None:
        """Raise Refused where the queue lacks room for `num_lines`, after `num_before` lines of the same request."""
        refuse_more(num_before + num_lines, self.max_waiting)
        if self._num_lines + num_lines > self.max_waiting:
            raise Refused(503, "The server is busy: too many lines wait", RETRY_SECONDS)

    def submit(self, lines: Sequence[str], wanted: Wanted, num_before: int = 0) -> Future[list[Translation]]:
        """Put lines into the queue, after `num_before` of the same request; return the future of their translations."""
        with self._changed:
            job = Job(lines, wanted, Future(), self._turn + num_before)
            insort(self._waiting, job, key=lambda one: one.turn)
            self._num_lines += len(lines)
            self._changed.notify()
        job.future.add_done_callback(partial(self._make_room, job))
        return job.future

    def _make_room(self, job: Job, future: Future[list[Translation]]) -> None:
        """Forget a job if it was cancelled, and give its room to others at once."""
        if not future.cancelled():
            return
        with self._changed:
            self._num_lines -= len(job.lines)
            kept = [one for one in self._waiting if one is not job]
            if len(kept) < len(self._waiting):  # else the thread has seen it first
                self._waiting = kept
                self.metrics.count("dropped")

    def _work(self) -> None:
        while True:
            self._translate(self._begin())
            self._free_since = time.monotonic()

    def _translate(self, jobs: Sequence[Job]) -> None:
        """Translate jobs that want the same, and set their futures."""
        if not jobs:
            return
        began = time.monotonic()
        # A blank line ends a document: no text is read as the context of another.
        lines = [line for job in jobs for line in (*job.lines, "")]
        try:
            found = self.translate(lines, jobs[0].wanted)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].future.set_exception(error)
            else:
                for job in jobs:
                    self._translate([job])
            return
        num_cut = sum(one.is_cut for one in found)
        self.metrics.count_batch(len(lines) - len(jobs), num_cut, time.monotonic() - began)
        with self._changed:
            self._num_present = len(jobs) + len(self._waiting)
        start = 0
        for job in jobs:
            job.future.set_result(found[start : start + len(job.lines)])
            start += len(job.lines) + 1

    def _begin(self) -> list[Job]:
        """Wait for work; return the jobs of the next batch, which all want the same; none if all were cancelled."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting)
            until = self._free_since + self.wait_seconds
            self._changed.wait_for(self._are_all_there, max(0.0, until - time.monotonic()))
            begun, left, room = list[Job](), list[Job](), self.max_lines
            for job in self._waiting:
                fits = not begun or (len(job.lines) <= room and job.wanted == begun[0].wanted)
                if not fits and not job.future.cancelled():
                    left.append(job)
                elif job.future.set_running_or_notify_cancel():
                    begun.append(job)
                    room -= len(job.lines)
                else:
                    self.metrics.count("dropped")
            if begun:
                self._turn = max(begun[0].turn, self._turn + self.part_lines)
            self._waiting = left
            self._num_lines -= sum(len(job.lines) for job in begun)
        return begun

    def _are_all_there(self) -> bool:
        return len(self._waiting) >= self._num_present or self._num_lines >= self.part_lines


async def all_of(works: Iterable[Awaitable[T]]) -> list[T]:
    """Return the results of all works; where one fails, cancel the others, as nobody waits for them any more."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()

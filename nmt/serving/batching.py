"""Lines of many requests in one search: a queue in front of a model, and a thread that takes what is there."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from nmt.decoding.translation import Translation
from nmt.serving.metrics import Metrics


class Wanted(NamedTuple):
    """What is wanted of each line: how many translations, and whether with `details`, such as their alignment."""

    num_hypotheses: int = 1
    details: bool = False


# Lines, and what is wanted of each, to their translations.
Translate = Callable[[Sequence[str], Wanted], list[Translation]]


class Job(NamedTuple):
    """Lines of a text that are translated together, and who waits for them since when."""

    lines: Sequence[str]
    wanted: Wanted
    future: Future[list[Translation]]
    since: float


class Batcher:
    """Translates what waits, at most `max_lines` at a time unless a text has more, in a thread of its own.

    Where nothing is being translated, a text waits up to `wait_seconds` for others. One whose future was cancelled
    before it began is dropped.
    """

    def __init__(self, translate: Translate, max_lines: int, wait_seconds: float, metrics: Metrics) -> None:
        self.translate, self.max_lines, self.wait_seconds = translate, max_lines, wait_seconds
        self.metrics = metrics
        self._waiting: list[Job] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._work, daemon=True).start()

    def submit(self, lines: Sequence[str], wanted: Wanted) -> Future[list[Translation]]:
        """Put lines into the queue; return who will have their translations."""
        job = Job(lines, wanted, Future(), time.monotonic())
        with self._changed:
            self._waiting.append(job)
            self._changed.notify()
        return job.future

    def _work(self) -> None:
        while True:
            jobs = self._take()
            begun = [job for job in jobs if job.future.set_running_or_notify_cancel()]
            began = time.monotonic()
            # A blank line ends a document: no text is read as the context of another.
            lines = [line for job in begun for line in (*job.lines, "")]
            try:
                found = self.translate(lines, jobs[0].wanted) if begun else []
            except Exception as error:
                for job in begun:
                    job.future.set_exception(error)
                continue
            num_lines, num_cut = len(lines) - len(begun), sum(one.is_cut for one in found)
            seconds = time.monotonic() - began
            self.metrics.count_batch(num_lines, num_cut, len(jobs) - len(begun), seconds)
            start = 0
            for job in begun:
                job.future.set_result(found[start : start + len(job.lines)])
                start += len(job.lines) + 1

    def _take(self) -> list[Job]:
        """Wait for work; return what is translated together, of which the same is wanted."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting)
            first = self._waiting[0]
            self._changed.wait_for(
                self._is_full, max(0.0, first.since + self.wait_seconds - time.monotonic())
            )
            taken, left = [first], list[Job]()
            room = self.max_lines - len(first.lines)
            for job in self._waiting[1:]:
                fits = len(job.lines) <= room and job.wanted == first.wanted
                (taken if fits else left).append(job)
                room -= len(job.lines) if fits else 0
            self._waiting = left
        return taken

    def _is_full(self) -> bool:
        return sum(len(job.lines) for job in self._waiting) >= self.max_lines

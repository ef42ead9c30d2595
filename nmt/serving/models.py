"""The models of a server, of which as many are in memory as `memory` allows."""

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence

from nmt.config import ServeSettings
from nmt.decoding.translation import Translation
from nmt.errors import RunError, UserError
from nmt.memory import MEGABYTE
from nmt.serving.metrics import Metrics
from nmt.serving.worker import ModelFailed, Task, Worker, logger


class Models:
    """Loads a model of `folders` when it is asked, and unloads those that were not asked for the longest to make room.

    All models together have `memory` megabytes. How much a model takes is known once it was loaded. A model
    larger than `memory` is loaded alone.
    """

    def __init__(self, folders: Sequence[str], settings: ServeSettings, metrics: Metrics) -> None:
        self.folders = folders
        self._limit = math.inf if settings.memory is None else settings.memory * MEGABYTE
        self._metrics = metrics
        self._has_stopped = False
        # Those that wait for room, in their order, and the one that is being loaded, which is the first.
        self._waiting: list[Worker] = []
        # The model that was asked last comes last.
        self._workers = OrderedDict((folder, Worker(folder, settings)) for folder in folders)
        self._changed = threading.Condition()  # the order changes under its lock alone

    def load(self) -> None:
        """Load models in their order as long as there is room. Raises UserError for one that cannot be loaded."""
        for worker in self._workers.values():
            if sum(one.memory for one in self._workers.values()) < self._limit:
                try:
                    self._start(worker)
                except ModelFailed:
                    raise RunError(
                        f"run: a model that can be loaded is needed; got {worker.folder}, whose process ended"
                    ) from None

    def translate(self, folder: str, task: Task) -> list[Translation]:
        """Return the translations by a folder's model. Raises ModelFailed, or UserError where it cannot be loaded."""
        worker = self._workers[folder]
        try:
            with worker.lock:
                # The jobs of a batch that failed are tried again one by one; after the stop, none loads the model anew.
                if self._has_stopped:
                    raise ModelFailed(folder)
                with self._changed:
                    self._workers.move_to_end(folder)
                try:
                    if not worker.is_running:
                        self._start(worker)
                    found = worker.translate(task)
                    with self._changed:
                        self._make_room(worker)  # for what it has grown by
                    return found
                except ModelFailed:
                    self._metrics.count("died", not worker.is_running)
                    raise
                except UserError as error:
                    logger.error("%s", error)
                    raise
        finally:
            with self._changed:  # after the worker's lock is released, which those who wait for room may need
                if self._waiting:
                    self._make_room(self._waiting[0])  # before this model, which is idle now, is asked again
                self._changed.notify_all()

    def stop(self) -> None:
        """Unload all models for good, even while they translate."""
        self._has_stopped = True
        for worker in list(self._workers.values()):
            worker.stop()

    def _start(self, worker: Worker) -> None:
        """Load a model when there is room and its turn has come. Raises as `Worker.start` does."""
        with self._changed:
            self._waiting.append(worker)
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting[0] is worker and self._make_room(worker))
            worker.start()
        finally:
            with self._changed:
                self._waiting.remove(worker)
                self._changed.notify_all()
        if self._has_stopped:  # meanwhile
            worker.stop()
            raise ModelFailed(worker.folder)
        self._metrics.count("loaded")
        with self._changed:
            self._make_room(worker)

    def _make_room(self, worker: Worker) -> bool:
        """Unload others, but none that translates, until a worker fits; return whether it fits or is alone."""
        others = [one for one in self._workers.values() if one is not worker and one.is_running]
        excess = worker.memory + sum(one.memory for one in others) - self._limit
        num_left = len(others)
        for one in others:
            if excess > 0 and one.lock.acquire(blocking=False):
                one.stop()
                one.lock.release()
                excess -= one.memory
                num_left -= 1
        return excess <= 0 or not num_left

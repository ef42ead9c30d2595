"""A model in a process of its own: when it dies, nothing else does; when it is unloaded, its memory is free again."""

import atexit
import logging
import multiprocessing
import signal
import threading
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import NamedTuple

from nmt.config import ServeSettings
from nmt.decoding.translation import Translation
from nmt.errors import UserError
from nmt.memory import resident_bytes
from nmt.serving.batching import Wanted

logger = logging.getLogger(__name__)


class ModelFailed(Exception):
    """A model could not do what it was asked to, or its process has ended; the log has more of it."""


class Task(NamedTuple):
    """Lines that are translated together, what is wanted of each, and the target language by its name in the model."""

    lines: Sequence[str]
    wanted: Wanted
    target_language: str | None


class Done(NamedTuple):
    """The translations of a task, or why it failed, and the bytes of memory that the process holds."""

    found: list[Translation]
    failure: str
    memory: int


class Worker:
    """The model of a folder. Threads that hold `lock` may call it."""

    def __init__(self, folder: str, settings: ServeSettings) -> None:
        self.folder, self.settings = folder, settings
        self.lock = threading.Lock()
        self.memory = 0  # bytes that the process held at its last answer
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    @property
    def is_running(self) -> bool:
        """Whether the model is in memory, or on its way there."""
        return self._process is not None and self._process.is_alive()

    def start(self) -> None:
        """Load the model. Raises UserError where it cannot be loaded, ModelFailed where its process does not run."""
        self.stop()
        context = multiprocessing.get_context("spawn")  # this process has threads, and a GPU cannot be forked
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self.folder, self.settings))
        try:
            process.start()
        except OSError as error:  # such as too many processes
            ours.close()
            logger.error("%s: no process could be started: %s", self.folder, error)
            raise ModelFailed(self.folder) from None
        finally:
            theirs.close()
        self._connection, self._process = ours, process
        atexit.register(self.stop)  # or Python would wait for it
        self._receive()

    def translate(self, task: Task) -> list[Translation]:
        """Return the translations of a task. Raises ModelFailed."""
        assert self._connection is not None
        try:
            self._connection.send(task)
        except OSError:
            raise self._death() from None
        return self._receive()

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()  # it has nothing to lose
            process.join()
            atexit.unregister(self.stop)
        if self._connection is not None:
            self._connection.close()

    def _receive(self) -> list[Translation]:
        assert self._connection is not None
        try:
            done = self._connection.recv()
        except (EOFError, OSError):
            raise self._death() from None
        if isinstance(done, UserError):
            self.stop()
            raise done
        self.memory = done.memory
        if done.failure:
            logger.error("%s failed: %s", self.folder, done.failure)
            raise ModelFailed(self.folder)
        found: list[Translation] = done.found
        return found

    def _death(self) -> ModelFailed:
        if (process := self._process) is not None:  # it was not stopped on purpose
            process.join()
            logger.error("%s: its process ended with exit code %s", self.folder, process.exitcode)
        return ModelFailed(self.folder)


def _work(connection: Connection, folder: str, settings: ServeSettings) -> None:
    """Load a model and do tasks, until the server closes its end of the connection."""
    from nmt.decoding.chunks import Chunk
    from nmt.decoding.loading import Model, load_translator
    from nmt.decoding.translator import Translator

    # All processes of a group get these signals: the server finishes what it has begun, and then ends this process.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        loaded = load_translator(folder, settings.checkpoint, settings.device, settings.precision)
        loaded.with_search(loaded.settings)  # finds a missing glossary before a client asks
        model = Model(loaded)
    except UserError as error:
        connection.send(error)
        return
    translators: dict[tuple[Wanted, str | None], Translator] = {}
    connection.send(Done([], "", resident_bytes()))
    while True:
        try:
            task: Task = connection.recv()
        except EOFError:  # the server has ended
            return
        try:
            key = task.wanted, task.target_language
            if key not in translators:
                translators[key] = model.translator(
                    model.decoding, *task.wanted, target_language=task.target_language
                )
            translator = translators[key]
            translator.begin()
            found, failure = translator.translate_chunk(Chunk(task.lines)), ""
        except Exception as error:  # its message may hold a client's text, which is private
            where = "".join(traceback.format_tb(error.__traceback__))
            found, failure = [], f"{type(error).__name__}\n{where}"
        connection.send(Done(found, failure, resident_bytes()))

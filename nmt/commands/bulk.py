"""Work on each line of a file of any length, by this process or many; an interrupted output can be resumed."""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import NamedTuple, NoReturn, TypeVar

from tqdm import tqdm

from nmt.config import BulkSettings
from nmt.data.lines import STANDARD_INPUT, iterate_lines
from nmt.data.shards import Shard, count_lines, lines_before
from nmt.decoding.chunks import Chunk, number_chunks, put_beside, table_chunks, text_chunks
from nmt.decoding.loading import Model, load
from nmt.decoding.remarks import Remarks
from nmt.decoding.stream import STANDARD_OUTPUT, is_file, write_stream
from nmt.errors import DataError
from nmt.files.writing import is_same, require_other
from nmt.ray_map import RayMap
from nmt.runs.directory import RunDirectory
from nmt.wording import counted

logger = logging.getLogger(__name__)

SettingsT = TypeVar("SettingsT", bound=BulkSettings)


class Done(NamedTuple):
    """The output lines of a chunk, what was counted, and the remarks on its lines."""

    lines: list[str]
    num_tokens: int
    log_prob: float  # of all tokens, where they are scored
    remarks: Remarks


# A function that each process calls once, and that returns what it then does with each chunk.
Load = Callable[[SettingsT], Callable[[Chunk], Done]]


class Totals:
    """What was counted of all chunks."""

    def __init__(self) -> None:
        self.num_lines = self.num_tokens = 0
        self.num_done = 0  # lines, some of which were there already where an output is resumed
        self.log_prob, self.seconds = 0.0, 0.0


def do_in_bulk(
    settings: SettingsT,
    load_worker: Load[SettingsT],
    *,
    column: str | None = None,
    beside: tuple[str, str | None],
) -> Totals:
    """Do what `load_worker` returns with the lines of the input, chunk by chunk, and write as many lines.

    `column` names a column where the input is a table; `beside` is the key and the path of a text whose lines belong to
    those of the input.
    """
    run = RunDirectory.existing(settings.run)
    source = choose_input(*settings.first)
    target = choose_output(settings, {settings.first[0]: source, beside[0]: beside[1]})
    chunks = _read_chunks(settings, source, column, beside, run.read_context().num_lines)
    totals, remarks = Totals(), Remarks()
    with opened_map(settings, load_worker) as map_in_order, progress_bar(target) as bar:
        began = time.monotonic()

        def work(chunks: Iterator[Chunk]) -> Iterator[list[str]]:
            for done in map_in_order(chunks):
                totals.num_done += len(done.lines)
                totals.num_tokens += done.num_tokens
                totals.log_prob += done.log_prob
                remarks.join(done.remarks)
                bar.update(len(done.lines))
                yield done.lines

        totals.num_lines = write_stream(work, chunks, target, settings.resume)
        totals.seconds = time.monotonic() - began
    remarks.log()
    if target != STANDARD_OUTPUT:
        logger.info(
            "%s: %s in %.1f s, %.0f target tokens a second",
            target,
            counted(totals.num_lines, "line"),
            totals.seconds,
            totals.num_tokens / totals.seconds,
        )
    return totals


def _read_chunks(
    settings: BulkSettings,
    source: str | int,
    column: str | None,
    beside: tuple[str, str | None],
    context: int,
) -> Iterator[Chunk]:
    """Return the chunks of the input, or of its shard, each with the lines beside it and `context` lines before it."""
    key, span, num_before, before = settings.first[0], None, 0, list[str]()
    if settings.shard is not None:
        span = Shard.parse(settings.shard).span(str(source), key)
        # A span that is empty begins behind the last line, which may have no end.
        num_before = sum(count_lines(str(source), 0, span[0])) if beside[1] else 0
        before = lines_before(str(source), key, span[0], context)
    if column is not None:
        lines = table_chunks(str(source), key, column, settings.encoding)
    else:
        lines = text_chunks(source, key, settings.encoding, span)
    chunks = number_chunks(lines, context, num_before, before)
    if beside[1] is None:
        return chunks
    others = islice(iterate_lines(beside[1], beside[0], settings.encoding), num_before, None)
    is_end = span is None or span[1] == os.path.getsize(str(source))
    return put_beside(chunks, others, f"{beside[0]}: {beside[1]}", is_end)


@contextlib.contextmanager
def opened_map(
    settings: SettingsT, load_worker: Load[SettingsT]
) -> Iterator[Callable[[Iterable[Chunk]], Iterator[Done]]]:
    """Yield the function that maps chunks in their order: in this process, or by actors on a Ray cluster."""
    if settings.engine == "local":
        yield partial(map, load_worker(settings))
        return
    may_have_gpus = settings.device in ("auto", "cuda")
    with RayMap(load_worker, settings, settings.workers, may_have_gpus, "workers") as ray:
        yield ray.map


def progress_bar(target: str | int) -> "tqdm[NoReturn]":
    """Return a progress bar of lines, shown where they go to a file: a pipe may lead to the same terminal."""
    goes_to_file = is_file(target) or os.path.isfile(target)  # standard output may be one
    is_hidden = None if goes_to_file else True  # None: shown by a terminal alone
    return tqdm(desc="done", unit=" lines", unit_scale=True, disable=is_hidden, leave=False)


def load_model_of(settings: BulkSettings) -> Model:
    """Load the model that settings name. Raises UserError if it cannot be loaded."""
    return load(
        settings.run,
        checkpoint=settings.checkpoint,
        device=settings.device,
        precision=settings.precision,
        ensemble=settings.ensemble,
    )


def choose_input(key: str, path: str | None) -> str | int:
    """Return the file to read, or the descriptor of standard input. Raises DataError, of `key`, if there is none.

    The file is not opened here: a pipe can be opened only once.
    """
    if path is None:
        return STANDARD_INPUT
    if not os.path.exists(path):
        raise DataError(f"{key}: no such file: {path}")
    if os.path.isdir(path):
        raise DataError(f"{key}: a file is needed; got the folder {path}")
    return path


def choose_output(settings: BulkSettings, read: Mapping[str, str | int | None]) -> str | int:
    """Return the file to write, or the descriptor of standard output; `read` has the inputs by their keys.

    Raises DataError if it must not be written.
    """
    path = settings.output
    if path is not None and settings.shard is not None:
        path = Shard.parse(settings.shard).of_output(path)
    # Standard output has other names, such as /dev/stdout, and may be a file.
    is_standard = path is None or is_same(path, STANDARD_OUTPUT)
    target = STANDARD_OUTPUT if path is None or is_standard else path
    files = {key: [source] for key, source in read.items() if source is not None}
    require_other("output", STANDARD_OUTPUT if path is None else path, files)
    if settings.resume and not is_file(target):
        raise DataError(f"output: a file is needed with resume=true; got {path}")
    if is_file(target) and os.path.exists(target) and not (settings.overwrite or settings.resume):
        raise DataError(
            f"output: a new file is needed, or overwrite=true, or resume=true to go on; got {path}, which exists"
        )
    return target

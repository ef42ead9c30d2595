"""A stream: chunks of lines come in, and finished lines go out at once."""

import contextlib
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import FileIO

from nmt.data.lines import BLOCK_SIZE
from nmt.decoding.chunks import Chunk
from nmt.errors import DataError
from nmt.files.writing import hold_lock
from nmt.wording import counted

logger = logging.getLogger(__name__)

STANDARD_OUTPUT = 1

# Turns chunks into lines of output, as many as go in and in the same order.
Work = Callable[[Iterator[Chunk]], Iterator[list[str]]]


def write_stream(work: Work, chunks: Iterable[Chunk], target: str | int, resume: bool) -> int:
    """Write the results of chunks, as they come, to the `target` that `choose_output` chose.

    `work` asks for a chunk when it can do more. With `resume`, lines that `target` has are kept. Returns how many lines
    were written. Raises DataError where `target` has more lines than come in.
    """
    with open_output(target, resume) as output:
        num_there = num_kept = output.num_lines
        if num_there:
            logger.info("going on after %s of %s", counted(num_there, "line"), target)
        skipped: deque[int] = deque()

        def to_do() -> Iterator[Chunk]:
            nonlocal num_kept
            for chunk in chunks:
                num_skipped = min(num_kept, len(chunk.lines))
                num_kept -= num_skipped
                # A chunk of which only some lines are there is translated again as a whole. Which lines are translated
                # together can change the last digits, and the file is to be that of a translation without interruption.
                if num_skipped < len(chunk.lines):
                    skipped.append(num_skipped)
                    yield chunk

        for lines in work(to_do()):
            output.write(lines[skipped.popleft() :])
        if num_kept:
            raise DataError(
                f"output: at most as many lines as in the input are needed, {num_there - num_kept}; "
                f"got {num_there} in {target}"
            )
    return output.num_lines - num_there


class Output:
    """An open file for lines, which has `num_lines` lines of `size` bytes together.

    A file that is replaced stays as it is until the first line is written, since the input may turn out to be wrong.
    """

    def __init__(self, file: FileIO, is_replaced: bool) -> None:
        self.num_lines = self.size = 0
        self.is_replaced = is_replaced
        self._file = file

    def skip_lines(self) -> None:
        """Move behind the complete lines of the file, counted or not, and drop what follows them."""
        position = self._file.seek(self.size)
        while block := self._file.read(BLOCK_SIZE):
            self.num_lines += block.count(b"\n")
            if b"\n" in block:
                self.size = position + block.rindex(b"\n") + 1
            position += len(block)
        self.drop_rest()

    def drop_rest(self) -> None:
        """Cut the file to its complete lines, and go on writing behind them."""
        self._file.truncate(self.size)
        self._file.seek(self.size)
        self.is_replaced = False

    def write(self, lines: Sequence[str]) -> None:
        """Write lines without a buffer, so that a reader has them at once."""
        self.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))
        self.num_lines += len(lines)

    def write_bytes(self, content: bytes) -> None:
        """Write bytes that are not counted as lines."""
        if self.is_replaced:
            self.drop_rest()
        rest = memoryview(content)
        while rest:
            rest = rest[self._file.write(rest) :]
        self.size += len(content)


@contextlib.contextmanager
def open_output(target: str | int, resume: bool, is_whole: bool = False) -> Iterator[Output]:
    """Open the output that `choose_output` chose; with `resume`, write behind the lines that it holds.

    However it ends, a file is left with complete lines, and the message of a failed write or an interruption says how
    to go on. A file that is of use only if it `is_whole` is removed instead. Raises DataError where nothing, or nothing
    more, can be written, and for a file that another process is writing.
    """
    can_go_on = is_file(target)
    output = None

    def how_far(written: Output) -> str:
        told = f" after {counted(written.num_lines, 'line')}"
        if not can_go_on:
            return f"{told}; only output=FILE can be gone on with"
        if written.is_replaced:
            return f"; {target} is as it was, and the same command begins again"
        return f"{told}; the same command with resume=true goes on"

    try:
        is_there = can_go_on and os.path.exists(target)
        mode = "r+b" if is_there else "w+b" if can_go_on else "wb"
        with FileIO(target, mode, closefd=target != STANDARD_OUTPUT) as file:
            if can_go_on:
                # Two processes that go on with one file would write into each other's lines.
                held = (
                    f"output: a file that no other process is writing is needed; got {target}, which one is"
                )
                hold_lock(file, DataError(held))
            output = Output(file, is_replaced=is_there and not resume)
            if resume:
                output.skip_lines()
            try:
                yield output
                if output.is_replaced:  # no line was written
                    output.drop_rest()
            except BaseException:
                if isinstance(target, str) and can_go_on and not output.is_replaced:
                    if is_whole:
                        output.size = 0
                        output.drop_rest()
                    else:
                        output.skip_lines()  # a signal may have come between writing lines and counting them
                    if not output.size:
                        os.unlink(target)
                raise
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if target == STANDARD_OUTPUT else target
        done = how_far(output) if output and not is_whole else ""
        raise DataError(
            f"output: a place that takes all lines is needed; got {name}: {error.strerror}{done}"
        ) from None
    except (KeyboardInterrupt, SystemExit):
        if output and not is_whole:
            logger.warning("stopped%s", how_far(output))
        raise


def is_file(path: str | int) -> bool:
    """Whether a path is that of a plain file, or of nothing yet."""
    return isinstance(path, str) and (os.path.isfile(path) or not os.path.exists(path))

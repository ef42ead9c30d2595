"""Reading files that a stranger may have written: plain files up to a size, and JSON with a single meaning.

Opening a pipe or a device can wait forever, and a link can lead anywhere. Nested JSON can exhaust the stack, and short
text can stand for an infinite number. All of these are refused with an error of one line.
"""

import errno
import io
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmt.errors import RunError

# Settings take kilobytes; the header of a weights file takes about 100 bytes for each of some hundred tensors.
MAX_JSON_BYTES = 1 << 22
# Figures of an update take 300 bytes, a trial of a search some hundred.
MAX_LINE_BYTES = 1 << 20
# Settings nest four deep, folders of a run three.
MAX_JSON_DEPTH = 16
MAX_FOLDER_DEPTH = 16
# Characters that no name or path can hold: NUL and lone surrogates, which are halves of characters.
NO_TEXT = re.compile("[\0\ud800-\udfff]")


def is_missing(path: str) -> bool:
    """Whether nothing is at a path; what is there and cannot be examined will be told by whoever reads it."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return True
    except OSError:
        return False
    return False


def is_taken(path: Path) -> bool:
    """Whether there is anything at a path but an empty folder."""
    return path.exists() and (not path.is_dir() or any(path.iterdir()))


def require_plain(folder: Path) -> None:
    """Raise RunError unless a folder holds nothing but folders and plain files, all the way down."""
    for path, mode in _entries(folder, MAX_FOLDER_DEPTH):
        if not stat.S_ISREG(mode):
            kind = (
                "a link" if stat.S_ISLNK(mode) else "too deep" if stat.S_ISDIR(mode) else "a pipe or a device"
            )
            raise RunError(
                f"run: nothing but folders and plain files is needed; got {path}, which is {kind}; "
                "`cp -rL` makes a copy in which links are files"
            )


def _entries(folder: Path, depth: int) -> Iterator[tuple[Path, int]]:
    """Yield path and mode of all files below a folder, and of the folders that are too deep to enter.

    Entries that a training removes meanwhile are skipped.
    """
    try:
        paths = sorted(folder.iterdir())
    except FileNotFoundError:
        return
    for path in paths:
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISDIR(mode) and depth:
            yield from _entries(path, depth - 1)
        else:
            yield path, mode


def open_plain(path: Path) -> io.BufferedReader:
    """Open a plain file for reading. Raises OSError for anything else, without waiting for it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a plain file", str(path))
    return open(descriptor, "rb")


def read_plain(path: Path, max_bytes: int) -> bytes:
    """Return the content of a plain file of at most `max_bytes`. Raises RunError for any other file."""
    try:
        with open_plain(path) as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise _unreadable(path, error) from None
    if len(content) > max_bytes:
        raise RunError(f"run: {path.name} of at most {max_bytes} bytes is needed; got more in {path}")
    return content


def read_whole_lines(path: Path) -> Iterator[tuple[bytes, int]]:
    """Yield each complete line of a plain file, and the offset of the byte after it; a torn last line is left out.

    Raises RunError for a file that cannot be read, or a line that is too long: a file without line ends may be endless.
    """
    end = 0
    try:
        with open_plain(path) as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                if len(line) > MAX_LINE_BYTES:
                    raise RunError(
                        f"run: lines of at most {MAX_LINE_BYTES} bytes are needed; got more in {path}, "
                        f"behind byte {end}"
                    )
                if line.endswith(b"\n"):
                    end += len(line)
                    yield line, end
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> RunError:
    return RunError(f"run: a readable {path.name} is needed; got {path}: {error.strerror}")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file. Raises RunError if it is missing, damaged, or larger than any of a run is."""
    return parse_json(read_plain(path, MAX_JSON_BYTES), path)


def parse_json(content: bytes, origin: Path) -> dict[str, Any]:
    """Return the JSON object in `content`; errors name `origin`, the file that it is from.

    Each key must occur once, numbers must be finite, and integers less than 2^63 in size, as seeds are. Raises RunError
    for anything else, such as values that nest too deep.
    """
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_refuse_number,
            parse_float=_finite,
            parse_int=_integer,
        )
        _require_shallow(value)
    except (ValueError, RecursionError) as error:
        raise RunError(f"run: a readable {origin.name} is needed; got {origin}: {error}") from None
    if not isinstance(value, dict):
        raise RunError(f"run: a JSON object is needed; got {origin}, which holds something else")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice")
    return found


def _refuse_number(text: str) -> Any:
    raise ValueError(f"{text[:20]} is no number that settings can have")


def _finite(text: str) -> float:
    number = float(text)
    return number if abs(number) != float("inf") else _refuse_number(text)


def _integer(text: str) -> int:
    # A sign and 19 digits: longer text is refused before it is turned into a number.
    number = int(text) if len(text) <= 20 else _refuse_number(text)
    return number if abs(number) < 1 << 63 else _refuse_number(text)


def _require_shallow(value: Any) -> None:
    """Raise ValueError for a value that nests too deep, or holds text that no file name can hold."""
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += [*item.keys(), *item.values()]
            elif isinstance(item, list):
                below += item
            elif isinstance(item, str) and NO_TEXT.search(item):
                raise ValueError("NUL or half a character in a text")
        level = below
    if level:
        raise ValueError(f"more than {MAX_JSON_DEPTH} levels")

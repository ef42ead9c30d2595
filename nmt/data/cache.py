"""What is made once from text and settings, kept on disk under a name that their content gives."""

import fcntl
import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

logger = logging.getLogger(__name__)


def cache_folder() -> Path:
    """Return the folder of the cache: $NMT_CACHE, or `nmt` in the user's own cache folder."""
    given = os.environ.get("NMT_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nmt"


def content_key(*parts: str | bytes | Iterable[str]) -> str:
    """Return a short name for the content of all parts: texts, bytes, or lists of lines.

    Each part is digested alone: whatever a text holds, it cannot pass for the end of one part and the next.
    """
    whole = hashlib.sha256()
    for part in parts:
        digest = hashlib.sha256()
        if isinstance(part, bytes):
            digest.update(part)
        else:
            for line in [part] if isinstance(part, str) else part:
                digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
        whole.update(digest.digest())
    return whole.hexdigest()[:24]


def cached_folder(name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder `name` of the cache, filled by `make` if it is not there yet.

    Several processes may ask at once: one fills it while the others wait. Where the file system knows no locks, each
    fills a folder of its own, the first to finish gives it its name, the others drop theirs. A folder that has its
    name is whole.
    """
    final = cache_folder() / name
    if final.exists():
        return final
    final.parent.mkdir(parents=True, exist_ok=True)
    with _alone(final.with_name(f".{name}.lock")):
        if not final.exists():
            _fill(final, make)
    return final


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Wait until no other process is here; the kernel lets the next one in however the process before ends."""
    with open(path, "w") as file:
        with suppress(OSError):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                logger.info("cache        another process is making the same; waiting for it")
                fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)  # whoever waits has it open, and finds what was made


def _fill(final: Path, make: Callable[[Path], None]) -> None:
    name = final.name
    temporary = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=final.parent))
    try:
        make(temporary)
        os.rename(temporary, final)
    except OSError:
        if not final.exists():  # not lost to another process: the disk is full, or the like
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def cached_file(name: str, make: Callable[[], bytes]) -> Path:
    """Return the file `name` of the cache, with the content that `make` gives if it is not there yet."""
    return cached_folder(name, lambda folder: _write(folder / "content", make())) / "content"


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)

"""A cache on disk: files made once from text and settings, in entries that are named by a hash of these.

The manifest of an entry holds the size and the SHA-256 of each of its files. They are compared each time the entry is
opened, at some 1.4 GB/s: a fifth of a second for a million pairs of sentences. A large file is not read for that if its
size is the same and it was last changed before the manifest was written; damage by the disk goes unnoticed there.
"""

import fcntl
import hashlib
import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nmt.data.stored_text import StoredLines
from nmt.errors import DataError, RunError
from nmt.files.writing import differing_files, flush, write_manifest

# Version of the layout of entries, and of how they are made: a change gets a new number, so that no older one is read.
FORMAT = 3
# Bytes; a file of this size or more is not read again unless it was changed after its manifest was written.
LARGE = 1 << 28

logger = logging.getLogger(__name__)


def cache_folder() -> Path:
    """Return the folder of the cache: $NMT_CACHE, or `nmt` in the user's own cache folder."""
    if chosen := os.environ.get("NMT_CACHE"):
        return Path(chosen)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nmt"
    except RuntimeError:
        raise DataError("NMT_CACHE: a folder is needed where the user has no home; got none") from None


def entry_name(kind: str, *parts: str | bytes | Iterable[str]) -> str:
    """Return the name of the entry that is made from these parts, by this version."""
    return f"{kind}-{content_key(str(FORMAT), kind, *parts)}"


def content_key(*parts: str | bytes | memoryview | Iterable[str]) -> str:
    """Return a short name for the content of all parts: texts, bytes, memory without gaps, or lists of lines.

    Each part has its own digest, so that no text can look like the end of one part and the start of the next.
    """
    whole = hashlib.sha256()
    for part in parts:
        if isinstance(part, StoredLines):
            whole.update(part.sha256)
            continue
        digest = hashlib.sha256()
        if isinstance(part, bytes | memoryview):
            digest.update(part)
        else:
            for line in [part] if isinstance(part, str) else part:
                digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
        whole.update(digest.digest())
    return whole.hexdigest()[:24]


def states_of(files: Iterable[str]) -> list[tuple[str, int, int]]:
    """Return absolute path, size in bytes and time of change (ns) of each file, to name entries made from them.

    The time is that of the file system (ctime), since programs that copy files set back that of the content (mtime).
    """
    found = [(os.path.abspath(path), os.stat(path)) for path in files]
    return [(path, status.st_size, status.st_ctime_ns) for path, status in found]


def cached_folder(name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder `name` of the cache, filled by `make` if it is missing or damaged.

    Several processes may ask at once: one fills it while the others wait. On a file system without locks, each process
    fills a folder of its own, and the last to finish puts its folder in place. Raises DataError where the cache cannot
    be written.
    """
    final = cache_folder() / name
    damage = _damage(final)
    if damage is None:
        return final
    is_there = os.path.lexists(final)
    note = f"; {final} is damaged ({damage})" if is_there else ""
    with to_be_written(final, note), alone(final.parent, name) as is_locked:
        if _damage(final) is not None:  # else another process has made it meanwhile
            for torn in final.parent.glob(f".{name}-*") if is_locked else ():
                shutil.rmtree(torn, ignore_errors=True)  # of a process that was killed
            _fill(final, make)
            if is_there:
                logger.warning("cache        %s was damaged (%s); it was made again", final, damage)
    return final


@contextmanager
def to_be_written(path: Path, note: str = "") -> Iterator[None]:
    """Within the block, raise DataError, with a note, where the cache has no room for a path or cannot be written."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"NMT_CACHE: a folder that can be written, and room in it, is needed; got {error.filename or path}: "
            f"{error.strerror or error}{note}; NMT_CACHE=FOLDER names another"
        ) from None


def has_folder(name: str) -> bool:
    """Whether the folder `name` of the cache is there and undamaged."""
    return _damage(cache_folder() / name) is None


def _damage(entry: Path) -> str | None:
    """Say how an entry differs from its manifest; None where it does not."""
    try:
        return next((f"{name}: {what}" for name, what in differing_files(entry, trusted_from=LARGE)), None)
    except RunError as error:
        return str(error).removeprefix("run: ")


@contextmanager
def alone(folder: Path, name: str) -> Iterator[bool]:
    """Wait until no other process is in this block for a name; the kernel frees the lock however a process ends.

    The lock is a file in a folder, which is made if it is not there. Yield whether the file system has locks; without
    them, other processes may be in the block, too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".{name}.lock"
    descriptor, is_locked = _locked(path)
    # The process before has removed the file, so the next one would create and lock another file.
    while not _is_at(path, descriptor):
        os.close(descriptor)
        descriptor, is_locked = _locked(path)
    try:
        yield is_locked
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(path: Path) -> tuple[int, bool]:
    """Return the descriptor of a file, and whether it is locked: not every file system knows locks."""
    try:
        # To be written, since NFS locks nothing else (flock(2)).
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:
        if not path.exists():
            raise
        descriptor = os.open(path, os.O_RDONLY)  # of another one in a group, whose files the others may read
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.info("cache        another process is making the same; waiting for it")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        return descriptor, False
    return descriptor, True


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _fill(final: Path, make: Callable[[Path], object]) -> None:
    """Make an entry under a temporary name, flush it to the disk, and let it take the place of a damaged one."""
    temporary, old = (final.with_name(f".{final.name}-{secrets.token_hex(4)}") for _ in range(2))
    try:
        temporary.mkdir()  # with the rights that the umask leaves, for a group that shares the cache
        make(temporary)
        if final.exists() and _damage(final) is None:
            return  # another process was faster, on a file system without locks; its readers may have it open
        made = sorted(temporary.iterdir())
        for path in made:
            flush(path)
        write_manifest(temporary, made)
        with suppress(FileNotFoundError):
            os.rename(final, old)
        os.rename(temporary, final)
        flush(final.parent)
    except OSError:
        if _damage(final) is not None:  # else another process was faster, on a file system without locks
            raise
    finally:
        for folder in (temporary, old):
            shutil.rmtree(folder, ignore_errors=True)


def cached_file(name: str, make: Callable[[], bytes]) -> Path:
    """Return the file `name` of the cache, with the content that `make` gives if it is not there yet."""
    return cached_folder(name, lambda folder: (folder / "content").write_bytes(make())) / "content"

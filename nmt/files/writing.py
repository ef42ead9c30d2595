"""Files that are complete or absent: flushed before they get their names, with manifests of sizes and checksums."""

import errno
import fcntl
import hashlib
import json
import math
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from nmt.errors import DataError, UserError
from nmt.files.reading import open_plain, read_json

MANIFEST = "manifest.json"
# What a file system says that cannot flush a folder, as some of virtual machines and of the network.
NO_FLUSH = frozenset({errno.EINVAL, errno.EBADF, errno.ENOTSUP})


def to_json(value: Mapping[str, Any]) -> bytes:
    """Return JSON text for people and programs; floats that JSON does not know become null."""
    return (json.dumps(finite(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def finite(value: Any) -> Any:
    """Return a value for JSON, with None in place of each float that is not finite."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, flush it to the disk, rename it, and flush the new name as well."""
    with being_written(path) as file:
        file.write(content)


@contextmanager
def being_written(path: Path) -> Iterator[IO[bytes]]:
    """Yield a temporary file; if the block raises nothing, it is flushed to the disk and renamed to `path`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    try:
        with naming_path(path):
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            flush(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def naming_path(path: Path) -> Iterator[None]:
    """Within the block, give an OSError the name of a file or folder, if it has none: a failed write names no file."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def require_new_file(
    key: str, path: str | None, overwrite: bool, read: Mapping[str, Iterable[str]] = MappingProxyType({})
) -> None:
    """Raise DataError, naming `key`, for a file that exists and must not be replaced, or whose folder is missing.

    Files that are `read`, by their keys, are never replaced.
    """
    if path is None:
        return
    require_other(key, path, read)
    if os.path.isdir(path):
        raise DataError(f"{key}: a file is needed; got {path}, which is a folder")
    # A new file would take the place of /dev/null.
    if os.path.exists(path) and not os.path.isfile(path):
        raise DataError(f"{key}: a file is needed; got {path}, which is a device or a pipe")
    if not overwrite and os.path.exists(path):
        raise DataError(f"{key}: a new file is needed, or overwrite=true; got {path}, which exists")
    if not Path(path).absolute().parent.is_dir():
        raise DataError(f"{key}: a file in an existing folder is needed; got {path}")


def require_other(key: str, path: str | int, read: Mapping[str, Iterable[str | int]]) -> None:
    """Raise DataError, naming `key`, where a path or descriptor is that of a file that is `read`, by its key."""
    for input_key, files in read.items():
        for file in files:
            if os.path.isfile(file) and is_same(file, path):
                got = path if isinstance(path, str) else file
                raise DataError(f"{key}: another file than the {input_key} is needed; got {got}")


def hold_lock(file: IO[Any], held: UserError) -> OSError | None:
    """Hold a lock on an open file until it is closed; the kernel releases it however the process ends.

    Raises `held` if another process holds it. Returns the error of a file system that has no locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise held from None
    except OSError as error:
        return error
    return None


def is_same(path: str | int, other: str | int) -> bool:
    """Whether two paths or descriptors are one file, or whatever else is there."""
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def flush(path: Path) -> None:
    """Flush the content of a file, or the names in a folder, to the disk; some file systems cannot flush a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if not (path.is_dir() and error.errno in NO_FLUSH):
            raise
    finally:
        os.close(descriptor)


def file_facts(path: Path) -> dict[str, Any]:
    """Return what a manifest records of a file: its SHA-256 and its size in bytes."""
    with open_plain(path) as file:
        num_bytes = os.fstat(file.fileno()).st_size
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": num_bytes}


def write_manifest(folder: Path, described: Iterable[Path]) -> None:
    """Write the manifest of a folder for files there or elsewhere, whose names must all differ."""
    write_atomically(folder / MANIFEST, to_json({path.name: file_facts(path) for path in described}))


def difference(path: Path, recorded: object) -> str | None:
    """Say how a file differs from what a manifest recorded of it; None where it does not.

    A file of another size is not read, so that a sparse file that claims to be long takes no time.
    """
    facts = recorded if isinstance(recorded, dict) else {}
    try:
        num_bytes = path.lstat().st_size
        if num_bytes != facts.get("bytes"):
            return f"{num_bytes} bytes in place of {facts.get('bytes', 'none')}"
        found = file_facts(path)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    if found == recorded:
        return None
    return f"SHA-256 {found['sha256'][:12]} in place of {str(facts.get('sha256'))[:12]}"


def differing_files(
    folder: Path, elsewhere: Path | None = None, trusted_from: float = math.inf
) -> Iterator[tuple[str, str]]:
    """Yield the name of each file that differs from the manifest of a folder, and how it differs.

    A file that is not in the folder may be in `elsewhere`. A file of `trusted_from` bytes or more is not read if it has
    the recorded size and was last changed before the manifest. Raises RunError for a manifest that cannot be read.
    """
    manifest = folder / MANIFEST
    for name, recorded in read_json(manifest).items():
        path = folder / name
        if elsewhere is not None and not path.exists():
            path = elsewhere / name
        if path.name == name and _is_trusted(path, recorded, manifest, trusted_from):
            continue
        what = difference(path, recorded) if path.name == name else "no name of a file"
        if what is not None:
            yield name, what


def _is_trusted(path: Path, recorded: object, manifest: Path, trusted_from: float) -> bool:
    """Whether a large file is unchanged: the kernel notes the time of its last change, which no program can set."""
    try:
        status = path.lstat()
        num_bytes = recorded.get("bytes") if isinstance(recorded, dict) else None
        is_large = stat.S_ISREG(status.st_mode) and status.st_size >= trusted_from
        return is_large and status.st_size == num_bytes and status.st_ctime_ns < manifest.stat().st_ctime_ns
    except OSError:
        return False

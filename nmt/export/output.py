"""The folder that an export makes: new, or in the place of an earlier one."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from nmt.errors import DataError


def check_output(path: Path, overwrite: bool, marks: Sequence[str]) -> None:
    """Raise DataError unless `path` can be written: it is new, or may be replaced and has one of the `marks`."""
    if not path.absolute().parent.is_dir():
        raise DataError(f"output: a folder in an existing one is needed; got {path}")
    if not path.exists():
        return
    if not overwrite:
        raise DataError(f"output: a new folder is needed, or overwrite=true; got {path}, which exists")
    if not any((path / mark).is_file() for mark in marks):
        raise DataError(f"output: a new folder or an earlier export is needed; got {path}, which is neither")


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a folder to fill that gets its name at the end, and is gone if anything goes wrong."""
    path = path.absolute()
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    earlier = path.with_name(f"{temporary.name}.earlier")
    try:
        temporary.mkdir()
        yield temporary
        if path.exists():
            os.replace(path, earlier)
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(earlier, ignore_errors=True)

"""The folder that an export makes: new, or in the place of an earlier one."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from nmt.errors import DataError
from nmt.files.writing import naming_path
from nmt.runs.directory import require_utf_8

# Text on the page of every export, which tells an export from other folders.
MARK = b"Exported by nmt from checkpoint "


def check_output(path: Path, overwrite: bool, run: Path) -> None:
    """Raise UserError unless `path` can be written: it is new, or an earlier export that may be replaced.

    A folder that contains the `run` itself is not replaced.
    """
    require_utf_8(path, "output")
    if not path.absolute().parent.is_dir():
        raise DataError(f"output: a folder in an existing one is needed; got {path}")
    if not path.exists():
        return
    if not overwrite:
        raise DataError(f"output: a new folder is needed, or overwrite=true; got {path}, which exists")
    page = path / "README.md"
    if not page.is_file() or MARK not in page.read_bytes():
        raise DataError(
            f"output: a new folder or an earlier export is needed; got {path}, whose README.md is not that of an export"
        )
    if run.resolve().is_relative_to(path.resolve()):
        raise DataError(f"output: a folder without the run in it is needed; got {path}, which has {run}")


@contextlib.contextmanager
def new_folder(path: Path, check: Callable[[], None]) -> Iterator[Path]:
    """Give a temporary folder to fill; it becomes `path` at the end, unless `check` then raises.

    If anything goes wrong it is deleted, and an earlier export stays as it was.
    """
    path = path.resolve()  # where it is a link, the folder that it points to is replaced
    # A random name, since processes of several containers may have the same number.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    earlier = path.with_name(f"{temporary.name}.earlier")
    temporary.mkdir()
    try:
        with naming_path(path):
            yield temporary
        check()  # once more: another program may have made a folder of this name meanwhile
        if path.exists():
            os.replace(path, earlier)
        os.replace(temporary, path)
    finally:
        if earlier.exists() and not path.exists():
            os.replace(earlier, path)
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(earlier, ignore_errors=True)

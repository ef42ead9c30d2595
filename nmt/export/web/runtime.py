"""ONNX Runtime for browsers: two files of the npm package onnxruntime-web, from a folder or from npm."""

import json
import logging
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from nmt.errors import UserError, one_line

PACKAGE, VERSION = "onnxruntime-web", "1.30.0"  # the version that the page was tried with
SCRIPT, PROGRAM = "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"
SECONDS = 600

logger = logging.getLogger(__name__)


def copy_runtime(folder: str | None, to: Path) -> str:
    """Copy the two files to the folder `to`, and return their version. Raises UserError where they are not found."""
    if folder is not None:
        return _copy(Path(folder), to)
    with tempfile.TemporaryDirectory() as temporary:
        return _copy(_fetch(Path(temporary)), to)


def _fetch(folder: Path) -> Path:
    """Have npm fetch the package and check its checksum; return the folder where it was unpacked."""
    if shutil.which("npm") is None:
        raise UserError(
            f"runtime: a folder of {PACKAGE} is needed where npm is not installed: the npm package of "
            f"version {VERSION}, unpacked; got none"
        )
    logger.info("fetching %s %s by npm", PACKAGE, VERSION)
    command = ["npm", "pack", f"{PACKAGE}@{VERSION}", "--ignore-scripts", "--silent"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=SECONDS)
        with tarfile.open(folder / f"{PACKAGE}-{VERSION}.tgz") as archive:
            archive.extractall(folder, filter="data")
    except (OSError, subprocess.SubprocessError, tarfile.TarError) as error:
        said = getattr(error, "stderr", None) or b""
        raise UserError(
            f"runtime: a folder of {PACKAGE} is needed where npm cannot fetch it; "
            f"got {one_line(said.decode(errors='replace').strip() or error)}"
        ) from None
    return folder / "package"


def _dist(folder: Path) -> Path:
    """Return the folder of the two files: `folder` itself or its `dist`. Raises UserError if neither has both."""
    for dist in (folder, folder / "dist"):
        if all((dist / name).is_file() for name in (SCRIPT, PROGRAM)):
            return dist
    raise UserError(
        f"runtime: a folder with {SCRIPT} and {PROGRAM}, as {PACKAGE} has, is needed; got {folder}"
    )


def _copy(folder: Path, to: Path) -> str:
    dist = _dist(folder)
    to.mkdir()
    for name in (SCRIPT, PROGRAM):
        shutil.copyfile(dist / name, to / name)
    version = _version((folder if dist == folder / "dist" else folder.parent) / "package.json")
    if version != VERSION:
        logger.warning("runtime: the page was tried with %s %s; got %s", PACKAGE, VERSION, version)
    return version


def _version(path: Path) -> str:
    """Return the version in a package.json, or `an unknown version` if there is none to be read."""
    try:
        package = json.loads(path.read_text(encoding="utf-8"))
        return one_line(package["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return "an unknown version"

"""The command line in processes of their own, forked from one that has imported PyTorch: two seconds less for each."""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

COMMAND = [sys.executable, "-W", "error::SyntaxWarning", "-m", "nmt"]
READ_AT_START = ("PYTHON", "SACREBLEU")
NOTHING_MORE: Mapping[str, str] = {}
FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["nmt.assessment", "nmt.commands", "nmt.composition", "nmt.translation"])


def run_command(
    arguments: Sequence[str],
    folder: Path,
    stdin: bytes = b"",
    environment: Mapping[str, str] = NOTHING_MORE,
    timeout: float = 100,
) -> subprocess.CompletedProcess[bytes]:
    """Run one command in a folder. Raises TimeoutExpired after `timeout` seconds, when it is ended.

    What is read of an environment only while Python and the libraries start is given to a fresh interpreter.
    """
    if any(name.startswith(READ_AT_START) for name in environment):
        return subprocess.run(
            [*COMMAND, *arguments], input=stdin, capture_output=True, cwd=folder, timeout=timeout,
            env={**os.environ, **environment}, check=False,
        )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        streams = [Path(name, stream) for stream in ("stdin", "stdout", "stderr")]
        streams[0].write_bytes(stdin)
        process = FORKING.Process(
            target=_become, args=(list(arguments), folder, {**os.environ, **environment}, streams)
        )
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired([*COMMAND, *arguments], timeout)
        output, error = (stream.read_bytes() for stream in streams[1:])
        return subprocess.CompletedProcess([*COMMAND, *arguments], process.exitcode, output, error)


def _become(arguments: list[str], folder: Path, environment: dict[str, str], streams: list[Path]) -> None:
    """Go on as `python -m nmt` with these arguments would."""
    os.chdir(folder)
    os.environ.update(environment)
    for number, path in enumerate(streams):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.argv = ["nmt", *arguments]
    warnings.simplefilter("error", SyntaxWarning)
    runpy.run_module("nmt", run_name="__main__", alter_sys=True)

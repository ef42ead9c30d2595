"""Commands in processes of their own, forked from one that has imported PyTorch: each starts two seconds sooner."""

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
SCRIPTS = Path(__file__).parent.parent / "scripts"
NOTHING_MORE: Mapping[str, str] = {}
FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(
    [
        "nmt.decoding.torch_engine",
        "nmt.commands.evaluate",
        "nmt.commands",
        "nmt.cli.compose",
        "nmt.commands.translate",
    ]
)


def run_command(
    arguments: Sequence[str],
    folder: Path,
    stdin: bytes = b"",
    environment: Mapping[str, str] = NOTHING_MORE,
    timeout: float = 100,
) -> subprocess.CompletedProcess[bytes]:
    """Run one command in a folder. Kills it after `timeout` seconds, and raises TimeoutExpired."""
    return _run(None, arguments, folder, stdin, environment, timeout)


def run_script(
    name: str,
    arguments: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str] = NOTHING_MORE,
    timeout: float = 200,
) -> subprocess.CompletedProcess[str]:
    """Run `scripts/NAME.py` in a folder. Kills it after `timeout` seconds, and raises TimeoutExpired."""
    done = _run(SCRIPTS / f"{name}.py", list(map(str, arguments)), folder, b"", environment, timeout)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _run(
    script: Path | None,
    arguments: Sequence[str],
    folder: Path,
    stdin: bytes,
    environment: Mapping[str, str],
    timeout: float,
) -> subprocess.CompletedProcess[bytes]:
    """Run a script, or the command line where there is none.

    Python and some libraries read their variables (`READ_AT_START`) only at start: these need a fresh interpreter.
    """
    words = [*(COMMAND if script is None else [sys.executable, str(script)]), *arguments]
    if any(name.startswith(READ_AT_START) for name in environment):
        return subprocess.run(
            words, input=stdin, capture_output=True, cwd=folder, timeout=timeout, check=False,
            env={**os.environ, **environment},
        )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        streams = [Path(name, stream) for stream in ("stdin", "stdout", "stderr")]
        streams[0].write_bytes(stdin)
        process = FORKING.Process(
            target=_become, args=(script, list(arguments), folder, {**os.environ, **environment}, streams)
        )
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(words, timeout)
        output, error = (stream.read_bytes() for stream in streams[1:])
        return subprocess.CompletedProcess(words, process.exitcode, output, error)


def _become(
    script: Path | None, arguments: list[str], folder: Path, environment: dict[str, str], streams: list[Path]
) -> None:
    """Go on as `python SCRIPT` with these arguments would, or as `python -m nmt` where there is no script."""
    os.chdir(folder)
    os.environ.update(environment)
    for number, path in enumerate(streams):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.argv = [str(script or "nmt"), *arguments]
    warnings.simplefilter("error", SyntaxWarning)
    if script is None:
        runpy.run_module("nmt", run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(script.parent))
        runpy.run_path(str(script), run_name="__main__")

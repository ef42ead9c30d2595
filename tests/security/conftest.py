"""What the tests of hostile runs share: one tiny run, and copies of it to spoil."""

import contextlib
import hashlib
import io
import json
import logging
import os
import shutil
import signal
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import command_line
import pytest

from nmt.cli import main as cli

LINES = b"Das Haus ist alt.\n\nDer Hund schl\xc3\xa4ft.\n"
SECONDS = 20  # for commands that take a tenth of one


@dataclass(frozen=True)
class Victim:
    """A copy of a run, which a test may change."""

    path: Path

    @property
    def checkpoint(self) -> Path:
        """The checkpoint that `nmt translate` reads."""
        step = json.loads((self.path / "best.json").read_text())["step"]
        return self.path / "checkpoints" / f"step-{step:06d}"

    @property
    def weights(self) -> Path:
        """The weights that `nmt translate` reads."""
        return self.checkpoint / "model.safetensors"

    def edit_config(self, key: str, value: object) -> None:
        """Give a setting, by its dotted key, another value."""
        config = json.loads((self.path / "config.json").read_text())
        *path, last = key.split(".")
        settings = config
        for part in path:
            settings = settings[part]
        settings[last] = value
        (self.path / "config.json").write_text(json.dumps(config))

    def edit_header(self, change) -> None:
        """Change the header of the weights, by a function of it, and let the manifest describe the result."""
        content = self.weights.read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        changed = change(header) or header
        encoded = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
        self.write_weights(struct.pack("<Q", len(encoded)) + encoded + content[8 + length :])

    def write_weights(self, content: bytes) -> None:
        """Replace the weights, and let the manifest describe them."""
        self.weights.write_bytes(content)
        self.describe(self.weights)

    def describe(self, path: Path) -> None:
        """Let the manifests describe a file as it is now, as somebody who means harm would."""
        content = path.read_bytes()
        for manifest in self.path.glob("checkpoints/*/manifest.json"):
            if path.parent in (manifest.parent, self.path):
                facts = json.loads(manifest.read_text())
                facts[path.name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
                manifest.write_text(json.dumps(facts))


@pytest.fixture(scope="session")
def good_run(tmp_path_factory, tiny_training):
    """Train a tiny run that nothing is wrong with."""
    folder = tmp_path_factory.mktemp("good")
    done = command_line.run_command(
        ["train", "run=run", *tiny_training("transformer"), "training.max_updates=2"], folder
    )
    assert done.returncode == 0, done.stderr.decode()
    return folder / "run"


@pytest.fixture
def victim(good_run, tmp_path):
    """Return a function that copies the run, in place of an earlier copy."""

    def make() -> Victim:
        path = tmp_path / "run"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(good_run, path)
        return Victim(path)

    return make


class TooSlow(BaseException):
    """Raised in a command that hangs; a BaseException, so that nothing in the command catches it."""


def _stop(*_):
    raise TooSlow


def run_command(*arguments: str) -> tuple[object, bytes, str]:
    """Run a command in this process: exit code, standard output and standard error."""
    err = io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
    logger = logging.getLogger("nmt")
    logged = (list(logger.handlers), logger.level, logger.propagate)
    logger.handlers.clear()  # an earlier command may have closed the streams of these handlers
    signal.signal(signal.SIGALRM, _stop)
    remaining, _ = signal.setitimer(signal.ITIMER_REAL, SECONDS)  # the time left to the whole test
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write(LINES)
        given.seek(0)
        try:
            with _standard_streams(given, out), contextlib.redirect_stderr(err):
                code: object = cli.main(arguments)
        except TooSlow:
            code = f"more than {SECONDS} seconds"
        except BaseException as error:
            code = repr(error)
        finally:
            signal.setitimer(signal.ITIMER_REAL, remaining)
            logger.handlers[:], logger.level, logger.propagate = logged
            for number, handler in handlers.items():
                signal.signal(number, handler)
        out.seek(0)
        return code, out.read(), err.getvalue()


@contextlib.contextmanager
def _standard_streams(given, out):
    """Put files in place of the descriptors of standard input and output, which commands use directly."""
    before = os.dup(0), os.dup(1)
    os.dup2(given.fileno(), 0)
    os.dup2(out.fileno(), 1)
    try:
        with open(1, "w", closefd=False) as stdout, contextlib.redirect_stdout(stdout):
            yield
    finally:
        for number, descriptor in enumerate(before):
            os.dup2(descriptor, number)
            os.close(descriptor)


@pytest.fixture(scope="session")
def command():
    """Return the function that runs a command in this process, since hundreds of processes would take too long."""
    return run_command


def tree(folder: Path) -> dict[str, object]:
    """Return everything in a folder: the contents of files, and the modes of all else."""
    return {
        str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else path.lstat().st_mode
        for path in sorted(folder.rglob("*"))
    }


def is_refused(outcome: tuple[object, bytes, str]) -> bool:
    code, out, err = outcome
    return (
        code == 2
        and out == b""
        and err.startswith("nmt: ")
        and err.count("\n") == 1
        and err[:-1].isprintable()
    )


@pytest.fixture
def judge(good_run, victim, command, tmp_path, monkeypatch):
    """Return a function that spoils copies of the run, and returns the outcomes of those that were not refused.

    The outcome is `as before` where a copy translates as the run does. No copy may make the command write anything.
    """

    def translate(run: Path) -> tuple[object, bytes, str]:
        return command("translate", f"run={run}", "device=cpu", "precision=float32")

    (tmp_path / "outside").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    code, expected, _ = translate(good_run)
    assert code == 0
    assert expected.count(b"\n") == 3

    def judge(mutations: dict[str, Callable]) -> dict[str, object]:
        found = {}
        for name, spoil in mutations.items():
            spoiled = victim()
            spoil(spoiled)
            before = tree(tmp_path)
            outcome = translate(spoiled.path)
            assert tree(tmp_path) == before, f"{name} wrote something"
            if outcome == (0, expected, ""):
                found[name] = "as before"
            elif not is_refused(outcome):
                found[name] = outcome
        return found

    return judge

"""`nmt translate engine=ray`: several processes write what one would, also after a kill and when they resume."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nmt import grammar

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
NUM_LINES = 30_000  # eight chunks


@pytest.fixture
def text(tmp_path, monkeypatch):
    """Write text to translate; there is no cluster but what a command starts."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    pairs = grammar.generate(5, 1500, 1, 1)["train"]
    lines = [f"{pairs[number % 1500].source} {number}" for number in range(NUM_LINES)]
    (tmp_path / "in").write_text("\n".join(lines) + "\n")
    return tmp_path / "in"


def actors():
    """Return the processes of Ray that translate."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if command.startswith(b"ray::_Actor"):
            found.append((int(folder.name), folder))
    return [number for number, folder in found if own_cluster(folder)]


def own_cluster(folder):
    try:
        return f"NMT_TEST={os.getpid()}".encode() in (folder / "environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_the_lines_are_those_of_one_process(nmt, trained_run, text, tmp_path, monkeypatch):
    given = [f"run={trained_run}", f"input={text}", "decoding=greedy", "device=cpu", "precision=float32"]
    nmt("translate", *given, f"output={tmp_path / 'local'}")
    expected = (tmp_path / "local").read_bytes()
    monkeypatch.setenv("NMT_TEST", str(os.getpid()))
    ray = [*given, "engine=ray", "workers=2", f"output={tmp_path / 'ray'}"]
    command = [sys.executable, "-m", "nmt", "translate", *ray]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "ray").exists() or not (tmp_path / "ray").stat().st_size:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        victims = actors()
        assert len(victims) == 2
        os.kill(victims[0], signal.SIGKILL)
        said = process.stderr.read()
        assert process.wait() == 0, said
    assert f"{NUM_LINES} lines in" in said
    assert (tmp_path / "ray").read_bytes() == expected
    (tmp_path / "ray").write_bytes(expected[: len(expected) // 2])
    done = nmt("translate", *ray, "resume=true", timeout=250)
    assert "going on after" in done.stderr.decode()
    assert (tmp_path / "ray").read_bytes() == expected
    assert actors() == []


def test_what_one_process_would_say_is_said(nmt, trained_run, text, tmp_path):
    given = [f"run={trained_run}", f"input={text}", f"output={tmp_path / 'out'}", "engine=ray", "workers=1"]
    done = nmt("translate", *given, "target_language=fr", code=2)
    assert (
        done.stderr.decode().splitlines()[-1] == "nmt: target_language: null is needed for this run; got fr"
    )
    done = nmt("translate", *given[:2], "engine=ray", code=2)
    assert done.stderr.decode().strip() == "nmt: output: a file is needed with engine=ray; got null"

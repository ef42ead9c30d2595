"""What is cached is made once, by however many processes it is asked for at once."""

import os
import subprocess
import sys

import pytest

from nmt.data.cache import cached_folder

ASK = """
import pathlib, sys, time
from nmt.data.cache import cached_folder

def make(folder):
    with open(sys.argv[1], "a") as file:
        file.write("made\\n")
    time.sleep(1.5)
    (folder / "content").write_text("whole")

print((cached_folder("slow", make) / "content").read_text())
"""


def test_several_processes_make_it_once(tmp_path):
    environment = {**os.environ, "NMT_CACHE": str(tmp_path / "cache")}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ASK, str(tmp_path / "log")], env=environment, stdout=subprocess.PIPE
        )
        for _ in range(4)
    ]
    assert [process.communicate(timeout=60)[0] for process in processes] == [b"whole\n"] * 4
    assert (tmp_path / "log").read_text() == "made\n"
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["slow"]


def test_who_fails_leaves_it_to_the_next(tmp_path, monkeypatch):
    monkeypatch.setenv("NMT_CACHE", str(tmp_path))

    def fail(folder):
        raise ValueError("no text")

    with pytest.raises(ValueError, match="no text"):
        cached_folder("thing", fail)
    assert (
        cached_folder("thing", lambda folder: (folder / "content").write_text("whole")) == tmp_path / "thing"
    )

"""What a terminal shows: bars of progress, and messages on lines of their own."""

import os
import subprocess
import sys
import termios

import pytest


def show(folder, *arguments, stdout=None):
    """Return what a terminal shows of a command, whose standard output may go elsewhere."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with open(ours, "rb", buffering=0) as screen:
        process = subprocess.Popen(
            [sys.executable, "-m", "nmt", *arguments], stdout=stdout or theirs, stderr=theirs, cwd=folder
        )
        os.close(theirs)
        shown = b""
        while content := read(screen):
            shown += content
        assert process.wait(60) == 0, shown
    return shown.decode()


def read(screen):
    """Return what is shown next; nothing once no process has the terminal open, which Linux reports as an error."""
    try:
        return screen.read(4096)
    except OSError:
        return b""


@pytest.mark.parametrize("output", ["a file", "standard output, which is a file", "the terminal"])
def test_progress_of_lines_is_shown_where_they_go_to_a_file(trained_run, tmp_path, output):
    (tmp_path / "lines").write_bytes(b"Das ist ein Haus.\n" * 3)
    command = ["translate", f"run={trained_run}", "input=lines"]
    if output == "a file":
        command.append("output=out")
    with (tmp_path / "redirected").open("wb") as file:
        shown = show(tmp_path, *command, stdout=file if output.startswith("standard") else None)
    assert ("done: " in shown) == (output != "the terminal")


def test_no_message_shares_a_line_with_a_bar(tmp_path, tiny_training):
    shown = show(tmp_path, "train", "run=run", *tiny_training(), "training.log_every=1")
    lines = shown.replace("\r", "\n").split("\n")
    dated = (tmp_path / "run" / "train.log").read_text().splitlines()
    log = [line.split(" ", 2)[2] for line in dated]  # after day and time
    assert any(line.startswith("update 1 ") for line in log)
    assert not set(log) - set(lines)
    assert any("%|" in line for line in lines)  # a bar


def test_standard_error_may_be_closed(trained_run, tmp_path):
    (tmp_path / "lines").write_bytes(b"Das ist ein Haus.\n" * 3)
    command = [sys.executable, "-m", "nmt", "translate", f"run={trained_run}", "input=lines", "output=out"]
    subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *command], cwd=tmp_path, check=True, timeout=300)
    assert (tmp_path / "out").read_text().count("\n") == 3

"""A training that is told to end saves what was done."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios

import pytest

from nmt.runs.directory import RunDirectory

ENDLESS = (
    "training.max_updates=1000000",
    "training.validate_every=1000000",
    "training.checkpoint_every=1000000",
)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_with_what_was_done_saved(number, code, tmp_path, tiny_training):
    with subprocess.Popen(
        [sys.executable, "-m", "nmt", "train", "run=run", *tiny_training(), *ENDLESS],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # pytest's own parent may ignore it
    ) as process:
        lines = []
        for line in process.stderr:
            lines.append(line.decode())
            if lines[-1].startswith("update 3 "):
                process.send_signal(number)
        assert process.wait() == code, "".join(lines)
    (stopped,) = [line for line in lines if line.startswith("stopped at update")]
    assert f"{number.name}; resume=true goes on" in stopped
    step = json.loads((tmp_path / "run" / "last.json").read_text())["step"]
    assert stopped.startswith(f"stopped at update {step}: ")
    assert step >= 3
    assert RunDirectory(tmp_path / "run").steps() == [step]


def test_a_terminal_that_closes_ends_with_what_was_done_saved(tmp_path, tiny_training):
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "nmt", "train", "run=run", *tiny_training(), *ENDLESS],
        cwd=tmp_path,
        stderr=theirs,
        stdin=theirs,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        start_new_session=True,
        preexec_fn=lambda: (
            signal.signal(signal.SIGHUP, signal.SIG_DFL),  # nohup may have started the tests
            fcntl.ioctl(0, termios.TIOCSCTTY),  # the terminal is their own, so they hear of its end
        ),
    ) as process:
        os.close(theirs)
        seen = b""
        while b"update 3 " not in seen:
            seen += os.read(ours, 4096)
        os.close(ours)
        assert process.wait() == 129
    lines = (tmp_path / "run" / "train.log").read_text().split("\n")
    (stopped,) = [line for line in lines if "stopped at update" in line]
    (step,) = RunDirectory(tmp_path / "run").steps()
    assert f"stopped at update {step}: SIGHUP; resume=true goes on" in stopped
    assert step >= 3

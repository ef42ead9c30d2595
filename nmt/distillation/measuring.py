"""Translations, speed and memory of a model, on one core in a process of its own that holds nothing else.

usage: python -m nmt.distillation.measuring < JSON > JSON
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nmt.decoding.loading import load_translator
from nmt.decoding.remarks import logger as remarks
from nmt.errors import RunError, UserError, one_line
from nmt.runs.directory import MODEL_WEIGHTS, RunDirectory

EXPORTED_WEIGHTS = "model.bin"


class Measured(NamedTuple):
    """Translations, and their cost: processor seconds without loading, and peak memory in bytes."""

    translations: list[str]
    seconds: float
    memory: int


def measure(runs: Sequence[str], lines: Sequence[str], search: Mapping[str, Any] | None = None) -> Measured:
    """Translate lines by a run, or an ensemble of runs, on one core in a process of its own; see `_measure`.

    `search` holds the keys that change in the run's own search. Raises RunError where the process fails.
    """
    asked = {"runs": list(runs), "lines": list(lines), "search": dict(search or {})}
    # The process stays in this one's group, so that an interrupt from the terminal stops both.
    done = subprocess.run(
        # -P: a file of the user's in the current folder, such as tokenize.py, is not taken for a module of Python.
        [sys.executable, "-P", "-m", "nmt.distillation.measuring"],
        input=json.dumps(asked).encode(),
        stdout=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        check=False,
    )
    if done.returncode:
        raise RunError(
            f"student: a process that measures {runs[0]} is needed; got one that ended with code {done.returncode}; "
            "resume=true measures again"
        )
    return Measured(**json.loads(done.stdout))


def size_of(runs: Sequence[str]) -> int:
    """Return how many bytes the weights of runs take on the disk."""
    paths = []
    for name in runs:
        run = RunDirectory.existing(name)
        (folder,) = [run.path] if run.is_exported else run.find_checkpoints("best")
        paths.append(folder / (EXPORTED_WEIGHTS if run.is_exported else MODEL_WEIGHTS))
    return sum(path.stat().st_size for path in paths)


def _measure(runs: Sequence[str], lines: Sequence[str], search: Mapping[str, Any]) -> Measured:
    translator = load_translator(runs[0], "best", "cpu", "auto", runs[1:])
    translator = translator.with_search(translator.settings.model_copy(update=search))
    list(translator.translate(lines[:1]))  # caches that the first line fills are not timed
    translator.begin()
    began = time.process_time()
    translations = list(translator.translate(lines))
    return Measured(translations, time.process_time() - began, _most_memory())


def _most_memory() -> int:
    """Return the peak memory of this process, in bytes.

    On Linux a process inherits ru_maxrss from the one that starts it, so VmHWM is read there instead.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> int:
    """Read what to measure from standard input, write the result to standard output, and return the exit code."""
    remarks.disabled = True  # said when the teacher translated
    try:
        print(json.dumps(_measure(**json.load(sys.stdin))._asdict()))
    except UserError as error:
        print(f"nmt: {one_line(error)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:  # the parent says so
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

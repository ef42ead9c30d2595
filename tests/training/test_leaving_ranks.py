"""A process that was one of several ranks has nothing of them left when it ends."""

import os
import subprocess
import sys

import pytest
from ranks import environments

# The compiler is imported as late as training does it; a thread of Gloo's that is left at the end can abort a process.
ENDED = """
import os, sys
from pathlib import Path
from nmt.errors import RunError
from nmt.training.ranks import Place, joined

def threads_of_gloo():
    return [path for path in Path("/proc/self/task").glob("*/comm") if "gloo" in path.read_text()]

try:
    with joined(Place.of_process()) as ranks:
        import torch._dynamo
        assert ranks.gather(ranks.rank) == [0, 1]
        assert threads_of_gloo()
        if sys.argv[1:]:
            raise RunError(sys.argv[1])
except RunError:
    pass
print(len(threads_of_gloo()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted as Linux lists them")
@pytest.mark.parametrize("error", [[], ["what was wrong"]])
def test_no_thread_of_a_group_outlives_it(error):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ENDED, *error], env={**os.environ, **environment}, stdout=subprocess.PIPE
        )
        for environment in environments(2)
    ]
    assert [process.communicate(timeout=60)[0] for process in processes] == [b"0\n", b"0\n"]
    assert [process.returncode for process in processes] == [0, 0]

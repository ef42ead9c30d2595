"""Runs updates.py, searches.py and ranks.py in processes of their own, whose PyTorch is told that it has a GPU."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from ranks import environments

FOLDER = Path(__file__).parent
# The guard has to be loaded before PyTorch first asks for a GPU.
START = "import ctypes, sys; ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL); import pytest; sys.exit(pytest.main(sys.argv[2:]))"


@pytest.fixture(scope="session")
def guard(tmp_path_factory):
    """Build the library that tells PyTorch that a GPU is there."""
    if sys.platform != "linux" or not shutil.which("g++"):
        pytest.skip("g++ on Linux is needed to pretend a GPU")
    if torch.backends.cuda.is_built():
        pytest.skip("a PyTorch for CUDA looks for real GPUs only")
    built, installed = tmp_path_factory.mktemp("guard") / "guard.so", Path(torch.__file__).parent
    libraries = [f"-L{installed / 'lib'}", f"-Wl,-rpath,{installed / 'lib'}", "-lc10", "-ltorch_cpu"]
    command = [
        "g++",
        "-std=c++20",
        "-shared",
        "-fPIC",
        f"-I{installed / 'include'}",
        str(FOLDER / "guard.cpp"),
    ]
    subprocess.run([*command, "-o", str(built), *libraries], check=True)
    return built


@pytest.mark.parametrize(("file", "size"), [("updates.py", 1), ("searches.py", 1), ("ranks.py", 2)])
def test_on_a_pretended_gpu(guard, file, size, tmp_path):
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "--rootdir", str(FOLDER.parent.parent)]
    command = [sys.executable, "-c", START, str(guard), *options, str(FOLDER / file)]

    def run(rank, environment):
        # A folder of its own, since the process that ends first clears pytest's usual one, which the others still use.
        own = [*command, "--basetemp", str(tmp_path / str(rank))]
        return subprocess.run(own, capture_output=True, text=True, env={**os.environ, **environment})

    with ThreadPoolExecutor(size) as pool:
        for done in pool.map(run, range(size), environments(size) if size > 1 else [{}]):
            assert done.returncode == 0, done.stdout + done.stderr

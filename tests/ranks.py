"""`nmt train` in several processes that train one model together, as torchrun starts them."""

import os
import socket
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from command_line import COMMAND, run_command


def environments(size: int) -> list[dict[str, str]]:
    """Return the environment variables that torchrun sets for each rank, with a free port for them to meet at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {
        "WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
    }
    return [{**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(size)]


def train_together(
    arguments: Sequence[str],
    folder: Path,
    size: int,
    timeout: float = 100,
    of_last: Mapping[str, str] | None = None,
) -> list[subprocess.CompletedProcess[bytes]]:
    """Run `nmt train` on all ranks to the end, and return their results; `of_last` is added to the last environment."""

    def train(environment: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
        return run_command(["train", *arguments], folder, environment=environment, timeout=timeout)

    with ThreadPoolExecutor(size) as pool:
        *others, last = environments(size)
        return list(pool.map(train, [*others, {**last, **(of_last or {})}]))


def begin_together(arguments: Sequence[str], folder: Path, size: int) -> list[subprocess.Popen[bytes]]:
    """Start `nmt train` on all ranks; standard error of rank N goes to the file `N.log` in the folder."""
    processes = []
    for rank, environment in enumerate(environments(size)):
        with open(folder / f"{rank}.log", "wb") as log:
            processes.append(
                subprocess.Popen(
                    [*COMMAND, "train", *arguments],
                    cwd=folder,
                    env={**os.environ, **environment},
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                )
            )
    return processes

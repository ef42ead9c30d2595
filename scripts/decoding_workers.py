"""Engines in processes of their own, that answer when they are asked."""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from decoding_engine import Task

BATCH_TOKENS = (512, 2048, 8192)  # padded source tokens: what engines that have no choice of their own try

Groups = list[list[str]]
Variant = tuple[str, str]  # engine and precision


class Worker:
    """An engine in a process of its own, so that its peak of memory is its own.

    `facts` are what it says of itself once it is loaded, or why it cannot be; `seconds` are those of all lines with the
    best of the sizes that were tried, `first_seconds` those of one line alone after loading.
    """

    first_seconds: float
    seconds: float

    def __init__(self, task: Task, batch_tokens: int | None = None) -> None:
        self.task, self.batch_tokens = task, batch_tokens
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("decoding_engine.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "OMP_NUM_THREADS": str(task.threads)},
        )
        self.facts = self._ask(asdict(task))

    @property
    def variant(self) -> Variant:
        """What a row of the tables is about."""
        return self.task.engine, self.task.precision

    def translate(self, groups: Groups) -> dict[str, Any]:
        """Return translations of groups of lines, each of which is given at once, with seconds and peak of memory."""
        return self._ask({"groups": groups, "batch_tokens": self.batch_tokens})

    def tune(self, lines: list[str]) -> None:
        """Choose the fastest size of batches, where there is a choice, after one line alone."""
        sizes = (None,) if self.task.engine == "nmt" else BATCH_TOKENS
        self.batch_tokens = sizes[0]
        first = next(line for line in lines if line.strip())
        self.first_seconds = self.translate([[first]])["seconds"]
        self.translate([lines])  # cold
        seconds: dict[int | None, float] = {}
        for self.batch_tokens in sizes * 2:  # what else the machine does should not choose
            took = self.translate([lines])["seconds"]
            seconds[self.batch_tokens] = min(took, seconds.get(self.batch_tokens, took))
        self.batch_tokens = min(seconds, key=lambda size: seconds[size])
        self.seconds = seconds[self.batch_tokens]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, and the answer is empty
            print(json.dumps(request), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.task.engine} in {self.task.precision} ended with code {self.process.wait()}")
        return dict(json.loads(answer))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()  # no more requests: it ends


def in_turns(workers: list[Worker], groups: Groups, num_repeats: int) -> list[list[dict[str, Any]]]:
    """Return the answers of each worker but its first, which warms it.

    They take turns, so that a machine that gets slower or faster does so for all.
    """
    for worker in workers:
        worker.translate(groups)
    rounds = [[worker.translate(groups) for worker in workers] for _ in range(num_repeats)]
    return [list(answers) for answers in zip(*rounds, strict=True)]

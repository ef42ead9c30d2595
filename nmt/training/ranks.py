"""The processes that train one model together, each a rank; a process on its own is the only rank.

Every rank holds the whole model and computes its share of each update. The gradients are added up, so that all ranks
take the same step. Gradients and losses are exchanged on the device; facts for the host, such as that a signal came,
go from host to host, so that no rank waits for a device.
"""

import json
import logging
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch

# This module is imported before there is a process group, since its functions keep the group of the import as a
# default argument. If the compiler imported it first, later, they would keep even a destroyed group and its threads
# to the end of the process, where such a thread can abort the process.
import torch.distributed.nn.functional
from torch import Tensor, distributed
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from nmt.errors import RunError, UserError, first_line

# Keys in the store that all ranks share, for a roll call that finds out who has ended.
ROLL_CALL, ANSWER = "roll call", "here"
SAID = "said"  # the key that a rank sets when it reports why it ends
SECONDS_BETWEEN_LOOKS, MAX_SECONDS_OF_ROLL_CALL = 1.0, 5.0


@dataclass(frozen=True)
class Place:
    """The rank of a process among the processes that were started together, and their number."""

    rank: int
    size: int
    local_rank: int  # on its machine

    @classmethod
    def of_process(cls, environment: Mapping[str, str] = os.environ) -> "Place":
        """Return the place that torchrun, or SLURM's srun, gave to this process; without them it stands alone."""
        for rank, size, local_rank in (
            ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
            ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
        ):
            if rank in environment and size in environment:
                values = (int(environment[rank]), int(environment[size]), int(environment.get(local_rank, 0)))
                return cls(*values)
        return cls(0, 1, 0)


class Ranks:
    """All ranks of a training, as one of them sees them; each has to call the same methods in the same order.

    If a rank has ended, the first of the others raises RunError, which names it, and the rest raise SystemExit. All of
    them raise SystemExit if a rank has already reported why it ends.
    """

    def __init__(self, rank: int = 0, size: int = 1, store: Any = None) -> None:
        self.rank, self.size, self.store = rank, size, store

    @property
    def is_first(self) -> bool:
        """Whether this is the rank that writes the run and logs its progress."""
        return self.rank == 0

    @property
    def has_launcher(self) -> bool:
        """Whether torchrun, or another program for several ranks, has started this one, be it the only one."""
        return self.size > 1 or "TORCHELASTIC_RUN_ID" in os.environ

    def all_reduce_sum(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor, in place, by the sum of those of all ranks; all are of one type, on one device."""
        if self.size == 1:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        with self._naming_the_lost():
            distributed.all_reduce(flat)
        for tensor, total in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))

    def broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor, in place, by that of the first rank."""
        if self.size == 1:
            return
        with self._naming_the_lost(), torch.no_grad():
            for tensor in tensors:
                distributed.broadcast(tensor.detach(), 0)

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all ranks, in the order of the ranks; JSON must be able to hold each of them."""
        if self.size == 1:
            return [value]
        own = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        with self._naming_the_lost():
            distributed.all_gather(lengths, torch.tensor([len(own)]))
            longest = max(int(length) for length in lengths)
            texts = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.size)]
            distributed.all_gather(texts, torch.nn.functional.pad(own, [0, longest - len(own)]))
        pairs = zip(texts, lengths, strict=True)
        return [json.loads(text[: int(length)].numpy().tobytes()) for text, length in pairs]

    def all_reduce_max(self, *numbers: float) -> list[float]:
        """Return the maximum over all ranks of each number."""
        if self.size == 1:
            return list(numbers)
        values = torch.tensor(numbers, dtype=torch.float64)
        with self._naming_the_lost():
            distributed.all_reduce(values, distributed.ReduceOp.MAX)
        found: list[float] = values.tolist()
        return found

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """Let all ranks get beyond this block, or none: the first with a UserError raises it, the others exit."""
        own = None
        try:
            yield
        except UserError as error:
            if self.is_first:
                own = error
            else:
                own = type(error)(*(f"rank {self.rank}: {problem}" for problem in error.problems))
        exit_codes = self.gather(own.exit_code if own else 0)
        failed = [rank for rank, exit_code in enumerate(exit_codes) if exit_code]
        if own is not None and failed[0] == self.rank:
            raise own
        if failed:
            raise SystemExit(exit_codes[failed[0]])

    def require_same(self, values: Mapping[str, str]) -> None:
        """Raise RunError where another rank has another value of a key."""
        for rank, others in enumerate(self.gather(dict(values))):
            for key, value in values.items():
                if others.get(key) != value:
                    raise RunError(
                        f"{key}: the same on all ranks is needed; rank {self.rank} got {value}, rank {rank} "
                        f"{others.get(key)}; all read the same files, from folders that they share"
                    )

    @contextmanager
    def _naming_the_lost(self) -> Iterator[None]:
        """Turn an error of the connection into one line that names the ranks that have ended; one rank reports it."""
        try:
            yield
        except RuntimeError:
            lost = self._lost()
            if not lost:
                raise
            if self._is_said():
                raise SystemExit(RunError.exit_code) from None
            if self.rank > min(set(range(self.size)) - set(lost)):
                raise SystemExit(RunError.exit_code) from None
            who = f"rank {lost[0]} has" if len(lost) == 1 else f"ranks {', '.join(map(str, lost))} have"
            raise RunError(
                f"training: all {self.size} ranks are needed to go on; {who} ended, or cannot be reached; "
                "resume=true goes on from the last checkpoint"
            ) from None

    def _lost(self) -> list[int]:
        """Return the ranks that do not answer a roll call; the first rank, if the store cannot be reached."""
        names = [f"{ANSWER}/{rank}" for rank in range(self.size)]
        ends = time.monotonic() + MAX_SECONDS_OF_ROLL_CALL
        try:
            self.store.set(ROLL_CALL, "")
            while (lost := [i for i, name in enumerate(names) if not self.store.check([name])]) and (
                time.monotonic() < ends
            ):
                time.sleep(0.1)
        except RuntimeError:
            return [0]
        return lost

    def _say(self) -> None:
        with suppress(RuntimeError):
            self.store.set(SAID, "")

    def _is_said(self) -> bool:
        with suppress(RuntimeError):
            return bool(self.store.check([SAID]))
        return False

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Within the block, answer a roll call in a thread, since a rank that waits for another one cannot answer.

        If a UserError ends the block, tell the other ranks that this one reports the reason.
        """
        is_over = threading.Event()

        def answer() -> None:
            with suppress(RuntimeError):  # the process that held the store has ended
                while not self.store.check([ROLL_CALL]):
                    if is_over.wait(SECONDS_BETWEEN_LOOKS):
                        return
                self.store.set(f"{ANSWER}/{self.rank}", "")

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield
        except UserError:
            self._say()
            raise
        finally:
            is_over.set()
            thread.join()


@contextmanager
def joined(place: Place) -> Iterator[Ranks]:
    """Within the block, be one of the ranks that were started together.

    NCCL transfers tensors on a GPU, Gloo those on a CPU. Raises RunError if the other ranks cannot be reached.
    """
    if place.size == 1:
        yield Ranks()
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(place.local_rank % torch.cuda.device_count())
    _name_the_meeting_place()
    try:
        shared, _, _ = next(rendezvous("env://", place.rank, place.size))
        # The prefix keeps apart the keys of SLURM's steps, and those that an earlier attempt of torchrun has left.
        step, attempt = (os.environ.get(key, 0) for key in ("SLURM_STEP_ID", "TORCHELASTIC_RESTART_COUNT"))
        store = PrefixStore(f"nmt {step} {attempt}", shared)
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        distributed.init_process_group(backend, store=store, rank=place.rank, world_size=place.size)
    except (RuntimeError, ValueError) as error:
        raise RunError(
            f"training: {place.size} ranks that can reach each other are needed; got {first_line(error)}"
        ) from None
    if place.rank:  # what all ranks would log, the first one logs
        for handler in logging.getLogger("nmt").handlers:
            handler.setFormatter(logging.Formatter(f"rank {place.rank}: %(message)s"))
            handler.setLevel(logging.WARNING)
    ranks = Ranks(place.rank, place.size, store)
    ended_well = False
    try:
        with ranks.answering():
            yield ranks
        ended_well = True
    finally:
        if ended_well or backend == "gloo":  # NCCL would wait for operations that a lost rank left open
            distributed.destroy_process_group()


def _name_the_meeting_place() -> None:
    """Set the address where the ranks of a SLURM step meet, on its first machine; torchrun sets it by itself."""
    if "SLURM_STEP_NODELIST" in os.environ:
        os.environ.setdefault("MASTER_ADDR", first_host(os.environ["SLURM_STEP_NODELIST"]))
        job, step = (int(os.environ.get(f"SLURM_{name}_ID", 0)) for name in ("JOB", "STEP"))
        # A job may have several steps at once, each a training, so each step has a port of its own.
        os.environ.setdefault("MASTER_PORT", str(20_000 + (job + 7919 * step) % 20_000))


def first_host(nodes: str) -> str:
    """Return the first machine of a list as SLURM writes it, such as `gpu[007-009,012],login1`."""
    return re.sub(r"\[([^],-]*)[^]]*\]", r"\1", re.split(r",(?![^[]*\])", nodes)[0])

"""CUDA graphs: forward and backward of a batch shape are recorded once, then started by a single launch."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nmt.data.batching import Batch
from nmt.memory import is_out_of_memory
from nmt.models.kernels.packing import Room, rooms_of
from nmt.training.objective import Loss

logger = logging.getLogger(__name__)

# Each graph takes some memory of its own, beside what all share.
MAX_GRAPHS = 256

# Forward and backward of a batch, given the number of target tokens in its update.
Compute = Callable[[Batch, Tensor], Loss]
Record = Callable[[Callable[[], Loss]], tuple[Loss, Callable[[], None]]]


@dataclass(frozen=True)
class Recording:
    """A recorded graph, and the tensors that it reads and writes."""

    batch: Batch
    num_tokens: Tensor
    loss: Loss
    start: Callable[[], None]


class Replay:
    """Runs forward and backward of batches; from the second batch of a shape on, it replays a recording.

    Small updates spend more time starting kernels than a GPU spends running them; a recording starts all at once. A
    recording reads a batch of its own, as large as the room of the shape, into which each batch of the shape is copied.
    Its computation may depend on nothing that the host knows of a batch, except for the room. Gradients are added in
    place to those that there are.
    """

    def __init__(self, compute: Compute, record: Record) -> None:
        self.compute, self.record = compute, record
        self.recordings: dict[tuple[Room, Room], Recording] = {}
        self.met: set[tuple[Room, Room]] = set()
        self.has_failed = False

    def __call__(self, batch: Batch, num_tokens: Tensor) -> Loss:
        """Return the loss of a batch, and add its gradients as a share of an update of `num_tokens` target tokens."""
        room = rooms_of(batch)
        if room not in self.recordings:
            if room not in self.met or len(self.recordings) == MAX_GRAPHS or self.has_failed:
                self.met.add(room)
                return self.compute(batch, num_tokens)
            try:
                self.recordings[room] = self._record(batch, num_tokens)
            except RuntimeError as error:
                if is_out_of_memory(error):
                    raise
                self.has_failed = True
                logger.warning("training.compile: going on without more CUDA graphs; %s", error)
                return self.compute(batch, num_tokens)
        recording = self.recordings[room]
        _fill(recording.batch, batch)
        recording.num_tokens.copy_(num_tokens)
        recording.start()
        total, nll, alignment = recording.loss
        return Loss(total.clone(), nll.clone(), alignment if alignment is None else alignment.clone())

    def forget(self) -> None:
        """Drop all recordings, since they hold gradients, and go on; after a failed recording, none is made again."""
        self.recordings.clear()
        self.met.clear()

    def _record(self, batch: Batch, num_tokens: Tensor) -> Recording:
        own, number = _with_room(batch), num_tokens.clone()
        loss, start = self.record(lambda: self.compute(own, number))
        return Recording(own, number, loss, start)


class CudaGraphs:
    """Records kernels of the current stream as graphs, which share memory, since they run one after the other."""

    def __init__(self) -> None:
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, compute: Callable[[], Loss]) -> tuple[Loss, Callable[[], None]]:
        """Record the kernels that `compute` starts; return the tensors of its result, and a function to replay them."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=torch.cuda.current_stream()):
            loss = compute()
        return loss, graph.replay


@contextmanager
def recordable_stream(device: torch.device) -> Iterator[None]:
    """Within the block, run kernels on a stream that can be recorded; the default stream of a device cannot be."""
    if device.type != "cuda":
        yield
        return
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream(device).wait_stream(stream)


def _with_room(batch: Batch) -> Batch:
    """Return an empty batch as large as the room of `batch`; its lengths on the host are those of `batch`."""

    source, target = rooms_of(batch)
    source_lengths, target_lengths = batch.device_lengths
    return replace(
        batch,
        source=batch.source.new_zeros(source[1:]),
        target_in=batch.target_in.new_zeros(target[1:]),
        target_out=batch.target_out.new_zeros(target[1:]),
        device_lengths=(
            source_lengths.new_zeros(source.num_sentences),
            target_lengths.new_zeros(target.num_sentences),
        ),
        alignment=None if batch.alignment is None else batch.alignment.new_zeros(*target[1:], source.longest),
        expected=None
        if batch.expected is None
        else batch.expected.map(lambda part: part.new_zeros(*target[1:], part.shape[-1])),
    )


def _fill(own: Batch, batch: Batch) -> None:
    """Copy a batch into one that is as large as its room; sentences left there by another batch get length zero."""
    for name in ("source", "target_in", "target_out"):
        ids = getattr(batch, name)
        getattr(own, name)[: ids.shape[0], : ids.shape[1]].copy_(ids)
    if own.alignment is not None and batch.alignment is not None:
        num_sentences, height, width = batch.alignment.shape
        own.alignment.zero_()[:num_sentences, :height, :width].copy_(batch.alignment)
    if own.expected is not None and batch.expected is not None:
        for room, part in zip(own.expected, batch.expected, strict=True):
            room[: part.shape[0], : part.shape[1]].copy_(part)
    for own_lengths, lengths in zip(own.device_lengths, batch.device_lengths, strict=True):
        own_lengths.zero_()[: len(lengths)].copy_(lengths)

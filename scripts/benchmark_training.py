"""Speed of training on fixed work: tokens per second, share of the matrix-product peak, padding, waiting, memory.

usage: python scripts/benchmark_training.py [--ids FOLDER] [--json FILE] [OVERRIDE ...]
                                            [--warmup N] [--updates N] [--repeats N]

FOLDER holds train.de.json and train.en.json: lists of sentences, each a list of token ids that ends in EOS
(0 UNK, 1 PAD, 2 BOS, 3 EOS). Without it, the sentences are random token ids. Overrides are those of `nmt train`, such
as model=attention or precision=float32.
"""

import argparse
import json
import statistics
import time
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import numpy as np
from measuring import peak_resident_memory, spread

from nmt.cli.compose import compose
from nmt.config import TrainSettings
from nmt.config.check import check
from nmt.data.batching import Updates, padding_share, plan_epoch
from nmt.data.dataset import Dataset, Ids, select_pairs
from nmt.data.tokenizer import Tokenizer
from nmt.device import choose_precision, prepare_device
from nmt.models.build import build_model
from nmt.models.interface import Seq2Seq
from nmt.training.device.graphs import recordable_stream
from nmt.training.pairs import TrainingPairs
from nmt.training.ranks import Ranks
from nmt.training.step import TrainingStep

import torch  # isort: skip  after nmt, which sets how PyTorch allocates memory

BASE = ["tokenizer.vocabulary_size=8000"]
RANDOM_PAIRS = 20_000


@dataclass(frozen=True)
class FixedVocabulary:
    """The special token ids of ready-made sentences, in place of a SentencePiece model."""

    size: int
    unk_id: int = 0
    pad_id: int = 1
    bos_id: int = 2
    eos_id: int = 3


def read_ids(path: Path) -> list[list[int]]:
    """Read sentences of token ids, and drop their EOS."""
    return [sentence[:-1] for sentence in json.loads(path.read_text(encoding="utf-8"))]


def random_ids(seed: int, vocabulary_size: int, mean_length: int) -> list[list[int]]:
    """Draw sentences whose lengths are spread about as in short captions; source and target have a seed each."""
    lengths = np.random.default_rng(0).gamma(10, mean_length / 10, RANDOM_PAIRS)
    generator = np.random.default_rng(seed)
    return [
        generator.integers(4, vocabulary_size, max(1, int(n + generator.normal()))).tolist() for n in lengths
    ]


def matmul_peak(device: torch.device, dtype: torch.dtype) -> float:
    """Return the highest rate of some products of large square matrices, in operations per second."""
    best = 0.0
    for size in (1024, 2048, 8192) if device.type == "cuda" else (512, 1024, 2048):
        a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
        for _ in range(5):
            wait_for(device)
            began = time.perf_counter()
            for _ in range(4):
                a @ b
            wait_for(device)
            best = max(best, 4 * 2 * size**3 / (time.perf_counter() - began))
    return best


def operations(model: Seq2Seq, source_tokens: int, target_tokens: int) -> float:
    """Return how many operations training on so many tokens spends in products with weights.

    Each weight takes two operations a token forward and four backward. Source tokens pass through the encoder's
    weights and the projections of its states to keys and values, target tokens through all others. Left out are
    attention scores and what is computed once a sentence.
    """
    total = 0.0
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, torch.nn.Embedding)}
    for name, weight in model.named_parameters():
        if weight.dim() < 2 or id(weight) in embeddings or name.startswith(("bridge", "context")):
            continue
        is_of_memory = any(part in name for part in (".key", ".value", ".general"))
        is_of_source = name.startswith("encoder") or (is_of_memory and "self_attention" not in name)
        total += 6 * weight.numel() * (source_tokens if is_of_source else target_tokens)
    return total + 6 * model.output.weight.numel() * target_tokens * (id(model.output.weight) in embeddings)


def wait_for(device: torch.device) -> None:
    """Wait until the device has finished all work that is queued."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def peak_memory(device: torch.device) -> float:
    """Return the most memory that was in use, in GB."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated() / 1e9
    return peak_resident_memory()


def measure(
    ids: Path | None,
    num_updates: int,
    num_repeats: int,
    overrides: list[str],
    mean_length: int = 14,
    num_warmup: int = 5,
) -> dict[str, Any]:
    """Train on fixed work and return the figures."""
    settings = check(TrainSettings, compose("train", [*BASE, *overrides], None).values)
    device = prepare_device(settings.device)
    dtype = choose_precision(settings.precision, device)
    size = settings.tokenizer.vocabulary_size
    if ids is None:
        sides = [random_ids(seed, size, mean_length) for seed in (1, 2)]
    else:
        sides = [read_ids(ids / f"train.{language}.json") for language in ("de", "en")]
    source, target = map(Ids.of, sides)
    dataset = Dataset(source, target)
    selected, _ = select_pairs(dataset, settings.data.max_length)
    vocabulary: Any = FixedVocabulary(size)
    tokenizer = Tokenizer(vocabulary, vocabulary)
    torch.manual_seed(settings.seed)
    pairs = TrainingPairs(dataset, selected, device)
    step = TrainingStep(
        settings, build_model(settings.model, tokenizer), tokenizer, pairs, device, dtype, Ranks()
    )
    source_lengths, target_lengths = pairs.source_lengths, pairs.target_lengths

    def plan(epoch: int) -> Updates:
        limits = settings.training
        max_tokens = 4 * limits.update_tokens if limits.max_tokens == "auto" else limits.max_tokens
        drawn = plan_epoch(settings.seed, epoch, source_lengths, target_lengths, limits.update_tokens)
        return drawn.within(max_tokens)

    plans = enumerate(chain.from_iterable(plan(epoch) for epoch in count()), start=1)
    rates, speeds, waiting, seconds = [], [], 0.0, 0.0
    with recordable_stream(device):
        step.compile(lambda: plan(0)[0][0])
        for number, update in islice(plans, num_warmup):
            step.run(number, update)
        for _ in range(num_repeats):
            updates = list(islice(plans, num_updates))
            wait_for(device)
            began, num_tokens = time.perf_counter(), 0
            for number, update in updates:
                figures = step.run(number, update)
                num_tokens += figures.num_tokens
                waiting += figures.seconds_collating
            wait_for(device)
            duration = time.perf_counter() - began
            rates.append(num_tokens / duration)
            seconds += duration
            source_tokens = sum(int(source_lengths[rows].sum()) for _, update in updates for rows in update)
            speeds.append(operations(step.model, source_tokens, num_tokens) / duration)
    memory = peak_memory(device)  # before the large matrices below
    peak = matmul_peak(device, dtype)
    return {
        "model": settings.model.kind,
        "parameters": sum(parameter.numel() for parameter in step.model.parameters()),
        "device": torch.cuda.get_device_name()
        if device.type == "cuda"
        else f"{torch.get_num_threads()} CPU threads",
        "precision": str(dtype).removeprefix("torch."),
        "target_tokens_per_second": statistics.median(rates),
        "spread": spread(rates),
        "matmul_peak_tflops": peak / 1e12,
        "matmul_peak_share": statistics.median(speeds) / peak,
        "padding": padding_share(plan(0), source_lengths, target_lengths),
        "share_of_time_waiting_for_data": waiting / seconds,
        "peak_memory_gb": memory,
    }


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ids", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--warmup", type=int, default=5, help="updates; on a GPU, two epochs, so that all is recorded"
    )
    parser.add_argument("--updates", type=int, default=20, help="of each repeat")
    parser.add_argument("--repeats", type=int, default=5)
    arguments, overrides = parser.parse_known_args()
    figures = measure(
        arguments.ids, arguments.updates, arguments.repeats, overrides, num_warmup=arguments.warmup
    )
    for name, value in figures.items():
        print(
            f"{name.replace('_', ' '):32} {value:,.3f}" if isinstance(value, float) else f"{name:32} {value}"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

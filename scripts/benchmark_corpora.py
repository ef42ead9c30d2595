"""How the cost of a training grows with its text: seconds to its first update, memory, disk, and tokens a second.

usage: python scripts/benchmark_corpora.py SOURCE TARGET VALIDATION_SOURCE VALIDATION_TARGET [--lines N ...]
       [--folder DIR] [--json FILE] [OVERRIDE ...]

For each N, a parallel text is repeated up to N pairs. In nine of ten pairs of a repetition, both sides end in its
number, so these pairs are new; one in ten is a duplicate. A training with filters runs three times with one new cache.
The first run, of one update, reads, filters and tokenises the text and learns the tokenizer. The second, also of one
update, finds all of this in the cache. The third makes 60 updates. Then one core makes batches without a model. Memory
is the peak of the training's memory without mapped files. Use a short validation text: each run translates it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import count, islice
from pathlib import Path
from typing import Any

from arguments import file_to_write, positive
from measuring import private_memory

OVERRIDES = (
    "data=files", "data/filter=clean", "model=transformer_tiny", "tokenizer=bpe", "tokenizer.vocabulary_size=8000",
    "training.validate_every=100000", "training.log_every=20", "decoding=greedy", "device=cpu",
)  # fmt: skip
NEW_OF_TEN = 9
NUM_BATCHES = 2000
BATCHES = f"""
import sys, time
import torch
from nmt.cli.compose import compose
from nmt.data.batching import collate
from nmt.runs.directory import RunDirectory
from nmt.training.ranks import Ranks
from nmt.training.setup import prepare
torch.set_num_threads(1)
prepared = prepare(compose("train", sys.argv[1:], None).settings(), RunDirectory("none"), Ranks())
pairs, plan = prepared.trainer.pairs, prepared.trainer.enter(0)
for _ in range(2):  # the first time, much of the text is read from the disk
    began, tokens = time.monotonic(), 0
    for number in range(min({NUM_BATCHES}, len(plan))):
        for rows in plan[number]:
            tokens += collate(pairs.dataset, pairs.rows[rows], prepared.tokenizer).num_tokens
print(tokens / (time.monotonic() - began))
"""


def write_repeated(paths: tuple[Path, Path], folder: Path, num_lines: int) -> list[Path]:
    """Write both sides of a text, each repeated up to `num_lines` lines; return the paths of the files."""
    texts = [path.read_text(encoding="utf-8").split("\n")[:-1] for path in paths]
    written = [folder / f"train.{side}" for side in ("source", "target")]
    for text, path in zip(texts, written, strict=True):
        lines = (
            f"{line} {turn}\n" if turn and number % 10 < NEW_OF_TEN else f"{line}\n"
            for turn in count()
            for number, line in enumerate(text)
        )
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(islice(lines, num_lines))
    return written


def start(arguments: list[str], folder: Path, updates: int) -> dict[str, float]:
    """Train a new run for some updates; return its seconds, peak memory and tokens per second."""
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "nmt",
        "train",
        *arguments,
        f"run={run}",
        f"training.max_updates={updates}",
    ]
    began, peak = time.monotonic(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, private_memory(process.pid))
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"nmt train ended with {process.returncode}: {' '.join(command)}")
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    rates = [row["tokens_per_second"] for row in rows if row["kind"] == "training"]
    return {"seconds": time.monotonic() - began, "gigabytes": peak, "tokens_per_second": rates[-1]}


def measure(texts: list[Path], num_lines: int, parent: Path | None, overrides: list[str]) -> dict[str, Any]:
    """Return the figures of one number of lines."""
    with tempfile.TemporaryDirectory(dir=parent) as name:
        folder = Path(name)
        source, target = write_repeated((texts[0], texts[1]), folder, num_lines)
        os.environ["NMT_CACHE"] = str(folder / "cache")
        named = [f"data.train.source={source}", f"data.train.target={target}"]
        named += [f"data.validation.source={texts[2]}", f"data.validation.target={texts[3]}"]
        arguments = [*OVERRIDES, *named, *overrides]
        first, second, longer = (start(arguments, folder, updates) for updates in (1, 1, 60))
        done = subprocess.run(
            [sys.executable, "-c", BATCHES, *arguments], capture_output=True, text=True, check=True
        )
        cached = sum(path.stat().st_size for path in (folder / "cache").rglob("*") if path.is_file())
        return {
            "lines": num_lines,
            "text_gigabytes": (source.stat().st_size + target.stat().st_size) / 1e9,
            "first_seconds": first["seconds"],
            "first_gigabytes": first["gigabytes"],
            "second_seconds": second["seconds"],
            "training_gigabytes": longer["gigabytes"],
            "tokens_per_second": longer["tokens_per_second"],
            "batched_tokens_per_second": float(done.stdout.split()[-1]),
            "cache_gigabytes": cached / 1e9,
        }


def main() -> None:
    """Measure each number of lines, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", nargs=4, type=Path)
    parser.add_argument("--lines", type=positive, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--folder", type=Path, help="where text and cache go while it runs")
    parser.add_argument("--json", type=file_to_write)
    arguments, overrides = parser.parse_known_args()
    results = []
    for num_lines in arguments.lines:
        results.append(measure(arguments.texts, num_lines, arguments.folder, overrides))
        for key, value in results[-1].items():
            print(f"{key} {value:.6g}", end="  ")
        print(flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""How the cost of training grows with the model, the vocabulary and the length of sentences, as a table.

usage: python scripts/benchmark_growth.py [--json FILE] [--updates N] [--repeats N] [OVERRIDE ...]

Each row is one run of scripts/benchmark_training.py on random token ids; what a row does not name is as in the first
row. Overrides, such as precision=float32, hold for all rows. Run it when nothing else is running.
"""

import argparse
import json
import multiprocessing
from pathlib import Path
from typing import Any

from benchmark_training import measure


def transformer(num_layers: int, d_model: int, num_heads: int) -> list[str]:
    """Return the overrides of a Transformer whose feed-forward layers have an inner width of four times d_model."""
    layers = [f"model.num_{side}_layers={num_layers}" for side in ("encoder", "decoder")]
    return [*layers, f"model.d_model={d_model}", f"model.d_ff={4 * d_model}", f"model.num_heads={num_heads}"]


ROWS: list[tuple[str, list[str], int]] = [  # name, overrides, mean length in tokens
    ("3+3 layers, width 256, vocabulary 8,000, 14 tokens", [], 14),
    ("2+2 layers, width 128", transformer(2, 128, 4), 14),
    ("6+6 layers, width 512", transformer(6, 512, 8), 14),
    ("6+6 layers, width 1,024", transformer(6, 1024, 16), 14),
    ("vocabulary 2,000", ["tokenizer.vocabulary_size=2000"], 14),
    ("vocabulary 32,000", ["tokenizer.vocabulary_size=32000"], 14),
    ("7 tokens", [], 7),
    ("28 tokens", [], 28),
    ("80 tokens", ["data.max_length=250"], 80),
]


def main() -> None:
    """Measure each row in a process of its own, so that its peak of memory is its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--updates", type=int, default=5, help="of each repeat")
    parser.add_argument("--repeats", type=int, default=3)
    arguments, overrides = parser.parse_known_args()
    print("| work | parameters | target tokens/s | spread | share of peak | padding | memory |")
    print("|---|---|---|---|---|---|---|")
    results: list[dict[str, Any]] = []
    for name, row, mean_length in ROWS:
        given = (None, arguments.updates, arguments.repeats, [*row, *overrides], mean_length)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            figures = pool.apply(measure, given)
        results.append({"work": name, **figures})
        print(
            f"| {name} | {figures['parameters'] / 1e6:.1f} M | {figures['target_tokens_per_second']:,.0f} "
            f"| {100 * figures['spread']:.0f} % | {100 * figures['matmul_peak_share']:.0f} % "
            f"| {100 * figures['padding']:.1f} % | {figures['peak_memory_gb']:.1f} GB |",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

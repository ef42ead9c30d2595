"""Train models that differ in one thing each, and tabulate BLEU, BLEU on long sentences, parameters and speed.

usage: python scripts/compare.py TABLE FOLDER [--only NAME] [--seeds N] [OVERRIDE ...]

TABLE is one of the names below. The runs go to FOLDER; a run that is finished there is not trained again, and one that
was stopped goes on. Overrides are those of `nmt train` and hold for every row, such as training.max_updates=20 or
data.directory=FOLDER. With several seeds each figure is a mean, and BLEU has its standard deviation behind it.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from arguments import positive
from bleu_by_length import bleu_of, translate
from safetensors import safe_open

from nmt.runs.directory import RunDirectory
from nmt.runs.text import text_of_run

BUILT_IN_ATTENTION = ["experiment=grammar_attention", "schedule.warmup_updates=100"]
BUILT_IN_TRANSFORMER = ["experiment=demo", "schedule.warmup_updates=100"]
ATTENTION = "model.attention."
START = "training.from_run="  # and the name of another row
# A table: the overrides that all rows share, and by the name of each row those that it adds.
TABLES: dict[str, tuple[list[str], dict[str, list[str]]]] = {
    "attention": (
        [*BUILT_IN_ATTENTION, "training.max_updates=500", "training.validate_every=250"],
        {
            "additive": [],
            "dot": [ATTENTION + "score=dot"],
            "scaled dot": [ATTENTION + "score=scaled_dot"],
            "general": [ATTENTION + "score=general"],
            "location": [ATTENTION + "score=location"],
            "four heads": [ATTENTION + "num_heads=4"],
            "input": [ATTENTION + "join=input"],
            "output only": [ATTENTION + "join=output_only"],
            "local-m": [ATTENTION + "span=local_m"],
            "local-p": [ATTENTION + "span=local_p"],
            "straight-through": [ATTENTION + "choice=straight_through"],
            "coverage": [ATTENTION + "coverage=true"],
        },
    ),
    "attention-multi30k": (
        [
            "experiment=multi30k_attention",
            "tokenizer.vocabulary_size=4000",
            "schedule.warmup_updates=200",
            "training.update_tokens=2048",
            "model.d_embedding=128",
            "model.d_hidden=128",
            "model.attention.d_attention=128",
            "training.max_updates=430",
            "training.validate_every=215",
        ],
        {
            "additive": [],
            "local-p": [ATTENTION + "span=local_p"],
            "straight-through": [ATTENTION + "choice=straight_through"],
        },
    ),
    "transformer": (
        [*BUILT_IN_TRANSFORMER, "training.max_updates=1000", "training.validate_every=500"],
        {
            "plain": [],
            "normalisation after": ["model.norm=post"],
            "RMSNorm": ["model.normalization=rms"],
            "learned positions": ["model.positions=learned"],
            "rotary positions": ["model.positions=rotary"],
            "relative positions": ["model.positions=relative"],
            "GELU": ["model.activation=gelu"],
            "SwiGLU": ["model.activation=swiglu"],
            "one head of keys and values": ["model.num_key_value_heads=1"],
            "attention dropout 0.1": ["model.attention_dropout=0.1"],
            "activation dropout 0.1": ["model.activation_dropout=0.1"],
            "layer dropout 0.1": ["model.layer_dropout=0.1"],
            "3 encoder layers, 1 decoder layer": ["model.num_encoder_layers=3", "model.num_decoder_layers=1"],
        },
    ),
    "training": (
        [
            "experiment=multi30k_transformer",
            "tokenizer.vocabulary_size=4000",
            "model=transformer_tiny",
            "model.dropout=0.1",
            "schedule.warmup_updates=300",
            "training.update_tokens=2048",
            "training.max_updates=1500",
            "training.validate_every=300",
            "training.checkpoint_every=100",
        ],
        {
            "plain": [],
            "scheduled sampling": ["teacher_forcing=inverse_sigmoid", "teacher_forcing.final_ratio=0.5"],
            "BPE-dropout": ["training.subword_sampling=0.1"],
            "R-Drop": ["consistency=r_drop"],
            "SimCut": ["consistency=simcut"],
            "moving average": ["training.ema_decay=0.99"],
        },
    ),
    # What may help with 29,000 pairs and ten minutes of one core, one by one; SimCut and R-Drop take twice as long.
    "recipes": (
        [
            "experiment=multi30k_transformer",
            "tokenizer.vocabulary_size=4000",
            "training.max_updates=2800",
            "training.validate_every=700",
            "training.checkpoint_every=140",
        ],
        {
            "plain": [],
            "updates of 512 tokens": ["training.update_tokens=512", "training.max_updates=5600"],
            "updates of 2,048 tokens": ["training.update_tokens=2048", "training.max_updates=1400"],
            "updates of 4,096 tokens": ["training.update_tokens=4096", "training.max_updates=700"],
            "1,000 pieces": ["tokenizer.vocabulary_size=1000"],
            "2,000 pieces": ["tokenizer.vocabulary_size=2000"],
            "8,000 pieces": ["tokenizer.vocabulary_size=8000"],
            "16,000 pieces": ["tokenizer.vocabulary_size=16000"],
            "dropout 0.1": ["model.dropout=0.1"],
            "dropout 0.3": ["model.dropout=0.3"],
            "half as wide": ["model.d_model=128", "model.d_ff=512"],
            "normalised after sub-layers": ["model.norm=post"],
            "likewise, a third of the rate": ["model.norm=post", "optimizer.learning_rate=0.0005"],
            "BPE-dropout": ["training.subword_sampling=0.1"],
            "SimCut": ["consistency=simcut"],
            "R-Drop": ["consistency=r_drop"],
            "Muon": ["optimizer=muon"],
            "warm-up, stable, decay": ["schedule=warmup_stable_decay", "schedule.warmup_updates=600"],
            "inverse square root": ["schedule=inverse_square_root", "schedule.warmup_updates=600"],
            "augmented": ["data/augment=usual"],
            "moving average": ["training.ema_decay=0.99"],
            "both directions": ["data.augment.exchange=0.5", "training.max_updates=1400"],
            "both directions, then one": [START + "both directions", "training.max_updates=1400"],
        },
    ),
}


def folder_of(table: Path, name: str, seed: int) -> Path:
    """Return the folder of the run of a row."""
    return table / re.sub(r"[ ,]+", "-", name) / f"seed-{seed}"


def overrides_of(table: Path, row: Sequence[str], seed: int) -> list[str]:
    """Return the overrides of a row; where it starts from another row, the folder of that run replaces its name."""
    return [
        f"{START}{folder_of(table, override.removeprefix(START), seed)}"
        if override.startswith(START)
        else override
        for override in row
    ]


def chosen_of(rows: dict[str, list[str]], only: Sequence[str] | None) -> list[str]:
    """Return the names in `only` and those of the rows that they start from, in the order of the table; None: all."""
    wanted = set(only or rows)
    for name in reversed(rows):  # a row starts from one before it
        if name in wanted:
            wanted |= {each.removeprefix(START) for each in rows[name] if each.startswith(START)}
    return [name for name in rows if name in wanted]


def train(folder: Path, overrides: list[str]) -> None:
    """Train a run by the real command line; one that was stopped goes on, and a finished one stays as it is."""
    command = [sys.executable, "-m", "nmt", "train", f"run={folder}", "resume=true", *overrides]
    if (code := subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode) != 0:
        raise SystemExit(code)  # the command has said why


def count_parameters(folder: Path) -> int:
    """Return the number of parameters in the best checkpoint."""
    step = json.loads((folder / "best.json").read_text(encoding="utf-8"))["step"]
    path = folder / "checkpoints" / f"step-{step:06d}" / "model.safetensors"
    with safe_open(path, "pt") as file:
        return sum(file.get_tensor(name).numel() for name in file.keys())  # noqa: SIM118


def figures_of(folder: Path, checkpoint: str = "best") -> list[float]:
    """Return three figures of BLEU, the number of parameters, and the median of tokens per second.

    BLEU is the highest of the validations while training, not of the weights that it began with, that of the test text,
    and that of the quarter of the test text with the longest sources.
    """
    run = RunDirectory.existing(str(folder))
    text = text_of_run("test", run)
    hypotheses = translate(text, run, checkpoint)
    order = sorted(range(len(text.source)), key=lambda i: len(text.source[i].split()))
    longest = order[-(len(order) // 4) :]
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    noted = [json.loads(line) for line in lines]
    return [
        max(one["bleu"] for one in noted if one["kind"] == "validation" and one["update"] > 0),
        bleu_of(order, text, hypotheses),
        bleu_of(longest, text, hypotheses),
        count_parameters(folder),
        statistics.median(one["tokens_per_second"] for one in noted if one["kind"] == "training"),
    ]


def row(folders: Sequence[Path], checkpoint: str = "best") -> str:
    """Return the cells of a row of the table, for runs that differ only in their seeds."""
    *scores, parameters, speeds = zip(*(figures_of(folder, checkpoint) for folder in folders), strict=True)
    cells = []
    for some in scores:
        spread = f" ± {statistics.stdev(some):.2f}" if len(some) > 1 else ""
        cells.append(f"{statistics.fmean(some):.2f}{spread}")
    return " | ".join([*cells, f"{parameters[0] / 1e6:.2f} M", f"{statistics.fmean(speeds):,.0f}"])


def main() -> None:
    """Train what is missing and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", metavar="NAME", help="a row; may be given several times")
    parser.add_argument("--seeds", type=positive, default=1)
    arguments, overrides = parser.parse_known_args()
    shared, rows = TABLES[arguments.table]
    if unknown := set(arguments.only or []) - set(rows):
        parser.error(f"--only: one of {', '.join(rows)} is needed; got {', '.join(sorted(unknown))}")
    print("| | validation BLEU | BLEU | BLEU, longest quarter | parameters | target tokens/s |")
    print("|---|---|---|---|---|---|")
    table, seeds = arguments.folder / arguments.table, range(1, arguments.seeds + 1)
    for name in chosen_of(rows, arguments.only):
        folders = [folder_of(table, name, seed) for seed in seeds]
        for seed, folder in zip(seeds, folders, strict=True):
            train(folder, [*shared, *overrides_of(table, rows[name], seed), f"seed={seed}", *overrides])
        print(f"| {name} | {row(folders)} |", flush=True)
        if arguments.table in ("training", "recipes") and name == "plain":
            print(f"| average of checkpoints | {row(folders, 'average')} |", flush=True)


if __name__ == "__main__":
    main()

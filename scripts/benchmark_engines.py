"""Speed of translating on the CPU: the same weights in this project and in the programs that it exports to.

usage: python scripts/benchmark_engines.py --run DIR --source FILE --reference FILE [--lines 1000] [--alone 50]
                                           [--rounds 2] [--threads CORES] [--only "NAME; …"] [--json FILE]

The run, with a shortlist, is exported to each format. Each engine, in a process of its own, translates the lines with
greedy search and with a beam of 5: all of them at once, and the first --alone lines one at a time. After a pass to warm
up, the engines take turns, so that a machine that gets slower slows all of them. Times include tokenisation: they go
from lines of text to lines of text. Tokens are those of the translations, segmented anew by the run's tokenizer for
every engine. An engine that is not installed or cannot hold the run is left out, with the reason on standard error.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

from arguments import file_to_write, positive
from measuring import spread

from nmt.config import EvaluationSettings
from nmt.data.lines import read_lines
from nmt.evaluation.scoring import corpus_bleu
from nmt.runs.directory import RunDirectory

WORKER = Path(__file__).with_name("engine_worker.py")
SCORING = EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a")
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"decoding": "greedy", "shortlist": False},
    "beam of 5": {
        "decoding": "beam", "beam_size": 5, "length_penalty": 1.0, "early_stopping": True, "shortlist": False,
    },
}  # fmt: skip
WARMING = 50  # lines of the pass that warms an engine up
# Rows of the table: the engine of the worker, the folder it loads, and whether its search is limited to the shortlist.
ROWS = {
    "nmt, float32": ("nmt float32", "run", False),
    "nmt, bfloat16": ("nmt bfloat16", "run", False),
    "nmt with CTranslate2, float32": ("nmt exported", "ctranslate2-float32", False),
    "nmt with CTranslate2, int8": ("nmt exported", "ctranslate2-int8", False),
    "nmt with CTranslate2, int8 and map": ("nmt exported", "ctranslate2-int8", True),
    "CTranslate2 by hand, float32": ("ctranslate2", "ctranslate2-float32", False),
    "CTranslate2 by hand, int8": ("ctranslate2", "ctranslate2-int8", False),
    "CTranslate2 by hand, int8 and map": ("ctranslate2", "ctranslate2-int8", True),
    "ONNX Runtime, float32": ("onnxruntime", "onnx-float32", False),
    "ONNX Runtime, int8": ("onnxruntime int8", "onnx-int8", False),
    "OpenVINO, float32": ("openvino", "onnx-float32", False),
    "transformers, float32": ("transformers", "huggingface-float32", False),
}


class Worker:
    """An engine in a process of its own; `left_out` says why it could not be loaded, None if it was."""

    def __init__(self, engine: str, folder: Path, threads: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, WORKER, engine, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        )
        self.left_out: str | None = self._answer().get("left_out")

    def translate(self, lines: list[str], at_once: int, search: dict[str, Any]) -> dict[str, Any]:
        """Return translations, seconds and the peak of memory."""
        assert self.process.stdin is not None
        print(
            json.dumps({"lines": lines, "at_once": at_once, "search": search}),
            file=self.process.stdin,
            flush=True,
        )
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return dict(json.loads(line)) if line else {"left_out": f"ended with code {self.process.wait()}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


def export(run: Path, folder: Path) -> dict[str, Path]:
    """Export the run to every format that can hold it; return the folders by their names in ROWS."""
    copied = folder / "run"
    shutil.copytree(run, copied)
    nmt = [sys.executable, "-m", "nmt"]
    if not (copied / "shortlist.txt").exists():
        subprocess.run([*nmt, "shortlist", f"run={copied}"], check=True, stdout=subprocess.DEVNULL)
    found = {"run": copied}
    for name in sorted({name for _, name, _ in ROWS.values()} - {"run"}):
        to, quantization = name.rsplit("-", 1)
        done = subprocess.run(
            [*nmt, "export", f"run={copied}", f"format={to}", f"quantization={quantization}",
             f"output={folder / name}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            found[name] = folder / name
            if to == "onnx":  # this export has its tokenizer only as JSON
                shutil.copy(copied / "tokenizer.model", found[name])
        else:
            print(f"left out: {name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    return found


def measure(arguments: argparse.Namespace, folders: dict[str, Path]) -> list[dict[str, Any]]:
    """Return the figures of all engines in all searches."""
    source, references = (
        read_lines(path, "text")[: arguments.lines] for path in (arguments.source, arguments.reference)
    )
    vocabulary = RunDirectory.existing(str(folders["run"])).read_tokenizer().target
    rows = []
    with contextlib.ExitStack() as stack:
        workers = {}
        for name, (engine, given, has_map) in ROWS.items():
            if given in folders and (arguments.only is None or name in arguments.only):
                worker = stack.enter_context(Worker(engine, folders[given], arguments.threads))
                if worker.left_out is None:
                    workers[name] = worker, has_map
                else:
                    print(f"left out: {name}: {worker.left_out}", file=sys.stderr)
        for search_name, search in SEARCHES.items():
            for lines, at_once in ((source, len(source)), (source[: arguments.alone], 1)):
                answers: dict[str, list[dict[str, Any]]] = {name: [] for name in workers}
                for turn in range(arguments.rounds + 1):
                    for name, (worker, has_map) in workers.items():
                        some = lines if turn else lines[:WARMING]
                        answer = worker.translate(some, at_once, search | {"shortlist": has_map})
                        if turn:
                            answers[name].append(answer)
                for name, own in answers.items():
                    texts = own[-1]["translations"]
                    tokens = sum(map(len, vocabulary.encode(texts)))
                    rates = [tokens / one["seconds"] for one in own]
                    rows.append(
                        {
                            "engine": name,
                            "search": search_name,
                            "lines_at_once": at_once,
                            "tokens_per_second": statistics.median(rates),
                            "spread": spread(rates),
                            "memory_gb": own[-1]["memory_gb"],
                            "bleu": corpus_bleu(texts, references[: len(texts)], SCORING),
                        }
                    )
                    print(f"{search_name}, {at_once} at once: {name}: {rows[-1]}", file=sys.stderr)
    return rows


def table(rows: list[dict[str, Any]], alone: int) -> str:
    """Return the figures as a table in Markdown."""
    lines = [
        f"| engine | search | tokens/s, all at once | spread | BLEU | tokens/s, {alone} lines one at a time | spread "
        "| memory, GB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row["lines_at_once"] > 1:
            (one,) = (
                other
                for other in rows
                if other["lines_at_once"] == 1
                and (other["engine"], other["search"]) == (row["engine"], row["search"])
            )
            lines.append(
                f"| {row['engine']} | {row['search']} | {row['tokens_per_second']:,.0f} | {row['spread']:.0%} "
                f"| {row['bleu']:.2f} | {one['tokens_per_second']:,.0f} | {one['spread']:.0%} "
                f"| {max(row['memory_gb'], one['memory_gb']):.2f} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Export, measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", required=True, type=Path)
    parser.add_argument("--source", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--lines", type=positive, default=1000)
    parser.add_argument("--alone", type=positive, default=50)
    parser.add_argument("--rounds", type=positive, default=2)
    parser.add_argument("--threads", type=positive, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=lambda text: [name.strip() for name in text.split(";")], help="A; B")
    parser.add_argument("--json", type=file_to_write)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(arguments, export(arguments.run, Path(folder)))
    print(table(rows, arguments.alone))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

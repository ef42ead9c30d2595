"""Speed of translating on the CPU: the same weights in this project, CTranslate2 and Hugging Face's transformers.

usage: python scripts/benchmark_decoding.py --run DIR --input FILE [--reference FILE] [--json FILE]
                                            [--engines nmt,ctranslate2,huggingface] [--batch-sizes 1,4,16,64,256]
                                            [--repeats N] [--threads N] [OVERRIDE ...]

Each engine translates FILE greedily and with a beam of 5, in each of its precisions and in a process of its own. All
search alike: the run's own length penalty and limits, no PAD, BOS or UNK. An override is checkpoint=NAME or one of
decoding.KEY, as for `nmt translate`. From lines of text to lines of text, so that segmenting is part of it in all
engines; tokens are the pieces of the translations, segmented anew in all alike, without EOS.

nmt has the batches of the run's own settings; the others have the fastest of a few sizes, and CTranslate2 the faster of
one batch on all threads and several at once. An engine that is not installed (pip install '.[benchmarks]') or does not
fit the run is left out, and it is said why.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arguments import file_to_write, positive
from bleu_by_length import SCORING, buckets
from decoding_engine import ENGINES, NAMES, Task
from decoding_workers import Groups, Variant, Worker, in_turns
from measuring import spread

from nmt.cli.compose import compose
from nmt.config import BeamSettings, DecodingSettings, TranslateSettings
from nmt.config.check import check
from nmt.data.lines import read_lines
from nmt.data.tokenizer import Tokenizer
from nmt.errors import DataError, SettingsError, UserError
from nmt.evaluation.model import validation_search
from nmt.evaluation.scoring import corpus_bleu
from nmt.export.output import TokenNames, write_model
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import RunDirectory

PRECISIONS = {
    "nmt": ("auto", "float32", "int8"),
    "ctranslate2": ("float32", "int8"),
    "huggingface": ("float32", "bfloat16"),
}
TABLE_REPEATS = 2
LINES_OF_BUCKET = 200  # at most


class Benchmark:
    """One text, translated in one way of searching after the other; `left_out` says which engines are not there."""

    def __init__(
        self, lines: list[str], references: list[str] | None, tokenizer: Tokenizer, num_repeats: int
    ) -> None:
        self.lines, self.references, self.tokenizer = lines, references, tokenizer
        self.num_repeats = num_repeats
        self.left_out: dict[str, str] = {}

    def measure(self, tasks: list[Task], batch_sizes: list[int]) -> dict[str, list[dict[str, Any]]]:
        """Return the rows of the tables for one way of searching; none, where no engine is left."""
        print(f"{tasks[0].decoding['kind']}: sizes of batches, lengths of sentences", file=sys.stderr)
        with contextlib.ExitStack() as stack:
            workers = []
            for task in tasks:
                name = f"{task.engine} {task.precision}"
                if name not in self.left_out:
                    worker = stack.enter_context(Worker(task))
                    if "left_out" in worker.facts:
                        self.leave_out(name, worker.facts["left_out"])
                    else:
                        workers.append(worker)
            if not workers:
                return {}
            by_variant: dict[Variant, list[Worker]] = {}
            for worker in workers:
                worker.tune(self.lines)
                by_variant.setdefault(worker.variant, []).append(worker)
            by_batch_size = [
                {"batch_size": size, **self._speeds(workers, self._in_groups(size))} for size in batch_sizes
            ]
            by_length = [
                {"source_words": words, **self._speeds(workers, [[self.lines[i] for i in indices]])}
                for words, indices in self._buckets().items()
            ]
        print(f"{tasks[0].decoding['kind']}: the whole text in turns", file=sys.stderr)
        with contextlib.ExitStack() as stack:  # afresh, so that what was tried leaves no trace in the memory
            fastest = [min(tuned, key=lambda worker: worker.seconds) for tuned in by_variant.values()]
            chosen = [stack.enter_context(Worker(worker.task, worker.batch_tokens)) for worker in fastest]
            answers = in_turns(chosen, [self.lines], self.num_repeats)
        results = self._results(chosen, answers)
        for row, tuned in zip(results, by_variant.values(), strict=True):
            row["first_line_seconds"] = min(worker.first_seconds for worker in tuned)
        return {"results": results, "by_batch_size": by_batch_size, "by_source_words": by_length}

    def leave_out(self, name: str, reason: str) -> None:
        """Say why an engine is not there in a precision, and try it no more."""
        print(f"left out: {name}: {reason}", file=sys.stderr)
        self.left_out[name] = reason

    def _results(self, workers: list[Worker], answers: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """Return the figures of each engine in each precision."""
        translations = {
            worker.variant: own[-1]["translations"][0] for worker, own in zip(workers, answers, strict=True)
        }
        rows = []
        for worker, own in zip(workers, answers, strict=True):
            hypotheses = translations[worker.variant]
            num_tokens = self._count_tokens([hypotheses])
            rates = [num_tokens / answer["seconds"] for answer in own]
            row = {
                "engine": worker.task.engine,
                "precision": worker.task.precision,
                "computes_in": worker.facts["computes_in"],
                "batch_tokens": worker.batch_tokens,
                "batches_at_once": worker.task.at_once,
                "output_tokens_per_second": statistics.median(rates),
                "sentences_per_second": len(self.lines) / statistics.median(a["seconds"] for a in own),
                "spread": spread(rates),
                "peak_memory_gb": own[-1]["peak_memory_gb"],
            }
            if self.references is not None:
                row["bleu"] = corpus_bleu(hypotheses, self.references, SCORING)
            for precision in PRECISIONS["nmt"]:
                if ours := translations.get(("nmt", precision)):
                    share = sum(map(str.__eq__, hypotheses, ours)) / len(ours)
                    row[f"identical_to_nmt_{precision}"] = share
            rows.append(row)
        return rows

    def _speeds(self, workers: list[Worker], groups: Groups) -> dict[str, float]:
        """Return the tokens per second of each engine in each precision, of its fastest process."""
        speeds: dict[str, float] = {}
        for worker, answers in zip(workers, in_turns(workers, groups, TABLE_REPEATS), strict=True):
            name = " ".join(worker.variant)
            seconds = statistics.median(answer["seconds"] for answer in answers)
            num_tokens = self._count_tokens(answers[0]["translations"])
            speeds[name] = max(speeds.get(name, 0.0), num_tokens / seconds)
        return speeds

    def _count_tokens(self, groups: Groups) -> int:
        return sum(len(ids) for lines in groups for ids in self.tokenizer.target.encode(lines))

    def _in_groups(self, size: int) -> Groups:
        """Return some of the lines in groups of `size`, those of about one length together."""
        num_lines = min(len(self.lines), max(64, 4 * size))
        some = [self.lines[i * len(self.lines) // num_lines] for i in range(num_lines)]
        some.sort(key=len)
        return [some[start : start + size] for start in range(0, num_lines, size)]

    def _buckets(self) -> dict[str, list[int]]:
        return {words: indices[:LINES_OF_BUCKET] for words, indices in buckets(self.lines).items()}


def read_search(run: RunDirectory, overrides: list[str]) -> tuple[str, BeamSettings]:
    """Return the checkpoint, and the beam search of the run with what was typed. Raises UserError for what is wrong."""
    for override in overrides:
        if not override.startswith(("checkpoint=", "decoding.")):
            raise SettingsError(f"checkpoint=NAME or decoding.KEY=VALUE is needed; got {override}")
    own = run.read_model_settings().decoding
    base = ["decoding.beam_size=5"] if isinstance(own, BeamSettings) else ["decoding=beam"]
    values = compose("translate", [f"run={run.path}", *base, *overrides], None).values
    settings = check(TranslateSettings, values)
    assert isinstance(settings.decoding, BeamSettings)
    return settings.checkpoint, settings.decoding


def export(folder: Path, model: Seq2Seq, tokenizer: Tokenizer) -> None:
    """Write CTranslate2's models, a folder for each precision. Raises UserError where it has none that fits."""
    for precision in ("float32", "int8"):
        path = folder / precision
        path.mkdir()
        write_model(path, model, tokenizer, precision)
        names = TokenNames.of(tokenizer)
        facts = {"source": names.source, "target": names.target, "max_positions": model.max_positions}
        (path / NAMES).write_text(json.dumps(facts), encoding="utf-8")


def tasks_of(
    engines: Sequence[str],
    run: RunDirectory,
    checkpoint: str,
    decoding: DecodingSettings,
    threads: int,
    folder: Path,
) -> list[Task]:
    """Return what is tried for one way of searching."""
    tasks = []
    for engine in engines:
        for precision in PRECISIONS[engine]:
            task = Task(engine, precision, str(run.path), checkpoint, decoding.model_dump(), threads)
            if engine == "ctranslate2":
                task = replace(task, exported=str(folder / precision))
                if threads > 1:
                    tasks.append(replace(task, at_once=threads))
            tasks.append(task)
    return tasks


def benchmark(arguments: argparse.Namespace, overrides: list[str]) -> dict[str, Any]:
    """Measure all that was asked for. Raises UserError for what is wrong with it."""
    run = RunDirectory.existing(arguments.run)
    checkpoint, beam = read_search(run, overrides)
    lines = read_lines(arguments.input, "--input")
    if not any(line.strip() for line in lines):
        raise DataError(f"--input: text is needed; got none in {arguments.input}")
    references = None if arguments.reference is None else read_lines(arguments.reference, "--reference")
    if references is not None and len(references) != len(lines):
        raise DataError(
            f"--reference: as many lines as in --input are needed, {len(lines)}; got {len(references)}"
        )
    model, tokenizer = run.load_model(checkpoint)
    measured = Benchmark(lines, references, tokenizer, arguments.repeats)
    tables: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as name:
        if "ctranslate2" in arguments.engines:
            try:
                export(Path(name), model, tokenizer)
            except UserError as error:
                for precision in PRECISIONS["ctranslate2"]:
                    measured.leave_out(f"ctranslate2 {precision}", str(error))
        for decoding in (validation_search(beam), beam):
            tasks = tasks_of(arguments.engines, run, checkpoint, decoding, arguments.threads, Path(name))
            for title, rows in measured.measure(tasks, arguments.batch_sizes).items():
                beam_size = decoding.model_dump().get("beam_size", 1)
                tables.setdefault(title, []).extend({"beam_size": beam_size, **row} for row in rows)
    if not tables:
        raise UserError(f"--engines: one that can be measured is needed; got {','.join(arguments.engines)}")
    facts = {"run": str(run.path), "num_lines": len(lines), "threads": arguments.threads}
    return {**facts, "left_out": measured.left_out, **tables}


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print rows of figures, a column for each key."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    print(f"| {' | '.join(column.replace('_', ' ') for column in columns)} |")
    print("|---" * len(columns) + "|")
    for row in rows:
        print(f"| {' | '.join(_shown(row.get(column)) for column in columns)} |")
    print(flush=True)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return str(value)


def engine_names(text: str) -> list[str]:
    """Read names of engines, with commas."""
    names = text.split(",")
    if wrong := [name for name in names if name not in ENGINES]:
        raise argparse.ArgumentTypeError(f"some of {', '.join(ENGINES)} are needed; got {wrong[0]}")
    return names


def numbers(text: str) -> list[int]:
    """Read positive numbers, with commas."""
    return [positive(number) for number in text.split(",")]


def main() -> None:
    """Measure, print tables, write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--reference", help="to score BLEU with")
    parser.add_argument("--json", type=file_to_write)
    parser.add_argument("--engines", type=engine_names, default=list(ENGINES))
    parser.add_argument(
        "--batch-sizes", type=numbers, default=[1, 4, 16, 64, 256], help="lines given at once"
    )
    parser.add_argument("--repeats", type=positive, default=5)
    parser.add_argument("--threads", type=positive, default=os.cpu_count() or 1)
    arguments, overrides = parser.parse_known_args()
    try:
        figures = benchmark(arguments, overrides)
    except UserError as error:
        print(f"nmt: {error}", file=sys.stderr)
        sys.exit(2)
    for title in ("results", "by_batch_size", "by_source_words"):
        print_table(figures[title])
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

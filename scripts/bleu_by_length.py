"""BLEU of several runs by the length of the source sentence, as a table.

usage: python scripts/bleu_by_length.py RUN [RUN ...]

All runs translate the test text of the first one, each with its best checkpoint and by its own search.
"""

import argparse
from collections.abc import Sequence

from arguments import in_one_line

from nmt.config import EvaluationSettings
from nmt.config.check import check
from nmt.data.corpus import ParallelText
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.device import choose_precision, prepare_device
from nmt.evaluation.buckets import count_words, sort_into_buckets
from nmt.evaluation.scoring import corpus_bleu
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model
from nmt.runs.text import tagged_for, text_of_run

LONGEST_WORDS = (5, 10, 15, 20, 25, 30, 40)
SCORING = check(EvaluationSettings, {"lowercase": False, "ter_case_sensitive": False, "tokenize": "13a"})


def buckets(sources: Sequence[str]) -> dict[str, list[int]]:
    """Group the indices of sentences by their number of words; empty groups are left out."""
    found = sort_into_buckets(count_words(sources), LONGEST_WORDS)
    return {bucket.name: bucket.lines for bucket in found if bucket.lines}


def translate(text: ParallelText, run: RunDirectory, checkpoint: str = "best") -> list[str]:
    """Return a run's translation of the source of a test text, with the tags that it needs, by the run's own search."""
    device = prepare_device("auto")
    model, tokenizer = load_model(run, checkpoint)
    search = run.read_model_settings().decoding
    translator = Translator(TorchEngine(model, tokenizer, device, choose_precision("auto", device)), search)
    return list(translator.translate(tagged_for(run, text, "test").source))


def bleu_of(indices: list[int], text: ParallelText, hypotheses: list[str]) -> float:
    """Return BLEU of the sentences with these indices."""
    return corpus_bleu([hypotheses[i] for i in indices], [text.target[i] for i in indices], SCORING)


def main() -> None:
    """Print a table: a row for each range of lengths, a column for each run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", metavar="RUN")
    names = parser.parse_args().runs
    with in_one_line():
        runs = [RunDirectory.existing(name) for name in names]  # all, before the first translates
        text = text_of_run("test", runs[0], with_tags=False)
        groups = {**buckets(text.source), "all": list(range(len(text.source)))}
        columns = [translate(text, run) for run in runs]
    print("| source words | sentences | " + " | ".join(names) + " |")
    print("|---|---|" + "---|" * len(names))
    for label, indices in groups.items():
        scores = " | ".join(f"{bleu_of(indices, text, hypotheses):.1f}" for hypotheses in columns)
        print(f"| {label} | {len(indices)} | {scores} |")


if __name__ == "__main__":
    main()

"""`nmt shortlist`: which target tokens are likely for each source token, learned from the text of a run."""

from pathlib import Path

import numpy as np

from nmt.config import ShortlistSettings
from nmt.data.arrays import Int64Array
from nmt.data.cleaning import prepare_corpus
from nmt.data.dataset import Dataset, load_dataset, select_pairs
from nmt.data.lexicon import learn_lexicon
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.shortlist import NUM_SPECIAL, Shortlist
from nmt.decoding.vocabulary_map import written_names
from nmt.files.writing import require_new_file, write_atomically
from nmt.runs.directory import RunDirectory
from nmt.runs.text import corpus_of_run, data_of_run

SENTENCES_OF_BATCH = 64


def main(settings: ShortlistSettings) -> None:
    """Learn a shortlist from the training text of a run, write it, and print how well it covers validation text."""
    run = RunDirectory.existing(settings.run)
    path = run.shortlist_path if settings.output is None else Path(settings.output)
    require_new_file("output", str(path), settings.overwrite)
    tokenizer = run.read_tokenizer()
    data = data_of_run(run)
    corpus = prepare_corpus(corpus_of_run(run), data.filter).corpus
    pairs = load_dataset(corpus.train, tokenizer)
    selected, _ = select_pairs(pairs, data.max_length)
    rows = selected[:: -(-len(selected) // settings.max_pairs)]
    shortlist = make_shortlist(pairs.take(np.asarray(rows)), tokenizer, settings)
    write_atomically(path, shortlist.to_bytes(tokenizer.source))
    shortlist = Shortlist.read(path, tokenizer)  # what is in the file is measured
    part = "" if len(rows) == len(selected) else f", at even distances of {len(selected)}"
    print(f"{'pairs':8} {len(rows):7d}  of training text that it was learned from{part}")
    for name, side in (("source", tokenizer.source), ("target", tokenizer.target)):
        if num_unwritten := side.size - len(written_names(side)) - NUM_SPECIAL:
            print(f"{name:8} {num_unwritten:7d}  tokens with a space in their name are left out")
    validation = load_dataset(corpus.validation, tokenizer)
    for size in (1, SENTENCES_OF_BATCH):
        share, num_words = coverage(shortlist, validation, size)
        of = "a sentence" if size == 1 else f"{size} sentences together"
        print(f"{'coverage':8} {share:7.2%}  of the target tokens of validation text, for {of}")
        print(f"{'size':8} {num_words:7.0f}  of {tokenizer.target.size} target tokens, for {of}")
    is_of_run = path.resolve() == run.shortlist_path.resolve()
    use = f"nmt translate run={settings.run} decoding.shortlist=true uses it"
    print(f"{path} is written; {use if is_of_run else f'as {run.shortlist_path}, {use}'}")


def make_shortlist(pairs: Dataset, tokenizer: Tokenizer, settings: ShortlistSettings) -> Shortlist:
    """Learn from pairs of token ids the most frequent target tokens, and the most probable for each source token."""
    sizes = tokenizer.source.size, tokenizer.target.size
    counts = np.bincount(pairs.target.tokens.numpy(), minlength=sizes[1])
    frequent = np.argsort(-counts, kind="stable")[: settings.num_frequent]
    lexicon = learn_lexicon(pairs, *sizes, settings.num_iterations)
    return Shortlist(tokenizer.target, frequent.tolist(), lexicon.best(settings.num_targets, sizes[0]))


def coverage(shortlist: Shortlist, pairs: Dataset, num_sentences: int) -> tuple[float, float]:
    """Return the share of target tokens in the shortlist of `num_sentences` sentences together, and its mean size."""
    num_covered, sizes = 0, []
    for start in range(0, len(pairs), num_sentences):
        part = pairs.take(np.arange(start, min(start + num_sentences, len(pairs))))
        words: Int64Array = shortlist.choose([part.source.tokens.tolist()])
        num_covered += int(np.isin(part.target.tokens.numpy(), words).sum())
        sizes.append(len(words))
    return num_covered / max(1, len(pairs.target.tokens)), float(np.mean(sizes))

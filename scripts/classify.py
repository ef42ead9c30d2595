"""Sentence classification: an encoder of nmt, the mean of its states, and one linear layer.

usage: python scripts/classify.py [PATH] [--encoder transformer|recurrent] [--epochs N] ...

PATH is what `datasets.load_dataset` takes: a data set's name or folder, or the format of files of your own:

  python scripts/classify.py csv --data-files train=train.csv test=test.csv --text-column review --label-column stars

Labels may be numbers or words. After each epoch the accuracy on the test split is printed.
"""

import argparse
import json
import sys
from collections import Counter
from itertools import chain
from typing import Any

import torch
from arguments import file_to_write, positive, seed
from torch import Tensor, nn
from torch.nn import functional
from tqdm import tqdm

from nmt.cli.compose import compose
from nmt.config import TrainSettings
from nmt.config.check import check
from nmt.data.batching import pad_with_end, plan_by_length, plan_epoch
from nmt.data.corpus import ParallelText
from nmt.data.dataset import Ids
from nmt.data.tokenizer import Vocabulary, obtain_tokenizer
from nmt.device import prepare_device
from nmt.errors import DataError, UserError, first_line
from nmt.models.layers import Embedding, LayerOptions
from nmt.models.recurrent import RecurrentEncoder
from nmt.models.transformer import TransformerEncoder
from nmt.versions import importing

LEARNING_RATE = 1e-3  # the highest, reached after 30 % of training


class Classifier(nn.Module):
    """An embedding, an encoder, the mean of its states, and a linear layer with a logit for each class."""

    def __init__(
        self, encoder: str, vocabulary_size: int, num_classes: int, max_positions: int, width: int = 128
    ) -> None:
        super().__init__()
        self.embedding = Embedding(vocabulary_size, width)
        self.encoder: TransformerEncoder | RecurrentEncoder
        if encoder == "transformer":
            options = LayerOptions(d_model=width, d_ff=4 * width, num_heads=4)
            self.encoder = TransformerEncoder(2, options, max_positions)
        else:
            self.encoder = RecurrentEncoder("lstm", width, width // 2, 1, bidirectional=True, dropout=0.1)
        self.output = nn.Linear(width, num_classes)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return logits (B, classes) for token ids (B, L) of sentences of `lengths` (B, on the host)."""
        return self.output(masked_mean(self.encoder.read(self.embedding(ids), lengths), lengths))


def masked_mean(states: Tensor, lengths: Tensor) -> Tensor:
    """Return the mean (B, D) of states (B, L, D) over the positions inside each sentence.

    States of padding are left out: with them, the result would depend on how far a sentence is padded.
    """
    lengths = lengths.to(states.device).unsqueeze(1)  # (B, 1)
    inside = torch.arange(states.shape[1], device=states.device) < lengths  # (B, L)
    return states.masked_fill(~inside.unsqueeze(2), 0).sum(1) / lengths


def load_splits(arguments: argparse.Namespace) -> list[tuple[list[str], list[Any]]]:
    """Load the texts and labels of the training split and of the test split. Raises DataError if that fails."""
    with importing("hub", "data"):
        import datasets  # here, since it takes seconds that --help can do without

    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    files = dict(pair.split("=", 1) for pair in arguments.data_files) if arguments.data_files else None
    try:
        splits = datasets.load_dataset(arguments.path, arguments.name, data_files=files)
    except Exception as error:  # its loaders, its cache and the network raise errors of many classes
        is_about_files = isinstance(error, datasets.exceptions.DatasetGenerationError)
        cause = error.__cause__ if is_about_files and error.__cause__ else error
        raise DataError(f"PATH: a data set is needed; got {arguments.path}: {first_line(cause)}") from None
    return [select(splits, split, arguments) for split in (arguments.train_split, arguments.test_split)]


def select(splits: Any, split: str, arguments: argparse.Namespace) -> tuple[list[str], list[Any]]:
    """Return texts and labels of one split. Raises DataError where there are none."""
    if split not in splits:
        raise DataError(f"split: one of {', '.join(splits)} is needed; got {split}")
    rows = splits[split]
    for column in (arguments.text_column, arguments.label_column):
        if column not in rows.column_names:
            raise DataError(f"column: one of {', '.join(rows.column_names)} is needed; got {column}")
    texts, labels = [" ".join(str(text or "").split()) for text in rows[arguments.text_column]], []
    for number, label in enumerate(rows[arguments.label_column], start=1):
        if not isinstance(label, int | float | str):
            raise DataError(f"{split}, row {number}: a label, number or word, is needed; got {label}")
        labels.append(label)
    if not labels:
        raise DataError(f"split: sentences are needed; got none in {split}")
    return texts, labels


def make_ids(vocabulary: Vocabulary, texts: list[str], max_length: int) -> tuple[Ids, int]:
    """Return the token ids of the texts, and how many texts had to be cut to `max_length` tokens."""
    sentences = vocabulary.encode(texts)
    num_cut = sum(len(sentence) > max_length for sentence in sentences)
    return Ids.of([sentence[:max_length] for sentence in sentences]), num_cut


@torch.no_grad()
def accuracy(model: Classifier, vocabulary: Vocabulary, ids: Ids, labels: Tensor, batch_tokens: int) -> float:
    """Return the share of sentences whose class the model finds."""
    model.eval()
    num_right = 0
    for rows in plan_by_length(ids.lengths + 1, batch_tokens):
        batch = pad_with_end(ids, rows, vocabulary.pad_id, vocabulary.eos_id)
        found = model(batch.ids.to(labels.device), batch.lengths).argmax(1)
        num_right += int((found == labels[rows]).sum())
    return num_right / len(labels)


def classify(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train on one split, print the accuracy on the other after each epoch, and return the figures."""
    (texts, labels), (test_texts, test_labels) = load_splits(arguments)
    classes = {label: number for number, label in enumerate(sorted(set(labels)))}
    known = ", ".join(map(str, classes))
    if len(classes) < 2:
        raise DataError(f"{arguments.label_column}: two labels or more are needed; got {known}")
    if unknown := set(test_labels) - classes.keys():
        raise DataError(f"{arguments.label_column}: one of {known} is needed to test; got {unknown.pop()}")
    overrides = ["tokenizer=bpe", f"tokenizer.vocabulary_size={arguments.vocabulary_size}"]
    settings = check(TrainSettings, compose("train", overrides, None).values)
    vocabulary = obtain_tokenizer(settings.tokenizer, ParallelText(texts, [])).source
    ids, num_cut = make_ids(vocabulary, texts, arguments.max_length)
    test_ids, num_test_cut = make_ids(vocabulary, test_texts, arguments.max_length)
    for name, num, cut in (("training", len(texts), num_cut), ("testing", len(test_texts), num_test_cut)):
        print(f"{name}: {num:,} sentences, {cut:,} of them cut to {arguments.max_length} tokens")

    torch.manual_seed(arguments.seed)
    device = prepare_device("auto")
    model = Classifier(arguments.encoder, vocabulary.size, len(classes), arguments.max_length + 1).to(device)
    targets, test_targets = (
        torch.tensor([classes[label] for label in each], device=device) for each in (labels, test_labels)
    )
    # Each batch has sentences of about the same length; each epoch draws the order anew. Lengths count EOS.
    lengths, size = ids.lengths + 1, arguments.batch_tokens
    plans = [
        list(chain.from_iterable(plan_epoch(arguments.seed, epoch, lengths, lengths, size).within(2 * size)))
        for epoch in range(arguments.epochs)
    ]
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, sum(map(len, plans)))
    accuracies = []
    for epoch, plan in enumerate(plans, start=1):
        model.train()
        losses = []
        for rows in tqdm(plan, f"epoch {epoch}", leave=False, disable=None):
            batch = pad_with_end(ids, rows, vocabulary.pad_id, vocabulary.eos_id)
            loss = functional.cross_entropy(model(batch.ids.to(device), batch.lengths), targets[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.detach())
        accuracies.append(accuracy(model, vocabulary, test_ids, test_targets, size))
        mean_loss = float(torch.stack(losses).mean())
        print(f"epoch {epoch}: loss {mean_loss:.3f}, accuracy {accuracies[-1]:.4f}", flush=True)
    majority = max(Counter(test_labels).values()) / len(test_labels)
    print(f"always the most frequent class: accuracy {majority:.4f}")
    return {"accuracy": accuracies, "majority": majority, "num_cut": num_cut, "num_test_cut": num_test_cut}


def main() -> None:
    """Read the options, train and test, write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", nargs="?", default="stanfordnlp/imdb", metavar="PATH")
    parser.add_argument("--name", help="of a part of the data set")
    parser.add_argument("--data-files", nargs="+", metavar="SPLIT=FILE")
    parser.add_argument("--text-column", default="text")
    parser.add_argument("--label-column", default="label")
    parser.add_argument("--train-split", default="train")
    parser.add_argument("--test-split", default="test")
    parser.add_argument("--encoder", choices=("transformer", "recurrent"), default="transformer")
    parser.add_argument("--epochs", type=positive, default=5)
    parser.add_argument("--batch-tokens", type=positive, default=4096, help="per update")
    parser.add_argument("--vocabulary-size", type=positive, default=8000)
    parser.add_argument("--max-length", type=positive, default=400, help="tokens; longer sentences are cut")
    parser.add_argument("--seed", type=seed, default=1)
    parser.add_argument("--json", type=file_to_write)
    arguments = parser.parse_args()
    if any("=" not in pair for pair in arguments.data_files or []):
        parser.error("--data-files: SPLIT=FILE is needed")
    try:
        figures = classify(arguments)
    except UserError as error:
        message = str(error).replace("tokenizer.vocabulary_size", "--vocabulary-size")
        print(f"nmt: {message}", file=sys.stderr)
        sys.exit(2)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

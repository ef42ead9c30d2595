"""Text that is trained on a part at a time: each pair once an epoch, and a run goes on within a part."""

import numpy as np
import pytest
import torch

from nmt import grammar
from nmt.data import corpus
from nmt.data.dataset import Dataset, Ids
from nmt.training import epochs, pairs
from nmt.training.pairs import TrainingPairs

WAYS = {"plain": [], "sampled": ["training.subword_sampling=0.3"]}


@pytest.fixture
def small_parts(monkeypatch):
    """Let a part hold 30 pairs, and another process lay out the next part."""
    monkeypatch.setattr(pairs, "PAIRS_OF_PART", 30)
    monkeypatch.setattr(epochs, "WORTH_A_PROCESS", -1.0)


def make_dataset(size):
    generator = np.random.default_rng(1)
    sides = [[generator.integers(4, 9, generator.integers(1, 9)).tolist() for _ in range(size)] for _ in "st"]
    return Dataset(*map(Ids.of, sides)), sides


def sentences(ids, rows):
    return [ids.tokens[ids.offsets[row] : ids.offsets[row + 1]].tolist() for row in rows]


@pytest.mark.parametrize("num_pairs", [1, 29, 30, 31, 100])
@pytest.mark.parametrize("way", ["plain", "repeated", "sampled"])
def test_the_parts_of_an_epoch_are_all_pairs(num_pairs, way, small_parts):
    dataset, sides = make_dataset(num_pairs + 5)
    selected = np.random.default_rng(2).permutation(num_pairs + 5)[:num_pairs]
    selected.sort()
    asked = []

    def sample(plain, number):
        asked.append(number)
        return plain

    rows = selected.repeat(2) if way == "repeated" else selected
    training = TrainingPairs(dataset, rows, torch.device("cpu"), sample if way == "sampled" else None)
    assert training.num_parts == -(-len(rows) // 30)
    for epoch in range(2):
        found = []
        for number in range(epoch * training.num_parts, (epoch + 1) * training.num_parts):
            part = training.segment(number)
            training.enter(part)
            assert 1 <= len(part.rows) <= 30
            source, target = (
                sentences(ids, training.rows) for ids in (training.dataset.source, training.dataset.target)
            )
            assert training.target_lengths.tolist() == [len(line) + 1 for line in target]
            assert training.longer_lengths.tolist() == [
                max(len(one), len(other)) + 1 for one, other in zip(source, target, strict=True)
            ]
            found += zip(source, target, strict=True)
        expected = [(sides[0][row], sides[1][row]) for row in selected] * (2 if way == "repeated" else 1)
        assert sorted(found) == sorted(expected)
    assert training.totals() == (
        len(expected),
        sum(len(one) + 1 for one, _ in expected),
        sum(len(other) + 1 for _, other in expected),
    )
    assert asked == (list(range(2 * training.num_parts)) if way == "sampled" else [])


def test_training_goes_through_all_parts_in_each_epoch(make_trainer, monkeypatch):
    monkeypatch.setattr(pairs, "PAIRS_OF_PART", 7)
    trainer = make_trainer("training.update_tokens=12")
    assert trainer.pairs.num_parts == 3
    seen = {}
    for update in trainer._updates():
        progress = trainer.progress
        # The progress may already be in the next part, but the pairs are still those of this one.
        number = trainer.epochs._number
        seen.setdefault(number // 3, []).extend(trainer.pairs.rows[np.concatenate(update)].tolist())
        if progress.epoch == 2:
            break
    assert [sorted(rows) for rows in seen.values()] == [list(range(20))] * 2


@pytest.mark.parametrize("way", WAYS)
def test_a_run_goes_on_within_a_part(way, small_parts, train_in):
    given = [*WAYS[way], "training.max_tokens=auto", "training.update_tokens=200"]
    whole = train_in("whole", "training.max_updates=21", *given)
    assert "parts of about" in (whole / "train.log").read_text()
    for max_updates in (1, 3, 10, 21):
        interrupted = train_in("parts", f"training.max_updates={max_updates}", *given)
    for name in ("model.safetensors", "training.safetensors"):
        one, other = (run / "checkpoints" / "step-000021" / name for run in (whole, interrupted))
        assert one.read_bytes() == other.read_bytes()


def test_a_run_on_stored_text_is_one_on_held_text(train_in, outcome, changed_files, tmp_path, monkeypatch):
    for split, text in grammar.generate(3, 200, 6, 4).items():
        (tmp_path / f"{split}.de").write_text("".join(f"{pair.source}\n" for pair in text))
        (tmp_path / f"{split}.en").write_text("".join(f"{pair.target}\n" for pair in text))
    files = [
        f"data.{split}.{side}={tmp_path}/{split}.{language}"
        for split in ("train", "validation", "test")
        for side, language in (("source", "de"), ("target", "en"))
    ]
    given = ["data=files", *files, "data.max_length=24", "tokenizer.vocabulary_size=200"]
    given += ["data.filter.duplicates=pair", "data.filter.max_words=9", "training.max_updates=6"]
    held = train_in("held", *given)
    monkeypatch.setattr(corpus, "LARGE", 0)
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    stored = train_in("stored", *given)
    assert {path.name.split("-")[0] for path in (tmp_path / "cache").iterdir()} >= {"text", "prepared"}
    assert changed_files(outcome(held), outcome(stored)) == []

"""Batches: what a plan promises, and what a batch holds."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import TokenizerSettings
from nmt.data.batching import collate, padding_share, plan_by_length, plan_epoch
from nmt.data.corpus import read_parallel_files
from nmt.data.dataset import Dataset, Ids, load_dataset
from nmt.data.tokenizer import Tokenizer, obtain_tokenizer

lengths_of_pairs = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=200)


class FakeVocabulary:
    pad_id, unk_id, bos_id, eos_id, size = 0, 1, 2, 3, 50


def sides(pairs):
    source, target = np.array(pairs).T
    return source, target


@given(lengths_of_pairs, st.integers(1, 300), st.integers(1, 300), st.integers(0, 3))
def test_a_plan_holds_every_pair_once_within_its_budgets(pairs, update_tokens, max_tokens, epoch):
    source, target = sides(pairs)
    plan = plan_epoch(1, epoch, source, target, update_tokens).within(max_tokens)
    assert sorted(int(i) for update in plan for rows in update for i in rows) == list(range(len(pairs)))
    for update in plan:
        rows_of_update = np.concatenate(update)
        assert target[rows_of_update].sum() <= update_tokens or len(rows_of_update) == 1
        for rows in update:
            assert max(source[rows].max(), target[rows].max()) * len(rows) <= max_tokens or len(rows) == 1


def halved(pairs, num_parts, update_tokens):
    """Cut pairs (index, source length, target length) as a k-d tree would, with Python's own sort."""
    num_tokens = sum(target for _, _, target in pairs)
    if num_parts == 1 and num_tokens > update_tokens:
        num_parts = 2
    if num_parts == 1 or len(pairs) == 1:
        return [[index for index, _, _ in pairs]]
    cuts = []
    for side in (1, 2):
        ordered = sorted(pairs, key=lambda pair: pair[side])
        ends = list(itertools.accumulate(target for _, _, target in ordered))
        middle = sum(end < num_tokens * (num_parts // 2) / num_parts for end in ends)
        middle = min(max(middle, 1), len(pairs) - 1)
        halves = ordered[:middle], ordered[middle:]
        cells = sum(
            len(half) * (max(source for _, source, _ in half) + max(target for _, _, target in half))
            for half in halves
        )
        cuts.append((cells, side, halves))
    _, _, (left, right) = min(cuts)
    num_left = num_parts // 2
    return [*halved(left, num_left, update_tokens), *halved(right, num_parts - num_left, update_tokens)]


@given(lengths_of_pairs, st.integers(61, 300), st.sampled_from([1, 5, 1200]))
def test_a_plan_is_that_of_a_tree_cut_by_hand(pairs, update_tokens, scale):
    pairs = [(scale * source, target) for source, target in pairs]  # lengths that take one byte, two or four
    source, target = sides(pairs)
    generator = np.random.Generator(np.random.PCG64([1, 2]))
    order = generator.permutation(len(pairs))
    num_parts = -(-int(target.sum()) // int(max(1.0, update_tokens - target.mean())))
    parts = halved([(int(i), int(source[i]), int(target[i])) for i in order], num_parts, update_tokens)
    expected = [parts[i] for i in generator.permutation(len(parts))]
    plan = plan_epoch(1, 2, source, target, update_tokens).within(10**9)
    assert [rows.tolist() for rows in plan.plan.updates] == expected


def test_a_plan_depends_on_seed_and_epoch_alone():
    generator = np.random.default_rng(0)
    source, target = generator.integers(3, 30, (2, 500))
    flat = [
        [
            rows.tolist()
            for update in plan_epoch(seed, epoch, source, target, 200).within(10_000)
            for rows in update
        ]
        for seed, epoch in ((1, 0), (1, 0), (1, 1), (2, 0))
    ]
    assert flat[0] == flat[1]
    assert flat[0] != flat[2]
    assert flat[0] != flat[3]


def test_what_fits_in_memory_does_not_change_the_updates():
    source, target = np.random.default_rng(0).integers(3, 30, (2, 500))
    plans = [plan_epoch(1, 0, source, target, 300).within(max_tokens) for max_tokens in (40, 10_000)]
    assert [sorted(np.concatenate(update)) for update in plans[0]] == [
        sorted(np.concatenate(u)) for u in plans[1]
    ]
    assert sum(map(len, plans[0])) > sum(map(len, plans[1]))


def test_padding_is_counted_right_and_less_than_half_of_plain_sorting():
    generator = np.random.default_rng(0)
    source = np.clip(generator.normal(15, 5, 5000), 3, 40).astype(int)
    target = np.clip(source + generator.normal(0, 3, 5000), 3, 40).astype(int)
    plan = plan_epoch(1, 0, source, target, 2048).within(1 << 20)
    tokens = source.sum() + target.sum()
    cells = sum((source[rows].max() + target[rows].max()) * len(rows) for update in plan for rows in update)
    assert padding_share(plan, source, target) == pytest.approx(1 - tokens / cells)
    by_target = np.array_split(np.argsort(target, kind="stable"), len(plan))
    assert (
        padding_share(plan, source, target)
        < padding_share([[rows] for rows in by_target], source, target) / 2
    )


def test_padding_on_multi30k_is_at_most_five_percent():
    folder = Path(os.environ.get("NMT_MULTI30K", Path(__file__).parents[2] / "data" / "multi30k"))
    if not folder.is_dir():
        pytest.skip("Multi30k is not at hand")
    text = read_parallel_files(str(folder / "train.de"), str(folder / "train.en"), "data.train")
    values = {"character_coverage": 1.0, "byte_fallback": False, "normalization": "identity", "joint": True}
    settings = TokenizerSettings(kind="bpe", vocabulary_size=4000, model=None, **values)
    dataset = load_dataset(text, obtain_tokenizer(settings, text))
    source, target = dataset.source.lengths + 1, dataset.target.lengths + 1
    assert padding_share(plan_epoch(1, 0, source, target, 4096).within(1 << 20), source, target) <= 0.05


def test_plan_by_length_is_longest_first_within_the_budget():
    lengths = np.array([3, 9, 1, 30, 9, 2])
    plan = plan_by_length(lengths, 18)
    assert [rows.tolist() for rows in plan] == [[3], [1, 4], [0, 5, 2]]


def test_a_batch_is_shifted_padded_and_counted():
    vocabulary = FakeVocabulary()
    tokenizer = Tokenizer(vocabulary, vocabulary)
    dataset = Dataset(Ids.of([[5, 6, 7], [8], [9, 9]]), Ids.of([[10], [11, 12, 13], []]))
    batch = collate(dataset, np.array([1, 0, 2]), tokenizer)
    assert batch.source.tolist() == [[5, 6, 7, 3], [9, 9, 3, 0], [8, 3, 0, 0]]
    assert batch.source_lengths.tolist() == [4, 3, 2]
    assert batch.target_in.tolist() == [[2, 10, 0, 0], [2, 0, 0, 0], [2, 11, 12, 13]]
    assert batch.target_out.tolist() == [[10, 3, 0, 0], [3, 0, 0, 0], [11, 12, 13, 3]]
    assert batch.num_tokens == 7
    assert batch.source.dtype == torch.int64

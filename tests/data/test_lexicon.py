"""IBM Model 1 against the textbook's loops, in dictionaries."""

import random
from collections import defaultdict

import numpy as np
import pytest

from nmt.data import lexicon as module
from nmt.data.dataset import Dataset, Ids
from nmt.data.lexicon import learn_lexicon

SOURCE_SIZE, TARGET_SIZE = 9, 7
NONE = SOURCE_SIZE


def make_pairs(seed, count=20):
    """Return random pairs of sentences, some with a token twice and some with an empty side."""
    draw = random.Random(seed)
    return [
        tuple([draw.randrange(size) for _ in range(draw.randrange(6))] for size in (SOURCE_SIZE, TARGET_SIZE))
        for _ in range(count)
    ]


def textbook(pairs, num_iterations):
    """Return {(source, target): probability} of all tokens that occur together in a pair."""
    probabilities = {
        (source, target): 1.0 for one, other in pairs for source in [NONE, *one] for target in other
    }
    for _ in range(num_iterations):
        counts, totals = defaultdict(float), defaultdict(float)
        for one, other in pairs:
            for target in other:
                whole = sum(probabilities[source, target] for source in [NONE, *one])
                for source in [NONE, *one]:
                    counts[source, target] += probabilities[source, target] / whole
                    totals[source] += probabilities[source, target] / whole
        probabilities = {
            (source, target): count / totals[source] for (source, target), count in counts.items()
        }
    return probabilities


def to_dataset(pairs):
    return Dataset(*(Ids.of(side) for side in zip(*pairs, strict=True)))


@pytest.mark.parametrize("num_iterations", [1, 4])
@pytest.mark.parametrize("cells", [1, 50, 1 << 20])
def test_probabilities_are_those_of_the_textbook(cells, num_iterations, monkeypatch):
    monkeypatch.setattr(module, "CELLS_AT_ONCE", cells)
    pairs = make_pairs(seed=num_iterations)
    lexicon = learn_lexicon(to_dataset(pairs), SOURCE_SIZE, TARGET_SIZE, num_iterations)
    keys = zip(lexicon.sources.tolist(), lexicon.targets.tolist(), strict=True)
    found = dict(zip(keys, lexicon.probabilities.tolist(), strict=True))
    assert found == pytest.approx(textbook(pairs, num_iterations))


def test_the_best_are_the_most_probable_of_each_source_token():
    pairs = make_pairs(seed=3, count=40)
    lexicon = learn_lexicon(to_dataset(pairs), SOURCE_SIZE, TARGET_SIZE, 3)
    expected = textbook(pairs, 3)
    best = lexicon.best(2, SOURCE_SIZE)
    for source in range(SOURCE_SIZE):
        ranked = sorted((key for key in expected if key[0] == source), key=lambda key: -expected[key])
        assert best.take(np.array([source])).tokens.tolist() == [target for _, target in ranked[:2]]


def test_words_find_their_translations():
    # In every pair 0 comes with 1, 2 with 3, and 4 with 5; 7 never occurs.
    pairs = [([0, 4], [1, 5]), ([2, 4], [3, 5]), ([0, 2], [1, 3]), ([0], [1])] * 3
    best = learn_lexicon(to_dataset(pairs), SOURCE_SIZE, TARGET_SIZE, 10).best(1, SOURCE_SIZE)
    assert [best.take(np.array([source])).tokens.tolist() for source in (0, 2, 4, 7)] == [[1], [3], [5], []]

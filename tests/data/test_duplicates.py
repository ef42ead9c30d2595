"""Near duplicates against a comparison of each pair with each."""

import random

import numpy as np
import pytest

from nmt.data import duplicates
from nmt.data.duplicates import find_near_duplicates, normalized

WORDS = [
    "river",
    "Haus",
    "green",
    "laufen",
    "über",
    "mountain",
    "七",
    "quick",
    "langsam",
    "window",
    "бежать",
    "table",
]


def in_common(one, other):
    sets = [{text[i : i + 4] for i in range(len(text) - 3)} for text in (normalized(one), normalized(other))]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


@pytest.fixture(scope="module")
def texts():
    """Return texts, many of which are others with a few changes."""
    chance = random.Random(5)
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(6, 25))) for _ in range(150)]
    for _ in range(250):
        text = list(chance.choice(texts))
        for _ in range(chance.randint(0, 5)):
            text[chance.randrange(len(text))] = chance.choice("abcXYZ ")
        texts.append("".join(text))
    return [*texts, "too short", "too short", ""]


def test_what_is_found_is_what_has_four_fifths_in_common(texts):
    found = find_near_duplicates(np.arange(len(texts)), texts.__getitem__)
    for later, earlier in zip(found.later.tolist(), found.earlier.tolist(), strict=True):
        assert earlier < later
        assert in_common(texts[earlier], texts[later]) >= 0.8
    long_enough = [i for i, text in enumerate(texts) if len(normalized(text)) >= 16]
    expected = {
        i for i in long_enough if any(in_common(texts[j], texts[i]) >= 0.8 for j in long_enough if j < i)
    }
    assert set(found.later.tolist()) <= expected
    assert len(expected) > 100
    assert len(found.later) >= 0.95 * len(expected)
    assert found.num_compared == found.num_candidates


def test_only_the_indices_that_are_asked_for_are_looked_at(texts):
    every_third = np.arange(0, len(texts), 3)
    found = find_near_duplicates(every_third, texts.__getitem__)
    assert set(found.later.tolist()) | set(found.earlier.tolist()) <= set(every_third.tolist())
    assert len(found.later)
    assert len(find_near_duplicates(np.empty(0, np.int64), texts.__getitem__).later) == 0


def test_comparisons_have_a_limit_that_is_told(texts, monkeypatch):
    monkeypatch.setattr(duplicates, "MAX_COMPARISONS", 50)
    found = find_near_duplicates(np.arange(len(texts)), texts.__getitem__)
    assert found.num_compared == 50 < found.num_candidates
    assert 0 < len(found.later) <= 50

"""Beam search against a plain one, a sentence at a time in floating-point numbers of Python, on random tables."""

import math
import random

import pytest
import torch

from nmt.decoding.rules import EndAtLimit, ForbidTokens, MinimumLength
from nmt.decoding.search import beam_search, power_penalty, wu_penalty
from nmt.models.interface import Decoded, DecoderState

VOCABULARY_SIZE = 9
BOS, EOS = 0, VOCABULARY_SIZE - 1


class Tables:
    """A decoder whose logits depend on the position, the token before and the sentence alone."""

    def __init__(self, logits):
        self.logits = logits  # (B, T, V, V)

    def start(self):
        return DecoderState([], {"row": torch.arange(len(self.logits))})

    def step(self, tokens, state):
        state.length += 1
        return Decoded(self.logits[state.hypotheses["row"], state.length - 1, tokens])

    def project(self, outputs):
        return outputs


def plain_beam_search(logits, beam_size, penalty, limit, min_length, forbidden):
    """Return the best of one sentence, for logits as lists (T, V, V)."""
    hypotheses, finished = [(0.0, [])], []
    for position in range(limit + 1):
        candidates = []
        for score, words in hypotheses:
            row = logits[position][words[-1] if words else BOS]
            row = [-math.inf if word in forbidden else x for word, x in enumerate(row)]
            if position < min_length:
                row[EOS] = -math.inf
            if position == limit:
                row = [0.0 if word == EOS else -math.inf for word in range(VOCABULARY_SIZE)]
            total = math.log(sum(map(math.exp, row)))
            candidates += [(score + x - total, words, word) for word, x in enumerate(row) if x > -math.inf]
        candidates.sort(key=lambda candidate: -candidate[0])
        for score, words, word in candidates[:beam_size]:
            if word == EOS:
                finished.append((score / penalty(position + 1), words))
        going_on = [(score, [*words, word]) for score, words, word in candidates if word != EOS]
        hypotheses = going_on[:beam_size]
        best = max(finished, default=(-math.inf, None))
        if not hypotheses or (
            len(finished) >= beam_size and hypotheses[0][0] / penalty(position + 1) <= best[0]
        ):
            break
    return best[1]


PENALTIES = [power_penalty(0.0), power_penalty(0.6), power_penalty(1.0), wu_penalty(0.8), power_penalty(1.7)]


@pytest.mark.parametrize("interval", [1, 3])
@pytest.mark.parametrize("beam_size", [2, 3, 4, 5])
def test_a_batch_is_found_as_a_plain_search_finds_each_sentence(beam_size, interval, monkeypatch):
    monkeypatch.setattr("nmt.decoding.search.POSITIONS_BETWEEN_QUESTIONS", {"cpu": interval})
    lengths = set()
    for seed in range(30):
        draw, generator = random.Random(seed), torch.Generator().manual_seed(seed)
        num_sentences, longest = draw.choice([1, 2, 5, 8]) if seed else 40, draw.randint(1, 9)
        logits = torch.randn(
            num_sentences, longest + 1, VOCABULARY_SIZE, VOCABULARY_SIZE, generator=generator
        )
        logits = (logits * draw.choice([0.3, 1, 3])).double()
        logits[..., EOS] += draw.choice([-2, 0, 1, 2])  # which ends more or less often than others
        limits = [draw.randint(1, longest) for _ in range(num_sentences)]
        limits[draw.randrange(num_sentences)] = longest
        penalty, min_length = PENALTIES[seed % len(PENALTIES)], draw.choice([0, 2, 3])
        forbidden = [BOS, *draw.sample(range(1, EOS), draw.choice([0, 0, 5, 6]))]
        rules = [
            ForbidTokens(torch.tensor(forbidden)),
            MinimumLength(EOS, min_length),
            EndAtLimit(EOS, torch.tensor(limits), torch.device("cpu")),
        ]
        decoder = Tables(logits)
        found = beam_search(decoder, decoder.start(), longest, BOS, EOS, beam_size, penalty, rules)
        expected = [
            plain_beam_search(table, beam_size, penalty, limit, min_length, forbidden)
            for table, limit in zip(logits.tolist(), limits, strict=True)
        ]
        assert found == expected, seed
        lengths |= {(len(words) < limit) for words, limit in zip(found, limits, strict=True)}
    assert lengths == {True, False}, "some end before their limit, some at it"

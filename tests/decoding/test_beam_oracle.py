"""Beam search on random tables, against a plain one of a sentence at a time in Python's floating-point numbers."""

import math
import random

import pytest
import torch

from nmt.decoding.beam import MAX_COST, Beam
from nmt.decoding.beam_search import beam_search, power_penalty, wu_penalty
from nmt.decoding.rules import EndAtLimit, ForbidTokens, MinimumLength
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


def plain_beam_search(logits, beam_size, penalty, limit, min_length, forbidden, count, early_stopping):
    """Return the best hypotheses of one sentence with their scores, for logits as lists (T, V, V)."""
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
        best = sorted(finished, key=lambda one: -one[0])[:count]
        worst = best[-1][0] if len(best) == count else -math.inf
        if not hypotheses:
            break
        # Without early stopping this search goes on to the limit, and bounds no future scores.
        is_behind = hypotheses[0][0] / penalty(position + 1) <= worst
        if early_stopping and len(finished) >= beam_size and is_behind:
            break
    return best


PENALTIES = [power_penalty(0.0), power_penalty(0.6), power_penalty(1.0), wu_penalty(0.8), power_penalty(1.7)]


@pytest.mark.parametrize("interval", [1, 3])
@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("beam_size", [2, 3, 4, 5])
def test_a_batch_is_found_as_a_plain_search_finds_each_sentence(
    beam_size, early_stopping, interval, monkeypatch
):
    monkeypatch.setattr("nmt.decoding.search.POSITIONS_BETWEEN_QUESTIONS", {"cpu": interval})
    lengths = set()
    for seed in range(30):
        draw, generator = random.Random(seed), torch.Generator().manual_seed(seed)
        num_sentences, longest = draw.choice([1, 2, 5, 8]) if seed else 40, draw.randint(1, 9)
        logits = torch.randn(
            num_sentences, longest + 1, VOCABULARY_SIZE, VOCABULARY_SIZE, generator=generator
        )
        logits = (logits * draw.choice([0.3, 1, 3])).double()
        logits[..., EOS] += draw.choice([-2, 0, 1, 2])  # makes hypotheses end sooner or later
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
        count = draw.choice([1, 1, 2, beam_size])
        given = decoder, decoder.start(), longest, BOS, EOS, Beam(beam_size), penalty, rules
        found = beam_search(*given, count, early_stopping)
        for hypotheses, table, limit in zip(found, logits.tolist(), limits, strict=True):
            expected = plain_beam_search(
                table, beam_size, penalty, limit, min_length, forbidden, count, early_stopping
            )
            assert [one.tokens for one in hypotheses] == [words for _, words in expected], seed
            assert [one.score for one in hypotheses] == pytest.approx(
                [score for score, _ in expected], abs=1e-5
            )
            lengths.add(len(hypotheses[0].tokens) < limit)
    assert lengths == {True, False}, "some end before their limit, some at it"


def plain_groups_of_beams(logits, num_groups, group_size, cost, limit, forbidden, count):
    """Return the `count` best hypotheses of each group of one sentence, in turns; the search goes on to the limit."""
    groups, finished = [[(0.0, [])] for _ in range(num_groups)], [[] for _ in range(num_groups)]
    for position in range(limit + 1):
        taken = [0] * VOCABULARY_SIZE
        for number, hypotheses in enumerate(groups):
            candidates = []
            for score, words in hypotheses:
                row = [
                    -math.inf if word in forbidden else x
                    for word, x in enumerate(logits[position][words[-1] if words else BOS])
                ]
                if position == limit:
                    row = [0.0 if word == EOS else -math.inf for word in range(VOCABULARY_SIZE)]
                total = math.log(sum(map(math.exp, row)))
                allowed = [word for word, x in enumerate(row) if x > -math.inf]
                candidates += [
                    (
                        score + row[word] - total - (min(cost * taken[word], MAX_COST) if allowed[1:] else 0),
                        words,
                        word,
                    )
                    for word in allowed
                ]
            candidates.sort(key=lambda candidate: -candidate[0])
            ended = [one for one in candidates[:group_size] if one[2] == EOS]
            finished[number] += [(score / (position + 1), words) for score, words, _ in ended]
            going_on = [(score, [*words, word]) for score, words, word in candidates if word != EOS]
            groups[number] = going_on[:group_size]
            for _, words in groups[number]:
                taken[words[-1]] += 1
            taken[EOS] += len(ended)
    kept = [sorted(some, key=lambda one: -one[0])[:count] for some in finished]
    kept = sorted(filter(None, kept), key=lambda some: -some[0][0])
    return [some[rank] for rank in range(count) for some in kept if rank < len(some)]


@pytest.mark.parametrize(("num_groups", "group_size"), [(2, 1), (4, 1), (2, 2), (3, 2), (2, 3), (3, 4)])
def test_groups_of_a_beam_avoid_each_others_words(num_groups, group_size):
    for seed in range(20):
        draw, generator = random.Random(seed), torch.Generator().manual_seed(seed)
        longest, cost = draw.randint(1, 6), draw.choice([0.0, 0.5, 3.0, 50.0])
        logits = torch.randn(3, longest + 1, VOCABULARY_SIZE, VOCABULARY_SIZE, generator=generator).double()
        limits = [longest, draw.randint(1, longest), longest]
        forbidden = [BOS, *draw.sample(range(1, EOS), draw.choice([0, 5, 6]))]
        rules = [
            ForbidTokens(torch.tensor(forbidden)),
            EndAtLimit(EOS, torch.tensor(limits), torch.device("cpu")),
        ]
        decoder, count = Tables(logits), draw.choice([1, group_size, 2 * group_size])
        beam = Beam(num_groups * group_size, num_groups, cost)
        given = decoder, decoder.start(), longest, BOS, EOS, beam
        found = beam_search(*given, power_penalty(1.0), rules, count)
        for hypotheses, table, limit in zip(found, logits.tolist(), limits, strict=True):
            expected = plain_groups_of_beams(table, num_groups, group_size, cost, limit, forbidden, count)
            assert [one.score for one in hypotheses] == pytest.approx(
                [score for score, _ in expected], abs=1e-5
            ), seed
            if cost:  # without it groups find the same, and equal scores have no order
                assert [one.tokens for one in hypotheses] == [words for _, words in expected], seed

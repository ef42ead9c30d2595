"""Search against a decoder whose probabilities are a table."""

import pytest
import torch
from found import best

from nmt.decoding.beam import Beam
from nmt.decoding.beam_search import beam_search, power_penalty, wu_penalty
from nmt.decoding.greedy_search import greedy_search
from nmt.decoding.rules import EndAtLimit, EndWithoutChoice, ForbidTokens, MinimumLength, NoRepeatedNgram
from nmt.models.interface import Decoded, DecoderState

BOS, EOS = 0, 1


class Table:
    """A decoder whose next-token probabilities depend on the token before and the sentence alone."""

    def __init__(self, probabilities: torch.Tensor) -> None:
        self.log_probs = probabilities.log()  # (B, V, V)
        self.num_rows: list[int] = []

    def start(self):
        sentences = torch.arange(len(self.log_probs))
        return DecoderState([{"sentence": part} for part in sentences.split(2)], {"row": sentences.clone()})

    def step(self, tokens, state):
        self.num_rows.append(len(tokens))
        state.length += 1
        sentences = torch.cat([group["sentence"] for group in state.groups])
        assert torch.equal(state.hypotheses["row"], sentences.repeat_interleave(state.beam_size))
        return Decoded(self.log_probs[state.hypotheses["row"], tokens])

    def project(self, outputs):
        return outputs


def run(table, beam_size=None, max_length=5, penalty=None, rules=()):
    count = len(table.log_probs)
    limits = torch.full((count,), max_length)
    given = (table, table.start(), max_length, BOS, EOS)
    rules = [ForbidTokens(torch.tensor([BOS])), *rules, EndAtLimit(EOS, limits, limits.device)]
    if beam_size is None:
        return best(greedy_search(*given, rules))
    return best(beam_search(*given, Beam(beam_size), penalty or power_penalty(0.0), rules))


def table(*rows: dict[int, dict[int, float]]) -> Table:
    probabilities = torch.full((len(rows), 5, 5), 1e-9)
    for index, row in enumerate(rows):
        for before, following in row.items():
            for token, probability in following.items():
                probabilities[index, before, token] = probability
    return Table(probabilities)


# The best first word leads to a worse sentence.
GARDEN_PATH = {
    BOS: {2: 0.6, 3: 0.4},
    2: {EOS: 0.3, 4: 0.3, 2: 0.2, 3: 0.2},
    3: {EOS: 0.9, 2: 0.1},
    4: {EOS: 1.0},
}


def test_greedy_follows_the_garden_path_and_beam_does_not():
    assert run(table(GARDEN_PATH))[0][0] == 2
    assert run(table(GARDEN_PATH), beam_size=2) == [[3]]


def test_length_penalty_favours_longer_hypotheses():
    # 2 4 has probability 0.6 * 0.45, 3 has 0.4 * 0.9: shorter is better, until the length counts.
    rows = {BOS: {2: 0.6, 3: 0.4}, 2: {4: 0.45, EOS: 0.25, 2: 0.3}, 3: {EOS: 0.9, 2: 0.1}, 4: {EOS: 1.0}}
    assert run(table(rows), beam_size=3, penalty=power_penalty(0.0)) == [[3]]
    assert run(table(rows), beam_size=3, penalty=power_penalty(1.0)) == [[2, 4]]


@pytest.mark.parametrize(("penalty", "value"), [(power_penalty(0.5), 2.0), (wu_penalty(2.0), 2.25)])
def test_penalties_by_hand(penalty, value):
    assert penalty(4) == pytest.approx(value)


def test_nothing_goes_on_for_ever():
    loop = {BOS: {2: 1.0}, 2: {2: 1.0}}
    assert run(table(loop), max_length=5) == [[2] * 5]
    assert run(table(loop), beam_size=3, max_length=5) == [[2] * 5]


def test_minimum_length_holds_back_the_end():
    short = {BOS: {EOS: 0.8, 2: 0.2}, 2: {EOS: 0.9, 2: 0.1}}
    assert run(table(short)) == [[]]
    for beam_size in (None, 2):
        assert run(table(short), beam_size, rules=[MinimumLength(EOS, 3)]) == [[2, 2, 2]]


@pytest.mark.parametrize("beam_size", [None, 2])
def test_a_translation_ends_where_its_rules_leave_no_token(beam_size):
    no_repeat = NoRepeatedNgram(1, 1, beam_size or 1, torch.device("cpu"))
    rules = [no_repeat, MinimumLength(EOS, 9), EndWithoutChoice(EOS)]
    found = run(table(GARDEN_PATH), beam_size, max_length=12, rules=rules)
    assert sorted(found[0]) == [2, 3, 4], "each token but BOS and EOS once"


@pytest.mark.parametrize("beam_size", [None, 2])
def test_finished_sentences_leave_the_batch(beam_size):
    long = {BOS: {2: 1.0}, 2: {3: 1.0}, 3: {4: 1.0}, 4: {EOS: 1.0}}
    short = {BOS: {2: 1.0}, 2: {EOS: 1.0}}
    decoder = table(short, long, short)
    found = run(decoder, beam_size)
    assert found == [[2], [2, 3, 4], [2]]
    size = beam_size or 1
    assert decoder.num_rows[0] == 3 * size
    assert decoder.num_rows[-1] == 1 * size


def test_forbidden_tokens_never_come():
    rows = {BOS: {3: 0.9, 2: 0.1}, 2: {EOS: 1.0}, 3: {EOS: 1.0}}
    for beam_size in (None, 2):
        assert run(table(rows), beam_size, rules=[ForbidTokens(torch.tensor([3]))]) == [[2]]

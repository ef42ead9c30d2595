"""One token at every step: the most probable one, or one that is drawn."""

from collections.abc import Sequence

import torch

from nmt.decoding.choice import Choice, MostProbable
from nmt.decoding.engine import Hypothesis
from nmt.decoding.rules import Rule
from nmt.decoding.search import Decoder, drop_finished, should_check_finished
from nmt.models.interface import DecoderState


def greedy_search(
    decoder: Decoder,
    state: DecoderState,
    max_length: int,
    bos_id: int,
    eos_id: int,
    rules: Sequence[Rule] = (),
    choice: Choice | None = None,
    num_hypotheses: int = 1,
) -> list[list[Hypothesis]]:
    """Extend `num_hypotheses` (K) hypotheses of each sentence independently, by the token that `choice` takes for each.

    `state` is the decoder state of B sentences before the first position; the rules end every translation within
    `max_length` tokens. Returns the hypotheses of each sentence, in no order.
    """
    choice = choice or MostProbable()
    device, num_sentences = state.device, state.num_sentences
    state.expand(num_hypotheses)
    history = torch.full((num_sentences, num_hypotheses, max_length + 1), eos_id, device=device)  # (B, K, T)
    remaining = torch.arange(num_sentences, device=device)  # which sentence each row of (B, …) is
    ended = torch.zeros(num_sentences, num_hypotheses, dtype=torch.bool, device=device)
    tokens = torch.full((num_sentences, num_hypotheses), bos_id, device=device)
    for position in range(max_length + 1):
        logits = decoder.project(decoder.step(tokens.flatten(), state).outputs)  # (N, V)
        for rule in rules:
            rule.apply(logits, position)
        tokens = choice(logits, position).view(ended.shape).masked_fill(ended, eos_id)
        history[remaining, :, position] = tokens
        ended = tokens == eos_id
        if should_check_finished(position, max_length, device):
            is_done = ended.all(1).cpu()  # the one value of a GPU that the search waits for
            if is_done.all():
                break
            kept = drop_finished(is_done, state, [*rules, choice])
            if kept is not None:
                remaining, tokens, ended = remaining[kept], tokens[kept], ended[kept]
        for rule in rules:
            rule.follow(tokens)
    return [[Hypothesis(_until_end(row, eos_id)) for row in rows] for rows in history.tolist()]


def _until_end(tokens: list[int], eos_id: int) -> list[int]:
    return tokens[: tokens.index(eos_id)] if eos_id in tokens else tokens

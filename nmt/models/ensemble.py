"""Ensembles of models with one vocabulary, which translate by the mean of their probabilities at each position."""

import math
from collections.abc import Callable, Sequence
from itertools import zip_longest

import torch
from torch import Tensor, nn

from nmt.data.batching import Batch
from nmt.models.interface import AttentionMap, Decoded, DecoderState, Seq2Seq


class Ensemble(Seq2Seq):
    """An ensemble of models. Its outputs (…, D) are theirs concatenated, so that D is the sum of their widths."""

    def __init__(self, members: Sequence[Seq2Seq]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        limits = [member.max_positions for member in members if member.max_positions is not None]
        self.max_positions = min(limits, default=None)
        self.learned_lengths = members[0].learned_lengths
        self._widths = [member.output.in_features for member in members]

    def forward(self, batch: Batch, sample_mask: Tensor | None = None) -> Decoded:
        """Decode all target positions of a batch at once."""
        return Decoded(torch.cat([member(batch, sample_mask).outputs for member in self._all()], -1))

    def start(self, source: Tensor, source_lengths: Tensor) -> DecoderState:
        """Encode `source` (B, S) with each model; in the state, names of tensors begin with the model's number."""
        states = [member.start(source, source_lengths) for member in self._all()]
        return _side_by_side(states)

    def step(self, tokens: Tensor, state: DecoderState) -> Decoded:
        """Decode the position after `tokens` (N) with each model, and advance the state."""
        states = [_of_member(state, number) for number in range(len(self.members))]
        outputs = [member.step(tokens, own).outputs for member, own in zip(self._all(), states, strict=True)]
        together = _side_by_side(states)
        state.groups, state.hypotheses, state.length = together.groups, together.hypotheses, together.length
        return Decoded(torch.cat(outputs, -1))

    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        """Return the weights of all models, one model after the other."""
        return [one for member in self._all() for one in member.attention_maps(batch)]

    def alignment(self, batch: Batch) -> Tensor | None:
        """Return the mean of the alignments of the models that have one, (B, T, S)."""
        found = [one for member in self._all() if (one := member.alignment(batch)) is not None]
        return torch.stack(found).mean(0) if found else None

    def project(self, outputs: Tensor) -> Tensor:
        """Return logits (…, V) whose softmax is the mean of the models' probabilities."""
        return self._mean(outputs, [member.project for member in self._all()])

    def project_to(self, tokens: Tensor) -> Callable[[Tensor], Tensor]:
        """Return a function from outputs to logits (…, V') of `tokens` (V') alone, as of `project`."""
        projections = [member.project_to(tokens) for member in self._all()]
        return lambda outputs: self._mean(outputs, projections)

    def _mean(self, outputs: Tensor, projections: Sequence[Callable[[Tensor], Tensor]]) -> Tensor:
        parts = outputs.split(self._widths, -1)
        logits = [project(part) for project, part in zip(projections, parts, strict=True)]
        wide = torch.promote_types(logits[0].dtype, torch.float32)
        log_probs = torch.stack([each.log_softmax(-1, dtype=wide) for each in logits])
        mean = log_probs.logsumexp(0) - math.log(len(logits))
        # As large as the models' own logits, since a penalty for repetition divides or multiplies these.
        sizes = torch.stack([each[..., :1].to(wide) for each in logits]) - log_probs[..., :1]
        return mean + sizes.mean(0)

    def _all(self) -> list[Seq2Seq]:
        return [member for member in self.members if isinstance(member, Seq2Seq)]


def _side_by_side(states: Sequence[DecoderState]) -> DecoderState:
    """Return the states of all models as one; each model has the same groups of sentences, or none."""

    def named(parts: Sequence[dict[str, Tensor] | None]) -> dict[str, Tensor]:
        return {
            f"{number}.{name}": rows
            for number, part in enumerate(parts)
            if part is not None
            for name, rows in part.items()
        }

    groups = [named(parts) for parts in zip_longest(*(state.groups for state in states))]
    hypotheses = named([state.hypotheses for state in states])
    return DecoderState(groups, hypotheses, states[0].beam_size, states[0].length)


def _of_member(state: DecoderState, number: int) -> DecoderState:
    """Return the state of one model."""
    start = f"{number}."

    def own(parts: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name.removeprefix(start): rows for name, rows in parts.items() if name.startswith(start)}

    groups = [own(group) for group in state.groups]
    return DecoderState(
        [group for group in groups if group], own(state.hypotheses), state.beam_size, state.length
    )

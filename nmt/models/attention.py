"""Recurrent sequence to sequence with attention (Bahdanau et al. 2015; Luong et al. 2015)."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from nmt.data.batching import Batch
from nmt.models.interface import AttentionMap, Choices, Decoded, DecoderState, concatenate_rows, padding_mask
from nmt.models.layers import Embedding, xavier_linear
from nmt.models.recurrent import (
    CELLS,
    NUM_GATES,
    Bridge,
    RecurrentEncoder,
    RecurrentSeq2Seq,
    concatenate,
    concatenate_positions,
    initialise_recurrent,
)
from nmt.models.recurrent_attention import make_attention


class AttentionSeq2Seq(RecurrentSeq2Seq):
    """The decoder looks at all source positions again at every step.

    `join` says where the context goes: `input`, the query is the state before the step, and the context enters
    the recurrent layers with the word vector (Bahdanau); `output`, the query is the state after the step, and
    context and state make the output, which is fed into the next step (Luong, input feeding); `output_only`,
    the same without feeding, so that all positions are attended at once in training. What attention itself can be
    is told in nmt/models/recurrent_attention.py; with `coverage` it is part of the decoder's state, (N, S), so
    `join` must not be output_only.
    """

    def __init__(
        self,
        source_embedding: Embedding,
        target_embedding: Embedding,
        output: nn.Linear,
        cell: str = "lstm",
        d_embedding: int = 256,
        d_hidden: int = 512,
        num_layers: int = 1,
        bidirectional: bool = True,
        score: str = "additive",
        d_attention: int = 512,
        join: str = "output",
        num_heads: int = 1,
        location_positions: int = 128,
        span: str = "global",
        window: int = 10,
        choice: str = "soft",
        temperature: float = 1.0,
        coverage: bool = False,
        dropout: float = 0.1,
    ) -> None:
        encoder = RecurrentEncoder(cell, d_embedding, d_hidden, num_layers, bidirectional, dropout)
        super().__init__(source_embedding, target_embedding, output, encoder, dropout)
        self.join = join
        self.attention = make_attention(
            score,
            d_hidden,
            self.encoder.d_output,
            d_attention,
            location_positions,
            num_heads=num_heads,
            span=span,
            window=window,
            choice=choice,
            temperature=temperature,
            coverage=coverage,
        )
        self.bridge = Bridge(cell, self.encoder.d_output, d_hidden)
        d_input = d_embedding + {"input": d_attention, "output": d_embedding, "output_only": 0}[join]
        self.cells = nn.ModuleList(
            CELLS[cell](d_hidden if layer else d_input, d_hidden) for layer in range(num_layers)
        )
        initialise_recurrent(self.cells, NUM_GATES[cell])
        d_readout = d_hidden + d_attention + (d_embedding if join == "input" else 0)
        self.readout = xavier_linear(d_readout, d_embedding)

    def start(self, source: Tensor, source_lengths: Tensor) -> DecoderState:
        """Encode `source` (B, S), and project keys and values once for all steps."""
        encoded = self.encode(source, source_lengths)
        mask = padding_mask(source_lengths, source.shape[1], source.device)
        group = self.attention.project_memory(self.dropout(encoded.outputs), mask)
        hypotheses = self.bridge(encoded.hidden, encoded.cell)
        if self.join == "output":
            hypotheses["fed"] = encoded.outputs.new_zeros(len(source), self.readout.out_features)
        if self.attention.coverage is not None:
            hypotheses["coverage"] = torch.zeros_like(group["fertilities"])
        return DecoderState([group], hypotheses)

    def decode(self, embedded: Tensor, state: DecoderState) -> Decoded:
        """Decode `embedded` (N, T, E) position by position; what needs no recurrence is done for all at once."""
        embedded = self.dropout(embedded)
        if self.join == "output":
            return self._recur_over_outputs(embedded, state)
        if self.join == "input":
            found = self._recur_over_contexts(embedded, state)
            parts = torch.cat([found.outputs, embedded], -1)
        else:
            states = torch.stack([self._recur(x, state) for x in embedded.unbind(1)], 1)  # (N, T, d_hidden)
            found = self._attend(states, state)
            parts = torch.cat([states, found.outputs], -1)
        return replace(found, outputs=self._read_out(parts))

    @torch.no_grad()
    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        """Return the weights of the source positions, the mean over heads, and what local attention could see."""
        spans: list[Tensor] = []  # of each step, (B, H or 1, Q, S)
        hook = None
        if self.attention.span is not None:
            hook = self.attention.span.register_forward_hook(
                lambda module, given, span: spans.append(span.is_inside.any(1, keepdim=True))
            )
        try:
            weights = self(batch).attention
        finally:
            if hook is not None:
                hook.remove()
        is_seen = None
        if spans:
            size = [len(batch.source), 1, -1, batch.source.shape[1]]
            is_seen = torch.cat([span.expand(size) for span in spans], 2)
            is_seen = is_seen & padding_mask(batch.source_lengths, size[-1], is_seen.device)[:, None, None]
        return [AttentionMap("cross", 1, weights.unsqueeze(1), is_seen)]

    def _recur_over_contexts(self, embedded: Tensor, state: DecoderState) -> Decoded:
        """Return states and contexts (N, T, d_hidden + d_attention) as outputs."""
        steps = []
        for x in embedded.unbind(1):  # (N, E)
            found = self._attend(state.hypotheses["hidden"][:, -1:], state)
            hidden = self._recur(torch.cat([x, found.outputs.squeeze(1)], -1), state)
            steps.append(replace(found, outputs=torch.cat([hidden.unsqueeze(1), found.outputs], -1)))
        return concatenate(steps, concatenate_positions)

    def _recur_over_outputs(self, embedded: Tensor, state: DecoderState) -> Decoded:
        steps = []
        for x in embedded.unbind(1):  # (N, E)
            hidden = self._recur(torch.cat([x, state.hypotheses["fed"]], -1), state).unsqueeze(1)
            found = self._attend(hidden, state)
            outputs = self._read_out(torch.cat([hidden, found.outputs], -1))
            state.hypotheses["fed"] = outputs.squeeze(1)
            steps.append(replace(found, outputs=outputs))
        return concatenate(steps, concatenate_positions)

    def _recur(self, x: Tensor, state: DecoderState) -> Tensor:
        """Advance all layers by one position x (N, …); return the state of the last one (N, d_hidden)."""
        hidden, cells = [], []
        for i, layer in enumerate(self.cells):
            before = state.hypotheses["hidden"][:, i]
            if "cell" in state.hypotheses:
                x, cell = layer(x, (before, state.hypotheses["cell"][:, i]))
                cells.append(cell)
            else:
                x = layer(x, before)
            hidden.append(x)
            if i + 1 < len(self.cells):
                x = self.dropout(x)
        state.hypotheses["hidden"] = torch.stack(hidden, 1)
        if cells:
            state.hypotheses["cell"] = torch.stack(cells, 1)
        return x

    def _attend(self, queries: Tensor, state: DecoderState) -> Decoded:
        """Ask with queries (N, T, d_hidden) of the next T positions, and advance the state past these.

        Outputs are the contexts (N, T, d_attention). The hypotheses of a sentence ask the same keys side by side,
        so these are never copied.
        """
        length = queries.shape[1]
        places = None
        if self.attention.span is not None:
            places = torch.arange(state.length, state.length + length, device=queries.device)
            places = places.repeat(state.beam_size)  # (K·T)
        coverage = state.hypotheses.get("coverage")
        found, first = [], 0
        for group in state.groups:
            inside = slice(first, first + len(group["mask"]) * state.beam_size)
            covered = None if coverage is None else coverage[inside, : group["mask"].shape[1]]
            found.append(self._attend_to(group, queries[inside], places, covered))
            first = inside.stop
        state.length += length
        if coverage is not None:
            state.hypotheses["coverage"] = concatenate_rows(
                [covered for _, covered in found if covered is not None]
            )
        parts = [part for part, _ in found]
        return concatenate(parts, concatenate_rows)

    def _attend_to(
        self, group: dict[str, Tensor], queries: Tensor, places: Tensor | None, covered: Tensor | None
    ) -> tuple[Decoded, Tensor | None]:
        """Ask one group with queries (N, T, d_hidden); return its coverage (N, S) after them, too, if there is one."""
        rows, length, width = queries.shape
        num_sentences, longest = group["mask"].shape
        if covered is not None:  # it goes from one position to the next, so T is 1
            covered = covered.view(num_sentences, -1, longest)
        found = self.attention(queries.reshape(num_sentences, -1, width), group, places, covered)
        if covered is not None:
            covered = (covered + found.weights / group["fertilities"].unsqueeze(1)).flatten(0, 1)
        choices = found.choices
        if choices is not None:
            choices = Choices(choices.log_probs.view(rows, length), choices.entropies.view(rows, length))
        contexts, weights = (part.reshape(rows, length, -1) for part in (found.contexts, found.weights))
        return Decoded(contexts, weights, choices), covered

    def _read_out(self, parts: Tensor) -> Tensor:
        return self.dropout(torch.tanh(self.readout(parts)))

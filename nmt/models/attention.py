"""Recurrent sequence to sequence with attention (Bahdanau et al. 2015; Luong et al. 2015)."""

import torch
from torch import Tensor, nn

from nmt.models.interface import Decoded, DecoderState, padding_mask
from nmt.models.layers import Embedding, xavier_linear
from nmt.models.recurrent import (
    CELLS,
    NUM_GATES,
    Bridge,
    RecurrentEncoder,
    RecurrentSeq2Seq,
    initialise_recurrent,
)


class Attention(nn.Module):
    """Which source positions matter to a query: scores, softmax, weighted mean.

    The scores of a query q and a key k, both projected to d_attention, are
    additive: v · tanh(q + k) (Bahdanau et al. 2015); dot: q · k; scaled_dot: q · k / √d_attention;
    general: q · W k (Luong et al. 2015).
    """

    def __init__(self, score: str, d_query: int, d_memory: int, d_attention: int) -> None:
        super().__init__()
        self.score = score
        self.query = xavier_linear(d_query, d_attention, bias=score == "additive")
        self.key = xavier_linear(d_memory, d_attention, bias=False)
        self.value = xavier_linear(d_memory, d_attention)
        self.scale = d_attention**-0.5 if score == "scaled_dot" else 1.0
        self.general = xavier_linear(d_attention, d_attention, bias=False) if score == "general" else None
        self.additive = xavier_linear(d_attention, 1, bias=False) if score == "additive" else None

    def project_memory(self, memory: Tensor) -> dict[str, Tensor]:
        """Return keys and values (B, S, d_attention) of the encoded source (B, S, C)."""
        keys = self.key(memory)
        if self.general is not None:
            keys = self.general(keys)
        return {"keys": keys, "values": self.value(memory)}

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return contexts (B, Q, d_attention) and weights (B, Q, S) for Q queries (B, Q, d_query) a sentence.

        `mask` (B, S) is True where there is a token.
        """
        projected = self.query(query)
        if self.additive is not None:
            scores = self.additive(torch.tanh(projected.unsqueeze(2) + keys.unsqueeze(1))).squeeze(-1)
        else:
            scores = (projected * self.scale) @ keys.transpose(1, 2)
        weights = scores.masked_fill(~mask.unsqueeze(1), -torch.inf).softmax(-1, dtype=scores.dtype)
        return weights @ values, weights


class AttentionSeq2Seq(RecurrentSeq2Seq):
    """The decoder looks at all source positions again at every step.

    `join` says where the context goes: `input`, the query is the state before the step, and the context enters
    the recurrent layers with the word vector (Bahdanau); `output`, the query is the state after the step, and
    context and state make the output, which is fed into the next step (Luong, input feeding); `output_only`,
    the same without feeding, so that all positions are attended at once in training.
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
        dropout: float = 0.1,
    ) -> None:
        encoder = RecurrentEncoder(cell, d_embedding, d_hidden, num_layers, bidirectional, dropout)
        super().__init__(source_embedding, target_embedding, output, encoder, dropout)
        self.join = join
        self.attention = Attention(score, d_hidden, self.encoder.d_output, d_attention)
        self.bridge = Bridge(cell, self.encoder.d_output, d_hidden)
        d_input = d_embedding + {"input": d_attention, "output": d_embedding, "output_only": 0}[join]
        self.cells = nn.ModuleList(
            CELLS[cell](d_hidden if layer else d_input, d_hidden) for layer in range(num_layers)
        )
        initialise_recurrent(self.cells, NUM_GATES[cell])
        d_readout = d_hidden + d_attention + (d_embedding if join == "input" else 0)
        self.readout = xavier_linear(d_readout, d_embedding)

    def start(self, source: Tensor, source_lengths: Tensor, max_length: int) -> DecoderState:
        """Encode `source` (B, S), and project keys and values once for all steps."""
        encoded = self.encode(source, source_lengths)
        mask = padding_mask(source_lengths, source.shape[1], source.device)
        sentences = self.attention.project_memory(self.dropout(encoded.outputs)) | {"mask": mask}
        hypotheses = self.bridge(encoded.hidden, encoded.cell)
        if self.join == "output":
            hypotheses["fed"] = encoded.outputs.new_zeros(len(source), self.readout.out_features)
        return DecoderState(sentences, hypotheses)

    def decode(self, embedded: Tensor, state: DecoderState) -> Decoded:
        """Decode `embedded` (N, T, E) position by position; what needs no recurrence is done for all at once."""
        embedded = self.dropout(embedded)
        state.length += embedded.shape[1]
        if self.join == "input":
            states, contexts, weights = self._recur_over_contexts(embedded, state)
            outputs = self._read_out(torch.cat([states, contexts, embedded], -1))
        elif self.join == "output":
            outputs, weights = self._recur_over_outputs(embedded, state)
        else:
            states = torch.stack([self._recur(x, state) for x in embedded.unbind(1)], 1)  # (N, T, d_hidden)
            contexts, weights = self._attend(states, state)
            outputs = self._read_out(torch.cat([states, contexts], -1))
        return Decoded(outputs, weights)

    def _recur_over_contexts(self, embedded: Tensor, state: DecoderState) -> tuple[Tensor, Tensor, Tensor]:
        steps = []
        for x in embedded.unbind(1):  # (N, E)
            context, weights = self._attend(state.hypotheses["hidden"][:, -1:], state)
            hidden = self._recur(torch.cat([x, context.squeeze(1)], -1), state)
            steps.append((hidden, context.squeeze(1), weights.squeeze(1)))
        states, contexts, weights = (torch.stack(parts, 1) for parts in zip(*steps, strict=True))
        return states, contexts, weights

    def _recur_over_outputs(self, embedded: Tensor, state: DecoderState) -> tuple[Tensor, Tensor]:
        steps = []
        for x in embedded.unbind(1):  # (N, E)
            hidden = self._recur(torch.cat([x, state.hypotheses["fed"]], -1), state)
            context, weights = self._attend(hidden.unsqueeze(1), state)
            state.hypotheses["fed"] = self._read_out(torch.cat([hidden, context.squeeze(1)], -1))
            steps.append((state.hypotheses["fed"], weights.squeeze(1)))
        outputs, weights = (torch.stack(parts, 1) for parts in zip(*steps, strict=True))
        return outputs, weights

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

    def _attend(self, queries: Tensor, state: DecoderState) -> tuple[Tensor, Tensor]:
        """Return contexts (N, T, d_attention) and weights (N, T, S) of queries (N, T, d_hidden).

        The hypotheses of a sentence ask the same keys side by side, so these are never copied.
        """
        sentences = state.sentences
        grouped = queries.reshape(len(sentences["mask"]), -1, queries.shape[-1])  # (B, K·T, d_hidden)
        contexts, weights = self.attention(grouped, sentences["keys"], sentences["values"], sentences["mask"])
        rows, length = queries.shape[:2]
        return contexts.reshape(rows, length, -1), weights.reshape(rows, length, -1)

    def _read_out(self, parts: Tensor) -> Tensor:
        return self.dropout(torch.tanh(self.readout(parts)))

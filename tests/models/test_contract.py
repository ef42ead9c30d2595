"""What every model promises, for each of its options, on tiny random weights in float64."""

import dataclasses
import itertools

import pytest
import torch
from found import best
from pairwise import pairwise
from torch.testing import assert_close

from nmt.config import AttentionSettings
from nmt.config.check import check
from nmt.data.batching import Batch
from nmt.decoding.beam import Beam
from nmt.decoding.beam_search import beam_search, power_penalty
from nmt.decoding.greedy_search import greedy_search
from nmt.decoding.rules import EndAtLimit, ForbidTokens
from nmt.decoding.search import POSITIONS_BETWEEN_QUESTIONS
from nmt.errors import SettingsError
from nmt.models.interface import Seq2Seq
from nmt.models.kernels.attention_cache import POSITIONS_AT_ONCE
from nmt.training.objective import Objective

PAD, UNK, BOS, EOS = range(4)

# A variant's name leaves out the first value of each option.
RECURRENT = {
    "cell": ("lstm", "gru", "tanh"),
    "num_layers": (1, 2),
    "bidirectional": (True, False),
    "tied": ("none", "two_way", "three_way"),
}
OPTIONS = {
    "rnn": {
        **RECURRENT,
        "context": ("last", "mean"),
        "context_use": ("both", "initial", "every_step"),
        "context_join": ("concatenate", "add"),
    },
    "attention": {
        "score": ("additive", "dot", "scaled_dot", "general", "location"),
        "num_heads": (1, 2),
        "span": ("global", "local_m", "local_p"),
        "choice": ("soft", "straight_through"),
        "coverage": (False, True),
        "join": ("output", "input", "output_only"),
        **RECURRENT,
    },
    "transformer": {
        "norm": ("pre", "post"),
        "normalization": ("layer", "rms"),
        "positions": ("sinusoidal", "learned", "rotary", "relative"),
        "activation": ("relu", "gelu", "silu", "swiglu"),
        "attention_bias": (False, True),
        "num_key_value_heads": (None, 1, 2),
        "num_heads": (4, 2),
        "num_encoder_layers": (2, 1),
        "num_decoder_layers": (2, 3),
        "decoder": ("attention", "ssru"),
        "tied": ("none", "two_way", "three_way"),
        "attention_dropout": (0.0, 0.2),
        "activation_dropout": (None, 0.2),
        "layer_dropout": (0.0, 0.2),
    },
}
# Pairs of values that cannot meet, and why.
REFUSED = {
    frozenset({("coverage", True), ("score", "location")}): "no keys",
    frozenset({("coverage", True), ("join", "output_only")}): "all positions at once",
}
# Limits so small that the sentences here reach beyond them.
SMALL = {
    "rnn": {},
    "attention": {"window": 2, "location_positions": 4, "temperature": 0.7},
    "transformer": {"max_relative_distance": 2},
}
VARIANTS = [
    pytest.param(
        kind,
        {**options, **SMALL[kind]},
        id=" ".join([kind, *(f"{key}={options[key]}" for key in table if options[key] != table[key][0])]),
    )
    for kind, table in OPTIONS.items()
    for options in pairwise(table, REFUSED)
]
every_model = pytest.mark.parametrize(("kind", "options"), VARIANTS)


def start(model: Seq2Seq, batch, rows=slice(None), group_size=2):
    """Encode some sentences of a batch, in groups."""
    lengths, source = batch.source_lengths[rows], batch.source[rows]
    states = [
        model.start(ids[:, : int(some.max())], some)
        for ids, some in zip(source.split(group_size), lengths.split(group_size), strict=True)
    ]
    for state in states[1:]:
        states[0].join(state)
    return states[0]


def search(model: Seq2Seq, batch, beam_size=None, max_length=6, rows=slice(None), early_stopping=False):
    """Decode some sentences of a batch within a limit that differs from sentence to sentence."""
    limits = torch.clamp(batch.source_lengths[rows], max=max_length)
    rules = [ForbidTokens(torch.tensor([PAD, BOS, UNK])), EndAtLimit(EOS, limits, limits.device)]
    with torch.no_grad():
        given = (model, start(model, batch, rows), int(limits.max()), BOS, EOS)
        if beam_size is None:
            return best(greedy_search(*given, rules))
        beam = Beam(beam_size)
        return best(beam_search(*given, beam, power_penalty(1.0), rules, early_stopping=early_stopping))


@every_model
def test_full_forward_equals_step_by_step(kind, options, tiny_model, tiny_batch):
    model, batch = tiny_model(kind, **options), tiny_batch(target_lengths=(40, 6, 2))
    full = model(batch)
    state = start(model, batch)
    steps = [model.step(tokens, state) for tokens in batch.target_in.unbind(1)]
    counted = batch.target_out != PAD
    assert_close(torch.stack([step.outputs for step in steps], 1)[counted], full.outputs[counted])
    if full.attention is not None:
        assert_close(torch.stack([step.attention for step in steps], 1)[counted], full.attention[counted])


@every_model
def test_padded_batch_equals_each_sentence_alone(kind, options, tiny_model, tiny_batch):
    model, batch = tiny_model(kind, **options), tiny_batch()
    together = model(batch).outputs
    for row, length in enumerate(batch.source_lengths.tolist()):
        target_length = int(batch.target_lengths[row])
        alone = model(
            type(batch)(
                batch.source[row : row + 1, :length],
                batch.source_lengths[row : row + 1],
                batch.target_in[row : row + 1, :target_length],
                batch.target_out[row : row + 1, :target_length],
                batch.target_lengths[row : row + 1],
                tuple(lengths[row : row + 1] for lengths in batch.device_lengths),
            )
        ).outputs
        assert_close(together[row, :target_length], alone[0])


@every_model
def test_a_position_does_not_see_those_after_it(kind, options, tiny_model, tiny_batch):
    model, batch = tiny_model(kind, **options), tiny_batch()
    before = model(batch).outputs
    batch.target_in[:, 3] = 9
    after = model(batch).outputs
    assert_close(after[:, :3], before[:, :3])
    assert not torch.allclose(after[1, 3], before[1, 3])


@every_model
def test_every_word_of_the_source_matters(kind, options, tiny_model, tiny_batch):
    model, batch = tiny_model(kind, **options), tiny_batch()
    before = model(batch).outputs
    for position in range(3):
        source = batch.source.clone()
        source[:, position] = source[:, position] % 7 + 4
        changed = dataclasses.replace(batch, source=source)
        assert not torch.allclose(model(changed).outputs[:, -1], before[:, -1], rtol=1e-12, atol=1e-12)


@every_model
def test_rows_of_an_alignment_are_shares_of_the_source(kind, options, tiny_model, tiny_batch):
    model, batch = tiny_model(kind, **options).eval(), tiny_batch()
    weights = model.alignment(batch)
    if kind == "rnn":
        assert weights is None
        return
    assert weights.shape == (*batch.target_out.shape, batch.source.shape[1])
    for row, (source, target) in enumerate(zip(batch.source_lengths, batch.target_lengths, strict=True)):
        own = weights[row, :target]
        assert own.min() >= 0
        assert_close(own[:, :source].sum(1), torch.ones(int(target), dtype=own.dtype))
        assert not own[:, source:].any()
    if kind == "attention":
        given = model(batch).attention[batch.target_out != PAD]
        assert_close(weights[batch.target_out != PAD], given / given.sum(1, keepdim=True))


@every_model
def test_gradients_reach_every_parameter(kind, options, tiny_model, tiny_batch):
    model = tiny_model(kind, **options)
    for _ in range(12 if options.get("layer_dropout") else 1):  # none of the layers is left out every time
        Objective(model, label_smoothing=0.1).train()(tiny_batch()).total.backward()
    without = [
        name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().max() > 1e-12
    ]
    assert without == []


@every_model
def test_vector_of_pad_changes_nothing(kind, options, tiny_model, tiny_batch):
    if options.get("tied") in ("two_way", "three_way"):
        options = {**options, "tied": "none"}  # PAD's row of the output layer is a logit like any other
    model, batch = tiny_model(kind, **options), tiny_batch()
    before = Objective(model, 0.0)(batch).total
    with torch.no_grad():
        model.source_embedding.weight[PAD] += 100
        model.target_embedding.weight[PAD] += 100
    assert_close(Objective(model, 0.0)(batch).total, before)


@every_model
def test_greedy_equals_beam_of_one(kind, options, tiny_model, tiny_batch):
    model, batch = tiny_model(kind, **options), tiny_batch()
    # Without early stopping a beam of one goes on, since a longer hypothesis may score more.
    assert search(model, batch) == search(model, batch, beam_size=1, early_stopping=True)


@every_model
@pytest.mark.parametrize("beam_size", [None, 3])
def test_batched_search_equals_one_by_one(kind, options, beam_size, tiny_model, tiny_batch):
    model, batch = tiny_model(kind, **options), tiny_batch()
    together = search(model, batch, beam_size)
    assert together == [search(model, batch, beam_size, rows=slice(i, i + 1))[0] for i in range(3)]


@every_model
@pytest.mark.parametrize("beam_size", [None, 3])
def test_searching_as_on_a_gpu_finds_the_same(kind, options, beam_size, tiny_model, tiny_batch, monkeypatch):
    model, batch = tiny_model(kind, **options), tiny_batch()
    before = search(model, batch, beam_size)
    # On a GPU shapes stay the same for some positions, and finished sentences stay in the batch for some.
    monkeypatch.setitem(POSITIONS_AT_ONCE, "cpu", 32)
    monkeypatch.setitem(POSITIONS_BETWEEN_QUESTIONS, "cpu", 5)
    assert search(model, batch, beam_size) == before


@every_model
def test_wide_beam_equals_exhaustive_search(kind, options, tiny_model, tiny_batch):
    model, batch = tiny_model(kind, **options), tiny_batch(source_lengths=(2, 3))
    found = search(model, batch, beam_size=7**3 + 7**2, max_length=3)
    for row, limit in enumerate((2, 3)):
        scored = []
        for length in range(limit + 1):
            candidates = [list(words) for words in itertools.product(range(4, 11), repeat=length)]
            scores = scores_of(model, batch.source[row, :limit], candidates, is_full=length == limit)
            scored += zip(scores, candidates, strict=True)
        assert found[row] == max(scored)[1]


@torch.no_grad()
def scores_of(model, source, candidates, is_full):
    """Score hypotheses of one length as the search defines it, by a full forward pass; the forced end is certain."""
    count, length = len(candidates), len(candidates[0]) + 1
    target_in = torch.tensor([[BOS, *tokens] for tokens in candidates])
    target_out = torch.tensor([[*tokens, EOS] for tokens in candidates])
    lengths = torch.full((count,), len(source)), torch.full((count,), length)
    batch = Batch(source.expand(count, -1), lengths[0], target_in, target_out, lengths[1], lengths)
    logits = model.project(model(batch).outputs)
    logits[..., [PAD, UNK, BOS]] = -torch.inf
    log_probs = logits.log_softmax(-1).gather(2, target_out.unsqueeze(2)).squeeze(2)
    return (log_probs[:, : length - is_full].sum(1) / length).tolist()


@every_model
@torch.no_grad()
def test_state_follows_its_hypotheses(kind, options, tiny_model, tiny_batch):
    model, batch = tiny_model(kind, **options), tiny_batch()
    prefixes = torch.randint(4, 11, (6, 4), generator=torch.Generator().manual_seed(3))
    state = start(model, batch)
    state.expand(2)
    for tokens in prefixes.unbind(1):
        model.step(tokens, state)
    rows = torch.tensor([1, 1, 2, 3, 5, 4])
    state.reorder(rows)
    order = state.keep(torch.tensor([0, 2]))
    assert sorted(order.tolist()) == [0, 2]
    kept = rows.view(3, 2)[order].flatten()
    following = torch.tensor([4, 5, 6, 7])
    found = model.step(following, state).outputs
    for row, hypothesis in enumerate(kept.tolist()):
        sentence = hypothesis // 2
        alone = model.start(batch.source[[sentence]], batch.source_lengths[[sentence]])
        for token in prefixes[hypothesis]:
            model.step(token.view(1), alone)
        assert_close(model.step(following[[row]], alone).outputs[0], found[row])


@every_model
def test_sampling_nowhere_is_plain_training_and_everywhere_is_greedy(kind, options, tiny_model, tiny_batch):
    model, batch = tiny_model(kind, **options), tiny_batch()
    nowhere = torch.zeros(batch.target_in.shape, dtype=torch.bool)
    assert_close(model(batch, nowhere).outputs, model(batch).outputs)
    sampled = model(batch, ~nowhere).outputs
    if kind == "transformer":  # two passes: the second reads what the first predicts from the true words
        predicted = model.project(model(batch).outputs).argmax(-1)
        given = torch.cat([batch.target_in[:, :1], predicted[:, :-1]], 1)
        assert_close(sampled, model(dataclasses.replace(batch, target_in=given)).outputs)
        half = torch.zeros_like(nowhere)
        half[:, ::2] = True
        given = torch.where(half, given, batch.target_in)
        assert_close(model(batch, half).outputs, model(dataclasses.replace(batch, target_in=given)).outputs)
        return
    state = model.start(batch.source, batch.source_lengths)
    tokens = batch.target_in[:, 0]
    for position in range(batch.target_in.shape[1]):
        outputs = model.step(tokens, state).outputs
        assert_close(sampled[:, position], outputs)
        tokens = model.project(outputs).argmax(-1)


def attention_settings(options):
    """Check settings of the model `attention`; what `options` lack has its first value in OPTIONS."""
    own = ("cell", "num_layers", "bidirectional", "tied")
    given = {key: values[0] for key, values in OPTIONS["attention"].items()} | {"d_attention": 6} | options
    model = {key: given.pop(key) for key in own}
    model |= {"tied_embeddings": model.pop("tied"), "d_embedding": 8, "d_hidden": 6, "dropout": 0.1}
    return check(AttentionSettings, {"kind": "attention", **model, "attention": given | SMALL["attention"]})


def test_settings_refuse_the_pairs_that_cannot_meet_and_no_others():
    for options in pairwise(OPTIONS["attention"], REFUSED):
        attention_settings(options)
    for pair, reason in REFUSED.items():
        with pytest.raises(SettingsError, match=reason):
            attention_settings(dict(pair))

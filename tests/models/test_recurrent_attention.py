"""Attention of recurrent models against its definitions."""

import math

import pytest
import torch
from tiny_models import TINY_ATTENTION
from torch.testing import assert_close

from nmt.config import RecurrentAttentionSettings
from nmt.config.check import check
from nmt.errors import SettingsError
from nmt.models.recurrent_attention import ATTENTIONS

D_QUERY, D_MEMORY, D_ATTENTION = 4, 3, 6
PLAIN = {key: value for key, value in TINY_ATTENTION.items() if key not in ("score", "join", "d_attention")}


def ask(attention, query, memory, mask, places=None):
    """Return contexts and weights that queries find in an encoded source."""
    return attention(query, attention.project_memory(memory, mask), places, None)


def setup(score, lengths=(4,), longest=6, num_queries=2, **options):
    """Make attention, queries (B, Q, d_query) and an encoded source (B, S, C) with its mask, all random."""
    torch.manual_seed(0)
    attention = ATTENTIONS[score](D_QUERY, D_MEMORY, D_ATTENTION, **{**PLAIN, **options}).double().eval()
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    query = torch.randn(len(lengths), num_queries, D_QUERY, dtype=torch.float64)
    memory = torch.randn(len(lengths), longest, D_MEMORY, dtype=torch.float64)
    mask = torch.arange(longest) < torch.tensor(lengths).unsqueeze(1)
    return attention, query, memory, mask


def score_by_hand(attention, name, head, num_heads, q, h, s, extra=0.0):
    """Score one query q (d_query) and the encoding h (C) of position s for one head, as the formula has it."""
    d_head = D_ATTENTION // num_heads
    part = slice(head * d_head, (head + 1) * d_head)
    if name == "location":
        return (attention.location.weight[head * attention.location_positions + s] @ q).item()
    query, key = attention.query(q)[part], (attention.key(h) + extra)[part]
    if name == "additive":
        return (attention.additive.weight[head] @ torch.tanh(query + key)).item()
    if name == "general":
        return (query @ (attention.general.weight[part] @ key)).item()
    return (query @ key).item() / (math.sqrt(d_head) if name == "scaled_dot" else 1)


def softmax_by_hand(scores, longest):
    """Return weights (S) for {position: score}; all other positions have none."""
    total = sum(math.exp(score) for score in scores.values())
    return [math.exp(scores[s]) / total if s in scores else 0.0 for s in range(longest)]


@pytest.mark.parametrize("num_heads", [1, 2, 3])
@pytest.mark.parametrize("score", ATTENTIONS)
def test_scores_and_heads_by_hand(score, num_heads):
    attention, query, memory, mask = setup(score, lengths=(4, 6), num_heads=num_heads)
    contexts, found = ask(attention, query, memory, mask)
    for row, length in enumerate((4, 6)):
        for i in range(2):
            mean, context = torch.zeros(6, dtype=torch.float64), []
            for head in range(num_heads):
                scores = {
                    s: score_by_hand(attention, score, head, num_heads, query[row, i], memory[row, s], s)
                    for s in range(length)
                }
                weights = torch.tensor(softmax_by_hand(scores, 6), dtype=torch.float64)
                mean += weights / num_heads
                context.append((weights @ attention.value(memory[row])).chunk(num_heads)[head])
            assert_close(found[row, i], mean)
            assert_close(contexts[row, i], torch.cat(context))


@pytest.mark.parametrize("num_positions", [1, 3, 6, 9])
def test_location_sees_the_first_positions_only(num_positions):
    attention, query, memory, mask = setup("location", lengths=(4, 6), location_positions=num_positions)
    _, weights = ask(attention, query, memory, mask)
    for row, length in enumerate((4, 6)):
        visible = min(length, num_positions)
        assert (weights[row, :, :visible] > 0).all()
        assert (weights[row, :, visible:] == 0).all()
    assert_close(weights.sum(-1), torch.ones(2, 2, dtype=torch.float64))
    _, kept = ask(attention, query, memory[:, :3], mask[:, :3])
    if num_positions <= 3:  # positions behind have no weight, and may be missing
        assert_close(kept, weights[:, :, :3])


@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("score", ATTENTIONS)
def test_local_m_by_hand(score, window):
    lengths, num_queries = (3, 9), 12
    attention, query, memory, mask = setup(score, lengths, 9, num_queries, span="local_m", window=window)
    places = torch.tensor([0, 1, 2, 3, 7, 20] * 2)  # of two hypotheses side by side
    _, weights = ask(attention, query, memory, mask, places)
    for row, length in enumerate(lengths):
        for i, place in enumerate(places.tolist()):
            centre = min(place, length - 1)
            scores = {
                s: score_by_hand(attention, score, 0, 1, query[row, i], memory[row, s], s)
                for s in range(max(0, centre - window), min(length, centre + window + 1))
            }
            assert_close(weights[row, i], torch.tensor(softmax_by_hand(scores, 9), dtype=torch.float64))


@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("score", ATTENTIONS)
def test_local_p_by_hand(score, window, num_heads):
    lengths = (3, 9)
    options = {"span": "local_p", "window": window, "num_heads": num_heads}
    attention, query, memory, mask = setup(score, lengths, 9, 5, **options)
    _, weights = ask(attention, query, memory, mask)
    span = attention.span
    for row, length in enumerate(lengths):
        for i in range(5):
            expected = [0.0] * 9
            for head in range(num_heads):
                logit = (span.place.weight[head] @ torch.tanh(span.hidden.weight @ query[row, i])).item()
                centre = length / (1 + math.exp(-logit))
                scores = {
                    s: score_by_hand(attention, score, head, num_heads, query[row, i], memory[row, s], s)
                    for s in range(length)
                    if centre - window <= s <= centre + window
                }
                for s, weight in enumerate(softmax_by_hand(scores, 9)):
                    deviation = window / 2
                    gaussian = math.exp(-((s - centre) ** 2) / (2 * deviation**2))
                    expected[s] += weight * gaussian / num_heads
            assert_close(weights[row, i], torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("choice", ["soft", "straight_through"])
@pytest.mark.parametrize("span", ["local_m", "local_p"])
@pytest.mark.parametrize("score", ATTENTIONS)
def test_a_window_is_never_empty(score, span, choice, precision):
    options = {"span": span, "window": 1, "choice": choice}
    if score == "location":
        options["location_positions"] = 3  # a window around a later position holds none of these
    attention, query, memory, mask = setup(score, (1, 40), 40, 6, **options)
    if span == "local_p":
        with torch.no_grad():
            attention.span.place.weight.mul_(1e6)  # the sigmoid is zero or one
    attention = attention.to(precision).train()
    places = torch.tensor([0, 1, 2, 38, 39, 200])
    _, weights = ask(attention, query.to(precision), memory.to(precision), mask, places)
    assert weights.isfinite().all()
    assert ((weights > 0).sum(-1) >= 1).all()
    assert ((weights > 0).sum(-1) <= 3).all()
    assert (weights[0, :, 1:] == 0).all()


def test_gradient_reaches_the_predicted_place_by_the_gaussian():
    attention, query, memory, mask = setup("dot", (6,), span="local_p", window=2)
    ask(attention, query, memory, mask)[0].sum().backward()
    assert attention.span.place.weight.grad.abs().max() > 1e-6
    assert attention.span.hidden.weight.grad.abs().max() > 1e-6


def test_hard_choice_under_a_gaussian_follows_the_renormalised_product():
    options = {"span": "local_p", "window": 3, "choice": "straight_through"}
    attention, query, memory, mask = setup("dot", (6,), **options)
    query = query[:, 1:]
    with torch.no_grad():
        attention.query.weight.mul_(0.3)  # so that several positions have a chance
    attention.choice = "soft"
    product = ask(attention, query, memory, mask)[1][0, 0]
    expected = product / product.sum()
    assert expected.max() < 0.7
    assert product.sum() < 0.9
    attention.choice = "straight_through"
    torch.manual_seed(8)
    contexts, weights = ask(attention.train(), query.expand(1, 20_000, -1), memory, mask)
    assert_close(weights.mean((0, 1)), expected, atol=0.015, rtol=0)
    values = attention.value(memory[0])
    assert_close(contexts[0], values[weights[0].argmax(-1)])  # not scaled by the Gaussian
    assert ask(attention.eval(), query, memory, mask)[1][0, 0].argmax() == expected.argmax()


@pytest.mark.parametrize("join", ["input", "output"])
@pytest.mark.parametrize("score", ["additive", "dot", "scaled_dot", "general"])
def test_coverage_by_hand(score, join, tiny_model, tiny_batch, monkeypatch):
    options = {"score": score, "join": join, "num_heads": 2, "d_attention": D_ATTENTION, "coverage": True}
    model, batch = tiny_model("attention", **options), tiny_batch()
    attention, queries, memories = model.attention, [], []
    ask, project = attention.forward, attention.project_memory
    monkeypatch.setattr(attention, "forward", lambda q, *rest: queries.append(q[:, 0]) or ask(q, *rest))
    monkeypatch.setattr(attention, "project_memory", lambda m, mask: memories.append(m) or project(m, mask))
    found = model(batch).attention
    direction = attention.coverage.direction.weight[:, 0]
    for row, length in enumerate(batch.source_lengths.tolist()):
        memory = memories[0][row]
        fertility = [
            2 / (1 + math.exp(-attention.coverage.fertility(memory[s]).item())) for s in range(length)
        ]
        covered = [0.0] * length
        for t in range(6):
            mean = torch.zeros(found.shape[2], dtype=torch.float64)
            for head in range(2):
                scores = {
                    s: score_by_hand(
                        attention, score, head, 2, queries[t][row], memory[s], s, covered[s] * direction
                    )
                    for s in range(length)
                }
                mean += torch.tensor(softmax_by_hand(scores, len(mean)), dtype=torch.float64) / 2
            assert_close(found[row, t], mean)
            covered = [c + mean[s].item() / fertility[s] for s, c in enumerate(covered)]
    assert max(covered) > 0.5


@pytest.mark.parametrize("join", ["input", "output", "output_only"])
def test_windows_follow_the_target_through_the_model(join, tiny_model, tiny_batch):
    batch = tiny_batch(target_lengths=(9, 6, 2))
    model = tiny_model("attention", join=join, span="local_m", window=1)
    weights = model(batch).attention
    for row, length in enumerate(batch.source_lengths.tolist()):
        for t in range(9):
            centre = min(t, length - 1)
            inside = [abs(s - centre) <= 1 and s < length for s in range(7)]
            assert (weights[row, t] > 0).tolist() == inside


@pytest.mark.parametrize("join", ["input", "output", "output_only"])
def test_several_positions_of_several_hypotheses(join, tiny_model, tiny_batch):
    batch = tiny_batch()
    model = tiny_model("attention", join=join, span="local_m", window=1)
    tokens = torch.randint(4, 11, (6, 4), generator=torch.Generator().manual_seed(2))
    together, one_by_one = (model.start(batch.source, batch.source_lengths) for _ in range(2))
    for state in (together, one_by_one):
        state.expand(2)
        model.step(tokens[:, 0], state)
    found = model.decode(model.target_embedding(tokens), together)
    steps = [model.step(column, one_by_one) for column in tokens.unbind(1)]
    assert_close(found.outputs, torch.stack([step.outputs for step in steps], 1))
    assert_close(found.attention, torch.stack([step.attention for step in steps], 1))
    assert together.length == one_by_one.length == 5


@pytest.mark.parametrize("join", ["input", "output", "output_only"])
def test_a_model_in_training_samples_positions_and_learns_from_them(join, tiny_model, tiny_batch):
    batch = tiny_batch()
    model = tiny_model("attention", join=join, choice="straight_through", dropout=0.0).train()
    nowhere = torch.zeros(batch.target_in.shape, dtype=torch.bool)
    found = []
    for seed, mask in ((9, None), (9, nowhere), (10, None)):
        torch.manual_seed(seed)
        found.append(model(batch, mask).attention)
    assert set(found[0].unique().tolist()) == {0.0, 1.0}
    assert not torch.equal(found[0], found[2])
    if join != "output_only":  # there the noise of all positions is drawn at once
        assert_close(found[1], found[0])


def test_parts_that_are_off_add_no_parameters(tiny_model):
    names = {name for name, _ in tiny_model("attention").attention.named_parameters()}
    projections = {"query.weight", "query.bias", "key.weight", "value.weight", "value.bias"}
    assert names == projections | {"additive.weight"}
    located = {name for name, _ in tiny_model("attention", score="location").attention.named_parameters()}
    assert located == {"location.weight", "value.weight", "value.bias"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_heads": 3}, "d_attention: a multiple of num_heads=3 is needed; got 512; 513 would do"),
        (
            {"score": "location", "coverage": True},
            "coverage: false is needed with score=location, which has no keys that coverage could enter; got true",
        ),
        (
            {"join": "output_only", "coverage": True},
            "coverage: false is needed with join=output_only, which attends from all positions at once, while "
            "coverage goes from one position to the next; got true",
        ),
        ({"window": 0}, "window: greater than 0 is needed; got 0"),
        ({"temperature": 0.0}, "temperature: greater than 0 is needed; got 0.0"),
        ({"location_positions": 0}, "location_positions: greater than 0 is needed; got 0"),
    ],
)
def test_settings_that_cannot_be(changes, message):
    default = {
        "score": "additive",
        "location_positions": 128,
        "d_attention": 512,
        "num_heads": 1,
        "join": "output",
        "span": "global",
        "window": 10,
        "choice": "soft",
        "temperature": 1.0,
        "coverage": False,
    }
    assert check(RecurrentAttentionSettings, default).model_dump() == default
    with pytest.raises(SettingsError) as error:
        check(RecurrentAttentionSettings, default | changes)
    assert str(error.value) == message


@pytest.mark.parametrize("join", ["input", "output", "output_only"])
def test_weights_sum_to_one_and_ignore_padding(join, tiny_model, tiny_batch):
    batch = tiny_batch()
    weights = tiny_model("attention", join=join)(batch).attention  # (B, T, S)
    assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
    for row, length in enumerate(batch.source_lengths.tolist()):
        assert weights[row, :, length:].abs().max() == 0 if length < weights.shape[2] else True


def test_feeding_is_what_tells_output_from_output_only(tiny_model, tiny_batch):
    batch = tiny_batch()
    model = tiny_model("attention", join="output")
    with torch.no_grad():
        fed = model(batch).outputs
        for cell in model.cells[:1]:
            cell.weight_ih[:, 8:] = 0  # the columns that read what was fed
        unfed = model(batch).outputs
    assert_close(fed[:, 0], unfed[:, 0])
    assert not torch.allclose(fed[:, 1], unfed[:, 1])

"""Attention that learns links of words: its loss by hand, which parts learn from it, and the real command line."""

import json
import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from nmt.cli.compose import compose
from nmt.config import TrainSettings
from nmt.config.check import check
from nmt.errors import RunError, SettingsError
from nmt.grammar import generate
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model
from nmt.training.consistency import Agreement
from nmt.training.objective import Objective

NUM_TRAIN = 240


def guided(model):
    model.is_guided = True
    return model


def with_links(batch, seed=0):
    """Give a batch random shares; some target pieces have none, and no link leads to padding."""
    generator = torch.Generator().manual_seed(seed)
    size = (len(batch.source), batch.target_out.shape[1], batch.source.shape[1])
    linked = (torch.rand(*size, generator=generator) < 0.4).double()
    for i, (source, target) in enumerate(zip(batch.source_lengths, batch.target_lengths, strict=True)):
        linked[i, target:], linked[i, :, source:], linked[i, 1] = 0, 0, 0
    return replace(batch, alignment=linked / linked.sum(-1, keepdim=True).clamp_min(1))


def loss_by_hand(batch, weights):
    total = 0.0
    for i, t, s in batch.alignment.nonzero().tolist():
        total -= float(batch.alignment[i, t, s]) * float(weights[i, t, s].log())
    return total


def weights_of(model, batch):
    """Return the attention weights of the head that learns links, taken from the maps of all heads."""
    maps = [one for one in model.attention_maps(batch) if one.kind == "cross"]
    return maps[-2:][0].weights[:, 0]


OPTIONS = [
    {},
    {"num_decoder_layers": 1},
    {"num_decoder_layers": 3},
    {"num_heads": 4, "num_key_value_heads": 2, "positions": "rotary"},
    {"norm": "post", "positions": "relative"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_loss_is_that_of_one_head_and_only_what_it_reads_learns(tiny_model, tiny_batch, options):
    model, batch = guided(tiny_model("transformer", dropout=0.0, **options)), with_links(tiny_batch())
    expected = loss_by_hand(batch, weights_of(model, batch))
    assert_close(model.alignment(batch), weights_of(model, batch))
    loss = Objective(model, 0.0, alignment_weight=0.05).train()(batch)
    plain = Objective(model, 0.0).train()(replace(batch, alignment=None))
    assert loss.alignment.item() == pytest.approx(expected, rel=1e-6)
    assert loss.total.item() == pytest.approx(plain.total.item() + 0.05 * expected, rel=1e-6)
    assert plain.alignment is None
    model.zero_grad()
    only = Objective(model, 0.0, alignment_weight=1.0).train()(batch).total - plain.total
    only.backward()
    layers = list(model.decoder.layers)
    number = max(0, len(layers) - 2)
    query = layers[number].cross_attention.query.weight.grad
    d_head = model.options.d_head
    assert query[:d_head].abs().min() > 1e-9
    assert query[d_head:].abs().max() < 1e-9, "no other head learns"
    for layer in layers[number + 1 :]:
        assert all(p.grad is None or p.grad.abs().max() < 1e-9 for p in layer.parameters())
    assert model.decoder.layers[number].feed_forward.inner.weight.grad.abs().max() < 1e-9
    assert all(p.grad.abs().max() > 1e-9 for p in model.encoder.layers[0].self_attention.parameters())


def test_a_link_that_has_next_to_no_weight_is_learned_too(tiny_model, tiny_batch):
    model, batch = guided(tiny_model("transformer", dropout=0.0)), tiny_batch()
    with torch.no_grad():
        for layer in model.decoder.layers:
            layer.cross_attention.query.weight.mul_(8)
    weights = weights_of(model, batch)
    is_rare = ((weights > 1e-12) & (weights < 1e-6)).double()
    assert is_rare.any()
    batch = replace(batch, alignment=is_rare)
    loss = Objective(model, 0.0, alignment_weight=1.0).train()(batch)
    assert loss.alignment.item() == pytest.approx(loss_by_hand(batch, weights), rel=1e-6)


@pytest.mark.parametrize("join", ["input", "output", "output_only"])
def test_recurrent_attention_learns_links(tiny_model, tiny_batch, join):
    model = guided(tiny_model("attention", join=join, dropout=0.0))
    batch = with_links(tiny_batch())
    (found,) = model.attention_maps(batch)
    loss = Objective(model, 0.1, alignment_weight=0.5).train()(batch)
    assert loss.alignment.item() == pytest.approx(loss_by_hand(batch, found.weights[:, 0]), rel=1e-6)
    assert_close(model.alignment(batch), found.weights[:, 0])
    loss.total.backward()
    assert all(p.grad.abs().max() > 0 for p in model.attention.parameters())


@pytest.mark.parametrize(
    "agreement", [Agreement(0.5, 0.5, 0.3, 0.3, 0.0), Agreement(1.0, 0.0, 3.0, 0.0, 0.4)]
)
def test_two_passes_share_the_loss_as_they_share_that_of_the_words(tiny_model, tiny_batch, agreement):
    model, batch = guided(tiny_model("transformer", dropout=0.0)), with_links(tiny_batch())
    objective = Objective(model, 0.0, agreement, alignment_weight=0.2).train()
    loss = objective(batch)
    # Without dropout both passes of R-Drop are the same; with SimCut only the uncut pass counts.
    assert loss.alignment.item() == pytest.approx(loss_by_hand(batch, weights_of(model, batch)), rel=1e-6)


def test_evaluation_and_search_know_nothing_of_links(tiny_model, tiny_batch):
    model, batch = tiny_model("transformer"), tiny_batch()
    assert model(batch).attention is None, "nothing is computed that nobody asked for"
    expected = model(batch).outputs
    assert torch.equal(guided(model)(batch).outputs, expected)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["model=rnn"], "model: attention or transformer is needed with training.guided_alignment; got rnn"),
        (["model.layer_dropout=0.1"], "model.layer_dropout: 0 is needed with training.guided_alignment; got 0.1"),
        (["training.subword_sampling=0.1"], "training.subword_sampling: null is needed with training.guided_alignment; "
         "got 0.1"),
        (["data.context=1"], "data.context: 0 is needed with training.guided_alignment, whose links are those of lines "
         "alone; got 1"),
        (["model=attention", "model.attention.choice=straight_through"], "model.attention.choice: soft is needed with "
         "training.guided_alignment; got straight_through"),
        (["model=attention", "model.attention.span=local_p"], "model.attention.span: global is needed with "
         "training.guided_alignment; got local_p"),
    ],
)  # fmt: skip
def test_what_cannot_learn_every_link_is_refused_by_name(overrides, message):
    values = compose("train", ["training.guided_alignment=links", *overrides], None).values
    with pytest.raises(SettingsError) as error:
        check(TrainSettings, values)
    assert str(error.value) == message


@pytest.fixture
def links(tmp_path):
    """Write links `i-i`, up to the end of the shorter side, for the built-in text as `train_in` has it."""
    pairs = generate(0, NUM_TRAIN, 6, 4)["train"]
    sizes = [min(len(pair.source.split()), len(pair.target.split())) for pair in pairs]
    path = tmp_path / "links"
    path.write_text("".join(" ".join(f"{i}-{i}" for i in range(size)) + "\n" for size in sizes))
    return path


def test_the_command_line_trains_and_aligns_with_links(nmt, tiny_training, links, tmp_path):
    given = [*tiny_training(), f"data.num_train={NUM_TRAIN}", "data.num_validation=6", "data.num_test=4"]
    given += ["training.max_updates=2", "precision=float32"]
    done = nmt("train", "run=run", "training.guided_alignment=links", *given)
    num_links = len(links.read_text().split())
    assert f"links        {num_links} of words, for attention to learn" in done.stderr.decode()
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    training = [row for row in rows if row["kind"] == "training"]
    assert len(training) == 2
    assert all(row["alignment_loss"] > 0 for row in training)
    assert json.loads((tmp_path / "run" / "data.json").read_text())["is_guided"] is True
    model, _ = load_model(RunDirectory(tmp_path / "run"), "best")
    assert model.is_guided
    (tmp_path / "in.de").write_text("Der Hund schläft.\n")
    nmt("align", "run=run", "source=in.de", "target=in.de")
    links.write_text("0-0\n")
    refused = nmt("train", "run=other", "training.guided_alignment=links", *given, code=2)
    (message,) = refused.stderr.decode().splitlines()[-1:]
    assert message == (
        "nmt: training.guided_alignment: a line for each of the 240 training pairs is needed; got 1 lines in links"
    )
    assert not (tmp_path / "other").exists()


def weights(run, step):
    return load_file(run / "checkpoints" / f"step-{step:06d}" / "model.safetensors")


@pytest.mark.parametrize("kind", ["transformer", "attention"])
def test_a_run_with_links_goes_on_bit_for_bit(train_in, links, kind):
    given = [f"training.guided_alignment={links}", "training.max_epochs=null"]
    whole = train_in("whole", "training.max_updates=6", *given, kind=kind)
    train_in("parts", "training.max_updates=4", *given, kind=kind)
    parts = train_in("parts", "training.max_updates=6", *given, kind=kind)
    other = train_in("other", "training.max_updates=6", kind=kind)
    expected, found, without = (weights(run, 6) for run in (whole, parts, other))
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
    assert any(not torch.equal(without[name], tensor) for name, tensor in expected.items())


def alignment_losses(run):
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [row.get("alignment_loss") for row in rows if row["kind"] == "training"]


def test_a_head_that_has_learned_links_aligns_also_after_training_without_them(train_in, links):
    run = train_in("run", "training.max_updates=2", f"training.guided_alignment={links}")
    train_in("run", "training.max_updates=4", "training.guided_alignment=null")
    losses = alignment_losses(run)
    assert losses[0] > 0
    assert losses[-1] is None
    child = train_in("child", "training.max_updates=1", f"training.from_run={run}")
    other = ["model.num_decoder_layers=1", "model.num_encoder_layers=3"]
    in_part = train_in("in_part", "training.max_updates=1", f"training.from_run={run}", *other)
    aligns = [load_model(RunDirectory(path), "best")[0].is_guided for path in (run, child, in_part)]
    assert aligns == [True, True, False]


def test_a_run_goes_on_with_the_links_it_began_with_alone(train_in, links):
    given = [f"training.guided_alignment={links}"]
    train_in("run", "training.max_updates=2", *given)
    links.write_text(links.read_text().replace("0-0", "1-0"))
    with pytest.raises(Exception, match=r"^training.guided_alignment: what the run began with"):
        train_in("run", "training.max_updates=4", *given)


def test_without_links_the_weight_of_their_loss_changes_nothing(train_in):
    one = weights(train_in("one", "training.max_updates=2"), 2)
    two = weights(train_in("two", "training.max_updates=2", "training.guided_alignment_weight=7"), 2)
    assert all(torch.equal(two[name], tensor) for name, tensor in one.items())


def test_micro_batches_add_up_to_one_batch(train_in, links):
    given = [f"training.guided_alignment={links}", "model.dropout=0", "training.max_updates=2"]
    small = weights(train_in("small", *given, "training.max_tokens=100"), 2)
    large = weights(train_in("large", *given, "training.max_tokens=4096"), 2)
    for name, tensor in large.items():
        assert_close(small[name], tensor, rtol=1e-3, atol=2e-5, msg=name)


def test_a_run_that_says_something_else_of_its_links_is_refused(trained_run, tmp_path):
    run = RunDirectory(shutil.copytree(trained_run, tmp_path / "run"))
    facts = json.loads((run.path / "data.json").read_text())
    assert facts["is_guided"] is False
    (run.path / "data.json").write_text(json.dumps(facts | {"is_guided": "yes"}))
    with pytest.raises(RunError, match=r"^run: true or false is needed as is_guided; got yes in "):
        load_model(run, "best")
    del facts["is_guided"]  # of an older version
    (run.path / "data.json").write_text(json.dumps(facts))
    assert not load_model(run, "best")[0].is_guided

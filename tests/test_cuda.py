"""Models, searches and trainings on a GPU give what the CPU gives; skipped where there is no GPU."""

import json

import pytest
import torch
from torch.testing import assert_close

from nmt.decoding.beam import Beam
from nmt.decoding.beam_search import beam_search, power_penalty
from nmt.decoding.rules import EndAtLimit, ForbidTokens
from nmt.training.device.graphs import CudaGraphs, Replay, recordable_stream
from nmt.training.objective import Loss, Objective

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU at hand")


@pytest.mark.parametrize("kind", ["rnn", "attention", "transformer"])
def test_loss_gradients_and_search_equal_those_of_the_cpu(kind, tiny_model, tiny_batch):
    batch, found = tiny_batch(), []
    for device in (torch.device("cpu"), torch.device("cuda")):
        model = tiny_model(kind, dropout=0.0).to(device)
        moved = batch.to(device)
        loss = Objective(model, 0.1).train()(moved)
        loss.total.backward()
        model.eval()
        rules = [
            ForbidTokens(torch.tensor([0, 1, 2], device=device)),
            EndAtLimit(3, torch.tensor([5, 5, 5]), device),
        ]
        with torch.no_grad():
            hypotheses = beam_search(
                model,
                model.start(moved.source, moved.source_lengths),
                5,
                2,
                3,
                Beam(3),
                power_penalty(1.0),
                rules,
            )
        found.append((loss.total.cpu(), [p.grad.cpu() for p in model.parameters()], hypotheses))
    assert_close(found[1][0], found[0][0])
    assert_close(found[1][1], found[0][1])
    assert found[1][2] == found[0][2]


@pytest.mark.parametrize("kind", ["rnn", "attention"])
def test_recurrent_layers_compute_in_float32_whatever_autocast_says(kind, tiny_model, tiny_batch):
    model, batch = tiny_model(kind).float().to("cuda"), tiny_batch().to(torch.device("cuda"))
    with torch.autocast("cuda", torch.bfloat16):
        encoded = model.encode(batch.source, batch.source_lengths)
    assert encoded.outputs.dtype == encoded.hidden.dtype == torch.float32


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_training_on_the_gpu(nmt, tmp_path, tiny_training, precision):
    nmt("train", "run=run", "device=cuda", f"precision={precision}", *tiny_training())
    assert (tmp_path / "run" / "test.json").exists()
    assert (
        nmt("translate", "run=run", "device=cpu", "precision=float32", stdin=b"Haus\n").stdout.count(b"\n")
        == 1
    )


def test_compiled_and_recorded_training_on_the_gpu(nmt, tmp_path, tiny_training):
    # Enough updates for every shape to occur again.
    given = (
        "device=cuda",
        *tiny_training(),
        "model.dropout=0",
        "training.max_updates=60",
        "training.validate_every=60",
    )
    done = nmt("train", "run=run", "training.compile=on", *given, timeout=600)
    assert b"compiled in" in done.stderr
    nmt("train", "run=eager", "training.compile=off", *given)
    compiled, eager = (
        [json.loads(line)["loss"] for line in (tmp_path / run / "metrics.jsonl").read_text().split("\n")[:-1]]
        for run in ("run", "eager")
    )
    assert compiled == pytest.approx(eager, rel=0.02)


def test_recorded_batches_teach_what_eager_ones_teach(tiny_model, tiny_batch):
    device = torch.device("cuda")
    model = tiny_model("transformer", dropout=0.2, attention_dropout=0.1).float().to(device)
    objective = Objective(model, 0.1).train()

    def learn(batch, num_tokens):
        loss = objective(batch)
        (loss.total / num_tokens).backward()
        return Loss(loss.total.detach(), loss.negative_log_likelihood)

    with recordable_stream(device):
        replay = Replay(learn, CudaGraphs())
        for number, lengths in enumerate([(5, 3, 7), (6, 6, 1), (5, 3, 7), (2, 9, 4)]):
            batch = tiny_batch(number, lengths, (4, 6, 2)).to(device)
            found = []
            for run in (learn, replay):
                model.zero_grad(set_to_none=False)
                torch.manual_seed(number)
                loss = run(batch, torch.tensor(12, device=device))
                found.append([*loss, *(parameter.grad.clone() for parameter in model.parameters())])
            assert_close(found[1], found[0])
        assert len(replay.recordings) == 1

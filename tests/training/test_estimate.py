"""What `--plan` times is what training would run."""

from contextlib import contextmanager

import pytest

from nmt.training import estimate
from nmt.training.replay import Replay


@pytest.mark.parametrize("records", [False, True])
def test_updates_are_timed_on_the_stream_that_can_be_recorded_and_as_most_of_them_run(
    records, make_trainer, monkeypatch
):
    trainer, streams, runs = make_trainer("training.update_tokens=20"), [], []

    @contextmanager
    def stream(device):
        streams.append(device)
        yield
        streams.pop()

    def compile_layers(first_rows):
        assert streams == [trainer.device]
        first_rows()
        if records:
            trainer.step.record(lambda compute: pytest.fail("no GPU is here to record"))

    def run(number, update):
        assert streams == [trainer.device]
        runs.append((number, [rows.tolist() for rows in update]))

    monkeypatch.setattr(estimate, "recordable_stream", stream)
    monkeypatch.setattr(trainer.step, "compile", compile_layers)
    monkeypatch.setattr(trainer.step, "run", run)
    seconds, num_timed = estimate._seconds_per_update(trainer)
    assert seconds >= 0
    assert [number for number, _ in runs] == list(range(1, len(runs) + 1))
    if records:  # each shape has been met, and recorded, before it is timed
        updates = [update for _, update in runs]
        assert isinstance(trainer.step.replay, Replay)
        assert updates[:num_timed] == updates[num_timed : 2 * num_timed] == updates[2 * num_timed :]
    else:
        assert len(runs) == num_timed + estimate.NUM_UNTIMED

"""What the plan measures, and for how long, by a clock that target tokens advance."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from nmt.training import plan
from nmt.training.device.graphs import Replay
from nmt.training.progress import Progress


@pytest.fixture
def make_clocked(make_trainer, monkeypatch):
    """Return a function that makes a trainer and its clock: each token takes a given time, in the first update more."""

    class Clock:
        now = 0.0
        num_updates = 0

        def monotonic(self):
            return self.now

    def make(seconds_per_token, update_tokens=30):
        trainer, clock = make_trainer(f"training.update_tokens={update_tokens}"), Clock()

        def run(number, update):
            num_tokens = sum(int(trainer.pairs.target_lengths[rows].sum()) for rows in update)
            clock.now += num_tokens * seconds_per_token * (1 if clock.num_updates else 3)
            clock.num_updates += 1

        monkeypatch.setattr(trainer.step, "run", run)
        monkeypatch.setattr(plan, "time", clock)
        return trainer, clock

    return make


def mean_tokens(trainer):
    updates = trainer.enter(0)
    return trainer.pairs.target_lengths.sum() / len(updates)


def test_quick_updates_are_timed_over_the_epoch_and_no_more_than_are_left(make_clocked):
    trainer, clock = make_clocked(0.001)
    for num_left, measured in ((10, "7 of them"), (3, "2 of them"), (1, "1 of them"), (5000, "17 of them")):
        before = clock.num_updates
        seconds, told = plan._seconds_per_update(trainer, num_left)
        assert told == measured
        assert clock.num_updates - before <= 2 + min(num_left, plan.MAX_UPDATES)
        assert seconds == pytest.approx(0.001 * mean_tokens(trainer), rel=0.5)


def test_slow_updates_end_the_measurement(make_clocked):
    trainer, clock = make_clocked(1.0 / 30)
    seconds, told = plan._seconds_per_update(trainer, 5000)
    assert clock.now < plan.MAX_SECONDS + 3
    assert told != "17 of them"
    assert seconds == pytest.approx(mean_tokens(trainer) / 30, rel=0.5)


def test_of_an_update_that_takes_a_minute_only_a_part_is_run(make_clocked):
    trainer, clock = make_clocked(1.0, update_tokens=90)
    seconds, told = plan._seconds_per_update(trainer, 5000)
    assert told == "a part of one"
    assert clock.num_updates == 2
    whole = trainer.pairs.target_lengths[np.concatenate(trainer.enter(0)[0])].sum()
    assert seconds == pytest.approx(whole)


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
        assert streams == [trainer.step.device]
        first_rows()
        if records:
            trainer.step.record(lambda compute: pytest.fail("no GPU is here to record"))

    def run(number, update):
        assert streams == [trainer.step.device]
        runs.append([rows.tolist() for rows in update])

    monkeypatch.setattr(plan, "recordable_stream", stream)
    monkeypatch.setattr(trainer.step, "compile", compile_layers)
    monkeypatch.setattr(trainer.step, "run", run)
    plan._seconds_per_update(trainer, 4)
    whole = runs[2:]  # two parts of an update come first
    if records:  # each shape has been met, and recorded, before it is timed
        assert isinstance(trainer.step.replay, Replay)
        assert whole[:4] == whole[4:8] == whole[8:]
    else:
        assert len(whole) == 4


def test_time_that_was_spent_and_limits_that_were_reached_count_in_a_run_that_goes_on(
    make_trainer, monkeypatch
):
    monkeypatch.setattr(plan, "_seconds_per_update", lambda *_: (1.0, "1 of them"))
    trainer = make_trainer("training.max_seconds=3600", "training.max_updates=20000", "training.patience=3")
    prepared = SimpleNamespace(trainer=trainer)
    (_, line) = plan._time_lines(prepared, Progress(update=10, seconds=3000.0))
    assert (
        "about 10 min at most, as training.max_seconds says, and the last validation and the test on top"
        in line
    )
    (line,) = plan._time_lines(prepared, Progress(update=10, validations_without_gain=3))
    assert line.startswith("updates      0 at most")
    assert line.endswith(": the run has come to training.patience=3 validations without a gain")


@pytest.mark.parametrize(
    ("tokenize", "line", "is_told"),
    [
        ("13a", "ผู้ชายกำลังอ่านหนังสืออยู่ในสวนสาธารณะ", True),
        ("intl", "一个男人在公园里看书。", True),
        ("zh", "一个男人在公园里看书。", False),
        ("13a", "一个 男人 在 公园 里 看 书 。", False),
        ("13a", "Ein Mann liest im Park ein Buch.", False),
        ("13a", "Donaudampfschifffahrtsgesellschaft", False),
        ("13a", "", False),
    ],
)
def test_text_without_spaces_that_bleu_would_take_for_single_words_is_told(tokenize, line, is_told):
    assert bool(plan._unspaced(tokenize, [line] * 3)) is is_told

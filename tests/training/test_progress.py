"""Figures between two lines of the log, by a clock that is set by hand."""

import pytest
import torch

from nmt.training import progress as figures_module
from nmt.training.progress import AppliedUpdate, UpdateFigures, Window, WindowState


@pytest.fixture
def clock(monkeypatch):
    """Return a clock, whose `now` a test sets."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(figures_module, "time", clock)
    return clock


def update(total=6.0, nll=4.0, norm=1.0, num_tokens=10, seconds_collating=0.5):
    sums = (torch.tensor(value, dtype=torch.float64) for value in (total, nll, norm))
    return UpdateFigures(*sums, num_tokens, 0.01, seconds_collating, False)


def test_only_the_time_of_training_counts(clock):
    window = Window()
    for _ in range(4):
        window.add(update(num_tokens=30))
        clock.now += 2
    clock.now += 12  # a validation
    window.leave_out(12)
    assert window.seconds_per_update() == pytest.approx(2)
    assert window.close()["tokens_per_second"] == pytest.approx(30 / 2)
    window.add(update(num_tokens=30))
    clock.now += 3
    assert window.seconds_per_update() == pytest.approx(3)
    assert window.close()["tokens_per_second"] == pytest.approx(30 / 3)


def test_a_line_is_of_the_updates_since_the_last_one_that_were_applied(clock):
    window = Window()
    window.add(update(total=60.0, nll=40.0, norm=3.0, num_tokens=10))
    window.add(update(total=torch.nan, nll=torch.nan, norm=torch.inf, num_tokens=100))
    window = Window(window.state())  # as in a resumed run
    window.add(update(total=30.0, nll=20.0, norm=2.0, num_tokens=20))
    clock.now += 1
    line = window.close()
    assert line["loss"] == pytest.approx(90 / 30)
    assert line["negative_log_likelihood"] == pytest.approx(60 / 30)
    assert (line["gradient_norm"], line["updates_skipped"], line["learning_rate"]) == (2.0, 1, 0.01)
    assert line["seconds_waiting_for_data"] == pytest.approx(0.5)
    assert window.num_skipped_in_row == 0
    assert window.longest_row_skipped == 1


def test_the_longest_row_of_skipped_updates_counts_wherever_it_ends(clock):
    window = Window()
    for norm in (1.0, *[torch.nan] * 4, 1.0, torch.inf):
        window.add(update(norm=norm))
    assert window.state().num_skipped_in_row == 1
    assert window.longest_row_skipped == 4
    window = Window(window.state())
    for norm in (torch.nan, 1.0):
        window.add(update(norm=norm))
    window.read()
    assert window.longest_row_skipped == 2, "the row goes on from before the save"


def test_what_is_saved_of_many_updates_is_small_and_ends_in_the_same_line(clock):
    whole, parts, older = Window(), Window(), []
    for number in range(50):
        one = update(total=1 / (number + 1), nll=0.1 * number, norm=float(number), num_tokens=number + 1)
        whole.add(one)
        parts.add(one)
        older.append(
            AppliedUpdate(
                *(float(value) for value in (one.total, one.negative_log_likelihood)), number, number + 1
            )
        )
        parts = Window(parts.state())
        assert len(parts.state().applied) == 1
    parts.last = whole.last
    clock.now += 1
    ended = whole.close()
    figures = ("loss", "negative_log_likelihood", "gradient_norm")
    went_on = parts.close()
    assert [went_on[name] for name in figures] == [ended[name] for name in figures], "to the last bit"
    every_one = Window(WindowState(older))  # as older versions saved it
    every_one.last = whole.last
    clock.now += 1
    found = every_one.close()
    assert [found[name] for name in figures] == [ended[name] for name in figures]

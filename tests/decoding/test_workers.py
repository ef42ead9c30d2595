"""Work side by side."""

import threading

import pytest
import torch

from nmt.decoding.workers import side_by_side


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_results_come_in_order_from_threads_that_share_the_cores(two_threads):
    barrier = threading.Barrier(2, timeout=60)

    def work(number):
        barrier.wait()  # breaks unless two are at work at once
        return number, torch.get_num_threads()

    assert side_by_side(work, [5, 3, 4, 1]) == [(5, 1), (3, 1), (4, 1), (1, 1)]
    assert torch.get_num_threads() == 2


def test_one_thing_has_all_the_threads(two_threads):
    assert side_by_side(lambda _: (threading.current_thread(), torch.get_num_threads()), ["a"]) == [
        (threading.main_thread(), 2)
    ]


def test_an_error_reaches_the_caller(two_threads):
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda number: 1 // number, [1, 0, 2])
    assert torch.get_num_threads() == 2

"""Processes side by side: that nothing else changes, and that nobody is left behind."""

import contextlib
import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from multiprocessing.context import ForkProcess

import pytest
import torch
from processes import is_running, wait_for_end

from nmt.decoding.workers import Workers, num_workers
from nmt.errors import UserError


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_workers_are_processes_of_one_thread_each_and_results_are_in_order(three_threads):
    meeting = multiprocessing.get_context("fork").Barrier(3, timeout=60)
    torch.ones(300, 300) @ torch.ones(300, 300)  # on all threads of this process, which a fork does not have

    def work(item):
        meeting.wait()  # three at a time, or nobody gets on
        product = torch.full((300, 300), float(item)) @ torch.ones(300, 300)
        return item, float(product.sum()), torch.get_num_threads(), os.getpid()

    workers = Workers(work, 3)
    results = [workers.map(range(6)) for _ in range(2)]
    for result in results:
        assert [answer[:3] for answer in result] == [(item, item * 300.0**3, 1) for item in range(6)]
    processes = {answer[3] for result in results for answer in result}
    assert len(processes) == 3
    assert os.getpid() not in processes
    assert torch.get_num_threads() == 3


def test_one_item_is_no_reason_for_a_process(three_threads):
    for workers in (
        Workers(lambda item: (item, os.getpid(), torch.get_num_threads()), size) for size in (1, 3)
    ):
        assert workers.map([5]) == [(5, os.getpid(), 3)]
        assert workers.map([]) == []
    assert Workers(lambda item: (item, os.getpid()), 1).map([5, 6]) == [(5, os.getpid()), (6, os.getpid())]


def test_processes_end_with_their_owner():
    workers = Workers(lambda item: os.getpid(), 2)
    processes = workers.map(range(4))
    assert set(processes) <= {process.pid for process in multiprocessing.active_children()}
    del workers
    assert not any(map(is_running, processes))


def test_processes_end_with_a_process_that_is_killed():
    program = """
import os, time
from nmt.decoding.workers import Workers
def work(item):
    if item < 2:
        os.write(1, b'%d\\n' % os.getpid())  # at once: both write to the same pipe
    time.sleep(0.2)
    return item
Workers(work, 2).map(range(1000))
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with process.stdout:
        pids = [int(process.stdout.readline()) for _ in range(2)]
    process.kill()
    process.wait()
    wait_for_end(pids)


def test_an_error_comes_through_and_stops_what_goes_on():
    begun = multiprocessing.get_context("fork").Value("i", 0)

    def work(item):
        with begun:
            begun.value += 1
        if item == 1:
            while begun.value < 2:
                time.sleep(0.001)
            raise ValueError(f"item {item}")
        time.sleep(1000)

    workers = Workers(work, 2)
    with pytest.raises(ValueError, match="item 1") as caught:
        workers.map(range(1000))
    assert any("in work" in note for note in caught.value.__notes__)  # where it happened
    assert begun.get_obj().value == 2  # without the lock, which the one that was ended may have held
    assert not multiprocessing.active_children()


def test_one_that_is_killed_is_an_error_and_the_next_call_has_new_ones(tmp_path):
    def work(item):
        # The first to get here is killed. A lock would do for that, but whoever is ended while it is held never opens it.
        with contextlib.suppress(FileExistsError):
            (tmp_path / "victim").touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * item

    workers = Workers(work, 2)
    with pytest.raises(
        UserError, match=r"ended from outside; if memory ran out, a smaller decoding\.max_tokens"
    ):
        workers.map(range(10))
    assert workers.map(range(10)) == [2 * item for item in range(10)]


def test_one_that_is_killed_between_two_calls_is_an_error_too():
    workers = Workers(lambda item: os.getpid(), 2)
    killed = workers.map(range(2))[0]
    os.kill(killed, signal.SIGKILL)
    wait_for_end([killed])
    with pytest.raises(UserError, match="ended from outside"):
        workers.map(range(4))


def test_an_interrupt_from_the_terminal_is_left_to_the_first_process():
    def work(item):
        os.kill(os.getpid(), signal.SIGINT)
        return item

    assert Workers(work, 2).map(range(4)) == [0, 1, 2, 3]


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_gpu_has_one_process(device, three_threads):
    assert num_workers(torch.device("cpu")) == (3 if sys.platform == "linux" else 1)
    assert num_workers(torch.device(device)) == 1


def test_a_daemon_has_no_processes_of_its_own():
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=lambda: theirs.send(num_workers(torch.device("cpu"))), daemon=True)
    process.start()
    assert ours.recv() == 1
    process.join()


def test_a_system_without_room_for_processes_is_one_line(monkeypatch):
    started = []
    start = ForkProcess.start

    def start_one(process):
        if started:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        started.append(process)
        start(process)

    monkeypatch.setattr(ForkProcess, "start", start_one)
    with pytest.raises(
        UserError,
        match=r"^OMP_NUM_THREADS: a number of processes that the system allows is needed; got 2: Resource temp",
    ):
        Workers(lambda item: item, 2).map(range(4))
    assert not multiprocessing.active_children()

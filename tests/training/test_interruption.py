"""The first signal waits for the work at hand, the second one for nothing."""

import signal

import pytest

from nmt.cli import main as cli
from nmt.training.interruption import SIGNALS, Interruption


@pytest.fixture(autouse=True)
def _handlers():
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_signal_is_raised_again_when_the_work_is_done():
    done = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  what is tested is where it is raised
        with Interruption() as interruption:
            signal.raise_signal(signal.SIGINT)
            done.append(interruption.received)
        done.append("after")
    assert done == [signal.SIGINT]


def test_work_that_was_interrupted_is_not_done_whatever_a_handler_does():
    signal.signal(signal.SIGTERM, lambda *_: None)  # as in a job of submitit
    with pytest.raises(SystemExit) as ended, Interruption():
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM


def test_the_second_signal_does_not_wait():
    done = []
    with pytest.raises(KeyboardInterrupt), Interruption():  # noqa: PT012  likewise
        signal.raise_signal(signal.SIGTERM)
        done.append("first")
        signal.raise_signal(signal.SIGINT)
        done.append("second")
    assert done == ["first"]


@pytest.mark.parametrize("number", SIGNALS)
def test_what_is_ignored_stays_ignored_and_handlers_come_back(number):
    others = {other: signal.getsignal(other) for other in SIGNALS if other != number}
    signal.signal(number, signal.SIG_IGN)  # as `nohup` does with SIGHUP
    with Interruption() as interruption:
        signal.raise_signal(number)
    assert interruption.received is None
    assert signal.getsignal(number) is signal.SIG_IGN
    assert {other: signal.getsignal(other) for other in others} == others


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_command_line_ends_with_the_number_of_the_signal_unless_it_is_ignored(number, code, capsys):
    signal.signal(number, lambda *_: None)
    assert cli.main(["--version"]) == 0
    with pytest.raises(SystemExit) as ended:
        signal.raise_signal(number)
    assert ended.value.code == code
    signal.signal(number, signal.SIG_IGN)
    assert cli.main(["--version"]) == 0
    signal.raise_signal(number)


def test_a_launcher_may_send_the_same_signal_again():
    def end(number, frame):
        raise SystemExit(number)

    before = {number: signal.signal(number, end) for number in SIGNALS}
    try:
        for again in (signal.SIGTERM, signal.SIGHUP):
            with pytest.raises(SystemExit) as ended, Interruption(has_launcher=True) as interruption:  # noqa: PT012
                signal.raise_signal(signal.SIGTERM)
                signal.raise_signal(again)
                done = True
            assert done
            assert ended.value.code == interruption.received == signal.SIGTERM
        with pytest.raises(SystemExit), Interruption(has_launcher=True):  # noqa: PT012
            done = False
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            done = True
        assert not done
        assert signal.getsignal(signal.SIGTERM) is end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

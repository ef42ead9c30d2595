"""The first signal waits for the work at hand, the second one for nothing."""

import signal

import pytest

from nmt.training.interruption import Interruption


@pytest.fixture(autouse=True)
def _handlers():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
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


def test_the_second_signal_does_not_wait():
    done = []
    with pytest.raises(KeyboardInterrupt), Interruption():  # noqa: PT012  likewise
        signal.raise_signal(signal.SIGTERM)
        done.append("first")
        signal.raise_signal(signal.SIGINT)
        done.append("second")
    assert done == ["first"]


def test_what_is_ignored_stays_ignored_and_handlers_come_back():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with Interruption() as interruption:
        signal.raise_signal(signal.SIGTERM)
    assert interruption.received is None
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

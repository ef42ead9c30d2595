"""The queue in front of a model: which lines are translated together, and which are dropped."""

import asyncio
import threading
import time
from concurrent.futures import wait

import pytest

from nmt.decoding.translation import Candidate, Translation
from nmt.serving.app import _while_there
from nmt.serving.batching import Batcher, Wanted, all_of
from nmt.serving.metrics import Metrics
from nmt.serving.refusal import Refused


class Model:
    """Translates to upper case, once `go_on` is set."""

    def __init__(self):
        self.calls, self.is_called, self.go_on = [], threading.Event(), threading.Event()

    def __call__(self, lines, wanted):
        self.calls.append((list(lines), wanted.num_hypotheses))
        self.is_called.set()
        assert self.go_on.wait(60)
        if "bad" in lines:
            raise ValueError("no such line")
        return [Translation(line, [Candidate(line.upper())]) for line in lines]


@pytest.fixture
def busy():
    """Return a model, metrics, and a batcher of four lines whose thread is translating."""
    model, metrics = Model(), Metrics()
    batcher = Batcher(model, 4, 0, 100, metrics)
    batcher.submit(["first"], Wanted())
    assert model.is_called.wait(60)
    return model, metrics, batcher


def test_what_waits_is_translated_together_and_each_gets_its_own(busy):
    model, metrics, batcher = busy
    texts = [["a", "b"], ["c"], ["d", "e"], ["f"]]
    futures = [batcher.submit(lines, Wanted()) for lines in texts]
    model.go_on.set()
    wait(futures, 60)
    # A blank line follows each text. A text that does not fit waits for the next batch; later ones that fit do not.
    assert model.calls[1:] == [(["a", "b", "", "c", "", "f", ""], 1), (["d", "e", ""], 1)]
    found = [[str(line) for line in future.result()] for future in futures]
    assert found == [[line.upper() for line in lines] for lines in texts]
    assert "nmt_batches_total 3\n" in metrics.text()
    assert "nmt_sentences_total 7\n" in metrics.text()


def test_lines_that_want_as_many_translations_go_together(busy):
    model, _, batcher = busy
    futures = [batcher.submit([line], Wanted(count)) for line, count in (("a", 1), ("b", 3), ("c", 1))]
    model.go_on.set()
    wait(futures, 60)
    assert model.calls[1:] == [(["a", "", "c", ""], 1), (["b", ""], 3)]


def test_what_nobody_waits_for_is_not_translated(busy):
    model, metrics, batcher = busy
    gone, there = batcher.submit(["gone"], Wanted()), batcher.submit(["there"], Wanted())
    assert gone.cancel()
    model.go_on.set()
    assert str(there.result(60)[0]) == "THERE"
    assert model.calls[1:] == [(["there", ""], 1)]
    assert "nmt_dropped_texts_total 1\n" in metrics.text()


def test_what_nobody_waits_for_has_no_place_in_the_queue_or_a_batch(busy):
    model, metrics, batcher = busy
    gone = [batcher.submit(list("abc"), Wanted()) for _ in range(33)]
    there = batcher.submit(["d"], Wanted())
    with pytest.raises(Refused):
        batcher.require_room(1, 0)
    assert all(one.cancel() for one in gone)
    batcher.require_room(99, 0)
    with pytest.raises(Refused):
        batcher.require_room(100, 0)
    later = batcher.submit(list("efg"), Wanted())
    model.go_on.set()
    wait([there, later], 60)
    assert model.calls[1:] == [(["d", "", "e", "f", "g", ""], 1)]
    assert "nmt_dropped_texts_total 33\n" in metrics.text()
    batcher.require_room(100, 0)


def test_a_queue_of_those_who_have_gone_is_empty(busy):
    model, _, batcher = busy
    assert batcher.submit(["gone"], Wanted()).cancel()
    model.go_on.set()
    batcher.require_room(100, 0)
    assert str(batcher.submit(["there"], Wanted()).result(60)[0]) == "THERE"


def test_a_text_of_more_lines_than_a_batch_goes_alone(busy):
    model, _, batcher = busy
    futures = [batcher.submit(list("abcdefg"), Wanted()), batcher.submit(["h"], Wanted())]
    model.go_on.set()
    wait(futures, 60)
    assert [len(lines) for lines, _ in model.calls[1:]] == [8, 2]


def test_requests_take_turns(busy):
    model, _, batcher = busy
    book = [batcher.submit(list("abcd"), Wanted(), start) for start in range(0, 16, 4)]
    others = [batcher.submit([line], Wanted()) for line in "xy"]
    model.go_on.set()
    wait([*book, *others], 60)
    assert [lines[0] for lines, _ in model.calls[1:]] == ["a", "x", "a", "a", "a"]
    assert model.calls[2][0] == ["x", "", "y", ""]
    # A request that comes after the next book has begun has its turn before the rest of that book.
    model.go_on.clear()
    model.is_called.clear()
    book = [batcher.submit(list("abcd"), Wanted(), start) for start in range(0, 8, 4)]
    assert model.is_called.wait(60)
    other = batcher.submit(["x"], Wanted())
    model.go_on.set()
    wait([*book, other], 60)
    assert [lines[0] for lines, _ in model.calls[6:]] == ["a", "x", "a"]


def test_an_error_is_that_of_who_asked_for_it_and_others_go_on(busy):
    model, _, batcher = busy
    good, bad = batcher.submit(["good"], Wanted()), batcher.submit(["bad"], Wanted())
    model.go_on.set()
    with pytest.raises(ValueError, match="no such line"):
        bad.result(60)
    assert str(good.result(60)[0]) == "GOOD"
    assert model.calls[1:] == [(["good", "", "bad", ""], 1), (["good", ""], 1), (["bad", ""], 1)]


def test_what_is_cancelled_is_forgotten_at_once():
    model, metrics = Model(), Metrics()
    batcher = Batcher(model, 4, 60, 100, metrics)
    first = batcher.submit(["a"], Wanted())
    assert model.is_called.wait(60)
    others = [batcher.submit([line], Wanted()) for line in "bc"]
    assert others[0].cancel()
    assert [list(job.lines) for job in batcher._waiting] == [["c"]], (
        "its text takes no memory while the batch runs"
    )
    model.go_on.set()
    wait([first, others[1]], 30)
    assert "nmt_dropped_texts_total 1\n" in metrics.text()


def test_who_comes_while_nothing_is_translated_does_not_wait():
    model = Model()
    model.go_on.set()
    batcher = Batcher(model, 4, 60, 100, Metrics())
    for line in "abc":  # one client, which is alone, and asks again
        assert str(batcher.submit([line], Wanted()).result(30)[0]) == line.upper()


def test_those_who_have_just_been_answered_go_along_with_who_waits():
    """Otherwise two halves of the clients would take turns for ever, in batches of half the size."""
    model = Model()
    batcher = Batcher(model, 16, 60, 100, Metrics())
    first = batcher.submit(["a"], Wanted())
    assert model.is_called.wait(60)
    waiting = batcher.submit(["b"], Wanted())
    model.go_on.set()
    first.result(30)
    time.sleep(0.1)  # until the batcher is about to take what there is
    again = batcher.submit(["a again"], Wanted())
    wait([waiting, again], 30)  # without waiting for 60 seconds, since all are there
    assert model.calls[1:] == [(["b", "", "a again", ""], 1)]


def test_a_part_of_many_is_enough_to_begin():
    model = Model()
    batcher = Batcher(model, 8, 60, 100, Metrics())  # a part of this batch has two lines
    futures = [batcher.submit([line], Wanted()) for line in "abcde"]
    model.go_on.set()
    assert not wait(futures, 30).not_done
    again = [batcher.submit([line], Wanted()) for line in "ab"]
    assert not wait(again, 30).not_done, "the others of the last batch are not waited for"


def test_those_who_were_there_long_ago_are_not_waited_for():
    model = Model()
    batcher = Batcher(model, 16, 60, 100, Metrics())
    first = batcher.submit(["a"], Wanted())
    assert model.is_called.wait(60)
    others = [batcher.submit([line], Wanted()) for line in "bc"]
    model.go_on.set()
    first.result(30)
    batcher.submit(["a again"], Wanted()).result(30)
    wait(others, 30)
    time.sleep(0.1)  # until the batcher is free
    batcher._free_since -= 100
    assert str(batcher.submit(["d"], Wanted()).result(30)[0]) == "D"


def test_where_one_fails_the_others_of_its_request_are_given_up():
    async def fail():
        raise ValueError

    async def main():
        others = [asyncio.get_running_loop().create_future() for _ in range(2)]
        with pytest.raises(ValueError, match=r"^$"):
            await all_of([others[0], fail(), others[1]])
        await asyncio.sleep(0)
        assert [one.cancelled() for one in others] == [True, True]

    asyncio.run(main())


def test_the_wait_for_those_who_do_not_ask_again_ends():
    model = Model()
    batcher = Batcher(model, 4, 0.05, 100, Metrics())
    futures = [batcher.submit([line], Wanted()) for line in "ab"]
    model.go_on.set()
    assert not wait(futures, 30).not_done


def test_work_is_cancelled_when_the_client_goes():
    class Request:
        async def receive(self):
            return {"type": "http.disconnect"}

    async def main():
        never = asyncio.get_running_loop().create_future()

        async def work():
            await never

        with pytest.raises(Refused, match="Client closed request"):
            await _while_there(Request(), work())
        await asyncio.sleep(0)
        assert never.cancelled()

    asyncio.run(main())

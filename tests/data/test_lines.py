"""Lines of files and of streams, and the chunks in which they are read."""

import os
import signal
import threading
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nmt.data import lines as module
from nmt.data.encoding import find_wide
from nmt.data.lines import TextDecoder, follow_lines, in_chunks, read_lines, read_raw_lines
from nmt.errors import DataError


def lines_of(content):
    """Return the lines of some bytes, found in another way than the reader's own."""
    *ended, last = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    lines = [line.removesuffix(b"\r") for line in ended]
    return [*lines, last] if last or content == b"\xef\xbb\xbf" else lines


AWKWARD = st.lists(
    st.sampled_from([b"\n", b"\r", b"\xef\xbb\xbf", b"\0", b"\xff", b"word", "é\u2028".encode()])
)


@given(st.binary() | AWKWARD.map(b"".join), st.integers(1, 9))
def test_blocks_change_no_line(tmp_path_factory, content, size):
    assume(find_wide(content[:size]) is None)
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_SIZE", size)
        assert list(read_raw_lines(path, "key")) == lines_of(content)


@pytest.mark.parametrize("size", range(94, 102))
def test_a_line_that_is_too_long_is_refused_whatever_is_dropped_of_it(tmp_path, monkeypatch, size):
    monkeypatch.setattr(module, "MAX_LINE_BYTES", 100)
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbf" + b"a" * size + b"\r\nnext\n")
    if size + 4 <= 100:  # with the mark of three bytes and the \r
        assert read_lines(str(path), "key") == ["a" * size, "next"]
    else:
        with pytest.raises(
            DataError, match=r"^key: lines of at most 100 bytes are needed; got more in .*, line 1$"
        ):
            read_lines(str(path), "key")


@given(AWKWARD.map(b"".join))
def test_training_text_is_read_whole_or_its_first_bad_line_is_named(tmp_path_factory, content):
    assume(find_wide(content) is None)
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(content)
    expected = lines_of(content)
    bad = [number for number, line in enumerate(expected, start=1) if b"\xff" in line]
    if bad:
        with pytest.raises(
            DataError, match=rf"^key: UTF-8 text is needed; got byte 0xff in .*, line {bad[0]}$"
        ):
            read_lines(str(path), "key")
    else:
        assert read_lines(str(path), "key") == [line.decode() for line in expected]


def test_a_sender_that_waits_makes_a_pause():
    reading, writing = os.pipe()
    lines = follow_lines(reading, "key")
    os.write(writing, b"eins\nzwei\ndr")
    assert [next(lines) for _ in range(3)] == [b"eins", b"zwei", None]
    os.write(writing, b"ei\n")
    assert [next(lines) for _ in range(2)] == [b"drei", None]
    threading.Thread(target=lambda: (os.write(writing, b"vier"), os.close(writing))).start()
    assert [line for line in lines if line is not None] == [b"vier"]
    os.close(reading)


def test_a_signal_is_answered_while_a_sender_waits_even_if_it_does_not_break_off_the_read():
    answered = []
    previous = signal.signal(signal.SIGUSR1, lambda number, frame: answered.append(time.monotonic()))
    reading, writing = os.pipe()
    os.write(writing, b"eins\n")
    lines = follow_lines(reading, "key")
    assert [next(lines), next(lines)] == [b"eins", None]
    sent = []

    def send():
        time.sleep(0.2)
        sent.append(time.monotonic())
        # Sent to this thread, it does not interrupt the read of the main one, as a signal before that read would not.
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        time.sleep(2 * module.MAX_WAIT)
        sent.append(time.monotonic())
        os.close(writing)

    threading.Thread(target=send).start()
    assert list(lines) == []
    signal.signal(signal.SIGUSR1, previous)
    os.close(reading)
    assert sent[0] < answered[0] < sent[1]


@given(st.lists(st.none() | st.binary(max_size=20)))
def test_chunks_hold_all_lines_and_no_more_than_is_held_at_once(lines):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LINES_AT_ONCE", 4)
        patch.setattr(module, "SIZE_AT_ONCE", 30)
        chunks = list(in_chunks(lines))
    assert [line for chunk in chunks for line in chunk] == [line for line in lines if line is not None]
    for chunk in chunks:
        assert 1 <= len(chunk) <= 4
        assert sum(map(len, chunk[:-1])) < 30, "only its last line may make a chunk too large"


def test_nothing_is_held_over_a_pause():
    assert list(in_chunks(["a", "b", None, None, "c", None])) == [["a", "b"], ["c"]]


def test_what_is_not_utf8_is_replaced_and_named(caplog):
    decoder = TextDecoder("input", "utf-8")
    lone_surrogate = b"a\xed\xa0\x80b"
    lines = [decoder.decode(line, number) for number, line in enumerate((b"gut", lone_surrogate, b"\xff"), 1)]
    assert lines == ["gut", "a���b", "�"]
    decoder.warn()
    assert caplog.messages == [
        "2 lines were not UTF-8: lines 2 and 3; what could not be read was replaced by U+FFFD"
    ]

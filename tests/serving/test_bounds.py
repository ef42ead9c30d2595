"""How much a few clients can ask of a server, and what they are told beyond that."""

import asyncio
import json
import select
import signal
import socket
import threading
import time
import urllib.parse

import pytest
from starlette.requests import Request

from nmt.serving import requests

PAIR = {"source": "de", "target": "en"}
HUND = "Der Hund schläft."


def test_others_are_answered_while_a_long_form_is_read(monkeypatch):
    in_loop, read = [], requests.parse_qsl

    def note(*arguments, **options):
        in_loop.append(threading.current_thread() is threading.main_thread())
        return read(*arguments, **options)

    async def receive():
        return {"type": "http.request", "body": b"q=a%0D%0Ab&source=de", "more_body": False}

    monkeypatch.setattr(requests, "parse_qsl", note)
    form = [(b"content-type", b"application/x-www-form-urlencoded")]
    request = Request(
        {"type": "http", "method": "POST", "headers": form, "query_string": b"source=en"}, receive
    )
    with requests.Bodies(1000).of_request() as take:
        fields = asyncio.run(requests.read_fields(request, 1000, 10, take))
    assert fields == {"q": "a\nb", "source": "en"}
    assert set(in_loop) == {False}


def test_bodies_have_a_room_that_all_requests_share(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}", "max_bytes=1000") as server:
        address = "127.0.0.1", urllib.parse.urlsplit(server.url).port
        head = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        clients = [socket.create_connection(address, 60) for _ in range(16)]
        for client in clients:
            client.sendall(head + b"x" * 999)
        asked = {"q": HUND, **PAIR}
        deadline = time.monotonic() + 60
        while (answer := server.json("/translate", asked))[0] == 200 and time.monotonic() < deadline:
            time.sleep(0.02)  # until all of these bytes have come
        assert answer == (503, {"error": "The server is busy: too much text is there"})
        for client in clients:
            client.close()
        while (answer := server.json("/translate", asked))[0] == 503 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert answer[0] == 200


def test_the_language_of_a_page_is_that_of_its_text_however_long_its_head_is(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}") as server:
        page = f"<html><head><style>{'.a{color:red}' * 2000}</style></head><body><p>{HUND}</p></body></html>"
        asked = {"q": page, "source": "auto", "target": "en", "format": "html"}
        status, answer = server.json("/translate", asked)
        assert (status, answer["detectedLanguage"]["language"]) == (200, "de")
        assert answer["translatedText"] != page
        status, answer = server.json("/translate", {"q": ["<b>" * 150_000] * 2, "format": "html", **PAIR})
        assert (status, answer["error"]) == (413, "Invalid request: at most 200000 tags are needed")


def test_the_language_of_too_many_texts_is_not_detected(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}", "max_texts=3") as server:
        assert server.json("/detect", {"q": [HUND] * 3})[0] == 200
        status, answer = server.json("/detect", {"q": [HUND] * 4})
        assert (status, answer["error"]) == (400, "Invalid request: request (4) exceeds text limit (3)")


def test_blank_lines_are_lines(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}", "max_waiting=10") as server:
        for fields in (PAIR, {"source": "en", "target": "en"}):
            blank = "\n" * 39
            assert server.json("/translate", {"q": blank, **fields}) == (200, {"translatedText": blank})
            for text in ("\n" * 40, ["\n" * 20, f"\n{HUND}\n" * 10]):
                status, answer = server.json("/translate", {"q": text, **fields})
                assert (status, answer["error"]) == (413, "Invalid request: at most 40 lines are needed")
        # The lines of HTML source do not count as lines of text.
        page = {"q": "\n" * 60 + f"<p>{HUND}</p>", "format": "html", **PAIR}
        assert server.json("/translate", page)[0] == 200
        assert server.metric("nmt_sentences_total") == 1


def test_of_many_connections_at_once_the_longest_without_a_request_are_closed(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}", "max_connections=5") as server:
        address = "127.0.0.1", urllib.parse.urlsplit(server.url).port
        server.process.send_signal(signal.SIGSTOP)
        clients = [socket.create_connection(address, 60) for _ in range(20)]
        server.process.send_signal(signal.SIGCONT)
        deadline = time.monotonic() + 30
        while len(closed := select.select(clients, [], [], 0)[0]) < 15:
            assert time.monotonic() < deadline, len(closed)
            time.sleep(0.02)
        assert set(closed) == set(clients[:15])
        for client in clients:
            client.close()


@pytest.mark.parametrize("key", ["first", "second"])
def test_a_file_of_keys_may_begin_with_a_byte_order_mark(start, trained_run, tmp_path, key):
    (tmp_path / "keys.txt").write_bytes(b"\xef\xbb\xbffirst\r\nsecond\r\n")
    with start(tmp_path, f"run={trained_run}", "api_keys=keys.txt") as server:
        assert server.json("/translate", {"q": HUND, "api_key": key, **PAIR})[0] == 200


def test_what_is_not_finished_in_time_is_refused_when_it_stops(start, trained_run, tmp_path):
    answers = []
    with start(tmp_path, f"run={trained_run}", "shutdown_seconds=1", "batch_lines=4") as server:

        def ask():
            answers.append(server.json("/translate", {"q": f"{HUND}\n" * 2000, **PAIR}))

        clients = [threading.Thread(target=ask) for _ in range(3)]
        for client in clients:
            client.start()
        while not server.metric("nmt_sentences_total"):
            time.sleep(0.02)
        server.process.send_signal(signal.SIGTERM)
        for client in clients:
            client.join()
    assert answers == [(503, {"error": "The server stops"})] * 3
    assert "Traceback" not in "".join(server.log), json.dumps(server.log)


def test_an_interrupt_ends_it_as_a_stop_does(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}") as server:
        assert server.json("/translate", {"q": HUND, **PAIR})[0] == 200
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 0


def test_many_small_values_take_the_room_that_they_take_in_memory(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}", "max_bytes=100000") as server:
        for values in ([{"": 0}] * 9000, [[]] * 20_000):
            body = json.dumps({"q": HUND, **PAIR, "x": values}, separators=(",", ":")).encode()
            assert len(body) < 100_000
            status, answer = server.json("/translate", body)
            assert status == 413
            assert answer["error"].startswith("Invalid request: fewer values or marks are needed")
        assert server.json("/translate", {"q": HUND, **PAIR, "x": [{}] * 100})[0] == 200


def test_documents_take_the_room_that_they_take_in_memory(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}", "max_bytes=20000") as server:
        for num_words, expected in ((200, 200), (1000, 413)):
            page = "a <b>b</b> " * num_words
            status, answer = server.json("/translate", {"q": page, "format": "html", **PAIR})
            assert (num_words, status) == (num_words, expected), answer
        assert server.json("/translate", {"q": HUND, **PAIR})[0] == 200

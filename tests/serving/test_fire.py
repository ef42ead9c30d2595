"""The real server among clients that are slow, broken, many, gone, or greedy: it answers the others."""

import contextlib
import http.client
import json
import resource
import signal
import socket
import struct
import threading
import time
import urllib.parse

import pytest

HUND = {"q": "Der Hund schläft.", "source": "de", "target": "en"}
# The lines of a text that takes some seconds.
MANY_LINES = 3000


@pytest.fixture(scope="module")
def server(start, trained_run, tmp_path_factory):
    arguments = ["body_seconds=1", "max_connections=100", "max_bytes=30000000"]
    with start(tmp_path_factory.mktemp("fire"), f"run={trained_run}", *arguments) as server:
        assert server.json("/translate", HUND)[0] == 200
        yield server


def connect(server):
    address = urllib.parse.urlsplit(server.url)
    return socket.create_connection((address.hostname, address.port), 30)


def post(body, length=None):
    """Return a request as bytes."""
    length = len(body) if length is None else length
    head = f"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    return head.encode() + body


def rest(connection):
    """Return what comes until the other side closes; a reset connection counts as closed."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(
    "begun", [b"", b"POST /translate HTT", b"POST /translate HTTP/1.1\r\nHost: x\r\nX-Slow: "]
)
def test_a_head_that_does_not_come_closes_the_connection(server, begun):
    with connect(server) as slow:
        slow.sendall(begun)
        assert server.json("/translate", HUND)[0] == 200
        assert rest(slow) == b""


def test_a_head_that_comes_byte_by_byte_closes_the_connection(server):
    with connect(server) as slow, contextlib.suppress(ConnectionError):
        slow.sendall(b"GET /health HTTP/1.1\r\nX-Slow: ")
        until = time.monotonic() + 10
        while not server_closed(slow):
            assert time.monotonic() < until, "it holds the connection"
            slow.sendall(b"x")
            time.sleep(0.05)


def server_closed(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    finally:
        connection.setblocking(True)


def test_half_a_body_is_refused(server):
    with connect(server) as slow:
        slow.sendall(post(b'{"q": "Der', 1000))
        assert server.json("/translate", HUND)[0] == 200
        assert rest(slow).startswith(b"HTTP/1.1 408 ")


def test_a_client_that_goes_within_its_body_leaves_nothing(server):
    for _ in range(20):
        with connect(server) as gone:
            gone.sendall(post(b'{"q": "Der', 1000))
            # Closing then resets the connection.
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert server.json("/translate", HUND)[0] == 200


def test_an_answer_that_nobody_takes_closes_the_connection(server):
    body = json.dumps({"q": "x" * 25_000_000, "source": "en", "target": "en"}).encode()
    with socket.socket() as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        address = urllib.parse.urlsplit(server.url)
        lazy.connect((address.hostname, address.port))
        lazy.sendall(post(body))
        time.sleep(4)
        assert len(rest(lazy)) < 25_000_000
    assert server.json("/translate", HUND)[0] == 200


def test_large_bodies_are_refused_and_not_kept(start, trained_run, tmp_path):
    large = b'{"q": "' + b"x" * 10_000_000
    with start(tmp_path, f"run={trained_run}", "body_seconds=1", "max_bytes=5000000") as server:
        for request in (
            post(large),
            b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n989680\r\n"
            + large[:10_000_000],
        ):
            with connect(server) as client:
                with contextlib.suppress(ConnectionError):  # the server need not read all of the request
                    client.sendall(request)
                answer = rest(client)
            assert answer.startswith(b"HTTP/1.1 413 ") or not answer
        assert server.json("/translate", HUND)[0] == 200


def test_more_connections_than_there_may_be_make_room_for_each_other(server):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with contextlib.ExitStack() as stack:
            for _ in range(min(3000, hard - 200)):
                stack.enter_context(connect(server))
            for _ in range(3):
                assert server.json("/translate", HUND)[0] == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_connections_that_have_work_are_not_closed_for_others(server):
    found = []
    long = HUND | {"q": "\n".join([HUND["q"]] * MANY_LINES)}
    thread = threading.Thread(target=lambda: found.append(server.json("/translate", long)[0]))
    thread.start()
    time.sleep(0.2)
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(connect(server))
        thread.join()
    assert found == [200]


def test_every_byte_is_answered(server):
    address = urllib.parse.urlsplit(server.url)
    client = http.client.HTTPConnection(address.hostname, address.port, timeout=30)

    def ask(body, kind):
        client.request("POST", "/translate", body, {"Content-Type": kind})
        answer = client.getresponse()
        return answer.status, json.loads(answer.read())

    for number in range(256):
        byte = bytes([number])
        status, answer = ask(byte, "application/json")
        assert (status, answer) == (400, {"error": "Invalid JSON format"}) or byte.isdigit(), byte
        inside = b'{"q": "a' + byte + b'b", "source": "de", "target": "en"}'
        status, answer = ask(inside, "application/json")
        assert status == (200 if "translatedText" in answer else 400), (byte, answer)
        assert (number > 31 and number < 127) <= (status == 200 or byte in b'"\\'), (byte, answer)
        status, answer = ask(b"source=de&target=en&q=a" + byte + b"b", "application/x-www-form-urlencoded")
        assert status == 200, (byte, answer)
        status, answer = ask(b"--x\r\n" + byte + b"\r\n--x--", "multipart/form-data; boundary=x")
        assert status == 400, (byte, answer)
    client.close()


@pytest.mark.parametrize(
    "given", [b"\x00" * 100, b"\x16\x03\x01\x02\x00", b"GET / HTTP/9\r\n\r\n", b"\r\n" * 1000, b"G" * 400_000]
)
def test_what_is_no_request_is_refused(server, given):
    with connect(server) as client:
        with contextlib.suppress(ConnectionError):
            client.sendall(given)
        assert rest(client)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 404", b"")
    assert server.json("/translate", HUND)[0] == 200


def test_the_work_of_a_client_that_goes_away_stops(start, trained_run, tmp_path):
    lines = [f"{HUND['q']} {number}" for number in range(MANY_LINES)]
    with start(tmp_path, f"run={trained_run}") as server:
        with connect(server) as gone:
            gone.sendall(post(json.dumps(HUND | {"q": lines}).encode()))
            while not server.metric("nmt_batches_total"):
                time.sleep(0.02)
        assert server.json("/translate", HUND)[0] == 200
        assert server.metric("nmt_dropped_texts_total") > 0
        assert server.metric("nmt_sentences_total") < MANY_LINES


def test_all_that_is_in_flight_is_finished_and_nothing_else_is_begun(start, trained_run, tmp_path):
    found = []
    with start(tmp_path, f"run={trained_run}", "shutdown_seconds=60") as server:
        long = HUND | {"q": "\n".join([HUND["q"]] * MANY_LINES)}

        def ask():
            found.append(server.json("/translate", long))

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        while not server.metric("nmt_batches_total"):
            time.sleep(0.02)
        server.process.send_signal(signal.SIGTERM)
        until = time.monotonic() + 30
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < until:
                connect(server).close()
                time.sleep(0.02)
            pytest.fail("it takes new ones")
        for thread in threads:
            thread.join()
    assert [status for status, _ in found] == [200] * 2
    assert all(answer["translatedText"].count("\n") == MANY_LINES - 1 for _, answer in found)


def test_a_client_that_asks_for_too_much_is_told_when_to_ask_again(start, trained_run, tmp_path):
    (tmp_path / "keys").write_text("one\n")
    limits = ["requests_per_minute=3", "characters_per_minute=1000", "proxies=1", "api_keys=keys"]
    with start(tmp_path, f"run={trained_run}", *limits) as server:

        def ask(client, text="Hund", **fields):
            content = json.dumps(HUND | fields | {"q": text}).encode()
            headers = {"Content-Type": "application/json", "X-Forwarded-For": f"192.0.2.9, {client}"}
            status, found, body = server.ask("/translate", content, headers)
            return status, found["Retry-After"], body.get("error")

        assert [ask("192.0.2.1")[0] for _ in range(3)] == [400] * 3, "they have no key"
        assert ask("192.0.2.1") == (429, "20", "Slowdown: 3 requests per minute are allowed")
        assert ask("192.0.2.2")[0] == 400, "another"
        assert ask("2001:db8::1")[0] == 400
        assert [ask(f"2001:db8::{i}")[0] for i in range(3)] == [400, 400, 429], "one network is one client"
        assert ask("192.0.2.1", api_key="one")[0] == 200, "a key counts by itself, wherever it is used"
        status, wait, error = ask("192.0.2.3", "x" * 900, api_key="one")
        assert (status, wait, error) == (200, None, None)
        assert ask("192.0.2.4", "x" * 900, api_key="one")[::2] == (
            429,
            "Slowdown: 1000 characters per minute are allowed",
        )
        assert server.ask("/health")[0] == 200, "who looks after the server is not counted"


def test_what_is_more_than_can_wait_is_refused(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}", "max_waiting=500", "batch_lines=50") as server:
        text = "\n".join([HUND["q"]] * 501)
        assert server.json("/translate", HUND | {"q": text}) == (
            413,
            {"error": "Invalid request: at most 500 lines are needed"},
        )
        status, _ = server.json("/translate", HUND | {"q": [HUND["q"]] * 501})
        assert status == 413, "asked in one request, they would never find room"
        found = []

        def ask():
            found.append(server.json("/translate", HUND | {"q": text[len(HUND["q"]) + 1 :]}))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        statuses = sorted(status for status, _ in found)
        assert statuses[0] == 200
        assert statuses[-1] == 503
        assert {"error": "The server is busy: too many lines wait"} in [answer for _, answer in found]
        assert server.json("/translate", HUND)[0] == 200

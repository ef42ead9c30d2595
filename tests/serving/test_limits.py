"""How much a client may ask for, and who it is."""

import json

import pytest
from starlette.requests import Request

from nmt.serving.files import address_of
from nmt.serving.limits import Rate, client_of
from nmt.serving.refusal import Refused


def test_a_client_has_what_a_minute_gives_and_no_more():
    """Against a bucket that is counted in another way: what leaked out of it, second by second."""
    rate, level, taken, refused = Rate(60, "lines", 10), 0.0, 0, 0
    for second in range(600):
        level = max(0.0, level - 1)
        amount = second * 7 % 23
        if level + amount > 60:
            with pytest.raises(Refused, match=r"^Slowdown: 60 lines per minute are allowed$") as caught:
                rate.take("a", amount, now=float(second))
            assert caught.value.status == 429
            assert level + amount - 60 <= caught.value.retry_seconds < level + amount - 60 + 1
            refused += 1
        else:
            rate.take("a", amount, now=float(second))
            level += amount
            taken += amount
    assert refused
    assert 600 - 60 <= taken <= 660


def test_more_than_a_minute_gives_is_given_once():
    rate = Rate(60, "characters")
    rate.take("a", 300, now=0.0)
    for now, wait in ((0.0, 241), (100.0, 141), (240.0, 1)):
        with pytest.raises(Refused) as caught:
            rate.take("a", 1, now=now)
        assert caught.value.retry_seconds == wait
    rate.take("a", 1, now=241.0)


def test_clients_that_were_quiet_are_forgotten():
    rate = Rate(1, "requests", 2)
    for client in "abc":
        rate.take(client, 1, now=0.0)
    rate.take("a", 1, now=0.0)
    with pytest.raises(Refused):
        rate.take("c", 1, now=0.0)


@pytest.mark.parametrize(
    ("proxies", "heard", "expected"),
    [
        (0, ["192.0.2.7"], "198.51.100.1"),
        (1, [], "198.51.100.1"),
        (1, ["192.0.2.7"], "192.0.2.7"),
        (1, ["203.0.113.1, 192.0.2.7:81"], "192.0.2.7"),
        (2, ["203.0.113.1, 192.0.2.7", "192.0.2.8"], "192.0.2.7"),
        (3, ["192.0.2.7, 192.0.2.8"], "198.51.100.1"),
        (1, ["unknown"], "198.51.100.1"),
        (1, ["[2001:db8:1:2:3::4]:81"], "2001:db8:1:2::"),
        (1, ["2001:db8:1:2::ffff"], "2001:db8:1:2::"),
        (1, ["::ffff:192.0.2.7"], "192.0.2.7"),
    ],
)
def test_a_client_is_the_address_that_the_outermost_proxy_heard(proxies, heard, expected):
    headers = [(b"x-forwarded-for", one.encode()) for one in heard]
    request = Request({"type": "http", "headers": headers, "client": ("198.51.100.1", 1)})
    assert client_of(request, proxies) == expected


def test_nobody_is_believed_who_says_for_whom_he_asks_where_there_is_no_proxy(start, trained_run, tmp_path):
    body = json.dumps({"q": "Hund", "source": "de", "target": "en"}).encode()
    with start(tmp_path, f"run={trained_run}", "requests_per_minute=1") as server:
        found = []
        for number in range(3):
            headers = {"Content-Type": "application/json", "X-Forwarded-For": f"203.0.113.{number}"}
            found.append(server.ask("/translate", body, headers)[0])
    assert found == [200, 429, 429]


@pytest.mark.parametrize(
    ("proxies", "claimed", "expected"),
    [
        (0, "https", "http"),
        (1, "https", "https"),
        (1, "javascript", "http"),
        (2, "https", "https"),
        (1, "", "http"),
    ],
)
def test_behind_proxies_files_are_fetched_as_the_client_asked(proxies, claimed, expected):
    headers = [(b"host", b"mt.example.org"), (b"x-forwarded-proto", claimed.encode())]
    request = Request({"type": "http", "scheme": "http", "headers": headers})
    assert address_of(request, "", proxies) == f"{expected}://mt.example.org/download_file/"


def test_a_client_without_an_address_is_one():
    assert client_of(Request({"type": "http", "headers": [], "client": None}), 0) == ""

"""`nmt serve` over HTTP: each route, each error in LibreTranslate's words, many clients at once, and its end."""

import json
import signal
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from command_line import run_command

from nmt.data.sources import load_corpus
from nmt.runs.directory import RunDirectory
from nmt.runs.text import data_of_run

TEXT = "Der Hund schläft."


@pytest.fixture(scope="module")
def server(start, trained_run, tmp_path_factory):
    with start(
        tmp_path_factory.mktemp("server"), f"run={trained_run}", "batch_milliseconds=30", "max_bytes=20000",
        "body_seconds=2",
    ) as server:  # fmt: skip
        yield server
    assert TEXT not in "".join(server.log), "nothing of a text is logged"


@pytest.fixture(scope="module")
def lines(trained_run):
    corpus = load_corpus(data_of_run(RunDirectory.existing(str(trained_run))))
    return list(dict.fromkeys(corpus.train.source))[:32]


@pytest.fixture(scope="module")
def translations(trained_run, lines, tmp_path_factory):
    """What `nmt translate` makes of each line."""
    given = "".join(f"{line}\n" for line in [*lines, TEXT]).encode()
    options = f"run={trained_run}", "device=cpu", "precision=float32"
    done = run_command(["translate", *options], tmp_path_factory.mktemp("translated"), given)
    found = done.stdout.decode().split("\n")[:-1]
    return dict(zip([*lines, TEXT], found, strict=True))


@pytest.fixture(scope="module")
def expected(translations):
    return translations[TEXT]


PAIR = {"source": "de", "target": "en"}


def test_a_request_may_come_as_json_as_a_form_in_parts_or_in_the_address(server, expected):
    fields = {"q": TEXT, **PAIR}
    answer = (200, {"translatedText": expected})
    assert server.json("/translate", {**fields, "format": "text", "api_key": None}) == answer
    assert server.form("/translate", **fields, format="text", api_key="") == answer
    query = urllib.parse.urlencode(fields)
    status, _, body = server.ask(f"/translate?{query}", b"", method="POST")
    assert (status, body) == answer
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    status, _, body = server.ask("/translate", f"{parts}--x--\r\n".encode(), kind)
    assert (status, body) == answer


def test_lists_detection_and_alternatives_are_shaped_as_those_of_libretranslate(server, expected):
    fields = {"q": [TEXT, TEXT], "source": "auto", "target": "EN", "alternatives": 1}
    status, body = server.json("/translate", fields)
    assert status == 200
    assert body["translatedText"] == [expected] * 2
    detected, same = body["detectedLanguage"]
    assert detected == same, "all together are of one language"
    assert (detected["language"], 50 < detected["confidence"] <= 100) == ("de", True)
    assert [len(some) for some in body["alternatives"]] == [1, 1]
    assert expected not in body["alternatives"][0]
    status, body = server.json("/translate", {**fields, "q": TEXT})
    assert body["translatedText"] == expected
    assert body["detectedLanguage"]["language"] == "de"
    assert len(body["alternatives"]) == 1
    assert set(server.json("/translate", {"q": TEXT, **PAIR, "alternatives": -2})[1]) == {"translatedText"}


def test_paragraphs_are_translated_line_by_line(server, translations, lines):
    text = f"\n{lines[0]}\r\n \r{lines[1]}\n"
    found = server.json("/translate", {"q": text, **PAIR})[1]["translatedText"]
    assert found == f"\n{translations[lines[0]]}\r\n \r{translations[lines[1]]}\n"
    found = server.form("/translate", q=text, **PAIR)[1]["translatedText"]
    assert found == f"\n{translations[lines[0]]}\n \n{translations[lines[1]]}\n", "of a form, LF alone"
    for unchanged in (" ", "\n\n", "🙂 👩‍🚀"):
        assert server.json("/translate", {"q": unchanged, **PAIR})[1] == {"translatedText": unchanged}
    same = {"q": TEXT, "source": "de", "target": "de"}
    assert server.json("/translate", same)[1] == {"translatedText": TEXT}


def test_the_other_routes(server):
    languages = [
        {"code": "de", "name": "German", "targets": ["de", "en"]},
        {"code": "en", "name": "English", "targets": ["en"]},
    ]
    status, headers, body = server.ask("/languages")
    assert (status, body) == (200, languages)
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert server.ask("/health")[2] == {"status": "ok"}
    status, found = server.form("/detect", q=TEXT)
    assert (status, found[0]["language"]) == (200, "de")
    assert [one["confidence"] for one in found] == sorted((one["confidence"] for one in found), reverse=True)
    assert server.form("/suggest", q=TEXT, s="A", **PAIR) == (
        403, {"error": "Suggestions are disabled on this server."},
    )  # fmt: skip
    assert server.ask("/frontend/settings")[2] == {
        "charLimit": -1, "frontendTimeout": 500, "apiKeys": False, "keyRequired": False, "suggestions": False,
        "maxAlternatives": 1, "filesTranslation": True,
        "supportedFilesFormat": [".txt", ".srt", ".vtt", ".html", ".htm", ".md", ".docx", ".odt"],
        "language": {"source": {"code": "auto", "name": "Auto Detect"}, "target": {"code": "en", "name": "English"}},
    }  # fmt: skip
    assert 'nmt_requests_total{route="/health",status="200"}' in server.ask("/metrics")[2]


def test_every_answer_has_the_headers_for_pages_of_other_hosts(server):
    for path, data, method, code in (
        ("/translate", None, "OPTIONS", 200), ("/nowhere", None, "GET", 404), ("/translate", None, "GET", 405),
        ("/languages", b"", "POST", 405), ("/translate", b"", "POST", 400),
    ):  # fmt: skip
        status, headers, _ = server.ask(path, data, method=method)
        assert status == code
        assert headers["Access-Control-Allow-Headers"] == "Authorization, Content-Type"
        assert headers["Access-Control-Max-Age"] == "1728000"


# In each, all that is checked before its mistake is right: the order of the checks is tested, too.
WRONG = [
    ({"q": "", "source": "", "target": "", "alternatives": "x"}, "Invalid request: missing q parameter"),
    ({"q": TEXT, "target": "", "alternatives": "x"}, "Invalid request: missing source parameter"),
    ({"q": TEXT, "source": "xx", "alternatives": "x"}, "Invalid request: missing target parameter"),
    ({"q": TEXT, "source": "xx", "target": "yy", "alternatives": "x"}, "Invalid request: alternatives parameter is not a number"),
    ({"q": TEXT, "source": "xx", "target": "yy", "alternatives": "2"}, "Invalid request: alternatives parameter must be <= 1"),
    ({"q": TEXT, "source": "XX", "target": "yy", "format": "pdf"}, "xx is not supported"),
    ({"q": TEXT, "source": "de", "target": "yy", "format": "pdf"}, "yy is not supported"),
    ({"q": TEXT, "source": "en", "target": "de", "format": "xml"}, "xml format is not supported"),
    ({"q": TEXT, "source": "en", "target": "de"}, "German (de) is not available as a target language from English (en)"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "message"), WRONG)
def test_errors_have_the_words_and_the_order_of_libretranslate(server, fields, message):
    assert server.json("/translate", fields) == (400, {"error": message})
    assert server.form("/translate", **fields) == (400, {"error": message})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"q": ', "Invalid JSON format"),
        (b"[1]", "Invalid JSON format"),
        (b"[" * 4000, "Invalid JSON format"),
        (b"\xff\xff", "Invalid JSON format"),
        (b"{}", "Invalid request: missing q parameter"),
        (b'{"q": []}', "Invalid request: missing q parameter"),
        (b'{"q": 5}', "Invalid request: q parameter is not text"),
        (b'{"q": ["a", null]}', "Invalid request: q parameter is not text"),
        (b'{"q": "\\ud800", "source": "de", "target": "en"}', "Invalid request: q parameter is not text"),
        (b'{"q": "a", "source": ["de"]}', "Invalid request: source parameter is not text"),
        (b'{"q": "a", "source": "de", "target": "en", "alternatives": 1e999}', "Invalid request: alternatives parameter is not a number"),
        (b'{"q": "a", "source": "de", "target": "en", "format": {}}', None),
    ],
)  # fmt: skip
def test_json_that_is_none_or_holds_something_else_is_refused(server, content, message):
    status, body = server.json("/translate", content)
    if message is None:  # an empty value counts as no value
        assert (status, set(body)) == (200, {"translatedText"})
    else:
        assert (status, body) == (400, {"error": message})


def test_bodies_that_are_too_large_or_too_slow_are_refused(server):
    status, body = server.form("/translate", q="a" * 30000, **PAIR)
    assert (status, body["error"]) == (413, "Invalid request: a body of at most 20000 bytes is needed")
    port = urllib.parse.urlsplit(server.url).port
    with socket.create_connection(("127.0.0.1", port), 60) as slow:
        slow.sendall(b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nq=")
        assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")
    # The same without a length, in chunks.
    with socket.create_connection(("127.0.0.1", port), 60) as large:
        large.sendall(b"POST /translate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        large.sendall(b"%x\r\n%s\r\n" % (25000, b"a" * 25000))
        assert large.recv(1000).startswith(b"HTTP/1.1 413 ")
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x"):
        message = "Invalid request: multipart/form-data without files is needed"
        body = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\na\r\n--x--\r\n'
        status, _, found = server.ask("/translate", body, {"Content-Type": kind})
        assert (status, found["error"]) == (400, message)


def test_many_clients_at_once_share_batches_and_each_gets_its_own(server, translations, lines):
    assert len({translations[line] for line in lines}) > len(lines) // 4, "the answers can be told apart"
    before = server.metric("nmt_batches_total"), server.metric("nmt_sentences_total")
    found, together = {}, threading.Barrier(len(lines))

    def ask(line):
        together.wait(60)
        found[line] = server.json("/translate", {"q": line, **PAIR})

    threads = [threading.Thread(target=ask, args=(line,)) for line in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {line: (200, {"translatedText": translations[line]}) for line in lines}
    assert server.metric("nmt_sentences_total") - before[1] == len(lines) == 32
    assert server.metric("nmt_batches_total") - before[0] < len(lines)


def test_its_clients_understand_it(server, expected):
    libretranslatepy = pytest.importorskip("libretranslatepy")
    client = libretranslatepy.LibreTranslateAPI(server.url + "/")
    assert client.translate(TEXT, "de", "en") == expected
    assert client.detect(TEXT)[0]["language"] == "de"
    assert client.languages()[0]["code"] == "de"


def test_a_client_that_puts_all_into_the_address(server, expected):
    deep_translator = pytest.importorskip("deep_translator")
    client = deep_translator.LibreTranslator(
        source="de", target="en", custom_url=server.url + "/", api_key="x"
    )
    assert client.translate(TEXT) == expected


@pytest.fixture(scope="module")
def guarded(start, run_of, trained_run, tmp_path_factory):
    """Start a server of two pairs of languages, with keys, limits and suggestions, below a path."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "keys.txt").write_text("one\n\ntwo\n")
    run_of(trained_run, folder / "other", "en", "fr")
    with start(
        folder, f"runs=[{trained_run},other]", "url_prefix=/mt", "api_keys=keys.txt", "api_key_link=https://a.example/",
        "max_characters=20", "max_texts=2", "suggestions=better.jsonl", "max_alternatives=0",
    ) as server:  # fmt: skip
        server.folder = folder
        yield server


def test_several_pairs_below_a_path(guarded, expected):
    assert guarded.url.endswith("/mt")
    found = {one["code"]: one["targets"] for one in guarded.ask("/languages")[2]}
    assert found == {"de": ["de", "en", "fr"], "en": ["en", "fr"], "fr": ["fr"]}
    assert guarded.form("/translate", q=TEXT, **PAIR, api_key="one") == (200, {"translatedText": expected})
    assert guarded.form("/translate", q=TEXT, source="en", target="fr", api_key="two")[0] == 200
    assert guarded.form("/translate", q=TEXT, source="fr", target="de", api_key="one") == (
        400, {"error": "German (de) is not available as a target language from French (fr)"},
    )  # fmt: skip
    through = guarded.form("/translate", q=TEXT, source="de", target="fr", api_key="one")
    assert through == guarded.form("/translate", q=expected, source="en", target="fr", api_key="two"), (
        "by way of en"
    )
    for text, language in (("Der Hund schläft.", "de"), ("The dog sleeps.", "en"), ("Le chien dort.", "fr")):
        assert guarded.form("/detect", q=text, api_key="one")[1][0]["language"] == language
    status, body = guarded.form(
        "/translate", q="Der Hund schläft.", source="auto", target="en", api_key="one"
    )
    assert (status, body["detectedLanguage"]["language"]) == (200, "de")
    found = guarded.ask("/frontend/settings")[2]
    assert (found["charLimit"], found["keyRequired"], found["suggestions"]) == (20, True, True)
    assert found["language"]["source"] == {"code": "auto", "name": "Auto Detect"}
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(guarded.url.removesuffix("/mt") + "/languages", timeout=60)


def test_keys_and_limits(guarded):
    for path in ("/translate", "/detect", "/suggest"):
        assert guarded.form(path) == (400, {"error": "Visit https://a.example/ to get an API key"})
        assert guarded.form(path, api_key="three") == (403, {"error": "Invalid API key"})
    keyed = {**PAIR, "api_key": "one"}
    for fields, size, limit in (
        ({"q": ["a", "b", "c" * 21], **keyed}, 3, 2), ({"q": ["a", "c" * 21], **keyed}, 21, 20),
        ({"q": "ä" * 21, **keyed, "source": "xx"}, 21, 20),
    ):  # fmt: skip
        message = f"Invalid request: request ({size}) exceeds text limit ({limit})"
        assert guarded.json("/translate", fields) == (400, {"error": message})
    assert guarded.json("/translate", {"q": "ä" * 20, **keyed})[0] == 200
    message = "Invalid request: alternatives parameter must be <= 0"
    assert guarded.json("/translate", {"q": "a", **keyed, "alternatives": 1}) == (400, {"error": message})


def test_suggestions_are_text_to_train_on(guarded, nmt, tmp_path):
    keyed = {**PAIR, "api_key": "one"}
    for name in ("q", "s", "source", "target"):
        fields = {"q": TEXT, "s": "The dog", **keyed, name: ""}
        assert guarded.form("/suggest", **fields) == (
            400,
            {"error": f"Invalid request: missing {name} parameter"},
        )
    for name in ("q", "s"):
        fields = {"q": TEXT, "s": "The dog", **keyed, name: " "}
        assert guarded.form("/suggest", **fields)[0] == 400
    for source, target in (("fr", "de"), ("de", "de")):  # the server does not translate so
        languages = {"source": source, "target": target, "api_key": "one"}
        assert guarded.form("/suggest", q=TEXT, s="The dog", **languages)[0] == 400
    texts = [(TEXT, "The dog sleeps."), ("Er liest.", "He\u2028 reads.")]
    for text, better in texts:
        assert guarded.form("/suggest", q=text, s=better, **keyed) == (200, {"success": True})
    path = guarded.folder / "better.jsonl"
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    assert [(one["source"], one["target"]) for one in found] == texts
    assert {(one["source_language"], one["target_language"]) for one in found} == {("de", "en")}
    options = (
        f"data.train={path}",
        f"data.validation={path}",
        "tokenizer.vocabulary_size=100",
        "json=found.json",
    )
    nmt("data", "data=table", *options)
    assert json.loads((tmp_path / "found.json").read_text())["splits"]["train"]["num_pairs"] == 2


def test_what_is_in_flight_is_finished_when_it_is_told_to_stop(start, trained_run, tmp_path, expected):
    body = urllib.parse.urlencode({"q": TEXT, **PAIR}).encode()
    head = "POST /translate HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\n"
    kind = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
    with start(tmp_path, f"run={trained_run}") as server:
        address = "127.0.0.1", urllib.parse.urlsplit(server.url).port
        with socket.create_connection(address, 60) as client:
            client.sendall((head + kind).encode())
            assert client.recv(100).startswith(b"HTTP/1.1 100"), "the request has begun"
            server.process.send_signal(signal.SIGTERM)
            while is_taken(address):
                time.sleep(0.01)
            client.sendall(body)
            answer = b""
            while block := client.recv(1000):
                answer += block
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert json.loads(answer.split(b"\r\n\r\n")[1]) == {"translatedText": expected}
    assert server.log[-1] == "stopped; 1 line was translated\n"


def is_taken(address):
    """Whether a server takes a new connection."""
    try:
        socket.create_connection(address, 60).close()
    except ConnectionRefusedError:
        return False
    return True

"""Corpora of OPUS, from a server on this machine that answers as OPUS does."""

import errno
import io
import json
import ssl
import threading
import urllib.parse
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from nmt.data import opus
from nmt.data.opus import list_corpora
from nmt.data.sources import load_corpus
from nmt.errors import DataError, UserError


def archive(num_lines, source="de", target="en", seed="", end="\n"):
    """Return a .zip as OPUS has them: two texts, whose last lines have this end, and other files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("README", "about it")
        for language in (source, target):
            lines = [f"{language} {seed} line {number} ü" for number in range(num_lines)]
            file.writestr(f"Some.{'-'.join(sorted((source, target)))}.{language}", "\n".join(lines) + end)
        file.writestr("LICENSE", "free")
    return content.getvalue()


class Server:
    """Stands for OPUS: its files, the requests to it, and after how many bytes it breaks answers off, once each."""

    def __init__(self):
        self.files = {
            "Small/v1": archive(60),
            "Large/v2": archive(4000, seed="large"),
            "Large/v1": archive(90),
        }
        self.queries, self.ranges, self.breaks = [], [], []
        self.ignores_ranges = self.tells_no_length = False

    def rows(self, query):
        latest = {"Small/v1", "Large/v2"}
        for number, (corpus, content) in enumerate(self.files.items()):
            name, version = corpus.split("/")
            is_wanted = query.get("corpus", name) == name
            if is_wanted and (
                query["version"] == version or (query["version"] == "latest" and corpus in latest)
            ):
                yield {
                    "id": number, "corpus": name, "version": version, "preprocessing": "moses", "latest": "True",
                    "source": "de", "target": "en", "alignment_pairs": 60 if name == "Small" else 4000, "documents": "",
                    "source_tokens": 1, "target_tokens": None, "size": len(content) // 1024,
                    "url": f"{self.address}/files/{corpus}",
                }  # fmt: skip


@pytest.fixture
def server(monkeypatch, tmp_path):
    """Run a server; the cache is empty."""
    own = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            url = urllib.parse.urlsplit(self.path)
            if url.path == "/opusapi/":
                query = dict(urllib.parse.parse_qsl(url.query))
                own.queries.append(query)
                self.answer(200, json.dumps({"corpora": list(own.rows(query))}).encode())
                return
            content = own.files[url.path.removeprefix("/files/")]
            asked = self.headers["Range"]
            own.ranges.append(asked)
            start = (
                0
                if asked is None or own.ignores_ranges
                else int(asked.removeprefix("bytes=").removesuffix("-"))
            )
            if start >= len(content):
                self.answer(416, b"")
                return
            self.answer(206 if start else 200, content[start:])

        def answer(self, status, content):
            self.send_response(status)
            if own.tells_no_length and self.path.startswith("/files/"):
                self.close_connection = True
            else:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if status != 416 and self.path.startswith("/files/") and own.breaks:
                content = content[: own.breaks.pop(0)]
                self.close_connection = True
            self.wfile.write(content)

        def log_message(self, *arguments):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    own.address = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    monkeypatch.setenv("NMT_OPUS", f"{own.address}/opusapi/")
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    yield own
    http.shutdown()
    thread.join()
    http.server_close()


LANGUAGES = ["source=de", "target=en"]


def settings_of(data_settings, corpora, *overrides):
    return data_settings(
        "opus", f"corpora={corpora}", *LANGUAGES, "num_validation=7", "num_test=5", *overrides
    )


def lines(text):
    return list(zip(text.source, text.target, strict=True))


def test_corpora_are_one_text_of_which_some_pairs_are_held_out(server, data_settings):
    settings = settings_of(data_settings, "[Large,Small/v1]")
    corpus = load_corpus(settings)
    everything = [(f"de large line {number} ü", f"en large line {number} ü") for number in range(4000)] + [
        (f"de  line {number} ü", f"en  line {number} ü") for number in range(60)
    ]
    texts = [lines(text) for text in (corpus.train, corpus.validation, corpus.test)]
    assert [len(text) for text in texts] == [4048, 7, 5]
    assert sorted(pair for text in texts for pair in text) == sorted(everything)
    for text in texts:
        places = [everything.index(pair) for pair in text]
        assert places == sorted(places)
        assert places[0] < 800
        assert places[-1] > 3000
    assert len(server.ranges) == 2
    assert load_corpus(settings) == corpus
    assert len(server.ranges) == 2, "what is there is not downloaded again"


def test_a_last_line_without_an_end_counts(server, data_settings):
    server.files["Small/v1"] = archive(60, end="")
    corpus = load_corpus(settings_of(data_settings, "[Small/v1,Large]"))
    assert [len(text.source) for text in (corpus.train, corpus.validation, corpus.test)] == [4048, 7, 5]


def test_a_version_needs_no_network_once_it_is_there(server, data_settings, monkeypatch):
    settings = settings_of(data_settings, "[Large/v1]")
    corpus = load_corpus(settings)
    assert len(corpus.train.source) == 90 - 12
    asked = len(server.queries)
    monkeypatch.setenv("NMT_OPUS", "http://127.0.0.1:1/")
    assert load_corpus(settings) == corpus
    assert len(server.queries) == asked
    with pytest.raises(DataError, match=r"^data.corpora: the network is needed for http://127.0.0.1:1/\?"):
        load_corpus(settings_of(data_settings, "[Large]"))


def test_the_other_direction_is_the_same_text(server, data_settings):
    turned = data_settings(
        "opus", "corpora=[Small]", "source=en", "target=de", "num_validation=7", "num_test=0"
    )
    corpus = load_corpus(turned)
    assert corpus.test is None
    assert lines(corpus.validation)[0] == ("en  line 0 ü", "de  line 0 ü")


@pytest.mark.parametrize("ignores_ranges", [False, True])
def test_a_download_goes_on_where_it_broke(ignores_ranges, server, data_settings):
    size = len(server.files["Large/v2"])
    server.breaks, server.ignores_ranges = [1000, 3000, 0], ignores_ranges
    corpus = load_corpus(settings_of(data_settings, "[Large]"))
    assert len(corpus.train.source) == 4000 - 12
    places = ["bytes=1000-", "bytes=4000-", "bytes=4000-"]
    assert server.ranges == [None, *(["bytes=1000-", "bytes=3000-", None] if ignores_ranges else places)]
    assert size > 4000


def test_a_server_need_not_tell_how_much_there_is(server, data_settings):
    server.tells_no_length = True
    assert len(load_corpus(settings_of(data_settings, "[Large]")).train.source) == 4000 - 12
    assert server.ranges == [None]


@pytest.mark.parametrize(
    ("error", "is_of_network"),
    [(ssl.SSLEOFError(8, "EOF"), True), (OSError(errno.EHOSTUNREACH, "no route"), True), (OSError(errno.ENOSPC, "full"), False)],
)  # fmt: skip
def test_a_connection_that_fails_is_tried_again_and_a_full_disk_is_not(
    error, is_of_network, server, data_settings, monkeypatch
):
    fetch, errors = opus._fetch, [error]

    def fail_once(*arguments):
        if errors:
            raise errors.pop()
        return fetch(*arguments)

    monkeypatch.setattr(opus, "_fetch", fail_once)
    if is_of_network:
        assert len(load_corpus(settings_of(data_settings, "[Large]")).train.source) == 4000 - 12
    else:
        with pytest.raises(UserError, match=r"^NMT_CACHE: .*full"):
            load_corpus(settings_of(data_settings, "[Large]"))


def test_what_came_is_kept_for_the_next_command(server, data_settings, tmp_path):
    server.breaks = [100] * opus.ATTEMPTS
    with pytest.raises(
        DataError, match=r"^data.corpora: the network is needed for http.*/Large/v2; got less than"
    ):
        load_corpus(settings_of(data_settings, "[Large]"))
    (part,) = (tmp_path / "cache").glob(".opus-*.part")
    assert part.stat().st_size == 100 * opus.ATTEMPTS
    server.ranges.clear()
    assert len(load_corpus(settings_of(data_settings, "[Large]")).train.source) == 4000 - 12
    assert server.ranges == [f"bytes={100 * opus.ATTEMPTS}-"]
    assert [path.name.split("-")[0] for path in (tmp_path / "cache").iterdir()] == ["opus"]


def damage(content):
    return content[:200] + bytes([content[200] ^ 255]) + content[201:]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (damage(archive(900)), "CRC|Error -3|decompress"),
        (b"<html>not found</html>", "not a zip file"),
        (archive(900, target="fr"), "expected 1, got 0|not enough values"),
    ],
    ids=["damaged", "no archive", "another language"],
)
def test_what_is_no_good_archive_is_refused_and_asked_for_again(
    content, message, server, data_settings, tmp_path
):
    good, server.files["Large/v2"] = server.files["Large/v2"], content
    for _ in range(2):
        with pytest.raises(
            DataError, match=rf"^data.corpora: a .zip with a file for de and en is needed.*({message})"
        ):
            load_corpus(settings_of(data_settings, "[Large]"))
        assert list((tmp_path / "cache").iterdir()) == []
    server.files["Large/v2"] = good
    assert len(load_corpus(settings_of(data_settings, "[Large]")).train.source) == 4000 - 12


@pytest.mark.parametrize(
    ("corpora", "message"),
    [
        ("[]", "names of corpora are needed; got none"),
        ("[Smal]", "one of Large, Small; got Smal; did you mean Small"),
        ("[Large/v7]", "a version that OPUS has is needed; got Large/v7"),
    ],
)
def test_what_there_is_none_of_is_said(corpora, message, server, data_settings):
    with pytest.raises(DataError, match=f"^data.corpora: .*{message}"):
        load_corpus(settings_of(data_settings, corpora))


def test_too_many_pairs_cannot_be_held_out(server, data_settings):
    with pytest.raises(
        DataError, match=r"^data.num_validation, data.num_test: less than half of the 60 pairs .* got 30"
    ):
        load_corpus(settings_of(data_settings, "[Small]", "num_test=23"))


@pytest.mark.parametrize(
    "answer", [b"<html>", b"[]", b'{"corpora": [{"corpus": "Large"}]}', b'{"corpora": [1]}']
)
def test_an_answer_that_is_none_is_said_in_one_line(answer, server, data_settings, monkeypatch):
    monkeypatch.setattr(opus.urllib.request, "urlopen", lambda *_, **__: io.BytesIO(answer))
    with pytest.raises(
        DataError, match=r"^data.corpora: a list of corpora is needed from http.*; got another answer \(.+\)$"
    ):
        list_corpora(settings_of(data_settings, "[]"))


def test_an_address_that_is_no_page_is_not_opened(server, data_settings, monkeypatch, tmp_path):
    server.address = "file:///etc"
    with pytest.raises(
        DataError, match=r"a list of corpora is needed .*the address file:///etc/files/Large/v2"
    ):
        load_corpus(settings_of(data_settings, "[Large]"))


def test_the_command_lists_what_there_is(server, nmt):
    done = nmt("data", "data=opus", "data.corpora=[]", *(f"data.{one}" for one in LANGUAGES))
    rows = [row.split() for row in done.stdout.decode().splitlines()]
    assert rows[0][:3] == ["corpus", "version", "pairs"]
    assert [row[:3] for row in rows if row[0] in ("Large", "Small")] == [
        ["Large", "v2", "4,000"],
        ["Small", "v1", "60"],
    ]

"""Files: sent to the real server, and fetched again."""

import asyncio
import io
import json
import random
import re
import urllib.request
import uuid
import zipfile

import pytest

from nmt.documents.formats import SUFFIXES
from nmt.serving.files import Held
from nmt.serving.refusal import Refused

SRT = "1\n00:00:01,000 --> 00:00:02,000\n<i>Der Hund schläft.</i>\n"
PAIR = {"source": "de", "target": "en"}


@pytest.fixture(scope="module")
def server(start, trained_run, tmp_path_factory):
    with start(tmp_path_factory.mktemp("files"), f"run={trained_run}", "max_bytes=100000") as server:
        yield server


def send(server, name, content, fields=PAIR, host=None):
    """Send a file, as browsers do; return the status and the body of the answer."""
    mark = uuid.uuid4().hex
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in fields.items()
    ]
    head = (
        "".join(parts) + f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    )
    headers = {"Content-Type": f"multipart/form-data; boundary={mark}"} | ({"Host": host} if host else {})
    status, _, body = server.ask(
        "/translate_file", head.encode() + content + f"\r\n--{mark}--\r\n".encode(), headers
    )
    return status, body


def fetch(server, body):
    """Return what a file became, and the headers that it came with."""
    with urllib.request.urlopen(body["translatedFileUrl"], timeout=60) as answer:
        return answer.read(), answer.headers


def test_a_file_is_translated_as_its_lines_are(server):
    line = server.json("/translate", {"q": "Der Hund schläft.", **PAIR})[1]["translatedText"]
    status, body = send(server, "Mein Häus.srt", SRT.encode())
    assert status == 200
    assert re.fullmatch(
        rf"{server.url}/download_file/[0-9a-f-]{{36}}\.Mein_Haus_en\.srt", body["translatedFileUrl"]
    )
    found, headers = fetch(server, body)
    assert found.decode() == SRT.replace("Der Hund schläft.", line)
    assert headers["Content-Disposition"] == 'attachment; filename="Mein_Haus_en.srt"'
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"


def test_its_language_may_be_detected(server):
    text = b"Der alte Mann sieht den kleinen Hund."
    assert fetch(server, send(server, "a.txt", text, {"source": "auto", "target": "de"})[1])[0] == text
    status, body = send(server, "a.txt", text, {"source": "auto", "target": "en"})
    assert (status, fetch(server, body)[0] != text) == (200, True)


def test_documents_of_word_are_translated(server):
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as made:
        w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
        made.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{w}"><w:body><w:p><w:r><w:t>Der Hund schläft.</w:t></w:r></w:p></w:body></w:document>',
        )
    status, body = send(server, "a.docx", output.getvalue())
    assert status == 200
    with zipfile.ZipFile(io.BytesIO(fetch(server, body)[0])) as read:
        text = read.read("word/document.xml").decode()
    line = server.json("/translate", {"q": "Der Hund schläft.", **PAIR})[1]["translatedText"]
    assert f">{line}</w:t>" in text


@pytest.mark.parametrize(
    ("name", "content", "fields", "status", "error"),
    [
        ("a.exe", b"x", PAIR, 400, "Invalid request: file format not supported"),
        ("a", b"x", PAIR, 400, "Invalid request: file format not supported"),
        ("a.txt", b"", PAIR, 400, "Invalid request: empty file"),
        ("a.txt", b"\xff", PAIR, 400, "Invalid request: file: text in UTF-8 is needed, as `iconv -f OLD -t UTF-8` makes it; got another byte at 0"),
        ("a.docx", b"x", PAIR, 400, "Invalid request: file: an undamaged archive with word/document.xml is needed; got another file"),
        ("a.txt", b"x", {"source": "de"}, 400, "Invalid request: missing target parameter"),
        ("a.txt", b"x", {"source": "xx", "target": "en"}, 400, "xx is not supported"),
        ("a.txt", b"x" * 100_001, PAIR, 413, "Invalid request: a body of at most 100000 bytes is needed"),
    ],
)  # fmt: skip
def test_what_is_no_file_to_translate_is_refused(server, name, content, fields, status, error):
    assert send(server, name, content, fields) == (status, {"error": error})


def test_files_are_no_fields(server):
    assert server.form("/translate_file", file="x", **PAIR) == (
        400,
        {"error": "Invalid request: missing file parameter"},
    )
    for host in ("a b", "a/b", "a@b", '"'):
        error = "Invalid request: a host is needed in the header Host"
        assert send(server, "a.txt", b"x", host=host) == (400, {"error": error})


@pytest.mark.parametrize("path", ["none", "..%2f..%2fetc%2fpasswd", "%00", "a" * 1000])
def test_what_is_not_held_is_not_there(server, path):
    assert server.ask(f"/download_file/{path}")[0] == 404


def test_any_bytes_are_refused_or_translated(server):
    drawn = random.Random(1)
    for suffix in SUFFIXES:
        for size in (1, 30, 1000):
            status, _ = send(server, f"a{suffix}", drawn.randbytes(size))
            assert status in (200, 400), (suffix, size)


def test_there_is_room_for_so_many_bytes(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}", "held_bytes=50") as server:
        text = b"A" * 30
        first, second = (send(server, "a.txt", text, {"source": "en", "target": "en"})[1] for _ in range(2))
        assert server.ask(first["translatedFileUrl"].removeprefix(server.url))[0] == 404, "not for both"
        assert fetch(server, second)[0] == text


def test_a_file_counts_as_what_a_client_may_send(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}", "characters_per_minute=100") as server:
        same = {"source": "en", "target": "en"}
        assert send(server, "a.txt", b"x" * 90, same)[0] == 200
        error = {"error": "Slowdown: 100 characters per minute are allowed"}
        assert send(server, "a.txt", b"x" * 90, same) == (429, error)


def test_a_file_is_held_for_a_while():
    async def main():
        held = Held(100, 0.2)
        key = held.put("a.txt", "en", b"a")
        assert held.get(key) == ("a_en.txt", b"a")
        await asyncio.sleep(0.5)
        with pytest.raises(Refused, match=r"^Not Found$"):
            held.get(key)

    asyncio.run(main())


def test_small_files_take_room_too_and_leave_nothing_behind():
    async def main():
        held = Held(10_000)
        keys = [held.put("a.txt", "en", b"a") for _ in range(50)]
        timers = [file.timer for file in held._files.values()]
        assert 1 < len(timers) < 10
        assert held.get(keys[-1]) == ("a_en.txt", b"a")
        with pytest.raises(Refused, match=r"^Not Found$"):
            held.get(keys[0])
        assert [one for one in asyncio.get_running_loop()._scheduled if not one.cancelled()] == timers

    asyncio.run(main())


def test_they_can_be_switched_off_and_need_a_key_where_there_are_keys(start, trained_run, tmp_path):
    (tmp_path / "keys").write_text("one\n")
    with start(tmp_path, f"run={trained_run}", "held_bytes=0", "url_prefix=/mt") as server:
        assert send(server, "a.txt", b"x") == (
            403,
            {"error": "Files translation are disabled on this server."},
        )
        assert server.ask("/frontend/settings")[2]["filesTranslation"] is False
    with start(
        tmp_path, f"run={trained_run}", "api_keys=keys", "url_prefix=/mt", "max_characters=10"
    ) as server:
        assert send(server, "a.txt", b"x") == (
            400,
            {"error": "Please contact the server operator to get an API key"},
        )
        status, body = send(server, "a.txt", b"Hund", {**PAIR, "api_key": "one"})
        assert (status, body["translatedFileUrl"].startswith(f"{server.url}/download_file/")) == (200, True)
        assert fetch(server, body)[0]
        error = {"error": "Invalid request: request (11) exceeds text limit (10)"}
        assert send(server, "a.txt", b"x" * 11, {**PAIR, "api_key": "one"}) == (400, error)
        found = server.ask("/frontend/settings")[2]
        assert (found["filesTranslation"], json.dumps(found["supportedFilesFormat"])) == (
            True,
            json.dumps(SUFFIXES),
        )

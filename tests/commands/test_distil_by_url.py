"""Teachers behind a URL, by real servers on the loopback: what they are asked, and what is made of their answers."""

import json
import os
import signal
import socket
import struct
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from nmt.cli.compose import compose
from nmt.decoding.chunks import Chunk
from nmt.distillation import remote
from nmt.distillation.remote import RemoteTeacher
from nmt.errors import DataError, SettingsError

LANGUAGES = ("data=grammar", "distillation.source_language=de", "distillation.target_language=en")
OPENAI = ("distillation.server=openai", "distillation.server_model=some-model", *LANGUAGES)


@contextmanager
def serving(answer):
    """Have a server answer each POST by `answer(path, object, headers)`: a status, and an object or bytes."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, content, self.headers))
            status, body = answer(self.path, content, self.headers)
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(body) or 9))
            self.end_headers()
            if body:
                self.wfile.write(body)
            else:  # the connection is reset before the rest has come
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                os.close(self.connection.detach())

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def teacher_at(url, *overrides):
    return RemoteTeacher(compose("distil", [f"teacher={url}", "student=none", *overrides], None).settings())


def libretranslate(path, content, headers):
    others = {"alternatives": [[f"{line}!"] for line in content["q"]]} if "alternatives" in content else {}
    return 200, {"translatedText": [line.upper() for line in content["q"]], **others}


def openai(path, content, headers):
    line = content["messages"][-1]["content"]
    texts = [f"{line.upper()}\n {number}" for number in range(content["n"])]
    return 200, {"choices": [{"message": {"role": "assistant", "content": text}} for text in texts]}


LINES = [f"zeile {number}" if number % 7 else " " for number in range(50)]


def test_libretranslate_is_asked_for_lists_of_lines_with_the_key(monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    with serving(libretranslate) as (url, asked):
        typed = (*LANGUAGES, "distillation.num_hypotheses=2", "distillation.api_key_variable=MY_KEY")
        found = teacher_at(url + "/", *typed).translate(Chunk(LINES, 0))
    assert found == [[line.upper(), f"{line}!"] if line.strip() else [""] for line in LINES]
    assert sorted(line for _, one, _ in asked for line in one["q"]) == sorted(
        line for line in LINES if line.strip()
    )
    for path, content, _ in asked:
        assert path == "/translate"
        assert len(content.pop("q")) <= remote.LINES_OF_REQUEST
        assert content == {
            "source": "de",
            "target": "en",
            "format": "text",
            "alternatives": 1,
            "api_key": "secret",
        }


@pytest.mark.parametrize("ending", ["", "/v1"])
def test_openai_is_asked_for_a_line_at_a_time_and_line_breaks_of_answers_are_spaces(monkeypatch, ending):
    monkeypatch.setenv("NMT_TEACHER_KEY", "secret")
    several = "distillation.num_hypotheses=2", "distillation.server_temperature=0.5"
    with serving(openai) as (url, asked):
        found = teacher_at(url + ending, *OPENAI, *several).translate(Chunk(LINES, 0))
    assert found == [[f"{line.upper()} 0", f"{line.upper()} 1"] if line.strip() else [""] for line in LINES]
    path, content, headers = asked[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer secret"
    assert (content["model"], content["n"], content["temperature"]) == ("some-model", 2, 0.5)
    assert "from de to en" in content["messages"][0]["content"]


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"content": "A B"}, "finish_reason": "length"},
        {"message": {"content": "A B"}, "finish_reason": "content_filter"},
        {"finish_reason": "content_filter"},
        {"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"},
    ],
    ids=str,
)
def test_what_was_cut_off_or_refused_is_no_translation_and_a_server_may_keep_its_temperature(choice):
    with serving(lambda *asked: (200, {"choices": [choice]})) as (url, asked):
        typed = (*OPENAI, "distillation.server_temperature=null")
        assert teacher_at(url, *typed).translate(Chunk(["a b c"], 0)) == [[""]]
    assert "temperature" not in asked[0][1]


def test_without_a_key_none_is_sent(monkeypatch):
    monkeypatch.delenv("NMT_TEACHER_KEY", raising=False)
    with serving(openai) as (url, asked):
        teacher_at(url, *OPENAI).translate(Chunk(["a"], 0))
    with serving(libretranslate) as (url, asked_other):
        teacher_at(url, *LANGUAGES).translate(Chunk(["a"], 0))
    assert "Authorization" not in asked[0][2]
    assert "api_key" not in asked_other[0][1]


@pytest.mark.parametrize(("key", "sent"), [("secret\n", "Bearer secret"), (" \n", None)])
def test_space_around_a_key_is_not_sent(monkeypatch, key, sent):
    monkeypatch.setenv("NMT_TEACHER_KEY", key)
    with serving(openai) as (url, asked):
        teacher_at(url, *OPENAI).translate(Chunk(["a"], 0))
    assert asked[0][2]["Authorization"] == sent


@pytest.mark.parametrize("key", ["geheim–", "geh\neim"])
def test_a_key_that_no_header_can_have_is_refused_and_not_shown(monkeypatch, key):
    monkeypatch.setenv("NMT_TEACHER_KEY", key)
    with pytest.raises(SettingsError) as caught:
        teacher_at("http://127.0.0.1:9", *OPENAI)
    assert str(caught.value) == "NMT_TEACHER_KEY: a key of printable ASCII characters is needed; got others"


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://",
        "http://a:b",
        "https:///v1",
        "http://a..b",
        "http://a/ü",
        "http://a/?b=ü",
        "http://a/b c",
        "http://a?version=1",
        "http://a/v1#b",
        "http://me:secret@a/v1",
    ],
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(
        SettingsError, match=r"teacher: a URL with the name of a host, .* is needed; got "
    ) as caught:
        teacher_at(f"'{url}'", *LANGUAGES)
    assert "secret" not in str(caught.value)


def test_the_whole_address_of_requests_may_be_typed_and_is_named_in_errors():
    with serving(openai) as (url, asked):
        teacher_at(f"{url}/x/v1/chat/completions", *OPENAI).translate(Chunk(["a"], 0))
    assert asked[0][0] == "/x/v1/chat/completions"
    with serving(lambda *asked: (404, {})) as (url, asked), pytest.raises(DataError) as caught:
        teacher_at(f"{url}/a", *LANGUAGES).translate(Chunk(["a"], 0))
    assert str(caught.value).startswith(f"teacher: a translation by {url}/a/translate is needed; got 404")
    assert asked[0][0] == "/a/translate"


@pytest.mark.parametrize("status", sorted(remote.REFUSED))
@pytest.mark.parametrize(("interface", "typed"), [(libretranslate, LANGUAGES), (openai, OPENAI)])
def test_a_line_that_the_server_refuses_is_left_blank_and_named(interface, typed, status, caplog):
    def answer(path, content, headers):
        lines = content["q"] if "q" in content else [content["messages"][-1]["content"]]
        return (status, {"error": "too long"}) if "zeile 9" in lines else interface(path, content, headers)

    with serving(answer) as (url, _):
        teacher = teacher_at(url, *typed)
        found = teacher.translate(Chunk(LINES, 1000))
        again = teacher_at(url, *typed)  # as after an interruption
        assert again.translate(Chunk(["zeile 9", "zeile 9"], 2000)) == [[""], [""]]
    expected = [line.upper() if line not in (" ", "zeile 9") else "" for line in LINES]
    assert [texts[0].removesuffix(" 0") for texts in found] == expected
    teacher.tell()
    again.tell()
    assert caplog.messages == [
        f"1 line was refused by {teacher.url}, and left out: line 1010",
        f"2 lines were refused by {teacher.url}, and left out: lines 2001 and 2002",
    ]


@pytest.mark.parametrize(
    ("lines", "num_before"), [(["a"], 0), (["a", "b"], 0), ([" ", *["a"] * (remote.LINES_AT_ONCE - 1)], 64)]
)
def test_a_server_that_refuses_all_lines_ends_the_command(lines, num_before):
    with serving(lambda *asked: (400, {"error": "no such language"})) as (url, _):
        teacher = teacher_at(url, *LANGUAGES)
        with pytest.raises(DataError, match=r"got 400 .*no such language"):
            teacher.translate(Chunk(lines, num_before))


def test_a_server_that_no_longer_takes_what_it_took_ends_the_command():
    is_away = []

    def answer(path, content, headers):
        refuses = bool(is_away) or "zeile 9" in content["q"]
        return (400, {"error": "no model"}) if refuses else libretranslate(path, content, headers)

    whole = [" ", *["zeile 9"] * (remote.LINES_AT_ONCE - 1)]
    with serving(answer) as (url, _):
        teacher = teacher_at(url, *LANGUAGES)
        teacher.translate(Chunk(LINES, 0))
        assert teacher.translate(Chunk(whole, 64)) == [[""]] * len(whole), "it still takes other lines"
        is_away.append(True)
        with pytest.raises(DataError, match=r"got 400 .*no model"):
            teacher.translate(Chunk(["zeile 8", "zeile 9"], 128))


def test_a_busy_server_is_asked_again_a_few_times():
    waited = []

    class Event(threading.Event):
        def wait(self, timeout=None):
            waited.append(timeout)
            return self.is_set()

    def translate(url):
        teacher = teacher_at(url, *LANGUAGES)
        teacher.is_stopped = Event()
        return teacher.translate(Chunk(["a"], 0))

    answers = iter([(503, {}), (429, {}), (200, {"translatedText": ["A"]})])
    with serving(lambda *asked: next(answers)) as (url, _):
        assert translate(url) == [["A"]]
    assert waited == list(remote.SECONDS_BEFORE_RETRY[:2])
    answers = iter([(503, b""), (200, {"translatedText": ["A"]})])
    with serving(lambda *asked: next(answers)) as (url, _):
        assert translate(url) == [["A"]]
    with serving(lambda *asked: (500, {"error": "no\nmemory"})) as (url, asked):
        with pytest.raises(
            DataError, match=r'500 .*"no.*memory.*, 5 times; the same command with resume=true goes on'
        ):
            translate(url)
        assert len(asked) == 5
    with pytest.raises(DataError, match="refused, 5 times"):  # nobody is there any more
        translate(url)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((403, {"error": "Invalid API key"}), "403 .*Invalid API key"),
        ((302, b""), "got 302"),
        ((200, b"<html>"), "JSON is needed as the answer"),
        ((200, b"[" * 100_000), "JSON is needed as the answer"),
        ((200, []), "an object is needed"),
        ((200, {"translatedText": ["one", "two"]}), "a translation of each line is needed"),
        ((200, {"translatedText": [None]}), "a translation of each line is needed"),
        ((200, {"translatedText": ["\ud83d"]}), "a translation of each line is needed"),
        ((200, {"translatedText": ["one"], "alternatives": [3]}), "lists of texts as alternatives"),
    ],
)
def test_other_answers_are_errors_of_one_line_and_lead_nowhere(monkeypatch, answer, message):
    with serving(lambda *asked: answer) as (url, asked):
        teacher = teacher_at(url, *LANGUAGES)
        monkeypatch.setattr(teacher.is_stopped, "wait", lambda seconds: pytest.fail("it was asked again"))
        with pytest.raises(DataError, match=message) as caught:
            teacher.translate(Chunk(["a"], 0))
        assert len(asked) == 1
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("teacher: ")


def test_choices_without_a_message_are_an_error():
    for choices in ([], [{}], [{"message": None}], [{"message": {"content": 0}}], 7, None):
        with (
            serving(lambda *asked, choices=choices: (200, {"choices": choices})) as (url, _),
            pytest.raises(DataError, match="choices with a message is needed"),
        ):
            teacher_at(url, *OPENAI).translate(Chunk(["a"], 0))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            (),
            "data: the text to translate is needed, such as data=files, since this teacher names none; got none\n",
        ),
        (("data=grammar",), "distillation.source_language: a name"),
        (("distillation.server=openai", *LANGUAGES), "distillation.server_model: a name"),
        (
            (*LANGUAGES, "distillation.search={beam_size: 2}"),
            "distillation.search: null is needed with a URL",
        ),
        ((*LANGUAGES, "teacher=[http://a,b]"), "teacher: one URL, or runs, are needed; got http://a, b"),
    ],
)
def test_what_a_server_needs_is_said_before_it_is_asked(main, overrides, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, errors = main("distil", "teacher=http://127.0.0.1:9", "student=student", *overrides)
    assert code == 2
    assert errors.startswith(f"nmt: {message}")
    assert list(tmp_path.iterdir()) == []


def test_a_student_of_a_server_has_a_vocabulary_of_its_own(nmt, tmp_path, tiny_training):
    for name, lines in (("train", 60), ("valid", 5)):
        for side in ("de", "en"):
            text = "".join(f"wort{n % 9} {side}{n} ab{n % 5}\n" for n in range(lines))
            (tmp_path / f"{name}.{side}").write_text(text)
    data = (
        "data=files", "data.train.source=train.de", "data.train.target=train.en", "data.validation.source=valid.de",
        "data.validation.target=valid.en", "tokenizer.vocabulary_size=60", "distillation.min_agreement=0",
    )  # fmt: skip
    training = [
        one for one in tiny_training() if not one.startswith(("data.", "tokenizer.", "decoding.beam"))
    ]
    typed = (*LANGUAGES[1:], *data, *training, "export=null", "shortlist=false", "device=cpu", "align=true")
    with serving(libretranslate) as (url, asked):
        done = nmt("distil", f"teacher={url}", "student=student", *typed)
        assert b"links        none: the teacher shows no attention" in done.stderr
        number = len(asked)
        nmt("distil", "student=student", "resume=true", f"teacher={url}")
        assert len(asked) == number, "the table is there, too"
        folder = tmp_path / "stranger"
        folder.mkdir()
        values = json.loads((tmp_path / "student" / "distil.json").read_text()) | {"student": "stranger"}
        values["distillation"] |= {"api_key_variable": "SECRET", "monolingual": "train.de"}
        (folder / "distil.json").write_text(json.dumps(values))
        refused = nmt("distil", "student=stranger", "resume=true", code=2).stderr.decode()
        assert refused == (
            "nmt: teacher: the address of the server is needed to go on, too, since text is sent there, and the key in "
            f"SECRET; got none, and {url} in the folder\n"
        )
        assert len(asked) == number
    assert (tmp_path / "student" / "distilled" / "train.en").read_text().startswith("WORT0 DE0 AB0\n")
    row = done.stdout.decode().split("\n")[1].split()
    assert row[0] == "teacher"
    assert row[3:] == ["-", "-", "-"]
    assert b"lines      5 of the validation text" in done.stdout


def test_an_interruption_does_not_wait_for_a_silent_server():
    teacher = teacher_at("http://127.0.0.1:9", *OPENAI)
    is_asked, is_over, answered = threading.Semaphore(0), threading.Event(), []

    def ask(lines):
        is_asked.release()
        is_over.wait(20)
        answered.append(lines)
        return [[line] for line in lines]

    def interrupt():
        for _ in range(remote.REQUESTS_AT_ONCE):
            is_asked.acquire()
        signal.pthread_kill(main_thread, signal.SIGINT)

    teacher.ask = ask
    main_thread = threading.main_thread().ident
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        teacher.translate(Chunk(["eins"] * remote.REQUESTS_AT_ONCE))
    assert answered == []
    is_over.set()
    thread.join()


def test_an_interruption_ends_the_waiting_for_a_server_that_is_away(monkeypatch, caplog):
    monkeypatch.setattr(remote, "SECONDS_BEFORE_RETRY", (100_000.0,))
    teacher = teacher_at("http://127.0.0.1:9", *LANGUAGES)

    def interrupt():
        while not caplog.messages:
            time.sleep(0.01)
        signal.pthread_kill(main_thread, signal.SIGINT)

    main_thread = threading.main_thread().ident
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        teacher.translate(Chunk(["eins"]))
    thread.join()
    assert len(caplog.messages) == 1


def test_after_a_failure_no_further_lines_are_sent():
    with serving(lambda *asked: (403, {"error": "Invalid API key"})) as (url, asked):
        with pytest.raises(DataError, match="Invalid API key"):
            teacher_at(url, *OPENAI).translate(Chunk(["eins"] * remote.LINES_AT_ONCE))
        assert 1 <= len(asked) <= remote.REQUESTS_AT_ONCE

"""Translating as a stream: answers while it is open, whole lines whatever happens, and going on."""

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt.data import lines as lines_module
from nmt.decoding import stream
from nmt.decoding.chunks import Chunk, number_chunks, text_chunks
from nmt.decoding.search_settings import choose_search
from nmt.decoding.stream import write_stream
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.errors import DataError
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model

SENTENCES = [
    b"Das ist ein Haus.",
    b"",
    b"Wir lesen ein Buch, und der Hund liest mit.",
    b"Brot.",
    "Schöne grüne Bäume \0für Käthe.".encode().replace(b"\0", b"\xff"),
] * 3


@pytest.fixture
def start(trained_run, tmp_path):
    """Return a function that starts to translate in an empty folder; nothing that it started is left over."""
    with contextlib.ExitStack() as stack:

        def start_translating(*arguments, threads=1, **options):
            process = stack.enter_context(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "nmt",
                        "translate",
                        f"run={trained_run}",
                        "precision=float32",
                        *arguments,
                    ],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=tmp_path,
                    env={**os.environ, "OMP_NUM_THREADS": str(threads)},
                    **options,
                )
            )
            stack.callback(process.kill)
            return process

        yield start_translating


def wait_for_lines(path, count):
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        time.sleep(0.05)


def test_a_sender_has_its_answer_before_it_sends_more(start):
    process = start()
    answers = []
    for line in SENTENCES[:4]:
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        answers.append(process.stdout.readline())
    assert all(answer.endswith(b"\n") for answer in answers)
    assert [answer == b"\n" for answer in answers] == [False, True, False, False]
    process.stdin.close()
    assert process.stdout.read() == b""
    assert process.wait() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel for the most memory that was in use")
def test_a_file_without_a_key_may_be_meant_as_the_input(nmt, trained_run, tmp_path):
    (tmp_path / "in.de").write_text("Ein Hund.\n")
    refused = nmt("translate", f"run={trained_run}", "in.de", code=2).stderr
    assert refused == b"nmt: KEY=VALUE is needed; got in.de; did you mean input=in.de?\n"
    refused = nmt("translate", str(trained_run), code=2).stderr.decode()
    assert refused == f"nmt: KEY=VALUE is needed; got {trained_run}; did you mean run={trained_run}?\n"
    refused = nmt("translate", "input=none.tsv", f"run={trained_run}", code=2).stderr
    assert refused == b"nmt: input: no such file: none.tsv\n"


def test_memory_does_not_grow_with_the_input(start):
    def peak():
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) // 1024

    process = start()
    process.stdin.write(b"Haus\n")
    process.stdin.flush()
    process.stdout.readline()
    before = peak()
    for _ in range(60):  # megabytes of blank lines
        process.stdin.write((b" " * 999 + b"\n") * 1000)
        process.stdin.flush()
        assert process.stdout.read(1000) == b"\n" * 1000
    assert peak() - before < 40


@pytest.mark.parametrize(
    ("signal_number", "code", "said"),
    [
        (signal.SIGKILL, -9, rb""),
        (signal.SIGTERM, 143, b"stopped after 6 lines; the same command with resume=true goes on\n"),
        (
            signal.SIGINT,
            130,
            b"stopped after 6 lines; the same command with resume=true goes on\nnmt: interrupted\n",
        ),
    ],
    ids=["killed", "terminated", "interrupted"],
)
def test_going_on_gives_the_bytes_of_a_translation_without_interruption(
    nmt, trained_run, start, tmp_path, signal_number, code, said
):
    content = b"".join(line + b"\n" for line in SENTENCES)
    (tmp_path / "in.de").write_bytes(content)
    arguments = ("translate", f"run={trained_run}", "precision=float32", "input=in.de")
    nmt(*arguments, "output=whole.en")
    (tmp_path / "out.en").write_bytes(b"older\n")
    process = start("output=out.en", "overwrite=true")
    process.stdin.write(b"".join(line + b"\n" for line in SENTENCES[:6]))
    process.stdin.flush()
    wait_for_lines(tmp_path / "out.en", 6)
    process.send_signal(signal_number)
    assert process.wait() == code
    assert process.stderr.read() == said
    part = (tmp_path / "out.en").read_bytes()
    whole = (tmp_path / "whole.en").read_bytes()
    assert whole.startswith(part)
    assert part.endswith(b"\n")
    if signal_number == signal.SIGKILL:  # it may leave a half-written line
        (tmp_path / "out.en").write_bytes(part + b"half")
    done = nmt(*arguments, "output=out.en", "overwrite=true", "resume=true")
    assert b"going on after 6 lines of out.en" in done.stderr
    assert (tmp_path / "out.en").read_bytes() == whole


def test_a_full_disk_is_said_and_can_be_gone_on_from(nmt, trained_run, start, tmp_path):
    content = b"".join(line + b"\n" for line in SENTENCES)
    (tmp_path / "in.de").write_bytes(content)
    arguments = ("translate", f"run={trained_run}", "precision=float32", "input=in.de")
    whole = nmt(*arguments).stdout
    room = len(whole) - 3
    process = start(
        "output=out.en", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    )
    process.stdin.write(b"".join(line + b"\n" for line in SENTENCES[:2]))
    process.stdin.flush()
    wait_for_lines(tmp_path / "out.en", 2)
    _, log = process.communicate(b"".join(line + b"\n" for line in SENTENCES[2:]))
    assert process.returncode == 2
    fitting = whole[: whole[:room].rindex(b"\n") + 1]
    assert log.decode() == (
        "nmt: output: a place that takes all lines is needed; got out.en: File too large after "
        f"{fitting.count(10)} lines; the same command with resume=true goes on\n"
    )
    assert (tmp_path / "out.en").read_bytes() == fitting
    nmt(*arguments, "output=out.en", "resume=true")
    assert (tmp_path / "out.en").read_bytes() == whole


def test_a_file_that_was_written_is_told_of(nmt, trained_run, tmp_path):
    (tmp_path / "in.de").write_bytes(b"".join(line + b"\n" for line in SENTENCES[:4]))
    arguments = ("translate", f"run={trained_run}", "input=in.de")
    assert nmt(*arguments).stderr == b""
    told = rb"out.en: %d lines in \d+\.\d s, \d+ target tokens a second\n"
    assert re.fullmatch(told % 4, nmt(*arguments, "output=out.en").stderr)
    (tmp_path / "out.en").write_bytes((tmp_path / "out.en").read_bytes().split(b"\n")[0] + b"\n")
    again = nmt(*arguments, "output=out.en", "resume=true").stderr
    assert re.fullmatch(rb"going on after 1 line of out.en\n" + told % 3, again)


def make_lines(tmp_path):
    (tmp_path / "in.de").write_bytes(b"Haus\nBrot\n")
    (tmp_path / "precious").write_bytes(b"eins\nzwei\ndrei\n")
    (tmp_path / "link").hardlink_to(tmp_path / "in.de")
    os.mkfifo(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["output=precious"], "output: a new file is needed, or overwrite=true, or resume=true to go on; got precious, which exists"),
        (["output=precious", "resume=true"], "output: at most as many lines as in the input are needed, 2; got 3 in precious"),
        (["resume=true"], "output: the file to go on with is needed with resume=true; got null"),
        (["output=pipe", "resume=true"], "output: a file is needed with resume=true; got pipe"),
        (["output=in.de", "overwrite=true"], "output: another file than the input is needed; got in.de"),
        (["output=link", "resume=true"], "output: another file than the input is needed; got link"),
        (["prefix=precious", "output=precious", "overwrite=true"],
         "output: another file than the prefix is needed; got precious"),
        (["output=out.zst"], "output: a name without .zst is needed, since it is not compressed (| zstd does it); got out.zst"),
        (["output=out.en.gz"], "output: a name without .gz is needed, since it is not compressed (| gzip does it); got out.en.gz"),
        (["output=nowhere/out.en"], "output: a place that takes all lines is needed; got nowhere/out.en: No such file or directory"),
        (["output=/dev/full"], "output: a place that takes all lines is needed; got /dev/full: No space left on device after 0 lines; only output=FILE can be gone on with"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_what_cannot_be_the_output(nmt, trained_run, tmp_path, arguments, message):
    make_lines(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    done = nmt("translate", f"run={trained_run}", "input=in.de", *arguments, code=2)
    assert [line for line in done.stderr.decode().split("\n")[:-1] if line.startswith("nmt: ")] == [
        f"nmt: {message}"
    ]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_an_output_may_be_a_pipe_or_standard_output_by_name(nmt, trained_run, tmp_path):
    make_lines(tmp_path)
    arguments = ("translate", f"run={trained_run}", "input=in.de")
    plain = nmt(*arguments).stdout
    assert plain.count(b"\n") == 2
    with subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE) as reader:
        nmt(*arguments, "output=pipe")
        assert reader.communicate()[0] == plain
    with open(tmp_path / "log", "w+b") as log:  # as a batch system does it
        log.write(b"before\n")
        log.flush()
        subprocess.run(
            [sys.executable, "-m", "nmt", *arguments, "output=/dev/stdout"],
            cwd=tmp_path,
            stdout=log,
            check=True,
        )
    assert (tmp_path / "log").read_bytes() == b"before\n" + plain
    nmt(*arguments, "output=precious", "overwrite=true")
    assert (tmp_path / "precious").read_bytes() == plain


def test_whoever_reads_may_go_away(trained_run, start):
    process = start()
    process.stdout.close()
    process.stdin.write(b"Haus\n")
    process.stdin.close()
    assert process.wait() == 141
    assert process.stderr.read() == b""


# GOOD is a line of UTF-8 so long that any bytes behind it still count as UTF-8; CONTENT appends any bytes.
GOOD = "ö".encode() * 400 + b"\n"
CONTENT = st.lists(
    st.binary(max_size=5) | st.sampled_from([b"\n", b"\n\n", b"\r\n", b"\xef\xbb\xbf", b"Der Hund", b"\0", b"\xed\xa0\x80"])
).map(lambda parts: b"".join([GOOD, *parts]))  # fmt: skip
MANY = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def lines_of(content):
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return lines if lines[-1] or content == b"\xef\xbb\xbf" else lines[:-1]


def chunks_of(path):
    return number_chunks(text_chunks(path, "input"))


@MANY
@given(CONTENT, st.integers(1, 4), st.data())
def test_any_bytes_can_be_gone_on_with_from_anywhere(tmp_path, content, lines_at_once, data):
    source, whole, part = (str(tmp_path / name) for name in ("in", "whole", "part"))

    def translate(chunks):  # tells what was translated together, and in which order
        for chunk in chunks:
            size, first = len(chunk.lines), chunk.num_before
            yield [f"{size} {index} {first} {line!r}" for index, line in enumerate(chunk.lines)]

    Path(source).write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "LINES_AT_ONCE", lines_at_once)
        write_stream(translate, chunks_of(source), whole, resume=False)
        written = Path(whole).read_bytes()
        numbers = [int(line.split()[1]) for line in written.split(b"\n")[:-1]]
        before = [int(line.split()[2]) for line in written.split(b"\n")[:-1]]
        assert list(map(sum, zip(before, numbers, strict=True))) == list(range(len(numbers)))
        assert numbers == [number % lines_at_once for number in range(len(lines_of(content)))]
        half_line = data.draw(st.sampled_from([b"", b"half a line"]))
        Path(part).write_bytes(written[: data.draw(st.integers(0, len(written)))] + half_line)
        write_stream(translate, chunks_of(source), part, resume=True)
        assert Path(part).read_bytes() == written
        Path(part).write_bytes(written + b"one more\n")
        with pytest.raises(DataError, match="at most as many lines as in the input are needed"):
            write_stream(translate, chunks_of(source), part, resume=True)


@settings(MANY, max_examples=15)
@given(CONTENT)
def test_any_bytes_are_translated_line_by_line(trained_run, tmp_path, content):
    limits = {
        "max_length_ratio": 0.5,
        "max_length_extra": 2,
        "min_length": 1,
        "max_source_tokens": 50,
        "max_tokens": 90,
    }
    model, tokenizer = load_model(RunDirectory(trained_run), "best")
    translator = Translator(
        TorchEngine(model, tokenizer, torch.device("cpu"), torch.float64), choose_search("greedy", **limits)
    )
    (tmp_path / "in").write_bytes(content)
    write_stream(
        partial(map, lambda chunk: [one.text for one in translator.translate_chunk(chunk)]),
        chunks_of(str(tmp_path / "in")),
        str(tmp_path / "out"),
        resume=False,
    )
    *out, end = (tmp_path / "out").read_bytes().split(b"\n")
    assert end == b""
    alone = [
        translator.translate_chunk(Chunk([line.removesuffix(b"\r").decode("utf-8", "replace")]))[0].text
        for line in lines_of(content)
    ]
    assert out == [line.encode() for line in alone]


def test_lines_that_were_written_but_not_yet_counted_are_kept(tmp_path, monkeypatch, caplog):
    class Interrupted(stream.FileIO):
        def write(self, content):
            super().write(content)
            raise KeyboardInterrupt

    monkeypatch.setattr(stream, "FileIO", Interrupted)
    path = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt), stream.open_output(str(path), resume=False) as output:
        output.write(["a", "b"])
    assert path.read_bytes() == b"a\nb\n"
    assert caplog.messages == ["stopped after 2 lines; the same command with resume=true goes on"]


def test_a_file_that_is_still_the_old_one_is_not_gone_on_with(tmp_path, caplog):
    path = tmp_path / "out"
    path.write_text("old\n")
    with pytest.raises(KeyboardInterrupt), stream.open_output(str(path), resume=False):
        raise KeyboardInterrupt
    assert path.read_text() == "old\n"
    assert caplog.messages == [f"stopped; {path} is as it was, and the same command begins again"]


@pytest.mark.parametrize("resume", [False, True])
def test_an_output_that_another_process_is_writing_is_refused_and_left_alone(start, tmp_path, resume):
    path = tmp_path / "out"
    process = start("output=out")
    process.stdin.write(b"Das ist ein Haus.\n")
    process.stdin.flush()
    wait_for_lines(path, 1)
    written = path.read_bytes()
    with (
        pytest.raises(
            DataError, match=r"^output: a file that no other process is writing is needed; got .*out,"
        ),
        stream.open_output(str(path), resume) as output,
    ):
        output.write(["not written"])
    assert path.read_bytes() == written
    process.communicate(b"Brot.\n")
    assert process.returncode == 0
    with stream.open_output(str(path), resume=True) as output:
        assert output.num_lines == 2

"""Load on servers with LibreTranslate's interface: throughput, how long clients wait, processor time and memory.

usage: python scripts/benchmark_serve.py --source FILE [--server "NAME: COMMAND"] … [--running "NAME: URL PID"] …
                                         [--from de] [--to en] [--clients 1 8 64] [--sentences 1 6] [--seconds 12]
                                         [--warming 4] [--patience 120] [--json FILE]

A COMMAND is started, with a free port for `{port}` in it, measured once it answers, and ended by SIGTERM:

    --server "nmt: nmt serve run=outputs/mine port={port}"
    --server "nmt, one request at a time: nmt serve run=outputs/mine port={port} batch_lines=1 batch_milliseconds=0"

Each client keeps a connection, and sends the next text as soon as it has an answer. A text is --sentences lines of the
file, joined to one line. No text is sent twice until all were. The --seconds that are measured begin when the --warming
seconds have passed and each client has had an answer, or at the latest after --patience seconds. Throughput counts the
requests that end within them. The waits are of those that begin within them; the clients wait for their answers for up
to --patience seconds more, and the table says how many never came. The clients are one process on the same machine:
the server lacks the share of a core that they take, which is in the table. Servers are measured one after the other,
so the machine has to be quiet.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import math
import os
import shlex
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arguments import file_to_write, positive
from measuring import processor_seconds, resident_memory

STARTING_SECONDS = 180
ENDING_SECONDS = 60


@dataclass(frozen=True)
class Row:
    """The figures of a server for one number of clients and one number of sentences in a text."""

    server: str
    clients: int
    sentences: int
    answers: int
    unanswered: int
    sentences_per_second: float
    median_seconds: float
    seconds_99: float
    server_milliseconds_per_sentence: float
    memory_gb: float
    client_share: float


class Load:
    """Clients of one server; `texts` is the endless stream of what they send, already as HTTP requests."""

    def __init__(self, url: str, texts: Iterator[bytes]) -> None:
        self.address, self.texts = urllib.parse.urlsplit(url), texts
        self.ended: list[tuple[float, float]] = []  # when a request began and ended
        self.num_answered = 0  # clients that have had an answer
        self.is_over = False

    async def run(
        self, clients: int, warming: float, seconds: float, patience: float, pid: int
    ) -> dict[str, Any]:
        """Return the figures of a row."""
        tasks = [asyncio.create_task(self._client()) for _ in range(clients)]
        until = time.monotonic() + patience
        await asyncio.sleep(warming)
        while self.num_answered < clients and time.monotonic() < until:
            self._require_going(tasks)
            await asyncio.sleep(0.1)
        self._require_going(tasks)
        first, used, own = time.monotonic(), processor_seconds(pid), time.process_time()
        await asyncio.sleep(seconds)
        last, used, own = time.monotonic(), processor_seconds(pid) - used, time.process_time() - own
        memory = resident_memory(pid)
        self._require_going(tasks)
        self.is_over = True
        _, left = await asyncio.wait(tasks, timeout=patience)
        for task in left:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        waits = sorted(end - begin for begin, end in self.ended if first <= begin < last)
        done = sum(first <= end < last for _, end in self.ended)
        if not waits or not done:
            raise SystemExit(f"benchmark_serve: {seconds:g} seconds are too few: there was no answer")
        return {
            "answers": done,
            "unanswered": len(left),
            "rate": done / (last - first),
            "median_seconds": statistics.median(waits),
            "seconds_99": waits[math.ceil(0.99 * len(waits)) - 1],
            "milliseconds": 1000 * used / done,
            "memory_gb": memory,
            "client_share": own / (last - first),
        }

    async def _client(self) -> None:
        reader, writer = await asyncio.open_connection(self.address.hostname, self.address.port)
        is_answered = False
        with contextlib.closing(writer):
            while not self.is_over:
                began = time.monotonic()
                writer.write(next(self.texts))
                status, body = await _read_answer(reader)
                if status != 200:
                    raise SystemExit(f"benchmark_serve: the server answered {status}: {body[:200]!r}")
                self.ended.append((began, time.monotonic()))
                self.num_answered += not is_answered
                is_answered = True

    @staticmethod
    def _require_going(tasks: list["asyncio.Task[None]"]) -> None:
        """Raise the error of a client that has failed."""
        for task in tasks:
            if task.done():
                task.result()


async def _read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
    if not length.strip().isdigit():
        raise SystemExit("benchmark_serve: a server whose answers have a length is needed")
    return int(head.split(b" ", 2)[1]), await reader.readexactly(int(length))


def requests(lines: list[str], sentences: int, url: str, languages: tuple[str, str]) -> list[bytes]:
    """Return one HTTP request, as its bytes, for each text of `sentences` lines."""
    where, found = urllib.parse.urlsplit(url), []
    for start in range(0, len(lines) - sentences + 1, sentences):
        text = " ".join(lines[start : start + sentences])
        fields = {"q": text, "source": languages[0], "target": languages[1], "format": "text"}
        body = json.dumps(fields).encode()
        head = (
            f"POST {where.path.rstrip('/')}/translate HTTP/1.1\r\nHost: {where.netloc}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        found.append(head.encode() + body)
    return found


@contextlib.contextmanager
def started(command: str) -> Iterator[tuple[str, int]]:
    """Start a server; yield its address and process id. Raises SystemExit if it does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = shlex.split(command.replace("{port}", str(port)))
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + STARTING_SECONDS
            while not _answers(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"benchmark_serve: a command that serves is needed; got {command}")
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            process.terminate()
            try:
                process.wait(ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


def measure(arguments: argparse.Namespace, name: str, url: str, pid: int) -> Iterator[Row]:
    """Yield the rows of a server."""
    lines = [line for line in Path(arguments.source).read_text(encoding="utf-8").split("\n") if line.strip()]
    for sentences in arguments.sentences:
        texts = itertools.cycle(
            requests(lines, sentences, url, (arguments.source_language, arguments.target_language))
        )
        for clients in arguments.clients:
            load = Load(url, texts)
            found = asyncio.run(
                load.run(clients, arguments.warming, arguments.seconds, arguments.patience, pid)
            )
            rate, milliseconds = found.pop("rate"), found.pop("milliseconds")
            row = Row(
                name,
                clients,
                sentences,
                sentences_per_second=rate * sentences,
                server_milliseconds_per_sentence=milliseconds / sentences,
                **found,
            )
            print(row, file=sys.stderr, flush=True)
            yield row


def table(rows: list[Row]) -> str:
    """Return the figures as a table in Markdown."""
    lines = [
        "| server | clients | sentences of a text | sentences/s | wait, median, s | wait, 99th percentile, s "
        "| processor of the server, ms/sentence | memory, GB | clients, of a core |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        late = f" ({row.unanswered} never)" if row.unanswered else ""
        lines.append(
            f"| {row.server} | {row.clients} | {row.sentences} | {row.sentences_per_second:,.1f} "
            f"| {row.median_seconds:.3f} | {row.seconds_99:.3f}{late} | {row.server_milliseconds_per_sentence:.1f} "
            f"| {row.memory_gb:.2f} | {row.client_share:.0%} |"
        )
    return "\n".join(lines)


def named(text: str) -> tuple[str, str]:
    """Read `NAME: REST`."""
    name, found, rest = text.partition(": ")
    if not found:
        raise argparse.ArgumentTypeError(f"NAME: and what follows is needed; got {text}")
    return name, rest


def main() -> None:
    """Measure all servers, one after the other, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", required=True)
    parser.add_argument("--server", type=named, action="append", default=[])
    parser.add_argument("--running", type=named, action="append", default=[])
    parser.add_argument("--from", dest="source_language", default="de")
    parser.add_argument("--to", dest="target_language", default="en")
    parser.add_argument("--clients", type=positive, nargs="+", default=[1, 8, 64])
    parser.add_argument("--sentences", type=positive, nargs="+", default=[1, 6])
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--warming", type=float, default=4)
    parser.add_argument("--patience", type=float, default=120)
    parser.add_argument("--json", type=file_to_write)
    arguments = parser.parse_args()
    rows: list[Row] = []
    for name, where in arguments.running:
        url, _, pid = where.partition(" ")
        rows += measure(arguments, name, url, int(pid))
    for name, command in arguments.server:
        with started(command) as (url, number):
            rows += measure(arguments, name, url, number)
    print(
        f"{os.cpu_count()} cores, which servers and clients share; {arguments.seconds:g} seconds for each row\n"
    )
    print(table(rows))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()

"""The real server in a process of its own, and how to ask it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
pytest.importorskip("python_multipart")


class Server:
    """A server on the loopback, at a port that was free."""

    def __init__(self, process, url, log):
        self.process, self.url, self.log = process, url, log

    def ask(self, path, data=None, headers=None, method=None):
        """Return the status, the headers and the body of an answer, which is parsed if it is JSON."""
        request = urllib.request.Request(self.url + path, data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, found, body = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, found, body = error.code, error.headers, error.read()
        is_json = found.get_content_type() == "application/json"
        return status, found, json.loads(body) if is_json else body.decode()

    def json(self, path, content):
        """Post JSON, an object or bytes that should be one; return the status and the body of the answer."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        status, _, body = self.ask(path, data, {"Content-Type": "application/json"})
        return status, body

    def form(self, path, **fields):
        """Post a form; return the status and the body of the answer."""
        status, _, body = self.ask(path, urllib.parse.urlencode(fields).encode())
        return status, body

    def metric(self, name):
        """Return a counter."""
        (value,) = re.findall(rf"^{name} (\S+)$", self.ask("/metrics")[2], re.MULTILINE)
        return float(value)


@contextmanager
def running(folder, *arguments):
    """Run a server, and assert that it ends with exit code 0 when it is told to."""
    command = [sys.executable, "-m", "nmt", "serve", "port=0", "device=cpu", "precision=float32", *arguments]
    environment = {**os.environ, "PYTHONWARNINGS": ""}
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, env=environment, text=True) as process:
        try:
            first = process.stderr.readline()
            found = re.fullmatch(r"serving .* at (http://127\.0\.0\.1:\d+\S*)\n", first)
            assert found, first + process.stderr.read()
            server = Server(process, found[1], [first])
            yield server
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            server.log += process.stderr.readlines()
            assert process.wait(60) == 0, server.log
        finally:
            process.kill()


def copy_run(run, folder, source, target):
    """Copy a run, and let its settings name two languages by their codes."""
    shutil.copytree(run, folder)
    settings = json.loads((folder / "config.json").read_text())
    shared = {key: settings["data"][key] for key in ("filter", "augment", "max_length", "context")}
    languages = {"source_language": source, "target_language": target}
    settings["data"] = {"kind": "multi30k", "directory": "none", **languages, **shared}
    (folder / "config.json").write_text(json.dumps(settings))


@pytest.fixture(scope="session")
def run_of():
    """Return the function that copies a run as one of other languages."""
    return copy_run


@pytest.fixture(scope="session")
def start():
    """Return the function that starts a server."""
    return running

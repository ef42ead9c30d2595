"""Models in processes of their own: which are in memory, and what comes of one that dies."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest
from processes import wait_for_end

from nmt.errors import RunError
from nmt.serving.batching import Wanted
from nmt.serving.metrics import Metrics
from nmt.serving.models import Models
from nmt.serving.worker import Done, ModelFailed, Task, Worker

if not Path("/proc/self").exists():
    pytest.skip("Linux tells which processes there are", allow_module_level=True)


def children(process):
    """Return the children of a process that load models."""
    numbers = [
        number
        for task in Path(f"/proc/{process}/task").iterdir()
        for number in (task / "children").read_text().split()
    ]
    return [int(one) for one in numbers if "spawn_main" in Path(f"/proc/{one}/cmdline").read_text()]


HUND = {"q": "Der Hund schläft.", "source": "de", "target": "en"}


def test_a_model_that_dies_is_loaded_again(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}") as server:
        expected = server.json("/translate", HUND)
        assert expected[0] == 200
        (process,) = children(server.process.pid)
        os.kill(process, signal.SIGKILL)
        wait_for_end([process])
        assert server.json("/translate", HUND) == expected, "it had nothing to do: nobody sees that"
        (process,) = children(server.process.pid)
        os.kill(process, signal.SIGSTOP)  # it will not answer
        with subprocess.Popen([sys.executable, "-c", KILL, str(process)]):
            assert server.json("/translate", HUND) == (500, {"error": "Internal server error"})
        assert server.json("/translate", HUND) == expected
        assert server.metric("nmt_died_models_total") == 1
        assert server.metric("nmt_loaded_models_total") == 3
        assert server.ask("/health")[0] == 200
    assert f"{trained_run}: its process ended with exit code -9\n" in server.log


KILL = "import os, sys, time; time.sleep(1); os.kill(int(sys.argv[1]), 9)"


def test_what_all_processes_are_sent_does_not_end_a_model_before_its_server(start, trained_run, tmp_path):
    with start(tmp_path, f"run={trained_run}") as server:
        (process,) = children(server.process.pid)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(process, number)
        assert server.json("/translate", HUND)[0] == 200
        assert children(server.process.pid) == [process]
    wait_for_end([process])


def test_a_model_ends_with_a_server_that_is_killed(trained_run):
    command = [sys.executable, "-m", "nmt", "serve", "port=0", "device=cpu", f"run={trained_run}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as server:
        assert server.stderr.readline().startswith(b"serving ")
        (process,) = children(server.pid)
        server.kill()
    wait_for_end([process])


def test_models_make_room_for_each_other(start, trained_run, tmp_path, run_of):
    for source, target in (("de", "fr"), ("fr", "cs")):
        run_of(trained_run, tmp_path / target, source, target)
    with start(tmp_path, f"run={trained_run}", "runs=[fr,cs]", "memory=1") as server:
        assert len(children(server.process.pid)) == 1, "one that is larger than all room is loaded alone"
        assert server.metric("nmt_loaded_models_total") == 1
        for source, target in (("de", "fr"), ("fr", "cs"), ("de", "en"), ("de", "en")):
            assert server.json("/translate", HUND | {"source": source, "target": target})[0] == 200
            assert len(children(server.process.pid)) == 1
        assert server.metric("nmt_loaded_models_total") == 4


class Fake(Worker):
    """Takes as much memory as the number in its name."""

    def __init__(self, folder, settings):
        super().__init__(folder, settings)
        self.is_started, self.log = False, settings.log

    @property
    def is_running(self):
        return self.is_started

    def start(self):
        self.log.append(f"+{self.folder}")
        self.is_started, self.memory = True, int(self.folder[1:]) * 1_000_000

    def stop(self):
        if self.is_started:
            self.log.append(f"-{self.folder}")
        self.is_started = False

    def translate(self, task):
        return task.lines


class Settings:
    memory = 10

    def __init__(self):
        self.log = []


def test_the_least_used_is_put_away(monkeypatch):
    monkeypatch.setattr("nmt.serving.models.Worker", Fake)
    settings, task = Settings(), Task(["x"], Wanted(), None)
    models = Models(["a4", "b4", "c4", "d9"], settings, Metrics())
    models.load()
    assert settings.log == ["+a4", "+b4", "+c4", "-a4"], "how much one takes is known when it is there"
    for folder, expected in (
        ("b4", []),
        ("a4", ["-c4", "+a4"]),
        ("b4", []),
        ("c4", ["-a4", "+c4"]),
        ("d9", ["+d9", "-b4", "-c4"]),
        ("a4", ["-d9", "+a4"]),
        ("d9", ["-a4", "+d9"]),
    ):
        settings.log.clear()
        assert models.translate(folder, task) == ["x"]
        assert settings.log == expected, folder


def test_one_that_translates_is_not_put_away(monkeypatch):
    monkeypatch.setattr("nmt.serving.models.Worker", Fake)
    settings, task = Settings(), Task(["x"], Wanted(), None)
    models = Models(["a4", "b8"], settings, Metrics())
    models.translate("b8", task)
    models.translate("a4", task)
    busy = models._workers["a4"]

    async def main():
        with busy.lock:
            waiting = asyncio.create_task(asyncio.to_thread(models.translate, "b8", task))
            await asyncio.sleep(0.1)
            assert busy.is_running
            assert not waiting.done()
        await asyncio.to_thread(models.translate, "a4", task)
        await waiting

    asyncio.run(main())
    assert settings.log == ["+b8", "+a4", "-b8", "-a4", "+b8"]


def test_one_that_waits_for_room_comes_before_the_next_batch_of_another(monkeypatch):
    class Slow(Fake):
        def translate(self, task):
            self.log.append(self.folder)
            time.sleep(0.02)
            return task.lines

    monkeypatch.setattr("nmt.serving.models.Worker", Slow)
    settings, task = Settings(), Task(["x"], Wanted(), None)
    models = Models(["a8", "b8"], settings, Metrics())
    models.load()
    settings.log.clear()
    with ThreadPoolExecutor() as pool:
        book = pool.submit(lambda: [models.translate("a8", task) for _ in range(20)])
        while len(settings.log) < 4:
            time.sleep(0.001)
        asked_at = len(settings.log)
        pool.submit(models.translate, "b8", task).result()
        book.result()
    assert settings.log.index("b8") <= asked_at + 4, "two batches, and the models change places"


def test_room_that_one_has_grown_into_is_taken_from_others(monkeypatch):
    class Growing(Fake):
        def translate(self, task):
            self.memory += 4_000_000
            return task.lines

    monkeypatch.setattr("nmt.serving.models.Worker", Growing)
    settings = Settings()
    models = Models(["a4", "b4"], settings, Metrics())
    models.load()
    models.translate("a4", Task(["x"], Wanted(), None))
    assert settings.log == ["+a4", "+b4", "-b4"]


def test_nothing_is_loaded_any_more_when_all_have_stopped(monkeypatch):
    monkeypatch.setattr("nmt.serving.models.Worker", Fake)
    settings = Settings()
    models = Models(["a4"], settings, Metrics())
    with ThreadPoolExecutor() as pool:
        with models._workers["a4"].lock:
            late = pool.submit(models.translate, "a4", Task(["x"], Wanted(), None))
            time.sleep(0.1)
            models.stop()
        with pytest.raises(ModelFailed):
            late.result()
    assert settings.log == []


def test_a_process_that_could_not_be_started_can_be_started_later(monkeypatch, caplog):
    def fail(self):
        raise BlockingIOError("too many")

    worker = Worker("run", None)
    monkeypatch.setattr(SpawnProcess, "start", fail)
    for _ in range(2):
        with pytest.raises(ModelFailed):
            worker.start()
    assert not worker.is_running
    assert caplog.messages == ["run: no process could be started: too many"] * 2


def test_one_that_dies_while_the_server_starts_ends_it_with_a_line(monkeypatch):
    def die(self):
        raise ModelFailed(self.folder)

    monkeypatch.setattr("nmt.serving.models.Worker", Fake)
    monkeypatch.setattr(Fake, "start", die)
    with pytest.raises(
        RunError, match=r"^run: a model that can be loaded is needed; got a4, whose process ended$"
    ):
        Models(["a4"], Settings(), Metrics()).load()


def test_the_last_run_stays_the_one_that_it_was_at_the_start(start, trained_run, tmp_path):
    (tmp_path / "outputs").mkdir()
    shutil.copytree(trained_run, tmp_path / "outputs" / "first")
    with start(tmp_path, "run=last") as server:
        expected = server.json("/translate", HUND)
        assert expected[0] == 200
        (tmp_path / "outputs" / "second").mkdir()
        shutil.copy(trained_run / "config.json", tmp_path / "outputs" / "second" / "config.json")
        (model,) = children(server.process.pid)
        os.kill(model, signal.SIGKILL)
        wait_for_end([model])
        assert server.json("/translate", HUND) == expected


def test_a_failure_has_no_text_of_a_client_in_it(caplog):
    class Connection:
        def send(self, task):
            raise AssertionError

    worker = Worker("run", None)
    worker._connection = Connection()
    worker._connection.recv = lambda: Done([], "ValueError\n  File x", 1)
    with pytest.raises(ModelFailed, match=r"^run$"):
        worker._receive()
    assert caplog.messages == ["run failed: ValueError\n  File x"]

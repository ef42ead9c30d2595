"""Figures of the machine, on one with and one without a GPU that tells of itself."""

import ctypes
import time
from types import SimpleNamespace

import pytest
import torch

from nmt.tracking import system


class FakeLibrary:
    """Answers as NVIDIA's library does: 0 is success, and figures are written through pointers."""

    def __init__(self, error_of=None):
        self.error_of, self.asked = error_of, []

    def nvmlInit_v2(self):
        return int(self.error_of == "init")

    def nvmlDeviceGetHandleByUUID(self, identity, handle):
        self.asked.append(identity)
        handle._obj.value = 4711
        return int(self.error_of == "handle")

    def nvmlDeviceGetUtilizationRates(self, handle, found):
        assert handle.value == 4711
        found._obj.gpu, found._obj.memory = 37, 12
        return int(self.error_of == "rates")


@pytest.mark.parametrize(
    ("error_of", "share"), [(None, 0.37), ("init", None), ("handle", None), ("rates", None)]
)
def test_the_share_is_what_the_driver_says_of_this_gpu(monkeypatch, error_of, share):
    library = FakeLibrary(error_of)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(uuid="0-1-2"))
    assert system._Gpu(torch.device("cuda", 0)).share() == share
    assert library.asked == ([] if error_of == "init" else [b"GPU-0-1-2"])


def test_without_a_driver_there_is_no_share(monkeypatch):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert system._Gpu(torch.device("cuda", 0)).share() is None


def test_memory_and_processors_are_those_of_this_process():
    figures = system.SystemFigures(torch.device("cpu"))
    figures.read()
    until = time.monotonic() + 0.3
    held = bytearray(200_000_000)
    while time.monotonic() < until:
        pass
    busy = figures.read()
    time.sleep(0.3)
    idle = figures.read()
    assert busy["system/memory_mb"] > 200
    assert busy["system/processors_busy"] > idle["system/processors_busy"]
    assert idle["system/processors_busy"] < 0.3
    assert len(held) == 200_000_000
    assert busy.keys() == {"system/memory_mb", "system/processors_busy"}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU at hand")
def test_a_gpu_tells_of_itself():
    figures = system.SystemFigures(torch.device("cuda", torch.cuda.current_device())).read()
    assert {"system/gpu_memory_mb", "system/gpu_memory_peak_mb"} <= figures.keys()
    assert 0 <= figures.get("system/gpu_share", 0) <= 1

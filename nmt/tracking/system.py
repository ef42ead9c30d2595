"""Figures of the machine that trains; none of them waits for the device."""

import ctypes
import time
from collections.abc import Mapping

import torch

from nmt.memory import MEGABYTE, resident_bytes
from nmt.tracking.trackers import Tracker


class SystemFigures:
    """Memory, the load of the processors since the last reading, and the present load of the GPU."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.gpu = _Gpu(device) if device.type == "cuda" else None
        self.wall, self.busy = time.monotonic(), time.process_time()

    def read(self) -> dict[str, float]:
        """Return what is known on this machine, by names that begin with `system/`."""
        wall, busy = time.monotonic(), time.process_time()
        figures = {
            "memory_mb": resident_bytes() / MEGABYTE,
            "processors_busy": (busy - self.busy) / max(wall - self.wall, 1e-9),
        }
        self.wall, self.busy = wall, busy
        if self.gpu is not None:
            figures["gpu_memory_mb"] = torch.cuda.memory_allocated(self.device) / MEGABYTE
            figures["gpu_memory_peak_mb"] = torch.cuda.max_memory_allocated(self.device) / MEGABYTE
            share = self.gpu.share()
            if share is not None:
                figures["gpu_share"] = share
        return {f"system/{name}": value for name, value in figures.items()}


class WithSystemFigures:
    """Adds the figures of the machine to those of training that it hands on to a tracker."""

    def __init__(self, tracker: Tracker, device: torch.device) -> None:
        self.tracker, self.system = tracker, SystemFigures(device)

    def log(self, figures: Mapping[str, float], update: int) -> None:
        """Hand on figures; those of training name themselves `training/loss` and the like."""
        is_of_training = any(name.startswith("training/") for name in figures)
        self.tracker.log({**figures, **(self.system.read() if is_of_training else {})}, update)

    def close(self, failed: bool = False) -> None:
        """Close the tracker."""
        self.tracker.close(failed)


class _Utilization(ctypes.Structure):
    """nvmlUtilization_t: percent of the last sample period in which kernels ran, and memory was read or written."""

    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Gpu:
    """One GPU as NVIDIA's management library (NVML) sees it, where the driver brings that library."""

    def __init__(self, device: torch.device) -> None:
        self.handle = ctypes.c_void_p()
        try:
            self.library: ctypes.CDLL | None = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            self.library = None
            return
        identity = f"GPU-{torch.cuda.get_device_properties(device).uuid}".encode()
        if self.library.nvmlInit_v2() or self.library.nvmlDeviceGetHandleByUUID(
            identity, ctypes.byref(self.handle)
        ):
            self.library = None

    def share(self) -> float | None:
        """Return the share of time in which the GPU computed, from 0 to 1, or None where NVML does not tell."""
        found = _Utilization()
        if self.library is None or self.library.nvmlDeviceGetUtilizationRates(
            self.handle, ctypes.byref(found)
        ):
            return None
        return found.gpu / 100

"""The device that computes, and its precision: a type that the hardware supports, not one that it emulates."""

import ctypes
import os
import sys

import torch

from nmt.errors import DeviceError

# Parameters of the C library's mallopt: how many free bytes at the top of the heap are kept from the system, and how
# many blocks may lie outside the heap.
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def prepare_device(name: str) -> torch.device:
    """Return the device for `auto`, `cpu`, `cuda` or `mps`, and set this process up for it.

    On a CPU, freed memory is kept. With CUDA, float32 products use TF32, and attention does not use cuDNN's kernels.
    These settings hold for the whole process. Raises DeviceError where there is no such device.
    """
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device, is_there in available.items() if is_there)
    elif not available[name]:
        there = ", ".join(device for device, is_there in available.items() if is_there)
        raise DeviceError(f"device: one that this machine has is needed ({there}); got {name}")
    if name == "cpu":
        _keep_freed_memory()
    if name == "cuda":
        torch.set_float32_matmul_precision("high")  # TF32 for products that stay in float32
        # PyTorch prefers cuDNN's attention on recent cards. But cuDNN builds a plan on the host for each new shape, and
        # batches of sentences have many shapes. Flash and memory-efficient attention need no plan.
        torch.backends.cuda.enable_cudnn_sdp(False)
    return torch.device(name)


def _keep_freed_memory() -> None:
    """Ask the C library not to return freed memory to the system, where it can.

    The next update needs that memory again, and page faults take longer than the arithmetic on the new pages.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(M_MMAP_MAX, 0)


def require_memory(num_parameters: int, num_copies: int, device: torch.device, key: str = "model") -> None:
    """Raise DeviceError, naming the setting `key`, where `num_copies` of the parameters exceed the device's memory.

    Each parameter takes four bytes.
    """
    if device.type == "cuda":
        there = torch.cuda.get_device_properties(device).total_memory
    else:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    needed = 4 * num_copies * num_parameters
    if needed > there:
        raise DeviceError(
            f"{key}: one that fits into the {there / 1e9:.1f} GB of memory of this {device.type} is needed; got "
            f"{num_parameters:,} parameters, which take {needed / 1e9:,.1f} GB"
        )


def require_determinism(is_required: bool) -> None:
    """Allow only algorithms that give the same bits each time, if `is_required`, else all; call before a GPU is used.

    Where an operation has no such algorithm, PyTorch raises RuntimeError.
    """
    if is_required:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS needs it to be deterministic
    if is_required != torch.are_deterministic_algorithms_enabled():  # setting it takes a second
        torch.use_deterministic_algorithms(is_required)


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """Return the type of matrix products; `auto` is bfloat16 where the hardware supports it, else float32.

    Raises DeviceError for a type that the device would only emulate.
    """
    has_bfloat16 = _has_bfloat16(device)
    if name == "auto":
        return torch.bfloat16 if has_bfloat16 else torch.float32
    if name == "bfloat16" and not has_bfloat16:
        raise DeviceError(
            f"precision: float32 is needed, since this {device.type} only emulates bfloat16; got {name}"
        )
    if name == "float16" and device.type == "cpu":
        raise DeviceError("precision: float32 or bfloat16 is needed on the CPU; got float16")
    return DTYPES[name]


def _has_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return False

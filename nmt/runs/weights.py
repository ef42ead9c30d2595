"""Weights in safetensors: the header of a file is checked before memory is allocated for its tensors."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import torch
from torch import Tensor, nn

from nmt.errors import RunError
from nmt.files.reading import MAX_JSON_BYTES, open_plain, read_json
from nmt.files.writing import MANIFEST, difference
from nmt.runs.migration import current_name

FLOATING = ("F64", "F32", "F16", "BF16")  # types of weights and of the optimiser's moments

Shapes = Mapping[str, Sequence[int]]


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor by its name, from the header of a safetensors file; nothing is allocated.

    Raises RunError unless the header describes the file to its last byte.
    """
    with _open(path) as file:
        return _shapes(path, file)


def read_tensors(path: Path, expected: Shapes | None = None) -> dict[str, Tensor]:
    """Load a safetensors file after checking its header, its shapes (if `expected` is given) and its checksum.

    Raises RunError if it is damaged, differs from the manifest beside it, or has other shapes.
    """
    with _open(path) as file:
        shapes = _shapes(path, file)
        if expected is not None:
            require_shapes(expected, shapes, path.parent)
        if difference(path, read_json(path.parent / MANIFEST).get(path.name)):
            raise RunError(
                f"run: undamaged weights are needed; got {path}, which its manifest does not describe"
            )
        return {current_name(name): file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, no dict


def read_foreign(path: Path, names: Iterable[str]) -> dict[str, Tensor]:
    """Load tensors of a safetensors file of another program, whose shapes were checked; it has no manifest."""
    with _open(path) as file:
        return {name: file.get_tensor(name) for name in names}


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Open a plain safetensors file. Raises RunError if it is damaged or its header is larger than a model's."""
    try:
        with open_plain(path) as file:
            num_bytes = int.from_bytes(file.read(8), "little")
        if num_bytes > MAX_JSON_BYTES:
            raise _damaged(path, f"a header of {num_bytes} bytes")
        with safetensors.safe_open(path, framework="pt") as opened:
            yield opened
    except (OSError, MemoryError, safetensors.SafetensorError) as error:
        # MemoryError: the file is mapped, and a huge one does not fit into the address space.
        raise _damaged(path, str(error)) from None


def _shapes(path: Path, file: Any) -> dict[str, tuple[int, ...]]:
    found = {}
    for name in file.keys():  # noqa: SIM118, no dict
        part = file.get_slice(name)
        if part.get_dtype() not in FLOATING:
            raise RunError(
                f"run: weights in one of {', '.join(FLOATING)} are needed; got {part.get_dtype()} in {path}"
            )
        if current_name(name) in found:
            raise _damaged(path, f"two tensors that are {current_name(name)}")
        found[current_name(name)] = tuple(part.get_shape())
    return found


def _damaged(path: Path, what: str) -> RunError:
    return RunError(f"run: undamaged weights are needed; got {path}: {what}")


def shapes_of(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    """Return the shape of each tensor."""
    return {name: tensor.shape for name, tensor in tensors.items()}


def count_parameters(shapes: Shapes) -> int:
    """Return how many numbers tensors of these shapes hold."""
    return sum(math.prod(shape) for shape in shapes.values())


def require_shapes(expected: Shapes, found: Shapes, origin: Path) -> None:
    """Raise RunError unless the names and shapes `found` are those that the settings ask for."""
    needed = f"run: weights that fit the settings are needed; got {origin}"
    for name in sorted(expected.keys() ^ found.keys()):
        raise RunError(f"{needed}, which {'lacks' if name in expected else 'has an unknown'} {name}")
    for name, shape in expected.items():
        if tuple(found[name]) != tuple(shape):
            raise RunError(f"{needed}, whose {name} is {tuple(found[name])}, not {tuple(shape)}")


def find_not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """Return the name of the first tensor (on the host) that holds a number that is not finite, or None."""
    for name, tensor in tensors.items():
        # Minimum and maximum show infinities and propagate NaN, in a twentieth of the time of `isfinite`.
        if tensor.numel() and not torch.stack(tensor.aminmax()).isfinite().all():
            return name
    return None


def average(checkpoints: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of the weights of several checkpoints (Junczys-Dowmunt et al. 2016)."""
    if len(checkpoints) == 1:
        return checkpoints[0]
    return {
        name: torch.stack([tensors[name].double() for tensors in checkpoints]).mean(0).to(first.dtype)
        for name, first in checkpoints[0].items()
    }


def set_parameters(model: nn.Module, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Fill the parameters of a model with tensors of their names and shapes. Raises RunError for what is not finite."""
    if name := find_not_finite(tensors):
        raise RunError(f"run: finite weights are needed; got {origin}, whose {name} is not")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])

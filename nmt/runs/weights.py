"""Weights in safetensors: what a file says of itself is checked before anything is allocated for what it holds."""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from nmt.errors import RunError
from nmt.files.reading import MAX_JSON_BYTES, open_plain, parse_json, read_json
from nmt.files.writing import MANIFEST, difference
from nmt.runs.migration import current_name

NUM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}  # of the types of numbers that weights and moments have

Shapes = Mapping[str, Sequence[int]]


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor by its name, from the header of a safetensors file.

    Raises RunError unless the header describes the file to its last byte.
    """
    try:
        with open_plain(path) as file:
            num_bytes = os.fstat(file.fileno()).st_size
            num_header_bytes = int.from_bytes(file.read(8), "little")
            if not 2 <= num_header_bytes <= min(num_bytes - 8, MAX_JSON_BYTES):
                raise _damaged(path, f"a header of {num_header_bytes} bytes in a file of {num_bytes}")
            header = parse_json(file.read(num_header_bytes), path)
    except OSError as error:
        raise _damaged(path, str(error.strerror)) from None
    header.pop("__metadata__", None)
    spans: list[list[int]] = []
    shapes: dict[str, tuple[int, ...]] = {}
    for name, entry in header.items():
        shape, span = _entry(path, name, entry)
        spans.append(span)
        shapes[current_name(name)] = shape
    end = 0
    for first, last in sorted(spans):
        if first != end:
            raise _damaged(path, f"nothing, or two tensors, at byte {min(first, end)}")
        end = last
    if end != num_bytes - 8 - num_header_bytes or len(shapes) != len(header):
        raise _damaged(path, "a header that does not fit the rest")
    return shapes


def _entry(path: Path, name: str, entry: Any) -> tuple[tuple[int, ...], list[int]]:
    """Return the shape of a tensor, and where it begins and ends."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise _damaged(path, f"no type, shape and place of {name}")
    shape, span = entry["shape"], entry["data_offsets"]
    if not (_are_counts(shape) and _are_counts(span) and len(span) == 2):
        raise _damaged(path, f"no shape or no place of {name}")
    if entry["dtype"] not in list(NUM_BYTES):
        raise RunError(
            f"run: weights in one of {', '.join(NUM_BYTES)} are needed; got {entry['dtype']} in {path}"
        )
    if math.prod(shape) * NUM_BYTES[entry["dtype"]] != span[1] - span[0]:
        raise _damaged(path, f"a place of {name} that is not as large as its shape")
    return tuple(shape), span


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _damaged(path: Path, what: str) -> RunError:
    return RunError(f"run: undamaged weights are needed; got {path}: {what}")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Load a safetensors file after a check of its header and of the manifest beside it. Raises RunError if damaged."""
    read_shapes(path)
    if difference(path, read_json(path.parent / MANIFEST).get(path.name)):
        raise RunError(f"run: undamaged weights are needed; got {path}, which its manifest does not describe")
    try:
        return {current_name(name): tensor for name, tensor in safetensors.torch.load_file(path).items()}
    except (OSError, safetensors.SafetensorError) as error:
        raise _damaged(path, str(error)) from None


def require_shapes(expected: Shapes, found: Shapes, origin: Path) -> None:
    """Raise RunError unless the names and shapes of what was found are those that the settings ask for."""
    needed = f"run: weights that fit the settings are needed; got {origin}"
    for name in sorted(expected.keys() ^ found.keys()):
        raise RunError(f"{needed}, which {'lacks' if name in expected else 'has an unknown'} {name}")
    for name, shape in expected.items():
        if tuple(found[name]) != tuple(shape):
            raise RunError(f"{needed}, whose {name} is {tuple(found[name])}, not {tuple(shape)}")


def find_not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """Return the name of the first of tensors on the host that holds a number that is not finite, if one does."""
    for name, tensor in tensors.items():
        # The extremes tell of infinities, and pass on what is no number, in a twentieth of the time of `isfinite`.
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
    """Fill the parameters of a model. Raises RunError unless names and shapes are the same, and numbers finite."""
    parameters = dict(model.named_parameters())
    require_shapes(
        {name: parameter.shape for name, parameter in parameters.items()},
        {name: tensor.shape for name, tensor in tensors.items()},
        origin,
    )
    if name := find_not_finite(tensors):
        raise RunError(f"run: finite weights are needed; got {origin}, whose {name} is not")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])

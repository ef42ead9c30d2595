"""Types of NumPy arrays by the types of their elements, and arrays in files."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
Uint64Array = npt.NDArray[np.uint64]


def map_file(path: Path, kind: Any) -> npt.NDArray[Any]:
    """Return the array of numbers of type `kind` that a file holds, memory-mapped.

    The map is copy-on-write, so that the file stays as it is.
    """
    return np.memmap(path, kind, "c") if path.stat().st_size else np.empty(0, kind)


def on_disk(size: int, folder: Path) -> Int64Array:
    """Return an array of `size` integers in an unnamed file in `folder`; the file goes when the array does."""
    with tempfile.TemporaryFile(dir=folder) as file:
        return np.memmap(file, np.int64, "w+", shape=(size,))

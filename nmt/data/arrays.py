"""Types of NumPy arrays by what one of their numbers is, and arrays in files."""

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
    """Return the numbers that a file holds, one after the other, read when they are asked for.

    Writing would change a copy, and nobody writes.
    """
    return np.memmap(path, kind, "c") if path.stat().st_size else np.empty(0, kind)


def on_disk(size: int, folder: Path) -> Int64Array:
    """Return an array of integers in a file without a name in a folder, which goes when the array does."""
    with tempfile.TemporaryFile(dir=folder) as file:
        return np.memmap(file, np.int64, "w+", shape=(size,))

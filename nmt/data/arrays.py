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

ZEROS_AT_ONCE = 1 << 17


def map_file(path: Path, kind: Any) -> npt.NDArray[Any]:
    """Return the array of numbers of type `kind` that a file holds, memory-mapped.

    The map is copy-on-write, so that the file stays as it is.
    """
    return np.memmap(path, kind, "c") if path.stat().st_size else np.empty(0, kind)


def on_disk(size: int, folder: Path) -> Int64Array:
    """Return an array of `size` zeros in an unnamed file in `folder`; the file goes when the array does.

    Raises OSError where there is no room for all of them.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        # On a full disk, a map of a file with holes would kill the process.
        for start in range(0, size, ZEROS_AT_ONCE):
            file.write(bytes(8 * min(ZEROS_AT_ONCE, size - start)))
        file.flush()
        return np.memmap(file, np.int64, "r+", shape=(size,))

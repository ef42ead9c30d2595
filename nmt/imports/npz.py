"""Arrays in a `.npz` that a stranger may have written: the header of each is checked before the array is read."""

import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmt.errors import RunError
from nmt.files.reading import open_plain

ENDING = ".npy"
FLOATING, BYTES = ("float32", "float16"), ("int8", "uint8", "|S1")
MAX_HEADER_BYTES = 1 << 14  # NumPy refuses longer ones, too, but reads them first: of up to 4 GiB
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
# What a damaged or hostile archive makes the libraries raise.
DAMAGE = (
    *(OSError, ValueError, EOFError, RuntimeError, MemoryError, KeyError),
    *(TypeError, IndexError, SyntaxError, tokenize.TokenError),  # of NumPy, which parses headers as Python
    OverflowError,  # of NumPy, for a dimension that no machine could have, beside one of 0
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


class Array(NamedTuple):
    """The header of an array."""

    shape: tuple[int, ...]
    dtype: str


def read_headers(path: Path) -> dict[str, Array]:
    """Return the header of each array, without memory for its content. Raises RunError for a damaged file."""
    found: dict[str, Array] = {}
    with _open(path) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(ENDING)
            with archive.open(info) as file:
                start = BytesIO(file.read(MAX_HEADER_BYTES))
            version = np.lib.format.read_magic(start)
            shape, _, dtype = HEADERS[version](start)
            num_bytes = start.tell() + math.prod(shape) * dtype.itemsize
            if dtype.str != "|S1" and dtype.name not in (*FLOATING, *BYTES):
                raise ValueError(f"{name} holds {dtype.name}")
            if name in found or info.file_size != num_bytes:
                raise ValueError(f"{name} is not what it says")
            found[name] = Array(shape, "|S1" if dtype.str == "|S1" else dtype.name)
    return found


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, npt.NDArray[np.generic]]:
    """Return arrays whose headers have been checked. Raises RunError for a damaged file."""
    arrays = {}
    with _open(path) as archive:
        for name in names:
            with archive.open(name + ENDING) as file:
                array = np.lib.format.read_array(file, allow_pickle=False)
            # Tensors can have no byte order but that of this machine.
            arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    return arrays


def shapes_of_floats(headers: Mapping[str, Array]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays of floating-point numbers."""
    return {name: array.shape for name, array in headers.items() if array.dtype in FLOATING}


@contextmanager
def _open(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with open_plain(path) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except DAMAGE as error:
        raise RunError(f"run: undamaged weights are needed; got {path}: {error or 'no end'}") from None

"""Train, translate with and evaluate small and middle-sized machine-translation models."""

import os
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt.decoding.loading import Model, load

__all__ = ["Model", "load"]

# PyTorch reads these once, when it is imported. On the CPU, large activations come in 2 MB pages: with 4 kB ones
# a fifth of training goes into page faults.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
# oneDNN compiles a kernel for each shape that it meets and keeps 1,024 of them; recurrent models meet more.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "4096")
# A thread that waits for another one spins for some milliseconds in GNU OpenMP before it sleeps. Where other programs
# want the cores, that is the time in which the thread it waits for could run: two trainings at once would crawl.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

__version__ = version("nmt")

# In a checkout, the folder of `nmt.conf` lies beside this one, and is found there however nmt was installed.
if not os.path.isdir(os.path.join(__path__[0], "conf")):
    __path__.append(os.path.dirname(__path__[0]))


def __getattr__(name: str) -> Any:
    """Import what Python programs call when they ask for it: it takes PyTorch, and so seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nmt.decoding import loading

    return getattr(loading, name)

"""Train, translate with and evaluate small and middle-sized machine-translation models."""

import os
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt.decoding.loading import Model, load

__all__ = ["Model", "load"]

# PyTorch and its libraries read these variables once, at import. This one puts large CPU activations into 2 MB pages:
# with 4 kB pages, a fifth of the training time goes into page faults.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
# oneDNN compiles a kernel for each shape, and by default keeps 1,024 of them; recurrent models meet more shapes.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "4096")
# In GNU OpenMP, a waiting thread spins for some milliseconds before it sleeps. Where other programs want the cores, it
# keeps the thread that it waits for from running: two trainings at once would crawl.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

__version__ = version("nmt")

# In a checkout, the folder of the package `nmt.conf` lies beside this one; so it is found however nmt was installed.
if not os.path.isdir(os.path.join(__path__[0], "conf")):
    __path__.append(os.path.dirname(__path__[0]))


def __getattr__(name: str) -> Any:
    """Import `Model` or `load` only when a program asks for it: both need PyTorch, whose import takes seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nmt.decoding import loading

    return getattr(loading, name)

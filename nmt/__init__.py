"""Train, translate with and evaluate small and middle-sized machine-translation models."""

import os
from importlib.metadata import version

# PyTorch reads these once, when it is imported. On the CPU, large activations come in 2 MB pages: with 4 kB ones
# a fifth of training goes into page faults.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
# oneDNN compiles a kernel for each shape that it meets and keeps 1,024 of them; recurrent models meet more.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "4096")

__version__ = version("nmt")

"""Train, translate with and evaluate small and middle-sized machine-translation models."""

import os
from importlib.metadata import version

# On the CPU, large activations come in 2 MB pages: with 4 kB ones a fifth of training goes into page faults.
# PyTorch reads it once, when it is imported.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

__version__ = version("nmt")

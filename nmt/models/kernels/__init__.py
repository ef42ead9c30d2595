"""What makes models fast, behind names that say what is computed.

A model uses these names alone; each has its plain definition in its docstring or in the test that it is held against.
What a machine wants of a whole model is in `prepare` (and `linear`, `int8`), which no model knows of.
"""

from nmt.models.kernels.attention import Memory, attend, observing
from nmt.models.kernels.cache import Cache, LayerCache, width_for
from nmt.models.kernels.dropout import ActivationDropout, Dropout, scaled_linear
from nmt.models.kernels.packing import Grid, Layout, Packing, pack_sentences, rooms_of

__all__ = [
    "ActivationDropout",
    "Cache",
    "Dropout",
    "Grid",
    "LayerCache",
    "Layout",
    "Memory",
    "Packing",
    "attend",
    "observing",
    "pack_sentences",
    "rooms_of",
    "scaled_linear",
    "width_for",
]

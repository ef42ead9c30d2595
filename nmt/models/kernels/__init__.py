"""Fast parts of models, behind names that say what is computed.

A model uses these names alone. The plain definition of each is in its docstring or in the test that checks it.
"""

from nmt.models.kernels.attention import (
    Memory,
    Queries,
    attend,
    attend_in_inference,
    observing,
    weigh_first_head,
)
from nmt.models.kernels.attention_cache import Cache, positions_mask, width_for, with_room
from nmt.models.kernels.dropout import ActivationDropout, Dropout, scaled_linear
from nmt.models.kernels.packing import Grid, Layout, Packing, room_for, rooms_of

__all__ = [
    "ActivationDropout",
    "Cache",
    "Dropout",
    "Grid",
    "Layout",
    "Memory",
    "Packing",
    "Queries",
    "attend",
    "attend_in_inference",
    "observing",
    "positions_mask",
    "room_for",
    "rooms_of",
    "scaled_linear",
    "weigh_first_head",
    "width_for",
    "with_room",
]

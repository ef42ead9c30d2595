"""The Transformer's attention written out, so that one can look at its weights.

Fast attention never has the weights of all heads as such. Here hooks, that are there only meanwhile, compute them from
what each layer is given, and let the layers go on with what these weights make of the values: what is shown is what the
model does.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from nmt.models.interface import AttentionMap
from nmt.models.packing import Packing
from nmt.models.positions import rotate
from nmt.models.scaled_attention import combine, weigh
from nmt.models.transformer_layers import CrossAttention, Memory, SelfAttention


@contextmanager
def recording_attention(
    encoder: Iterable[nn.Module], decoder: Iterable[nn.Module], sizes: tuple[int, int, int]
) -> Iterator[list[AttentionMap]]:
    """Give a list that grows by the maps of each layer that is run meanwhile, in evaluation and without a cache.

    `sizes` are those of the batch, B, S and T; the layers have room for more.
    """
    maps: list[AttentionMap] = []
    num_sentences, source_length, target_length = sizes
    hooks = []

    def record(module: Any, kind: str, layer: int) -> None:
        width = target_length if kind == "decoder" else source_length
        height = source_length if kind == "encoder" else target_length

        def note(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any], output: Tensor) -> Tensor:
            if kind == "cross":
                weights, written_out = _cross_attention(module, *given, **named)
            else:
                weights, written_out = _self_attention(module, *given, **named)
            maps.append(AttentionMap(kind, layer, weights[:num_sentences, :, :height, :width]))
            return written_out

        hooks.append(module.register_forward_hook(note, with_kwargs=True))

    for number, layer in enumerate(encoder, start=1):
        record(layer.self_attention, "encoder", number)
    for number, layer in enumerate(decoder, start=1):
        record(layer.self_attention, "decoder", number)
        record(layer.cross_attention, "cross", number)
    try:
        yield maps
    finally:
        for hook in hooks:
            hook.remove()


def _self_attention(
    attention: SelfAttention,
    x: Tensor,
    layout: Packing,
    rotation: Tensor | None,
    mask: Tensor | None = None,
    causal: bool = False,
    cache: None = None,
) -> tuple[Tensor, Tensor]:
    """Return the weights (B', H, L', L'), and what `attention` returns for the same."""
    num_heads, num_shared = attention.num_heads, attention.num_shared_heads
    if attention.is_grouped:
        query = attention.query(x)
        key, value = attention.key_value(x).chunk(2, 1)
    else:
        query, key, value = attention.query_key_value(x).chunk(3, 1)
    if rotation is not None:
        query, key = (
            rotate(rows.unflatten(1, (-1, attention.d_head)), rotation).flatten(1) for rows in (query, key)
        )
    (queries,) = layout.to_heads(query.contiguous(), 1, num_heads)
    keys, values = layout.to_heads(torch.cat([key, value], 1), 2, num_shared)
    longest = queries.shape[2]
    added = x.new_zeros(1, 1, 1, 1) if mask is None else mask.to(x.dtype)
    if causal:
        added = added + x.new_full((longest, longest), -torch.inf).triu(1)
    relative = None if attention.relative is None else attention.relative.look_up(longest, longest)
    weights = weigh(queries, keys, added, relative)
    return weights, attention.output(layout.from_heads(combine(weights, values, relative)))


def _cross_attention(
    attention: CrossAttention, x: Tensor, layout: Packing, memories: Sequence[Memory]
) -> tuple[Tensor, Tensor]:
    """Return the weights (B', H, T', S'), and what `attention` returns for the same."""
    (queries,) = layout.to_heads(attention.query(x), 1, attention.num_heads)
    (((keys, values), mask),) = memories  # outside of decoding all sentences are one group
    weights = weigh(queries, keys, mask.to(x.dtype), None)
    return weights, attention.output(layout.from_heads(combine(weights, values, None)))

"""The names that another program has for the parameters of a Transformer: one table, read in both directions."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

LAYER = re.compile(r"(encoder|decoder)\.layers\.(\d+)\.(.+)")
# Weights and biases of the projections to queries, keys and values, whose biases are optional.
PROJECTION = re.compile(r"(.+_attention\.(?:query|key_value|query_key_value))\.(weight|bias)")

Parts = tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """The other program's name of each of our modules, with `{}` in place of its word for weight or bias.

    Where it has several names, our tensor is theirs concatenated along the output dimension.
    """

    layers: Mapping[str, str]  # the prefix of a layer, by its stack; `{}` is its number
    first_layer: int
    modules: Mapping[str, Mapping[str, Parts]]  # by stack, inside of a layer
    ends: Mapping[str, str]  # the normalisation behind the last layer, by its stack
    linear: Mapping[str, str]  # their words for weight and bias
    norm: Mapping[str, str]
    embeddings: Mapping[str, str]  # from our names to theirs
    shared: str  # the embedding of both sides, where there is one
    output_weight: str
    output_bias: str
    is_transposed: bool = False  # their matrices are (in, out), their vectors (1, D)

    def names_of(self, name: str) -> Parts:
        """Return the other program's names of one of our parameters in the layers."""
        module, _, leaf = name.rpartition(".")
        found = LAYER.fullmatch(module)
        if found is None:
            parts: Parts = (self.ends[module.partition(".")[0]],)
        else:
            stack, number, part = found.groups()
            prefix = self.layers[stack].format(int(number) + self.first_layer)
            parts = tuple(prefix + one for one in self.modules[stack][part])
        words = self.norm if module.endswith("norm") else self.linear
        return tuple(part.format(words[leaf]) for part in parts)

    def give(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return our parameters of the layers as the other program's tensors, by their names there."""
        given: dict[str, Tensor] = {}
        for name, tensor in weights.items():
            names = self.names_of(name)
            parts = tensor.chunk(len(names))
            given |= {theirs: self._turn(part) for theirs, part in zip(names, parts, strict=True)}
        return given

    def take(self, names: Iterable[str], theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return our parameters `names` of the layers, made of the other program's tensors."""
        return {
            name: torch.cat([self._turn_back(name, theirs[part]) for part in self.names_of(name)])
            for name in names
        }

    def _turn(self, tensor: Tensor) -> Tensor:
        if not self.is_transposed:
            return tensor
        return tensor.unsqueeze(0) if tensor.dim() == 1 else tensor.T

    def _turn_back(self, name: str, tensor: Tensor) -> Tensor:
        if not self.is_transposed:
            return tensor
        return tensor.squeeze(0) if name.endswith((".bias", ".norm.weight")) else tensor.T


def is_of_layers(name: str) -> bool:
    """Whether a parameter of ours belongs to the layers, and not to a vocabulary."""
    return name.startswith(("encoder.", "decoder."))


def with_biases(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return parameters, with biases of zeros added to attention projections that have none."""
    found = (PROJECTION.fullmatch(name) for name in weights)
    modules = [match[1] for match in found if match]
    zeros = {
        f"{module}.bias": weights[f"{module}.weight"].new_zeros(len(weights[f"{module}.weight"]))
        for module in modules
    }
    return zeros | dict(weights)


def without_zero_biases(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], bool]:
    """Return parameters without the biases of attention projections if all are zero, and whether any is not zero."""
    biases = [name for name in weights if name.endswith(".bias") and PROJECTION.fullmatch(name)]
    if any(weights[name].any() for name in biases):
        return dict(weights), True
    return {name: tensor for name, tensor in weights.items() if name not in biases}, False

"""What an import reads of a stranger's folder: a model, its tokenizer, and weights that have been checked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmt.config import TransformerSettings
from nmt.data.tokenizer import Tokenizer
from nmt.device import require_memory
from nmt.errors import RunError
from nmt.layouts.names import Layout, is_of_layers, without_zero_biases
from nmt.layouts.pieces import Side
from nmt.models.build import parameter_shapes
from nmt.runs.weights import Shapes, count_parameters, find_not_finite, require_shapes, shapes_of

# The output bias of tokens that never come: low enough in any softmax, yet no burden to a loss with label smoothing.
NEVER = -100.0
# Keys of a Transformer that no other program's configuration has. `read_weights` sets three of them by the weights.
UNSAID: dict[str, Any] = {
    "kind": "transformer",
    "num_key_value_heads": None,
    "normalization": "layer",
    "positions": "sinusoidal",
    "max_relative_distance": 16,
    "layer_dropout": 0.0,
    "attention_bias": True,
    "zero_start": False,
    "initial_gain": 1.0,
    "decoder": "attention",
    "tied_embeddings": "none",
}


@dataclass(frozen=True)
class Imported:
    """A model that is to become a run."""

    model: TransformerSettings
    tokenizer: Tokenizer
    weights: dict[str, Tensor]

    def describe(self) -> str:
        """Return what was read, for people."""
        model, source, target = self.model, self.tokenizer.source, self.tokenizer.target
        layers = f"{model.num_encoder_layers} and {model.num_decoder_layers} layers of {model.d_model}"
        vocabulary = "one for both sides" if self.tokenizer.joint else f"{target.size} of the target"
        return (
            f"{'model':10} {sum(tensor.numel() for tensor in self.weights.values()):,} parameters, {layers}, "
            f"norm={model.norm}, activation={model.activation}\n"
            f"{'pieces':10} {source.size} of the source, {vocabulary}"
        )


def read_weights(
    path: Path,
    layout: Layout,
    model: TransformerSettings,
    tokenizer: Tokenizer,
    sides: tuple[Side, Side],
    sizes: tuple[int, int],
    found: Shapes,
    read: Callable[[], Mapping[str, Tensor]],
) -> Imported:
    """Return the weights of a file as those of a model of ours; each token id has the row there that its side names.

    `found` are the shapes in the file, `sizes` the numbers of rows of its vocabularies; `read` reads the tensors. The
    row behind the last one stands for no token: its embedding is zeros, and it is never written. `tied_embeddings`,
    `attention_bias` and `zero_start` become what the file has. Raises RunError where names or shapes are not those of
    such a model, or weights are not finite.
    """
    is_shared, has_output = layout.shared in found, layout.output_weight in found
    tied = "none" if has_output else "three_way" if is_shared and tokenizer.joint else "two_way"
    model = model.model_copy(update={"tied_embeddings": tied, "attention_bias": True})
    ours = parameter_shapes(model, tokenizer)
    of_layers = {
        name: torch.empty(shape, device="meta") for name, shape in ours.items() if is_of_layers(name)
    }
    width, (source_size, target_size) = model.d_model, sizes
    source_name, target_name = (layout.shared,) * 2 if is_shared else layout.embeddings.values()
    expected: dict[str, tuple[int, ...]] = {
        **{name: tuple(shape) for name, shape in shapes_of(layout.give(of_layers)).items()},
        target_name: (target_size, width),
        source_name: (source_size, width),
        layout.output_bias: (1, target_size),
    }
    if has_output:
        output_shape = (width, target_size) if layout.is_transposed else (target_size, width)
        expected[layout.output_weight] = output_shape
    require_shapes(expected, found, path)
    require_memory(count_parameters(expected), 3, torch.device("cpu"))
    theirs = {name: tensor.float() for name, tensor in read().items()}
    if name := find_not_finite(theirs):
        raise RunError(f"run: finite weights are needed; got {path}, whose {name} is not")
    weights, has_biases = without_zero_biases(layout.take(of_layers, theirs))
    source, target = (torch.tensor(side.rows) for side in sides)
    weights["source_embedding.weight"] = _with_nothing(theirs[source_name])[source]
    target_embedding = _with_nothing(theirs[target_name])[target]
    if tied != "three_way":
        weights["target_embedding.weight"] = target_embedding
    if has_output:
        output = theirs[layout.output_weight]
        weights["output.weight"] = _with_nothing(output.T if layout.is_transposed else output)[target]
    # Other programs have lower values still, which would fill the loss when the model is trained on.
    bias = torch.cat([theirs[layout.output_bias][0], torch.tensor([NEVER])])[target].clamp_min(NEVER)
    vocabulary = sides[1].vocabulary  # others have one row for both of these, and never write it
    bias[[*sides[1].missing, vocabulary.pad_id, vocabulary.bos_id]] = NEVER
    weights["output.bias"] = bias
    starts_from_zeros = not target_embedding[vocabulary.bos_id].any()
    update = {"attention_bias": has_biases, "zero_start": starts_from_zeros}
    return Imported(model.model_copy(update=update), tokenizer, weights)


def _with_nothing(rows: Tensor) -> Tensor:
    return torch.cat([rows, rows.new_zeros(1, rows.shape[1])])

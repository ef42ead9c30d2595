"""Initial weights that come from another run or from word vectors, and parameters that are frozen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from nmt.config import ModelSettings
from nmt.config.check import as_typed, flatten
from nmt.data.tokenizer import Tokenizer, Vocabulary
from nmt.errors import RunError, SettingsError
from nmt.models.layers import Embedding

# Parameters that have a row for each piece of a vocabulary, and the side of that vocabulary.
SIDE_OF_ROWS = {
    "source_embedding.weight": "source",
    "target_embedding.weight": "target",
    "output.weight": "target",
    "output.bias": "target",
}
# Weights list a parameter that layers share once: a name that they lack is looked up under the one given here.
SHARED_WITH = {
    "target_embedding.weight": "source_embedding.weight",
    "output.weight": "target_embedding.weight",
}
# Settings that change what a model computes, but not the names and shapes of its weights.
MEANINGS = (
    "norm", "normalization", "positions", "max_relative_distance", "activation", "num_heads", "zero_start", "cell",
    "context", "context_use",
    *(f"attention.{name}" for name in ("score", "num_heads", "join", "span", "window", "choice")),
)  # fmt: skip


@dataclass(frozen=True)
class Copied:
    """How many tensors of a model have been taken from another one."""

    whole: int
    in_part: int  # only the rows of pieces that both vocabularies have
    num_rows: int  # rows copied of those in part, in total
    left: int  # unchanged

    def __str__(self) -> str:
        in_part = f"{self.in_part} in part ({self.num_rows} rows)"
        return f"{self.whole} tensors whole, {in_part}, {self.left} left as they were"


def copy_matching(
    model: nn.Module,
    tokenizer: Tokenizer,
    other: Mapping[str, Tensor],
    other_tokenizer: Tokenizer,
    origin: Path,
) -> Copied:
    """Copy the weights `other` into the parameters of a model that have the same name and shape.

    If the vocabularies differ, parameters with a row for each piece need to agree in width only: rows are matched by
    the text of the piece (token matching, Aji et al. 2020), those of special tokens by what they stand for. A parameter
    that several layers share takes the rows of each of them, those of the first one where there are several. Raises
    RunError, naming `origin`, if no matrix is copied as a whole.
    """
    whole = in_part = num_rows = left = num_matrices = 0
    rows_of_side = {
        side: _match_pieces(getattr(tokenizer, side), getattr(other_tokenizer, side))
        for side in ("source", "target")
    }
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    for parameter, of_layers in names.items():
        is_whole, copied = False, set[int]()
        for name in reversed(of_layers):  # so that the weights of the first one stay
            theirs = _find(other, name)
            rows = rows_of_side[SIDE_OF_ROWS[name]] if name in SIDE_OF_ROWS else None
            if theirs is not None and rows is None and theirs.shape == parameter.shape:
                with torch.no_grad():
                    parameter.copy_(theirs)
                is_whole = True
            elif theirs is not None and rows is not None and theirs.shape[1:] == parameter.shape[1:]:
                to, of = (torch.tensor(ids) for ids in zip(*rows, strict=True))
                with torch.no_grad():
                    parameter[to.to(parameter.device)] = theirs[of.to(theirs.device)].to(parameter)
                copied.update(to.tolist())
        whole += is_whole
        num_matrices += is_whole and parameter.dim() > 1
        in_part += not is_whole and bool(copied)
        num_rows += 0 if is_whole else len(copied)
        left += not is_whole and not copied
    if not num_matrices:  # biases fit most other models by shape, and are of no use alone
        raise RunError(
            "training.from_run: a run with matrices of the model's names and shapes is needed; "
            f"got {origin}, which has none; without model=... and model.KEY=... its own model is taken"
        )
    return Copied(whole, in_part, num_rows, left)


def other_meanings(model: ModelSettings, other: ModelSettings) -> str:
    """Return which settings make a model compute otherwise than another one with the same weights; empty if none do."""
    ours, theirs = (dict(flatten(one.model_dump())) for one in (model, other))
    values = ((name, theirs.get(name), ours.get(name)) for name in MEANINGS)
    return "; ".join(
        f"model.{name}={as_typed(there)} there, {as_typed(here)} here"
        for name, there, here in values
        if there != here
    )


def _find(other: Mapping[str, Tensor], name: str) -> Tensor | None:
    while name not in other and name in SHARED_WITH:
        name = SHARED_WITH[name]
    return other.get(name)


def _match_pieces(vocabulary: Vocabulary, other: Vocabulary) -> list[tuple[int, int]] | None:
    """Return the two ids of each piece that both vocabularies have; None if the vocabularies are the same."""
    if vocabulary.pieces == other.pieces:
        return None
    special, other_special = vocabulary.special_ids, other.special_ids
    other_ids = {piece: i for i, piece in enumerate(other.pieces) if i not in other_special}
    matched = [
        (i, other_ids[piece])
        for i, piece in enumerate(vocabulary.pieces)
        if i not in special and piece in other_ids
    ]
    return [*zip(special, other_special, strict=True), *matched]


def freeze(model: nn.Module, parts: Sequence[str]) -> None:
    """Freeze the parameters of `parts`.

    A part is the name of a parameter or of a module that holds some, such as `encoder` or `encoder.layers.0`; a
    parameter that layers share is frozen in all of them. Raises SettingsError for a part that names nothing, and if
    all parameters would be frozen.
    """
    named = dict(model.named_parameters(remove_duplicate=False))
    frozen: dict[int, nn.Parameter] = {}
    for part in parts:
        chosen = [p for name, p in named.items() if name == part or name.startswith(f"{part}.")]
        if not chosen:
            possible = ", ".join(dict.fromkeys(name.partition(".")[0] for name in named))
            raise SettingsError(f"training.freeze: {possible}, or a part of them, is needed; got {part}")
        frozen |= {id(parameter): parameter for parameter in chosen}
    if all(id(parameter) in frozen for parameter in named.values()):
        raise SettingsError(
            f"training.freeze: some parameter that learns is needed; got {', '.join(parts)}, which is all"
        )
    for parameter in frozen.values():
        parameter.requires_grad_(False)


def set_word_vectors(embedding: Embedding, ids: Tensor, vectors: Tensor) -> None:
    """Set the weights of an embedding so that it returns `vectors` (M, width) for the piece ids `ids` (M)."""
    weight = embedding.weight
    with torch.no_grad():
        weight[ids.to(weight.device)] = (vectors / embedding.scale).to(weight)

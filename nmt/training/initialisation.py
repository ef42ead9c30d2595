"""Where the weights start from, if not from random numbers alone, and which of them stay there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from nmt.config import ModelSettings
from nmt.data.tokenizer import Tokenizer, Vocabulary
from nmt.errors import RunError, SettingsError
from nmt.models.layers import Embedding

# Parameters that have a row for each piece, and the side whose pieces these are.
SIDE_OF_ROWS = {
    "source_embedding.weight": "source",
    "target_embedding.weight": "target",
    "output.weight": "target",
    "output.bias": "target",
}
# Weights name a parameter that layers share once; here is the other name of each.
SHARED_WITH = {
    "target_embedding.weight": "source_embedding.weight",
    "output.weight": "target_embedding.weight",
}
# Settings by which models compute otherwise with weights of the same names and shapes.
MEANINGS = ("norm", "positions", "activation", "num_heads", "cell")


@dataclass(frozen=True)
class Copied:
    """How many parameters of a model have been taken from another one."""

    whole: int
    in_part: int  # the rows of pieces that both vocabularies have
    num_rows: int  # of those in part, together
    left: int  # as they were

    def __str__(self) -> str:
        in_part = f"{self.in_part} in part ({self.num_rows} rows)"
        return f"{self.whole} parameters whole, {in_part}, {self.left} left as they were"


def copy_matching(
    model: nn.Module,
    tokenizer: Tokenizer,
    other: Mapping[str, Tensor],
    other_tokenizer: Tokenizer,
    origin: Path,
) -> Copied:
    """Copy the parameters whose name and shape agree with one of the weights `other`.

    Those with a row for each piece need agree in width only, if the vocabularies differ: rows are matched by the text
    of the piece (token matching, Aji et al. 2020), those of special tokens by what they stand for. Raises RunError,
    naming `origin`, if no matrix agrees as a whole.
    """
    whole = in_part = num_rows = left = num_matrices = 0
    rows_of_side = {
        side: _match_pieces(getattr(tokenizer, side), getattr(other_tokenizer, side))
        for side in ("source", "target")
    }
    for name, parameter in model.named_parameters():
        theirs = _find(other, name)
        rows = rows_of_side[SIDE_OF_ROWS[name]] if name in SIDE_OF_ROWS else None
        if theirs is not None and rows is None and theirs.shape == parameter.shape:
            with torch.no_grad():
                parameter.copy_(theirs)
            whole += 1
            num_matrices += parameter.dim() > 1
        elif theirs is not None and rows is not None and theirs.shape[1:] == parameter.shape[1:]:
            to, of = (torch.tensor(ids) for ids in zip(*rows, strict=True))
            with torch.no_grad():
                parameter[to.to(parameter.device)] = theirs[of.to(theirs.device)].to(parameter)
            in_part += 1
            num_rows += len(rows)
        else:
            left += 1
    if not num_matrices:  # a bias has the shape of any model's, and carries nothing over alone
        raise RunError(
            "training.from_run: a run with matrices of the model's names and shapes is needed; "
            f"got {origin}, which has none; without model=... and model.KEY=... its own model is taken"
        )
    return Copied(whole, in_part, num_rows, left)


def other_meanings(model: ModelSettings, other: ModelSettings) -> str:
    """Say by which settings a model computes otherwise than another one with its weights; nothing where none differ."""
    values = ((name, getattr(other, name, None), getattr(model, name, None)) for name in MEANINGS)
    return "; ".join(
        f"model.{name}={there} there, {here} here" for name, there, here in values if there != here
    )


def _find(other: Mapping[str, Tensor], name: str) -> Tensor | None:
    while name not in other and name in SHARED_WITH:
        name = SHARED_WITH[name]
    return other.get(name)


def _match_pieces(vocabulary: Vocabulary, other: Vocabulary) -> list[tuple[int, int]] | None:
    """Return the ids of the same pieces in two vocabularies, None if all are the same."""
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


def freeze(model: nn.Module, parts: Sequence[str]) -> int:
    """Keep the parameters of `parts` as they are, and return how many numbers they hold.

    A part is the name of a parameter or of a module that holds some, such as `encoder` or `encoder.layers.0`; what
    layers share is frozen for all of them. Raises SettingsError for a part that names nothing, and if nothing would
    be left to learn.
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
    return sum(parameter.numel() for parameter in frozen.values())


def set_word_vectors(embedding: Embedding, ids: Tensor, vectors: Tensor) -> None:
    """Let an embedding return `vectors` (M, width) for `ids` (M)."""
    weight = embedding.weight
    with torch.no_grad():
        weight[ids.to(weight.device)] = (vectors / embedding.scale).to(weight)

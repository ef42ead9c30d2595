"""CTranslate2 as what computes: the names that it knows tokens by."""

from dataclasses import dataclass
from typing import Any

from nmt.data.tokenizer import Tokenizer, Vocabulary
from nmt.errors import UserError
from nmt.versions import require


def load_ctranslate2() -> Any:
    """Import CTranslate2, which nothing else here needs. Raises UserError where it is not installed."""
    try:
        import ctranslate2
    except ImportError as error:
        raise UserError(
            f"format: the extra `export` is needed for ctranslate2: pip install 'nmt[export]'; got {error}"
        ) from None
    require("ctranslate2")
    return ctranslate2


@dataclass(frozen=True)
class TokenNames:
    """Names of the ids of both sides for CTranslate2, which knows tokens by their text alone."""

    source: list[str]
    target: list[str]
    unk: str
    bos: str
    eos: str

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "TokenNames":
        """Name each id by its piece, and the special ones alike on both sides, by what is no piece of the text."""
        sides = (tokenizer.source, tokenizer.target)
        of_text = {
            piece
            for side in sides
            for piece_id, piece in enumerate(side.pieces)
            if piece_id not in _special_ids(side)
        }
        specials = []
        for name in ("<pad>", "<unk>", "<s>", "</s>"):
            while name in of_text:
                name += "_"
            specials.append(name)
        source, target = (list(side.pieces) for side in sides)
        for side, names in zip(sides, (source, target), strict=True):
            for special_id, name in zip(_special_ids(side), specials, strict=True):
                names[special_id] = name
        return cls(source, target, *specials[1:])


def _special_ids(vocabulary: Vocabulary) -> tuple[int, int, int, int]:
    return vocabulary.pad_id, vocabulary.unk_id, vocabulary.bos_id, vocabulary.eos_id

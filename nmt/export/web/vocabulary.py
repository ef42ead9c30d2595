"""A SentencePiece model as JSON, for page/segmentation.js."""

import base64
from typing import Any

from nmt.data.tokenizer import Vocabulary
from nmt.export.tokenizer_json import require_usual_spaces


def vocabulary_json(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return all that segmentation needs. Raises RunError unless the model marks spaces at the start of words."""
    require_usual_spaces(vocabulary)
    normalizer = vocabulary.normalizer
    return {
        "kind": vocabulary.kind,
        "characters": base64.b64encode(normalizer.characters).decode(),
        "adds_prefix": normalizer.adds_prefix,
        "removes_spaces": normalizer.removes_spaces,
        "has_bytes": vocabulary.has_bytes,
        "pad_id": vocabulary.pad_id,
        "unk_id": vocabulary.unk_id,
        "bos_id": vocabulary.bos_id,
        "eos_id": vocabulary.eos_id,
        "pieces": vocabulary.pieces[: vocabulary.num_pieces],
        "types": vocabulary.types,
        "scores": vocabulary.scores[: vocabulary.num_pieces],
    }

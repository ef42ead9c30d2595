"""Migration of runs of older versions: settings and names of weights as this version would have written them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.errors import RunError

FORMAT = 14
# Keys that formats 2 to 14 added, with the values that keep the behaviour of earlier formats.
ADDED_TO_MODEL: dict[str, dict[str, Any]] = {
    "transformer": {
        "num_key_value_heads": None,
        "normalization": "layer",
        "max_relative_distance": 16,
        "attention_dropout": 0.0,
        "activation_dropout": None,
        "layer_dropout": 0.0,
        "attention_bias": False,
        "zero_start": False,
        "initial_gain": 1.0,
        "decoder": "attention",
    }
}
ADDED_TO_ATTENTION: dict[str, Any] = {
    "num_heads": 1,
    "location_positions": 128,
    "span": "global",
    "window": 10,
    "choice": "soft",
    "temperature": 1.0,
    "coverage": False,
}
ADDED_TO_TRAINING: dict[str, Any] = {
    "max_tokens": "auto",
    "compile": "auto",
    "subword_sampling": None,
    "ema_decay": None,
    "from_run": None,
    "source_vectors": None,
    "target_vectors": None,
    "guided_alignment": None,
    "guided_alignment_weight": 0.1,
    "teacher": None,
    "teacher_weight": 0.5,
    "freeze": [],
    "max_updates_skipped": 25,
}
ADDED_TO_AUGMENT: dict[str, Any] = {
    "exchange": 0.0,
    "upper_case": 0.0,
    "title_case": 0.0,
    "end_punctuation": 0.0,
    "typos": 0.0,
    "noise": 0.0,
}
ADDED_TO_DATA: dict[str, Any] = {
    "context": 0,
    "filter": {
        "min_words": None,
        "max_words": None,
        "max_characters": None,
        "max_ratio": None,
        "identical": False,
        "duplicates": "none",
        "overlap": "none",
        "source_scripts": None,
        "target_scripts": None,
        "script_share": 0.5,
    },
    "augment": ADDED_TO_AUGMENT,
}
ADDED_TO_KIND: dict[str, dict[str, Any]] = {
    "hub": {"revision": None, "test": None, "streaming": False, "num_train": None},
    "files": {"encoding": "utf-8"},
    "table": {"encoding": "utf-8"},
}
ADDED_TO_ALL_DECODING: dict[str, Any] = {
    "shortlist": False,
    "split": "long",
    "sentence_splitter": "rules",
    "long_line": None,
    "long_sentence": None,
}
ADDED_TO_DECODING: dict[str, dict[str, Any]] = {
    "greedy": {"repetition_penalty": 1.0, "no_repeat_ngram_size": None},
    "beam": {
        "repetition_penalty": 1.0,
        "no_repeat_ngram_size": None,
        "early_stopping": True,
        "num_groups": 1,
        "diversity_penalty": 0.5,
        "coverage_penalty": 0.0,
        "glossary": None,
        "protect": [],
    },
}
ADDED_TO_DISTILLATION: dict[str, Any] = {"words": False, "server_temperature": None}
ADDED: dict[str, Any] = {
    "deterministic": False,
    "teacher_forcing": {"kind": "constant"},
    "consistency": {"kind": "none"},
    "tracking": {"kind": "none"},
}


def migrate(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run in this version's format; those of an unknown format stay unchanged."""
    if config.get("format") not in range(1, FORMAT):
        return dict(config)
    model, training = config.get("model"), config.get("training")
    if not isinstance(model, dict) or not isinstance(training, dict):
        return dict(config)  # for the check, which says what is wrong
    model = ADDED_TO_MODEL.get(str(model.get("kind")), {}) | model
    if isinstance(model.get("attention"), dict):
        model["attention"] = ADDED_TO_ATTENTION | model["attention"]
    changed = {"model": model, "training": ADDED_TO_TRAINING | training, "format": FORMAT}
    if isinstance(data := config.get("data"), dict):
        data = ADDED_TO_DATA | ADDED_TO_KIND.get(str(data.get("kind")), {}) | data
        if isinstance(augment := data["augment"], dict):
            data["augment"] = ADDED_TO_AUGMENT | augment
        changed["data"] = data
    if isinstance(decoding := config.get("decoding"), dict):
        changed["decoding"] = (
            ADDED_TO_ALL_DECODING | ADDED_TO_DECODING.get(str(decoding.get("kind")), {}) | decoding
        )
    if isinstance(distillation := config.get("distillation"), dict):
        changed["distillation"] = ADDED_TO_DISTILLATION | distillation
    if isinstance(evaluation := config.get("evaluation"), dict):
        changed["evaluation"] = {"ter_case_sensitive": evaluation.get("lowercase") is False} | evaluation
    return ADDED | dict(config) | changed


def require_kept(config: Mapping[str, Any], path: Path) -> None:
    """Raise RunError for settings that this version no longer has and cannot migrate."""
    model = config.get("model")
    attention = model.get("attention") if isinstance(model, dict) else None
    if isinstance(attention, dict) and attention.get("choice") == "score_function":
        raise RunError(
            "run: model.attention.choice of soft or straight_through is needed, since hard attention by the score "
            f"function is no longer there; got score_function in {path}; a new run with "
            "model.attention.choice=straight_through learns hard attention"
        )


def current_name(name: str) -> str:
    """Return the present name of a tensor that format 1 called `name`, or `name/…`; present names stay."""
    name = re.sub(r"^(encoder|decoder)_norm\.", r"\1.norm.", name)
    name = re.sub(r"^(encoder|decoder)\.(\d+)\.(?=self_|cross_|feed_|residuals)", r"\1.layers.\2.", name)
    name = re.sub(r"^source_positions\.", "encoder.positions.table.", name)
    return re.sub(r"^target_positions\.", "decoder.positions.table.", name)

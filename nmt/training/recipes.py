"""Which experiment suits a number of training pairs, and which settings lie far from it."""

import math
from collections.abc import Mapping
from typing import Any

from nmt.config import GrammarData, TrainSettings
from nmt.config.defaults import read_defaults

# The number of training pairs that each of these experiments in conf/experiment/ is made for.
NUM_PAIRS = {"low_resource": 5_000, "small": 30_000, "medium": 200_000, "large": 4_000_000}
# Keys whose values depend on the number of pairs, and the factor by which they may differ.
FACTORS = {
    "tokenizer.vocabulary_size": 4.0,
    "model.d_model": 2.0,
    "model.dropout": 3.0,
    "training.update_tokens": 4.0,
}


def far_from_recipe(settings: TrainSettings, num_pairs: int) -> str | None:
    """Return a note on settings far from those of the experiment that suits `num_pairs`; None where none are far.

    Not compared are a training that starts from a run, which has the sizes of that run, the built-in corpus, which is
    like no other text, and tokenizers other than bpe and unigram.
    """
    is_own = settings.training.from_run is None and not isinstance(settings.data, GrammarData)
    if not is_own or settings.tokenizer.kind not in ("bpe", "unigram"):
        return None
    name = min(NUM_PAIRS, key=lambda name: abs(math.log(NUM_PAIRS[name] / max(1, num_pairs))))
    recipe, given = _recipe(name), settings.model_dump()
    far = []
    for key, factor in FACTORS.items():
        there, here = _value(recipe, key), _value(given, key)
        if there is not None and here is not None and not there / factor < here < there * factor:
            far.append(f"{key}={there:g} there, {here:g} here")
    if not far:
        return None
    return f"experiment={name} is made for about {NUM_PAIRS[name]:,} pairs: {'; '.join(far)}"


def _recipe(name: str) -> dict[str, Any]:
    """Return the values of an experiment, with those of the model that it chooses."""
    values = read_defaults(f"experiment/{name}")
    (model,) = (item["override /model"] for item in values["defaults"] if "override /model" in item)
    return {**values, "model": {**read_defaults(f"model/{model}"), **values["model"]}}


def _value(values: Mapping[str, Any], key: str) -> float | None:
    group, name = key.split(".")
    found: float | None = values[group].get(name)
    return found

"""The page beside exported graphs: the lines of JavaScript and of Python that translate with them."""

from collections.abc import Sequence
from textwrap import indent

from nmt.config import BeamSettings, DecodingSettings
from nmt.data.context import Context
from nmt.data.tokenizer import Tokenizer
from nmt.export.comparison import Comparison
from nmt.export.formats import Exported
from nmt.layouts.pieces import tags_of_lines

PAGE = """\
# A translation model for ONNX Runtime

Exported by nmt from checkpoint `{checkpoint}` of the run `{run}`. It was compared with the run before it was written:

{report}

In JavaScript, with `npm install @huggingface/transformers`, where this folder is `models/{name}`:

```javascript
import {{ env, pipeline }} from '@huggingface/transformers';

env.allowRemoteModels = false;
env.localModelPath = 'models/';
const translate = await pipeline('translation', '{name}', {{ dtype: '{dtype}' }});
console.log(await translate('…'));
```

In Python, with `pip install numpy onnxruntime tokenizers`:

```python
import numpy as np
import onnxruntime
import tokenizers

FOLDER = "."  # where this page is

encoder = onnxruntime.InferenceSession(f"{{FOLDER}}/onnx/encoder_model{suffix}.onnx")
decoder = onnxruntime.InferenceSession(f"{{FOLDER}}/onnx/decoder_model_merged{suffix}.onnx")
source = tokenizers.Tokenizer.from_file(f"{{FOLDER}}/tokenizer.json")
target = tokenizers.Tokenizer.from_file(f"{{FOLDER}}/{target_file}")


def translate(line):
    if not line.strip():
        return ""
    ids = source.encode(line).ids[:-1][:{max_source_tokens}]
    limit = max(1, min({max_target_tokens}, int({max_length_ratio} * len(ids)) + {max_length_extra}))
    ids = np.array([ids + [{source_eos_id}]])
    (encoded,) = encoder.run(None, {{"input_ids": ids, "attention_mask": np.ones_like(ids)}})
    state = {{"encoder_hidden_states": encoded, "encoder_attention_mask": np.ones_like(ids)}}
    for given in decoder.get_inputs():
        if given.name.startswith("past"):
            state[given.name] = np.zeros((1, given.shape[1], 0, given.shape[3]), np.float32)
    tokens = [{bos_id}]
    while len(tokens) <= limit and tokens[-1] != {eos_id}:
        logits, *cache = decoder.run(None, {{"input_ids": np.array([tokens[-1:]]), **state}})
        names = (found.name.replace("present", "past_key_values") for found in decoder.get_outputs()[1:])
        state.update(zip(names, cache))
        tokens.append(int(logits[0, -1].argmax()))
    return target.decode(tokens)
```

What these files hold, and what differs from `nmt translate`:

- The decoder takes its cache and gives it back. In the first call the cache has no positions. Sentences of several
  lengths can share a batch: `attention_mask` and `encoder_attention_mask` are 0 behind the end of each. transformers.js
  goes on with a sentence of a batch that has ended until all have: give it one line at a time.
- PAD, BOS and UNK never come, because of their output bias.
- `config.json` says what loaders need to know, names and shapes of the cache; it calls the model `marian` because those
  names are Marian's. The layers themselves are in the graphs alone, so there are no weights for Python's transformers.
- A line of more than {max_source_tokens} tokens is cut here; nmt translates long lines in parts (`decoding.split`).
- A line of emoji alone stays as it is in nmt; here the model is asked for it, and may invent text.
- The name of a special token, such as `</s>`, that stands in a text is read as this token, and some combinations of
  accents are normalised in another way than by SentencePiece. Other text gets the same ids.
"""
SEPARATE = (
    "- The target has a vocabulary of its own, `target_tokenizer.json`. The pipeline above decodes with the source's:\n"
    "  decode the ids that `model.generate` returns by the other one.\n"
)
LIMITS = (
    "- The lines of Python end a translation at the limits of nmt; transformers.js at `max_length` of\n"
    "  `generation_config.json`, unless it is given `max_new_tokens`.\n"
)
BEAM = "- This run searches with a beam of {beam_size}; here the search is greedy.\n"
OTHER = "- This run searches by `{kind}`; here the search is greedy.\n"
RULES = "- {keys} of this run's search: there is no such rule here.\n"
TAGS = "- Each line begins with the tag of the language to translate into and a space: {tags}.\n"
DOCUMENTS = (
    "- The run reads a line with lines before it (`data.context={num_lines}`); here each is read alone.\n"
)


def readme(
    exported: Exported, comparisons: Sequence[Comparison], suffix: str, limits: dict[str, int | float]
) -> str:
    """Return the page, in Markdown, with the results of `comparisons`."""
    tokenizer, settings = exported.tokenizer, exported.settings
    page = PAGE.format(
        run=exported.run.path.resolve().name,
        checkpoint=settings.checkpoint,
        report=indent("\n".join(one.report() for one in comparisons), "    "),
        name="mine",
        dtype="q8" if suffix else "fp32",
        suffix=suffix,
        target_file="tokenizer.json" if tokenizer.joint else "target_tokenizer.json",
        source_eos_id=tokenizer.source.eos_id,
        bos_id=tokenizer.target.bos_id,
        eos_id=tokenizer.target.eos_id,
        **limits,
    )
    return page + LIMITS + ("" if tokenizer.joint else SEPARATE) + differences(settings.decoding, tokenizer)


def differences(
    decoding: DecodingSettings, tokenizer: Tokenizer, has_beam: bool = False, has_kinds: bool = True
) -> str:
    """Return list items, in Markdown, on what an export lacks of its run, and on the language tags that lines need.

    It lacks rules of the search, context lines and, without `has_beam`, the beam. Without `has_kinds`, its beam knows
    no length penalty but a power of the length.
    """
    lines = ""
    if isinstance(decoding, BeamSettings):
        lines += "" if has_beam else BEAM.format(beam_size=decoding.beam_size)
    elif decoding.kind != "greedy":
        lines += OTHER.format(kind=decoding.kind)
    rules = {
        "num_groups": getattr(decoding, "num_groups", 1) > 1,
        "length_penalty_kind": not has_kinds and getattr(decoding, "length_penalty_kind", "power") != "power",
        "min_length": decoding.min_length > 0,
        "repetition_penalty": decoding.repetition_penalty != 1,
        "no_repeat_ngram_size": decoding.no_repeat_ngram_size is not None,
        "glossary": getattr(decoding, "glossary", None) is not None,
        "protect": bool(getattr(decoding, "protect", ())),
        "coverage_penalty": bool(getattr(decoding, "coverage_penalty", 0)),
        "shortlist": decoding.shortlist,
    }
    if any(rules.values()):
        lines += RULES.format(
            keys=", ".join(f"`decoding.{key}`" for key, is_used in rules.items() if is_used)
        )
    if (given := Context.of(tokenizer.source)).num_lines:
        lines += DOCUMENTS.format(num_lines=given.num_lines)
    if tags := tags_of_lines(tokenizer.source.pieces):
        lines += TAGS.format(tags=", ".join(f"`{tag}`" for tag in tags))
    return lines

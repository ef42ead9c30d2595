"""The page beside a folder of Hugging Face: the lines of Python that translate with it."""

from textwrap import indent
from typing import Any

from nmt.config import BeamSettings, DecodingSettings
from nmt.decoding.engine import most_read
from nmt.export.comparison import Comparison
from nmt.export.formats import Exported
from nmt.export.onnx.readme import differences
from nmt.layouts.huggingface import CLASSES, MODEL_OF_NORM
from nmt.models.transformer import Transformer

PAGE = """\
# A translation model for Hugging Face's transformers

Exported by nmt from checkpoint `{checkpoint}` of the run `{run}`, as `{name}`. It was compared with the run before it
was written, by transformers itself, and its tokenizer with the run's:

{report}

To translate with it: `pip install 'transformers>=5,<6' torch sentencepiece`, then

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

FOLDER = "."  # where this page is

tokenizer = AutoTokenizer.from_pretrained(FOLDER)
model = AutoModelForSeq2SeqLM.from_pretrained(FOLDER).eval()


def translate(lines):
    batch = tokenizer(lines, return_tensors="pt", padding=True, truncation=True)
    longest = int({max_length_ratio} * (batch["input_ids"].shape[1] - 1)) + {max_length_extra}
    limit = max(1, min({max_target_tokens}, longest)) + 1  # the end of the sentence is counted
    search = dict({search})
    found = model.generate(**batch, **search, max_length=None, max_new_tokens=limit)
    return tokenizer.batch_decode(found, skip_special_tokens=True)
```

What differs from `nmt translate`:

- One limit counts for all lines of a call; nmt gives each line its own. A blank line is translated, too.
- A line of more than {max_source_tokens} tokens is cut; nmt translates long lines in parts (`decoding.split`).
- A line of emoji alone stays as it is in nmt; here the model is asked for it, and may invent text.
- Greedy search (`num_beams=1`) finds the same, and so does a beam with one limit; with `early_stopping=False`, which is
  its default, transformers stops when it guesses that nothing better will come.
- PAD, BOS and UNK never come, because of their bias in `final_logits_bias`.
- For CTranslate2, export the run with `format=ctranslate2`: its converter of {kind} models lets each begin with zeros,
  or with PAD, in place of this model's BOS.
"""


def search_of(decoding: DecodingSettings) -> dict[str, Any]:
    """Return the options of `generate` for a beam search; any other search is replaced by greedy search."""
    if not isinstance(decoding, BeamSettings):
        return {"num_beams": 1, "do_sample": False}
    return {
        "num_beams": decoding.beam_size,
        "length_penalty": decoding.length_penalty,
        "early_stopping": decoding.early_stopping or "never",  # it goes on as long as nmt does
        "do_sample": False,
    }


def readme(exported: Exported, comparison: Comparison) -> str:
    """Return the page, in Markdown, with the result of `comparison`."""
    model, decoding = exported.model, exported.settings.decoding
    assert isinstance(model, Transformer)
    assert model.max_positions is not None
    kind = MODEL_OF_NORM[model.options.norm]
    page = PAGE.format(
        run=exported.run.path.resolve().name,
        checkpoint=exported.settings.checkpoint,
        report=indent(comparison.report(), "    "),
        kind=kind.capitalize(),
        name=CLASSES[kind],
        search=", ".join(f"{name}={value!r}" for name, value in search_of(decoding).items()),
        max_source_tokens=most_read(model, decoding.max_source_tokens)[0],
        max_target_tokens=model.max_positions - 1,
        max_length_ratio=decoding.max_length_ratio,
        max_length_extra=decoding.max_length_extra,
    )
    return page + differences(decoding, exported.tokenizer, has_beam=True, has_kinds=False)

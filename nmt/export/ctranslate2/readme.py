"""The page beside an exported model: the lines of Python that translate as the run does."""

from collections.abc import Sequence
from textwrap import indent

from nmt.config import BeamSettings, RandomSettings
from nmt.data.context import Context
from nmt.decoding.ctranslate2_engine import TokenNames
from nmt.decoding.engine import most_read
from nmt.export.comparison import Comparison
from nmt.export.formats import Exported
from nmt.layouts.pieces import tags_of_lines

PAGE = """\
# A translation model for CTranslate2

Exported by nmt from checkpoint `{checkpoint}` of the run `{run}`. It was compared with the run before it was written:

{report}

To translate with it, `nmt translate run=FOLDER < in.txt > out.txt`, or from Python `nmt.load(FOLDER).translate(lines)`;
PyTorch is not imported. Without nmt: `pip install 'ctranslate2>=4.8.1' sentencepiece`, then

```python
import ctranslate2
import sentencepiece

FOLDER = "."  # where this page is

model = ctranslate2.Translator(FOLDER, device="cpu")
source = sentencepiece.SentencePieceProcessor(model_file=f"{{FOLDER}}/{source_model}")
target = sentencepiece.SentencePieceProcessor(model_file=f"{{FOLDER}}/{target_model}")


{context}def translate(lines):
    ids = {read}[source.encode(line)[:{max_source_tokens}] if line.strip() else [] for line in lines]{read_end}
    limits = [max(1, min({max_target_tokens}, int({max_length_ratio} * len(row)) + {max_length_extra})) for row in ids]
    results = model.translate_batch(
        [source.id_to_piece(row) for row in ids],
        beam_size={beam_size},
        length_penalty={length_penalty},
        disable_unk=True,
        return_end_token=True,
        min_decoding_length=min({min_length}, max(limits, default=1)),
        repetition_penalty={repetition_penalty},
        no_repeat_ngram_size={no_repeat_ngram_size},
        max_decoding_length=max(limits, default=1),
        max_input_length=0,
        max_batch_size={max_batch_size},
        batch_type="tokens",
    )
    translations = []
    for result, limit in zip(results, limits):
        tokens = [token for token in result.hypotheses[0] if token != {eos!r}]
        translations.append(target.decode(tokens[:limit]).replace("\\n", " "))
    return translations
```

What these options are for, and what differs from `nmt translate` with the run itself:

- PAD and BOS never come, because of their output bias. UNK does not come because of `disable_unk`.
- With `return_end_token` the length that a score is divided by counts the end of the sentence, as it does in nmt.
- Greedy search (`beam_size=1`) finds the same, and so does a beam with `length_penalty=0`. With another length penalty
  CTranslate2 stops as soon as `beam_size` hypotheses have ended, while nmt goes on as long as one that has not ended is
  ahead, or could still become the best (`decoding.early_stopping`): the scores are the same, but now and then nmt finds
  a better one.
- A line of more than {max_source_tokens} tokens is cut here; nmt translates long lines in parts (`decoding.split`).
- A line of emoji alone stays as it is in nmt; here the model is asked for it, and may invent text.
- CTranslate2 has one `max_decoding_length` for all lines of a call, while nmt gives each line its own.
"""
WU = "- nmt divides scores by ((5 + length) / 6)^{length_penalty} in this run; CTranslate2 has only length^p.\n"
GROUPS = "- The beam of this run has {num_groups} groups, which CTranslate2 does not have.\n"
COVERAGE = "- nmt ranks what the beam found by how well it covers the source, which these lines do not do.\n"
MAP = """\
- `vmap.txt` is the run's shortlist, likely translations of each token. With `use_vmap=True` in `translate_batch` only
  those of a batch are searched, as with `decoding.shortlist=true` in nmt; this was compared, too:

{report}
"""
CONSTRAINTS = "- nmt heeds `glossary` and `protect` of this run's search, which CTranslate2 does not do.\n"
RANDOM = "- This run searches by `{kind}`; the lines above search greedily.\n"
TAGS = "- Each line begins with the tag of the language to translate into and a space: {tags}.\n"
CONTEXT = """\
SEPARATOR, NUM_LINES, LONGEST = {separator_id}, {num_lines}, {longest}


def with_context(ids):
    whole, recent = [], []
    for row in ids:
        read = row
        for earlier in reversed(recent[-NUM_LINES:] if row else []):
            if len(earlier) + 1 + len(read) > LONGEST:
                break
            read = earlier + [SEPARATOR] + read
        whole.append(read)
        recent = recent + [row] if row else []
    return whole


"""
DOCUMENTS = (
    "- A line is read with lines before it, up to a blank one (`data.context={num_lines}`): give documents.\n"
)


def readme(exported: Exported, comparisons: Sequence[Comparison]) -> str:
    """Return the page, in Markdown, with the results of `comparisons`.

    The second comparison, where there is one, is with the vocabulary map.
    """
    tokenizer, decoding = exported.tokenizer, exported.settings.decoding
    max_positions, comparison, *with_map = exported.model.max_positions, *comparisons
    assert max_positions is not None
    _, longest = most_read(exported.model, decoding.max_source_tokens)
    beam_size, length_penalty, differences = 1, 1.0, ""
    if isinstance(decoding, BeamSettings):
        beam_size, length_penalty = decoding.beam_size, decoding.length_penalty
        if decoding.length_penalty_kind == "wu":
            differences = WU.format(length_penalty=length_penalty)
        if decoding.num_groups > 1:
            differences += GROUPS.format(num_groups=decoding.num_groups)
        if decoding.coverage_penalty:
            differences += COVERAGE
        if decoding.glossary is not None or decoding.protect:
            differences += CONSTRAINTS
    elif isinstance(decoding, RandomSettings):
        differences = RANDOM.format(kind=decoding.kind)
    paths = exported.run.tokenizer_paths(tokenizer.joint)
    given = Context.of(tokenizer.source)
    facts = given._asdict() | {"longest": longest}
    if given.num_lines:
        differences += DOCUMENTS.format(**facts)
    page = PAGE.format(
        run=exported.run.path.resolve().name,
        checkpoint=exported.settings.checkpoint,
        report=indent(comparison.report(), "    "),
        source_model=paths[0].name,
        target_model=paths[-1].name,
        context=CONTEXT.format(**facts) if given.num_lines else "",
        read="with_context(" if given.num_lines else "",
        read_end=")" if given.num_lines else "",
        max_source_tokens=min(decoding.max_source_tokens, max_positions - 1),
        max_target_tokens=max_positions - 1,
        max_length_ratio=decoding.max_length_ratio,
        max_length_extra=decoding.max_length_extra,
        beam_size=beam_size,
        length_penalty=length_penalty,
        min_length=decoding.min_length,
        repetition_penalty=decoding.repetition_penalty,
        no_repeat_ngram_size=decoding.no_repeat_ngram_size or 0,
        max_batch_size=decoding.max_tokens // beam_size,
        eos=TokenNames.of(tokenizer).eos,
    )
    for other in with_map:
        differences += MAP.format(report=indent(other.report(), "      "))
    tags = tags_of_lines(tokenizer.source.pieces)
    return page + differences + (TAGS.format(tags=", ".join(f"`{tag}`" for tag in tags)) if tags else "")

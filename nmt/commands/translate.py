"""`nmt translate`: lines in, as many lines out, as they come."""

import json
from collections.abc import Callable

from nmt.commands.bulk import Done, do_in_bulk, load_model
from nmt.config import TranslateSettings
from nmt.decoding.chunks import Chunk


def main(settings: TranslateSettings) -> None:
    """Translate a file or standard input, line by line, to a file or standard output."""
    do_in_bulk(settings, load_translator, settings.column, ("prefix", settings.prefix))


def load_translator(settings: TranslateSettings) -> Callable[[Chunk], Done]:
    """Return what translates a chunk with the model that settings name. Raises UserError if it cannot be had."""
    is_detailed = settings.format == "jsonl"
    translator = load_model(settings).translator(
        settings.decoding, settings.num_hypotheses, is_detailed, settings.target_language
    )

    def translate(chunk: Chunk) -> Done:
        translator.begin()
        found = translator.find(chunk.lines, chunk.num_before, chunk.beside, chunk.before)
        if is_detailed:
            numbered = enumerate(found, chunk.num_before + 1)
            lines = [json.dumps(one.as_dict(number), ensure_ascii=False) for number, one in numbered]
        else:
            lines = [one.text for one in found]
        return Done(lines, translator.num_tokens, 0.0, translator.remarks)

    return translate

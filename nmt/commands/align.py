"""`nmt align`: the source word that each word of a translation goes back to, line by line."""

import json
from collections.abc import Callable

from nmt.commands.bulk import Done, do_in_bulk, load_model_of
from nmt.config import AlignSettings
from nmt.decoding.chunks import Chunk
from nmt.decoding.word_alignment import to_pharaoh


def main(settings: AlignSettings) -> None:
    """Align the lines of two files to a file or standard output."""
    do_in_bulk(settings, load_worker, beside=("target", settings.target))


def load_worker(settings: AlignSettings) -> Callable[[Chunk], Done]:
    """Return a function that aligns a chunk with the model of settings. Raises UserError if it cannot be loaded."""
    reader = load_model_of(settings).pair_reader(settings.target_language, settings.decoding)

    def align(chunk: Chunk) -> Done:
        reader.begin()
        targets = chunk.beside or []
        found = reader.align(chunk.lines, targets, chunk.num_before, chunk.before)
        links = [one.alignment or [] for one in found]
        if settings.format == "text":
            lines = [to_pharaoh(found) for found in links]
        else:
            numbered = enumerate(zip(chunk.lines, targets, links, strict=True), chunk.num_before + 1)
            records = [
                {"line": number, "source": source, "target": target, "alignment": found}
                for number, (source, target, found) in numbered
            ]
            lines = [json.dumps(record, ensure_ascii=False) for record in records]
        return Done(lines, reader.num_tokens, 0.0, reader.remarks)

    return align

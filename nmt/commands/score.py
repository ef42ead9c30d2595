"""`nmt score`: how probable a model finds given translations, line by line."""

import json
import logging
import math
from collections.abc import Callable

from nmt.commands.bulk import Done, do_in_bulk, load_model_of
from nmt.config import ScoreSettings
from nmt.decoding.chunks import Chunk
from nmt.evaluation.scoring import perplexity_of
from nmt.wording import counted

logger = logging.getLogger(__name__)


def main(settings: ScoreSettings) -> None:
    """Score the lines of two files to a file or standard output, and say the perplexity of the whole."""
    totals = do_in_bulk(settings, load_worker, beside=("target", settings.target))
    if totals.num_tokens:
        mean = totals.log_prob / totals.num_tokens
        logger.info(
            "%s%s, %d tokens, %.4f nats a token, perplexity %.3f",
            "the last " if settings.resume else "",
            counted(totals.num_done, "pair"),
            totals.num_tokens,
            mean,
            perplexity_of(-mean),
        )


def load_worker(settings: ScoreSettings) -> Callable[[Chunk], Done]:
    """Return a function that scores a chunk with the model of settings. Raises UserError if it cannot be loaded."""
    reader = load_model_of(settings).pair_reader(settings.target_language, settings.decoding)

    def score(chunk: Chunk) -> Done:
        reader.begin()
        found = reader.score(chunk.lines, chunk.beside or [], chunk.num_before, chunk.before)
        log_probs = [value for one in found for value in one.token_log_probs]
        if settings.format == "text":
            lines = [f"{one.log_prob:.6f}" for one in found]
        else:
            records = [
                {"line": number, "source": source} | one.as_dict()
                for number, source, one in zip(
                    range(chunk.num_before + 1, chunk.num_before + len(found) + 1),
                    chunk.lines,
                    found,
                    strict=True,
                )
            ]
            lines = [json.dumps(record, ensure_ascii=False) for record in records]
        return Done(lines, len(log_probs), math.fsum(log_probs), reader.remarks)

    return score

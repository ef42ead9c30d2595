"""`nmt join`: put what was made of all shards of a file together, if none lacks a line."""

import logging
import os
import shutil
from pathlib import Path

from nmt.config import JoinSettings
from nmt.data.lines import BLOCK_SIZE
from nmt.data.shards import Shard, count_lines
from nmt.errors import DataError
from nmt.files.writing import being_written, require_new_file

logger = logging.getLogger(__name__)

MAX_NAMED = 20  # shards that lack lines


def main(settings: JoinSettings) -> None:
    """Write what a command has made of all shards of a file, in order, as one file with as many lines."""
    require_new_file("output", settings.output, settings.overwrite, {"input": [settings.input]})
    shards = [Shard(number, settings.shards) for number in range(1, settings.shards + 1)]
    parts = [shard.of_output(settings.output) for shard in shards]
    num_lines, unfinished = 0, []
    for shard, part in zip(shards, parts, strict=True):
        expected = sum(count_lines(settings.input, *shard.span(settings.input, "input")))
        is_there = os.path.isfile(part)
        found, torn = count_lines(part) if is_there else (0, 0)
        num_lines += expected
        if torn or found != expected or not is_there:
            where = part if is_there else f"{part}, which is not there"
            unfinished.append(f"shards: {expected} lines are needed of shard {shard}; got {found} in {where}; "
                              f"its command with shard={shard} resume=true goes on with it")  # fmt: skip
    if unfinished:
        more = (
            [f"shards: {len(unfinished) - MAX_NAMED} more are not whole"]
            if len(unfinished) > MAX_NAMED
            else []
        )
        raise DataError(*unfinished[:MAX_NAMED], *more)
    with being_written(Path(settings.output)) as output:
        for part in parts:
            with open(part, "rb") as file:
                shutil.copyfileobj(file, output, BLOCK_SIZE)
    logger.info("%s: %d lines of %d shards", settings.output, num_lines, len(parts))

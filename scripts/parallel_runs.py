"""Train many small runs at once that share one cache, and check that none read a half-written file of another.

usage: python scripts/parallel_runs.py [--runs N] [--at-once N] [--json FILE] [OVERRIDE ...]

The cache is empty at the beginning. All runs have the same settings, so all must end with the same weights. In the end
the cache must have no half-written file.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from arguments import file_to_write, positive
from fault_campaign import outcome, train


def main() -> int:
    """Train the runs; return 1 if one failed or ended otherwise than the first, or a half-written file is left."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=positive, default=20)
    parser.add_argument("--at-once", type=positive, default=4)
    parser.add_argument("--json", type=file_to_write)
    arguments, overrides = parser.parse_known_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NMT_CACHE"] = f"{folder}/cache"
        runs = [Path(folder, f"run-{number}") for number in range(arguments.runs)]
        with ThreadPoolExecutor(arguments.at_once) as pool:
            codes = list(pool.map(lambda run: train(run, overrides, run.with_suffix(".log")).wait(), runs))
        for run, code in zip(runs, codes, strict=True):
            if code != 0:
                print(run.with_suffix(".log").read_text(errors="replace")[-2000:], file=sys.stderr)
        finished = [run for run, code in zip(runs, codes, strict=True) if code == 0]
        outcomes = [outcome(run) for run in finished]
        num_alike = sum(other == outcomes[0] for other in outcomes)
        unfinished = [path.name for path in Path(folder, "cache").iterdir() if path.name.startswith(".")]
    result = {
        "runs": arguments.runs,
        "at_once": arguments.at_once,
        "ended_alike": num_alike,
        "left_half_written_in_the_cache": unfinished,
        "seconds": round(time.monotonic() - began),
    }
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(
        f"{arguments.runs} runs, {arguments.at_once} at once: {num_alike} ended alike, "
        f"{len(unfinished)} files left half-written in the cache"
    )
    return 0 if num_alike == arguments.runs and not unfinished else 1


if __name__ == "__main__":
    sys.exit(main())

"""Kill trainings at random moments, continue them, and compare their results with those of an undisturbed one.

usage: python scripts/fault_campaign.py [--kills N] [--seed N] [--seconds N] [--json FILE] [OVERRIDE ...]

Each run is a small training on the built-in corpus, by the real command line. It is killed (SIGKILL) again and again
and continued with resume=true until it ends by itself. A quarter of the kills come at a random moment. The others come
up to 10 ms after a checkpoint gets its temporary name, which it has while it is written or removed. In the end weights,
moments, averages, the state, the lines of metrics.jsonl and the scores must be the same to the last bit; only durations
and speeds may differ. With --seconds, no further run begins after that many seconds.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from arguments import file_to_write, positive

OVERRIDES = (
    "model=transformer_tiny", "model.d_model=32", "model.d_ff=64", "model.num_heads=2", "model.dropout=0.1",
    "data.num_train=400", "data.num_validation=10", "data.num_test=10", "tokenizer.vocabulary_size=200",
    "training.update_tokens=400", "training.max_tokens=200", "training.max_updates=60", "training.checkpoint_every=3",
    "training.validate_every=15", "training.log_every=4", "training.patience=null", "training.keep_checkpoints=2",
    "training.ema_decay=0.9", "training.subword_sampling=0.1", "training.teacher_forcing_ratio=0.7",
    "decoding=greedy", "decoding.max_length_ratio=0.5", "decoding.max_length_extra=3", "device=cpu",
)  # fmt: skip
# Fields with a duration or a speed, which differ from run to run.
TIMES = {"seconds", "tokens_per_second", "seconds_waiting_for_data", "seconds_validating"}
KILLS_OF_A_RUN = 10


def train(run: Path, overrides: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start the training of a run, or continue it; return its process."""
    command = [sys.executable, "-m", "nmt", "train", f"run={run}", "resume=true", *OVERRIDES, *overrides]
    with open(log, "ab") as file:
        return subprocess.Popen(command, stdout=file, stderr=file, env=os.environ | {"OMP_NUM_THREADS": "1"})


def outcome(run: Path) -> dict[str, Any]:
    """Return the contents of a finished run, without what tells when, how fast and in how many sessions it ran."""
    found: dict[str, Any] = {}
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(run))
        if path.name in ("train.log", "run.json", "manifest.json") or path.is_dir():
            continue
        content = path.read_bytes()
        if path.name == "metrics.jsonl":
            rows = [json.loads(line) for line in content.splitlines()]
            found[name] = [{key: row[key] for key in row.keys() - TIMES} for row in rows]
        elif path.name == "state.json":
            found[name] = {key: value for key, value in json.loads(content).items() if key not in TIMES}
        else:
            found[name] = hashlib.sha256(content).hexdigest()
    return found


def is_writing(run: Path) -> bool:
    """Tell whether a checkpoint has its temporary name right now."""
    try:
        return any(name.startswith(".step-") for name in os.listdir(run / "checkpoints"))
    except FileNotFoundError:
        return False


def kill_once(process: subprocess.Popen[bytes], run: Path, chance: random.Random, span: float) -> str | None:
    """Kill a training within `span` seconds or in one of its next three saves.

    Return what it was doing: "starting", "training" or "saving"; None if it ended before.
    """
    moment = time.monotonic() + chance.uniform(0, span)
    saves_to_go = chance.choice([0, 1, 2, 3])  # 0: kill at that moment, whatever the training is doing
    was_writing = is_writing(run)  # a temporary name that an earlier kill left is no save
    while process.poll() is None:
        writing = is_writing(run)
        if saves_to_go and writing and not was_writing:
            saves_to_go -= 1
            if not saves_to_go:
                time.sleep(chance.uniform(0, 0.01))
                break
        elif not saves_to_go and time.monotonic() >= moment:
            break
        was_writing = writing
        time.sleep(0.0005 if saves_to_go else 0.005)
    process.kill()
    if process.wait() == 0:
        return None
    if is_writing(run):
        return "saving"
    return "training" if (run / "config.json").exists() else "starting"


def disturbed_run(
    run: Path, overrides: list[str], chance: random.Random, max_kills: int, span: float
) -> Counter[str]:
    """Train to the end through at most `max_kills` kills; return their number by what the training was doing."""
    kills: Counter[str] = Counter()
    log = run.with_suffix(".log")
    while kills.total() < max_kills:
        process = train(run, overrides, log)
        try:
            at = kill_once(process, run, chance, span)
        finally:
            process.kill()
            process.wait()
        if process.returncode not in (0, -signal.SIGKILL):
            raise SystemExit(f"{run} failed by itself:\n{log.read_text(errors='replace')[-2000:]}")
        if at is None:
            break
        kills[at] += 1
    if train(run, overrides, log).wait() != 0:
        raise SystemExit(f"{run} did not go on:\n{log.read_text(errors='replace')[-2000:]}")
    return kills


def main() -> int:
    """Run the campaign; return 1 if a run ended otherwise than the undisturbed one, else 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=positive, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--json", type=file_to_write)
    arguments, overrides = parser.parse_known_args()
    print(f"seed {arguments.seed}", flush=True)
    chance, began = random.Random(arguments.seed), time.monotonic()
    kills: Counter[str] = Counter()
    num_runs, differing = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder, "whole")
        if train(whole, overrides, Path(folder, "whole.log")).wait() != 0:
            raise SystemExit(Path(folder, "whole.log").read_text(errors="replace")[-2000:])
        span, expected = time.monotonic() - began, outcome(whole)
        while kills.total() < arguments.kills and time.monotonic() - began < arguments.seconds:
            run = Path(folder, f"run-{num_runs}")
            left = arguments.kills - kills.total()
            kills += disturbed_run(run, overrides, chance, min(KILLS_OF_A_RUN, left), 0.7 * span)
            found = outcome(run)
            names = [name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)]
            if names:
                differing[num_runs] = sorted(names)
                print(f"run {num_runs} differs in {', '.join(sorted(names))}", flush=True)
            shutil.rmtree(run)
            num_runs += 1
    result = {
        "seed": arguments.seed,
        "kills": kills.total(),
        "kills_by_work": dict(kills),
        "runs": num_runs,
        "runs_that_differ": differing,
        "seconds": round(time.monotonic() - began),
    }
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    by_work = ", ".join(f"{number} {work}" for work, number in sorted(kills.items()))
    print(f"{kills.total()} kills ({by_work}) of {num_runs} runs: {num_runs - len(differing)} ended alike")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())

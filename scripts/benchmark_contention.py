"""What a training keeps of its speed beside other work on the same cores.

usage: python scripts/benchmark_contention.py [--busy N] [--updates N] [--json FILE] [OVERRIDE ...]

Trains on fixed work as scripts/benchmark_training.py does: alone, as one of two at once, and beside N busy processes of
the lowest priority (`nice`). Fair shares of the speed alone are half for each of two trainings, and all of it beside
busy processes, which should give way. Overrides and environment variables, such as OMP_WAIT_POLICY, hold for each.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from arguments import file_to_write, positive

BENCHMARK = Path(__file__).with_name("benchmark_training.py")
BUSY = ["nice", "-n", "19", sys.executable, "-c", "while True: pass"]


def rates(at_once: int, num_updates: int, overrides: list[str]) -> list[float]:
    """Return the target tokens per second of trainings that run at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.json") for number in range(at_once)]
        repeats = ["--warmup", "3", "--repeats", "3", "--updates", str(num_updates)]
        commands = [
            [sys.executable, str(BENCHMARK), "--json", str(file), *repeats, *overrides] for file in files
        ]
        trainings = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
        for training in trainings:
            if training.wait() != 0:
                sys.exit(1)
        return [json.loads(file.read_text())["target_tokens_per_second"] for file in files]


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--busy", type=positive, default=4)
    parser.add_argument("--updates", type=positive, default=5, help="of each of three repeats")
    parser.add_argument("--json", type=file_to_write)
    arguments, overrides = parser.parse_known_args()
    (alone,) = rates(1, arguments.updates, overrides)
    (again,) = rates(1, arguments.updates, overrides)
    of_two = statistics.mean(rates(2, arguments.updates, overrides))
    busy = [subprocess.Popen(BUSY) for _ in range(arguments.busy)]
    try:
        (beside,) = rates(1, arguments.updates, overrides)
    finally:
        for process in busy:
            process.kill()
    figures = {
        "alone": alone,
        "alone again": again,
        "one of two": of_two,
        f"beside {arguments.busy} busy": beside,
    }
    for name, rate in figures.items():
        print(f"{name:20} {rate:10,.0f} target tokens/s, {100 * rate / alone:4.0f} % of alone")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

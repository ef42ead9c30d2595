"""Train and translate for a long time, and check that the memory of neither grows.

usage: python scripts/soak.py [--minutes N] [--every SECONDS] [--json FILE] [--svg FILE] [OVERRIDE ...]

A small training on the built-in corpus validates every 100 updates and writes a checkpoint every 50. From its first
checkpoint on, `nmt translate` reads an endless stream of sentences beside it. The resident memory of both, child
processes included, is sampled every --every seconds. Memory is flat if its median over the last quarter of the samples
is at most a tenth above that over the second quarter. The first quarter is left out, since programs warm up in it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

from arguments import file_to_write
from measuring import resident_memory

from nmt import grammar

OVERRIDES = (
    "model=transformer_tiny", "data.num_train=5000", "data.num_validation=50", "data.num_test=10",
    "tokenizer.vocabulary_size=1000", "training.update_tokens=1024", "training.max_updates=100000000",
    "training.validate_every=100", "training.checkpoint_every=50", "training.log_every=20", "training.patience=null",
    "training.subword_sampling=0.1", "training.ema_decay=0.99", "decoding=greedy", "device=cpu",
)  # fmt: skip
GROWTH_ALLOWED = 0.1
COLOURS = {"training": "#1f5fa8", "translating": "#b3541e"}


def is_flat(samples: list[float]) -> bool:
    """Tell whether memory grew by at most a tenth from the second to the last quarter; False for under four samples."""
    quarter = len(samples) // 4
    return quarter > 0 and median(samples[-quarter:]) <= (1 + GROWTH_ALLOWED) * median(
        samples[quarter : 2 * quarter]
    )


def feed(process: subprocess.Popen[bytes]) -> None:
    """Give a translating process sentences until it ends."""
    assert process.stdin is not None
    pairs = grammar.generate(seed=5, num_train=2000, num_validation=1, num_test=1)["train"]
    text = "".join(f"{pair.source}\n" for pair in pairs).encode()
    try:
        while process.poll() is None:
            process.stdin.write(text)
    except (BrokenPipeError, ValueError):  # it has ended
        pass


def picture(seconds: dict[str, list[float]], megabytes: dict[str, list[float]]) -> str:
    """Draw memory over time."""
    width, height, left, bottom = 720, 320, 60, 40
    longest = max((times[-1] for times in seconds.values() if times), default=1) or 1
    highest = max((max(values) for values in megabytes.values() if values), default=1) * 1.1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="12">',
        f'<path d="M{left} 10V{height - bottom}H{width - 10}" fill="none" stroke="#444"/>',
        f'<text x="{left - 6}" y="18" text-anchor="end">{highest:.0f} MB</text>',
        f'<text x="{left - 6}" y="{height - bottom}" text-anchor="end">0</text>',
        f'<text x="{width - 10}" y="{height - 15}" text-anchor="end">{longest / 60:.0f} minutes</text>',
    ]
    for number, (name, values) in enumerate(megabytes.items()):
        points = " ".join(
            f"{left + (width - 10 - left) * second / longest:.1f},"
            f"{height - bottom - (height - bottom - 10) * value / highest:.1f}"
            for second, value in zip(seconds[name], values, strict=True)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="1.5"/>')
        parts.append(
            f'<text x="{left + 10 + 110 * number}" y="{height - 15}" fill="{COLOURS[name]}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def main() -> int:
    """Train and translate; return 1 if the memory of either grew or one ended too early, else 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--every", type=float, default=5, help="seconds between two samples")
    parser.add_argument("--json", type=file_to_write)
    parser.add_argument("--svg", type=file_to_write)
    arguments, overrides = parser.parse_known_args()
    began = time.monotonic()
    seconds: dict[str, list[float]] = {name: [] for name in COLOURS}
    megabytes: dict[str, list[float]] = {name: [] for name in COLOURS}
    ended: list[str] = []
    nmt = [sys.executable, "-m", "nmt"]
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        processes = {
            "training": subprocess.Popen(
                [*nmt, "train", f"run={run}", *OVERRIDES, *overrides], stderr=subprocess.DEVNULL
            )
        }
        while not ended and time.monotonic() - began < 60 * arguments.minutes:
            if "translating" not in processes and (run / "last.json").exists():
                processes["translating"] = subprocess.Popen(
                    [*nmt, "translate", f"run={run}", "checkpoint=last", "device=cpu"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                threading.Thread(target=feed, args=(processes["translating"],), daemon=True).start()
            time.sleep(arguments.every)
            ended = [name for name, process in processes.items() if process.poll() is not None]
            for name, process in processes.items():
                if name not in ended:
                    seconds[name].append(time.monotonic() - began)
                    megabytes[name].append(1000 * resident_memory(process.pid))
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            process.wait()
        steps = json.loads((run / "last.json").read_text())["step"] if (run / "last.json").exists() else 0
    flat = {name: is_flat(values) for name, values in megabytes.items()}
    result = {
        "minutes": round((time.monotonic() - began) / 60, 1),
        "updates": steps,
        "ended_too_early": ended,
        "flat": flat,
        "seconds": seconds,
        "resident_megabytes": megabytes,
    }
    if arguments.json:
        arguments.json.write_text(json.dumps(result) + "\n", encoding="utf-8")
    if arguments.svg:
        arguments.svg.write_text(picture(seconds, megabytes), encoding="utf-8")
    for name, values in megabytes.items():
        if values:
            print(
                f"{name}: {values[len(values) // 4]:.0f} MB after a quarter, {values[-1]:.0f} MB at the end"
            )
    print(f"{result['minutes']} minutes, {steps} updates; flat: {flat}; ended too early: {ended or 'none'}")
    return 1 if ended or not all(flat.values()) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Measure how much disk space nmt takes without extras, and how much each extra adds.

usage: python scripts/install_sizes.py [--python PATH] [--torch VERSION] [EXTRA ...]

Each extra, by default all but dev, docs and benchmarks, is installed beside the wheel in one environment. The packages
that it adds are measured, and removed again. Sizes are those of all files of a package, compiled ones included, in
megabytes (10^6 bytes).
"""

import argparse
import sys
import tempfile
from pathlib import Path

from install_matrix import PROJECT, Environment, build_wheel

LARGEST = 4  # packages that are named
TOOLS = ("dev", "docs", "benchmarks")


def main() -> int:
    """Print a row for the base and for each extra."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("extras", nargs="*", metavar="EXTRA")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch", help="a version; the one that pip takes where none is named")
    arguments = parser.parse_args()
    extras = arguments.extras or [name for name in PROJECT["optional-dependencies"] if name not in TOOLS]
    with tempfile.TemporaryDirectory(prefix="install-") as name:
        wheel = build_wheel(arguments.python, Path(name))
        folder = Path(name, "nmt")
        folder.mkdir()
        environment = Environment.make(arguments.python, folder)
        environment.pip("install", wheel, *([f"torch=={arguments.torch}"] if arguments.torch else []))
        python, base = environment.inventory()
        print(f"Python {python}, torch {base['torch'][0]}\n")
        print("| what | packages | MB | the largest |\n|---|---|---|---|")
        print(row("nmt", base), flush=True)
        for extra in extras:
            environment.pip("install", f"nmt[{extra}] @ {wheel.as_uri()}")
            added = {name: facts for name, facts in environment.inventory()[1].items() if name not in base}
            print(row(f"`nmt[{extra}]` adds", added), flush=True)
            environment.pip("uninstall", "--yes", *added)
    return 0


def row(what: str, found: dict[str, tuple[str, int]]) -> str:
    """Return a row of the table: how many packages, how large, and which are the largest."""
    sizes = {name: size / 1e6 for name, (_, size) in found.items()}
    largest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:LARGEST]
    named = ", ".join(f"{name} {sizes[name]:,.0f}" for name in largest if sizes[name] >= 1)
    return f"| {what} | {len(found)} | {sum(sizes.values()):,.0f} | {named} |"


if __name__ == "__main__":
    sys.exit(main())

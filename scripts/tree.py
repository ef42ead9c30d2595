"""The files of the package, each with the first line of its docstring, as docs/extending.md shows them.

usage: python scripts/tree.py [--write]

Prints the tree; with --write, replaces the one in docs/extending.md instead.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "extending.md"
# About the order in which text becomes a translation; most folders stand after those that they import.
ORDER = (
    "files", "config", "grammar", "data", "models", "runs", "layouts", "decoding", "evaluation", "distillation",
    "training", "tracking", "sweeps", "export", "imports", "documents", "serving", "reports", "commands", "cli",
)  # fmt: skip
WIDTH = 26
BLOCK = re.compile(r"```text\nnmt/\n.*?```\n", re.DOTALL)


def tree() -> str:
    """Return the tree as text."""
    lines = ["nmt/", *_files(ROOT / "nmt", 1)]
    for name in ORDER:
        lines += _folder(ROOT / "nmt" / name, 1)
    return "\n".join(lines) + "\n"


def _folder(folder: Path, depth: int) -> Iterator[str]:
    yield _line(f"{folder.name}/", folder / "__init__.py", depth)
    yield from _files(folder, depth + 1)
    for inner in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield from _folder(inner, depth + 1)


def _files(folder: Path, depth: int) -> Iterator[str]:
    for path in sorted(folder.glob("*.py")):
        if not path.name.startswith("__"):
            yield _line(path.stem, path, depth)


def _line(name: str, path: Path, depth: int) -> str:
    purpose = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0]
    return f"{'  ' * depth}{name:{WIDTH - 2 * depth}}{purpose.rstrip('.')}"


def main() -> None:
    """Print the tree, or write it."""
    if sys.argv[1:] == ["--write"]:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(BLOCK.sub(lambda _: f"```text\n{tree()}```\n", page), encoding="utf-8")
    else:
        print(tree(), end="")


if __name__ == "__main__":
    main()

"""`nmt import`: make a run of a model of another program."""

from pathlib import Path

from nmt.config import ImportSettings
from nmt.errors import naming
from nmt.imports import huggingface, marian
from nmt.imports.run import require_new, write_run
from nmt.runs.directory import translating_with

READERS = {"huggingface": huggingface.read, "marian": marian.read}


def main(settings: ImportSettings) -> None:
    """Read a model of another program, and write it as a run; nothing is written unless all of it could be read."""
    output = Path(settings.output)
    require_new(output)
    with naming("input"):
        imported = READERS[settings.format](Path(settings.input))
    write_run(output, imported, settings)
    print(imported.describe())
    print(translating_with(output))

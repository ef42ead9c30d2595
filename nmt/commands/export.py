"""`nmt export`: write a run as a model of another program, once both translate the same."""

from functools import partial
from pathlib import Path

from nmt.config import ExportSettings
from nmt.decoding.shortlist import shortlist_of
from nmt.errors import RunError
from nmt.export.comparison import compare
from nmt.export.formats import Exported, format_of
from nmt.export.output import check_output, new_folder
from nmt.files.writing import write_atomically
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model
from nmt.runs.text import text_of_run


def main(settings: ExportSettings, with_shortlist: bool = True) -> None:
    """Write a run as a model of another program, and print how well its translations agree with the run's.

    The run's shortlist, where it has one, is written and compared, too, unless `with_shortlist` is False. Raises
    ExportError, and writes nothing, where translations do not agree.
    """
    run, output, to = RunDirectory.existing(settings.run), Path(settings.output), format_of(settings.format)
    to.require()
    check = partial(check_output, output, settings.overwrite, run.path)
    check()
    model, tokenizer = load_model(run, settings.checkpoint)
    has_shortlist = with_shortlist and run.shortlist_path.exists()
    if settings.decoding.shortlist and not has_shortlist:
        raise RunError(
            f"decoding.shortlist: false is needed for a run without a shortlist; got true for {run.path}"
        )
    shortlist = shortlist_of(run, tokenizer) if has_shortlist else None
    exported = Exported(run, model, tokenizer, shortlist, settings)
    text, comparisons = text_of_run("validation", run), []  # before the work, since a run may have none
    with new_folder(output, check) as folder:
        to.write(folder, exported)
        for search in to.searches(exported):
            comparisons.append(compare(folder, to, exported, text, search))
            print(comparisons[-1].report(), flush=True)
            comparisons[-1].require()
        write_atomically(folder / "README.md", to.page(exported, comparisons).encode())
    print(f"to use it: {output / 'README.md'}")

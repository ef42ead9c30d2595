"""`nmt export`: write a run as a model of another program, once both translate the same."""

from pathlib import Path

from nmt.config import ExportSettings
from nmt.decoding.pairs import most_read
from nmt.decoding.shortlist import shortlist_of
from nmt.export.comparison import compare
from nmt.export.output import check_output, new_folder, write_model
from nmt.export.readme import readme
from nmt.export.specification import load_ctranslate2
from nmt.files.writing import write_atomically
from nmt.runs.directory import RunDirectory
from nmt.runs.text import text_of_run


def main(settings: ExportSettings) -> None:
    """Write a run as a model of another program, and print how well its translations agree with the run's.

    Raises ExportError, and writes nothing, where they do not.
    """
    run, output = RunDirectory.existing(settings.run), Path(settings.output)
    load_ctranslate2()
    check_output(output, settings.overwrite)
    model, tokenizer = run.load_model(settings.checkpoint)
    has_map = model.shortlist is not None and model.shortlist.exists()
    shortlist = shortlist_of(model, tokenizer) if has_map else None
    with new_folder(output) as folder:
        write_model(folder, model, tokenizer, settings.quantization, shortlist)
        text, comparisons = text_of_run("validation", run), []
        for with_map in (False, True) if has_map else (False,):
            comparison = compare(
                folder,
                model,
                tokenizer,
                text,
                settings.decoding,
                settings.evaluation,
                settings.quantization,
                settings.device,
                with_map,
            )
            print(comparison.report(), flush=True)
            comparison.require()
            comparisons.append(comparison)
        assert model.max_positions is not None
        page = readme(
            run.path.resolve().name,
            settings.checkpoint,
            tokenizer,
            settings.decoding,
            comparisons[0],
            model.max_positions,
            most_read(model, settings.decoding.max_source_tokens)[1],
            comparisons[1] if has_map else None,
        )
        write_atomically(folder / "README.md", page.encode())
    print(f"to translate: the lines of Python in {output / 'README.md'}")

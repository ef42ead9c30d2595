"""`nmt export`: write a run as a model of another program, once both translate the same."""

from pathlib import Path

from nmt.config import ExportSettings
from nmt.decoding.pairs import most_read
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
    with new_folder(output) as folder:
        write_model(folder, model, tokenizer, settings.quantization)
        comparison = compare(
            folder,
            model,
            tokenizer,
            text_of_run("validation", run),
            settings.decoding,
            settings.evaluation,
            settings.quantization,
            settings.device,
        )
        print(comparison.report(), flush=True)
        comparison.require()
        assert model.max_positions is not None
        page = readme(
            run.path.resolve().name,
            settings.checkpoint,
            tokenizer,
            settings.decoding,
            comparison,
            model.max_positions,
            most_read(model, settings.decoding.max_source_tokens)[1],
        )
        write_atomically(folder / "README.md", page.encode())
    print(f"to translate: the lines of Python in {output / 'README.md'}")

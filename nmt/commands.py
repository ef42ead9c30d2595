"""What the commands do, once their settings are checked.

What translating does is in nmt/translation.py, evaluating in nmt/assessment.py.
"""

from pathlib import Path

from nmt.assessment import text_of_run
from nmt.config import DataReportSettings, ExportSettings, TrainSettings
from nmt.data_report.command import report_on_data
from nmt.evaluation.tables import evaluation_table
from nmt.export.comparison import compare
from nmt.export.folder import check_output, new_folder, write_model
from nmt.export.readme import readme
from nmt.export.specification import load_ctranslate2
from nmt.run_directory import RunDirectory
from nmt.storage import write_atomically
from nmt.training.estimate import plan
from nmt.training.session import train


def run_train(settings: TrainSettings, run: RunDirectory) -> None:
    """Train, and print the scores of the test split and the command to translate with."""
    evaluation = train(settings, run)
    if evaluation is not None:
        print(evaluation_table(evaluation), flush=True)
    print(f"to translate: nmt translate run={run.path} input=FILE output=FILE")


def run_plan(settings: TrainSettings, run: RunDirectory) -> None:
    """Print what a training would do and how long it would take; the run gets no folder."""
    for line in plan(settings, run):
        print(line)


def run_data(settings: DataReportSettings) -> None:
    """Print what a corpus is like."""
    print(report_on_data(settings), end="")


def run_export(settings: ExportSettings) -> None:
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
        )
        write_atomically(folder / "README.md", page.encode())
    print(f"to translate: the lines of Python in {output / 'README.md'}")

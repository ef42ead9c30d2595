"""`nmt verify`: compare a run with its own record, and score it again."""

import itertools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import torch

from nmt.config import RunScoring, VerifySettings
from nmt.data.cache import content_key
from nmt.data.cleaning import prepare_corpus
from nmt.data.corpus import Corpus
from nmt.data.sources import load_corpus
from nmt.decoding.confidence import read_calibration
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.device import choose_precision, prepare_device
from nmt.errors import DeviceError, RunError, SettingsError, VerificationError, one_line
from nmt.evaluation.scoring import corpus_bleu
from nmt.evaluation.tables import align_columns
from nmt.evaluation.translating import evaluate_text, translate_text, validation_search
from nmt.files.writing import MANIFEST, differing_files, file_facts
from nmt.runs.directory import CONFIDENCE, MODEL_WEIGHTS, RunDirectory
from nmt.runs.model import load_model
from nmt.runs.provenance import (
    RECORD,
    TEST,
    Machine,
    RunRecord,
    ValidationFacts,
    describe_machine,
    read_record,
    read_scores,
    settings_hash,
    text_facts,
    tokenizer_hashes,
)
from nmt.runs.text import data_of_run
from nmt.training.checkpoint import saved_progress

# More figures than an evaluation has; the record may be a stranger's and have any number.
MAX_FIGURES = 20


@dataclass
class Verification:
    """The comparisons, a row for each for people, and the problems that they found."""

    rows: list[list[str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def compare(self, name: str, recorded: object, found: object, is_same: bool) -> None:
        """Note one comparison."""
        row = [name, str(recorded), str(found), "the same" if is_same else "NOT THE SAME"]
        self.rows.append([one_line(cell) for cell in row])
        if not is_same:
            self.problems.append(f"{name}: {recorded} was recorded; got {found}")

    def note(self, name: str, problems: Sequence[str]) -> None:
        """Note the problems of something that is compared as a whole; with none of them it is the same."""
        self.rows.append([name, "", "", "NOT THE SAME" if problems else "the same"])
        self.problems += problems

    def compare_hash(self, name: str, recorded: object, found: str) -> None:
        """Note a comparison of hashes of contents, of which the beginnings are shown."""
        self.compare(name, str(recorded)[:12], found[:12], recorded == found)

    def compare_figure(self, name: str, recorded: float, found: float, tolerance: float) -> None:
        """Note a comparison of figures that may differ a little."""
        self.compare(name, f"{recorded:.4f}", f"{found:.4f}", abs(recorded - found) <= tolerance)


def main(settings: VerifySettings) -> None:
    """Print what was compared. Raises VerificationError, with a line for each difference, where there are any."""
    run = RunDirectory.existing(settings.run)
    record = read_record(run)
    if record is None and not (run.path / TEST).exists():
        raise RunError(f"run: a run that recorded its scores is needed; got {run.path}, without {RECORD}")
    tokenizer_settings = run.read_model_settings().tokenizer
    data = data_of_run(run)
    corpus = prepare_corpus(load_corpus(data), data.filter).corpus
    verification = Verification()
    if record is not None:
        verification.compare_hash("settings", record.settings, settings_hash(run))
        found = tokenizer_hashes(run, tokenizer_settings.joint)
        for file, recorded in record.tokenizer.items():
            verification.compare_hash(file, recorded, found.get(file, "nothing"))
        for name, facts in record.data.items():
            text = corpus.texts.get(name)
            now = "nothing" if text is None else text_facts(text).hash
            verification.compare_hash(f"{name} text", facts.hash, now)
    _compare_checkpoints(run, verification)
    _compare_confidence(run, verification)
    try:
        _score_again(run, record, corpus, settings, verification)
    except (RunError, SettingsError) as error:
        if not verification.problems:
            raise
        verification.problems.append(str(error))  # a difference found above may be why it cannot be scored
    print(align_columns([["", "recorded", "now", ""], *verification.rows]), flush=True)
    if verification.problems:
        raise VerificationError(*(f"{run.path}: {problem}" for problem in verification.problems))


def _compare_checkpoints(run: RunDirectory, verification: Verification) -> None:
    """Compare each file of each checkpoint with what its manifest says, also where nothing reads it now."""
    for step in run.steps():
        folder = run.step_path(step)
        try:
            differing = dict(differing_files(folder, run.path))
        except RunError as error:
            differing = {MANIFEST: str(error).removeprefix("run: ")}
        problems = [f"{folder.name}/{name}: {what}" for name, what in differing.items()]
        verification.note(f"files of {folder.name}", problems)


def _compare_confidence(run: RunDirectory, verification: Verification) -> None:
    """Compare the weights that curves of confidence were fitted on with those of their checkpoint."""
    try:
        calibration = read_calibration(run)
    except RunError as error:
        verification.note(CONFIDENCE, [str(error).removeprefix("run: ")])
        return
    names = [run.step_path(step).name for step in run.steps()]
    if calibration is None or not names:
        return
    with suppress(RunError):  # of a damaged manifest, which was reported above
        is_there = calibration.checkpoint in names
        now = (run.weights_hash(calibration.checkpoint) if is_there else None) or "nothing"
        verification.compare_hash(f"weights of {CONFIDENCE}", calibration.weights, now)


def _score_again(
    run: RunDirectory,
    record: RunRecord | None,
    corpus: Corpus,
    settings: VerifySettings,
    verification: Verification,
) -> None:
    """Translate the text whose scores were recorded, the test text if there is one, and compare the scores."""
    test = None if record is None else record.test
    machine = test.machine if test else record.sessions[-1].machine if record else None
    device, dtype = _choose(settings, machine)
    scoring = run.read_settings(RunScoring).evaluation
    decoding = run.read_model_settings().decoding
    if record is None or test is not None:
        if corpus.test is None:
            raise RunError(
                f"run: settings that name a test text are needed, since its scores are recorded; got none in {run.path}"
            )
        figures = test.scores if test else _old_scores(run)
        checkpoint = test.checkpoint if test else "best"
        model, tokenizer = load_model(run, checkpoint)  # raises for weights that differ from the manifest
        if test is not None:
            (folder,) = run.find_checkpoints(checkpoint)
            weights = str(file_facts(folder / MODEL_WEIGHTS)["sha256"])
            verification.compare_hash(f"weights of {checkpoint}", test.weights, weights)
        translator = Translator(TorchEngine(model, tokenizer, device, dtype, run), decoding)
        evaluation, found = evaluate_text(translator, corpus.test, scoring)
        now = {name: value for name, value in evaluation.as_dict().items() if isinstance(value, float)}
        for name, value in itertools.islice(figures.items(), MAX_FIGURES):
            if name != "perplexity":  # it says what the loss says, and grows without bound
                verification.compare_figure(name, value, now.get(name, float("nan")), settings.tolerance)
        if test is not None:
            is_same = test.translation == content_key([one.text for one in found])
            same = "the same to the last character" if is_same else "other characters in it"
            verification.rows.append(["translation", "", "", same])
    elif (validation := _validation_facts(run, record)) is not None:
        model, tokenizer = load_model(run, validation.checkpoint)
        engine = TorchEngine(model, tokenizer, device, dtype)
        translator = Translator(engine, validation_search(decoding))
        hypotheses = translate_text(translator, corpus.validation.source)
        bleu = corpus_bleu(hypotheses, corpus.validation.target, scoring)
        verification.compare_figure("validation bleu", validation.bleu, bleu, settings.tolerance)
    else:
        raise RunError(f"run: a run that recorded scores is needed; got {run.path}, which stopped before")


def _old_scores(run: RunDirectory) -> dict[str, float]:
    """Return the scores of a run of an older version, which wrote no record. Raises RunError where there are none."""
    found = read_scores(run)
    if not found:
        raise RunError(f"run: scores are needed; got {run.path / TEST}, which holds none")
    return found


def _validation_facts(run: RunDirectory, record: RunRecord) -> ValidationFacts | None:
    """Return the best score of a run: from its saved progress, where the recorded checkpoint gave way to a better one.

    This happens where a run is killed, and with it the process that would have recorded the better one.
    """
    facts = record.validation
    if facts is not None and (run.checkpoints_path / facts.checkpoint).exists():
        return facts
    progress = saved_progress(run)
    if progress.best_bleu is None or progress.best_step is None:
        return facts
    return ValidationFacts(checkpoint=run.step_path(progress.best_step).name, bleu=progress.best_bleu)


def _choose(settings: VerifySettings, machine: Machine | None) -> tuple[torch.device, torch.dtype]:
    """Return the device, and the recorded precision, where none was typed and the device is of that kind and has it."""
    device = prepare_device(settings.device)
    if settings.precision == "auto" and machine is not None and machine.device == device.type:
        try:
            dtype = choose_precision(machine.precision, device)
        except (DeviceError, KeyError):  # this device lacks it, or there is no such precision
            dtype = choose_precision("auto", device)
    else:
        dtype = choose_precision(settings.precision, device)
    now = describe_machine(device, dtype)
    if machine is not None and now != machine:
        print(one_line(f"recorded on {machine}; now on {now}"))
    return device, dtype

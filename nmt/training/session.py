"""One training run from settings to a scored model: data, run directory, training, final translation."""

import contextlib
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nmt.config import TrainingSettings, TrainSettings
from nmt.config.check import as_typed, changes, check
from nmt.data.corpus import Corpus
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translation import Candidate
from nmt.decoding.translator import Translator
from nmt.errors import RunError
from nmt.evaluation.calibration import MAX_LINES, calibrate
from nmt.evaluation.plain_text import find_mark
from nmt.evaluation.scoring import Evaluation, key_of, metrics
from nmt.evaluation.translating import evaluate_text, name_search, translate_lines
from nmt.files.writing import to_json, write_atomically
from nmt.runs.directory import CONFIDENCE, DATA, IS_GUIDED, LOG, SOURCE_TOKENS, RunDirectory
from nmt.runs.model import load_model
from nmt.runs.provenance import TEST, Recorder, describe_machine, read_scores
from nmt.tracking.opening import figures_of, open_tracker
from nmt.tracking.trackers import Tracker
from nmt.training.checkpoint import clear_unfinished, naming_last_checkpoint, saved_progress
from nmt.training.log_file import log_file
from nmt.training.plan import plan_lines
from nmt.training.progress import reason_to_stop
from nmt.training.ranks import Ranks
from nmt.training.setup import Prepared, prepare
from nmt.training.trainer import ShouldPrune, Trainer

logger = logging.getLogger(__name__)

# Bootstrap resamples of the test text, for the confidence intervals of its scores: as many as sacreBLEU takes.
NUM_RESAMPLES = 1000
OF_TEST = ("decoding", "evaluation")  # settings that the test of a run depends on
OF_PLACE = ("device", "precision", "tracking")  # settings of where a run is done, and where it is shown


def train(
    settings: TrainSettings, run: RunDirectory, ranks: Ranks, should_prune: ShouldPrune | None = None
) -> Evaluation | None:
    """Train in `run`, or go on there, then translate and score the test split, if there is one.

    The first rank does all of this, the others only train with it. `should_prune` is asked after each validation
    whether to end without a test. Nothing is written before settings, device, data and tokenizer are known to be good.
    Raises UserError for what the user can mend.
    """
    prepared = prepare(settings, run, ranks)
    if ranks.is_first:
        return _train_and_test(settings, run, prepared, should_prune)
    trainer = prepared.trainer
    trainer.broadcast_from_first()
    if not trainer.reason_to_stop():
        trainer.train()
    return None


def _train_and_test(
    settings: TrainSettings, run: RunDirectory, prepared: Prepared, should_prune: ShouldPrune | None
) -> Evaluation | None:
    trainer, corpus = prepared.trainer, prepared.text.corpus
    recorder = Recorder(run, describe_machine(trainer.step.device, trainer.step.dtype))
    with naming_last_checkpoint(run), log_file(run.path / LOG):
        if run.config_path.exists() != prepared.resuming:
            raise RunError(
                f"run: a folder of its own is needed; got {run.path}, where another run began just now"
            )
        clear_unfinished(run)
        if prepared.resuming:
            trainer.resume()
        trainer.broadcast_from_first()
        reason = trainer.reason_to_stop()
        if prepared.resuming:
            # The run is finished if the limits that it recorded have ended it. A limit that was lowered only now is
            # recorded first, below, and then ends the training.
            own = check(TrainingSettings, run.read_config()["training"])
            if reason and reason_to_stop(own, trainer.progress):
                logger.info("%s is finished: %s", run.path, reason)
                return _complete(settings, prepared, recorder)
            _log_changes(run.read_config(), settings)
        run.write_tokenizer(prepared.tokenizer)
        assert trainer.model.learned_lengths is not None
        facts = prepared.text.as_dict(prepared.left_out) | {
            SOURCE_TOKENS: trainer.model.learned_lengths.facts(),
            IS_GUIDED: trainer.model.is_guided,
        }
        write_atomically(run.path / DATA, to_json(facts))
        run.write_config(settings)  # last: it makes the folder a run
        for line in plan_lines(prepared):
            logger.info("%s", line)
        prepared.log()
        num_parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
        recorder.begin(corpus, settings.tokenizer.joint, num_parameters, trainer.progress.update)
        with _shown(trainer, prepared.resuming) as tracker:
            try:
                if not reason:
                    trainer.train(should_prune)
            except (KeyboardInterrupt, SystemExit):  # it was asked to stop
                _end(recorder, run)
                raise
            _end(recorder, run)
            return None if trainer.was_pruned else _finish(trainer, corpus, recorder, tracker)


def _complete(settings: TrainSettings, prepared: Prepared, recorder: Recorder) -> Evaluation | None:
    """Do what is still to do for a run whose training is finished: its test, and its curves of confidence."""
    trainer, corpus = prepared.trainer, prepared.text.corpus
    run, needs_test = trainer.run, corpus.test is not None and not recorder.is_tested
    if recorder.is_tested:
        logger.info("test         %s", _scores_of(run, settings))
    if not recorder.is_ended:  # it was killed between its last checkpoint and this note
        _end(recorder, run)
    _settle(trainer, settings, needs_test, recorder)
    if not needs_test and (run.path / CONFIDENCE).exists():
        return None
    with _shown(trainer, resuming=True) as tracker:
        return _finish(trainer, corpus, recorder, tracker)


@contextlib.contextmanager
def _shown(trainer: Trainer, resuming: bool) -> Iterator[Tracker]:
    """Within the block, send the figures of a run to its tracker, which is closed however the block ends."""
    values = trainer.settings.recorded()
    # Without a checkpoint, all is shown anew: the validation before the first update, too.
    resumed_from = (trainer.progress.update or -1) if resuming else None
    tracker = open_tracker(
        trainer.settings.tracking, trainer.run.path, resumed_from, values, trainer.step.device
    )
    trainer.tracker = tracker
    try:
        yield tracker
    except BaseException:
        tracker.close(failed=True)
        raise
    tracker.close()


def _finish(trainer: Trainer, corpus: Corpus, recorder: Recorder, tracker: Tracker) -> Evaluation | None:
    """Test a run, unless it is tested already or has no test text, and fit its curves of confidence."""
    evaluation, tested = None, None
    if corpus.test is not None and not recorder.is_tested:
        evaluation, tested = final_test(trainer, corpus, recorder, tracker)
    fit_confidence(trainer, corpus, tested)
    return evaluation


def final_test(
    trainer: Trainer, corpus: Corpus, recorder: Recorder, tracker: Tracker
) -> tuple[Evaluation, list[Candidate]]:
    """Translate the test split with the best checkpoint and the run's own search, score it, and note the scores."""
    assert corpus.test is not None
    settings, run = trainer.settings, trainer.run
    began = time.monotonic()
    evaluation, translations = evaluate_text(
        _best_translator(trainer), corpus.test, settings.evaluation, NUM_RESAMPLES
    )
    if mark := find_mark(corpus.test.target):
        logger.warning(
            "the test text holds marks of subwords (%s in line %d): its scores say little", mark[1], mark[0]
        )
    found = evaluation.as_dict()
    write_atomically(run.path / TEST, to_json(found))
    recorder.note_test(found, [one.text for one in translations], time.monotonic() - began)
    tracker.log(figures_of({"kind": "test", **found}), trainer.progress.update)
    return evaluation, translations


def fit_confidence(trainer: Trainer, corpus: Corpus, tested: Sequence[Candidate] | None) -> None:
    """Translate the validation text, fit curves of confidence on it, and measure them on the test text.

    Both texts are translated in the same way; `tested` is the translation of the test text, if there is one already.
    """
    run, translator = trainer.run, _best_translator(trainer)

    def translate(source: Sequence[str]) -> list[Candidate]:
        return translate_lines(translator, source[:MAX_LINES])

    test = None
    if corpus.test is not None:
        translations = translate(corpus.test.source) if tested is None else tested[:MAX_LINES]
        test = translations, corpus.test.target[:MAX_LINES]
    validation = translate(corpus.validation.source), corpus.validation.target[:MAX_LINES]
    (folder,) = run.find_checkpoints("best")
    fitted_on = folder.name, str(run.weights_hash("best")), name_search(translator.settings)
    found = calibrate(*fitted_on, validation, test)
    if found is None:
        logger.warning("no confidence: the translation of the validation text has no words")
        return
    write_atomically(run.path / CONFIDENCE, to_json(found.model_dump(mode="json")))
    logger.info("%s", found)


def _scores_of(run: RunDirectory, settings: TrainSettings) -> str:
    """Return the scores of the test text, which were printed when it was translated, unless that was interrupted."""
    found = read_scores(run)
    names = {name: key_of(name) for name in metrics(settings.evaluation)}
    scores = (f"{name} {found[key]:.2f}" for name, key in names.items() if key in found)
    return f"{', '.join(scores)}: {run.path / TEST}"


def _best_translator(trainer: Trainer) -> Translator:
    """Return a translator that uses the best checkpoint and the run's own search, with details."""
    step, decoding = trainer.step, trainer.settings.decoding
    engine = TorchEngine(*load_model(trainer.run, "best"), step.device, step.dtype, trainer.run)
    return Translator(engine, decoding).with_search(decoding, details=True)


def _end(recorder: Recorder, run: RunDirectory) -> None:
    """Record the progress that was saved: at a second signal, training itself has come further."""
    saved = saved_progress(run)
    best = None if saved.best_bleu is None else (saved.best_step or saved.update, saved.best_bleu)
    recorder.end(saved.update, saved.seconds, saved.num_tokens, best)


def _settle(trainer: Trainer, settings: TrainSettings, needs_test: bool, recorder: Recorder) -> None:
    """Save changed settings of a test that is still to come; warn of other changes, which a finished run ignores."""
    run = trainer.run
    own = run.read_config()
    now = settings.recorded()
    noted = own | ({key: now[key] for key in OF_TEST} if needs_test else {})
    kept = check(TrainSettings, noted | {"run": settings.run, "resume": settings.resume})
    if noted != own:
        run.write_config(kept)
        recorder.note_settings()
    trainer.settings = settings.model_copy(update={key: getattr(kept, key) for key in OF_TEST})
    changed = [key for key, *_ in changes(noted, now) if key.partition(".")[0] not in OF_PLACE]
    if changed:
        logger.warning("not changed  %s: the run is finished", ", ".join(changed))


def _log_changes(own: Mapping[str, Any], settings: TrainSettings) -> None:
    """Log which settings of a run change from now on."""
    for key, before, now in changes(own, settings.recorded()):
        logger.info("changed      %s: %s before, %s now", key, as_typed(before), as_typed(now))

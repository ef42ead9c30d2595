"""Parts of a training run, made before anything of it is written: text, tokenizer, model, trainer."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import torch

from nmt.config import BeamSettings, RecipeSettings, RNNSettings, TrainSettings
from nmt.config.check import as_typed, flatten
from nmt.data.cache import content_key
from nmt.data.cleaning import PreparedCorpus, prepare_corpus
from nmt.data.context import Context, Surroundings, require_context, source_symbols
from nmt.data.corpus import Corpus
from nmt.data.dataset import Dataset, LeftOut, load_dataset, select_pairs
from nmt.data.glossary import read_glossary
from nmt.data.mixture import known_tags, require_tags
from nmt.data.sentences import sentence_splitter
from nmt.data.sources import load_corpus, require_files
from nmt.data.tokenizer import Tokenizer, obtain_tokenizer, with_symbols
from nmt.data.word_links import KEY as LINKS
from nmt.data.word_links import load_links, require_aligner
from nmt.data.word_vectors import read_word_vectors
from nmt.device import choose_precision, prepare_device, require_determinism, require_memory
from nmt.errors import DataError, RunError, SettingsError, naming
from nmt.evaluation.resampling import require_sacrebleu_seed
from nmt.files.reading import is_missing, is_taken, require_plain
from nmt.models.build import build_model, parameter_shapes
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import LOG, MODEL_WEIGHTS, RunDirectory
from nmt.runs.model import load_model
from nmt.runs.provenance import refuse_other_text, text_facts
from nmt.runs.weights import Shapes, count_parameters, read_shapes, require_shapes
from nmt.tracking.opening import require_tracker
from nmt.training.checkpoint import refuse_other_origins, resumable_progress
from nmt.training.initialisation import copy_matching, freeze, other_meanings, set_word_vectors
from nmt.training.pairs import TrainingPairs, learned_lengths, training_pairs
from nmt.training.progress import Progress, reason_to_stop
from nmt.training.ranks import Ranks
from nmt.training.step import TrainingStep
from nmt.training.trainer import Trainer
from nmt.training.word_teacher import (
    WordTeacher,
    ask_teachers,
    find_teachers,
    hashed,
    origin_of,
    require_vocabulary,
    unread,
)

# A run that stopped before its settings were written has one of these: its log, or the settings of a student.
BEGUN = (LOG, "distil.json")


@dataclass(frozen=True)
class Prepared:
    """A run whose settings, device, data and tokenizer are known to be good, and of which nothing is written yet."""

    trainer: Trainer
    text: PreparedCorpus
    tokenizer: Tokenizer
    left_out: LeftOut
    num_short: int  # training lines without all of their context
    start_lines: list[str]  # lines that say where the initial weights come from
    resuming: bool

    def log(self) -> None:
        """Log which pairs the filters left out and which cannot be learned from, and how many lines lack context."""
        data = self.trainer.settings.data
        self.text.log()
        self.text.warn(self.left_out, data.max_length)
        self.text.tell_short(self.num_short, data.context)


def prepare(settings: TrainSettings, run: RunDirectory, ranks: Ranks, is_plan: bool = False) -> Prepared:
    """Load text, tokenizer and model of a run, on all ranks or, if one of them fails, on none.

    For a plan, teachers do not read the pairs, since updates take as long without. Raises UserError for what the user
    can mend.
    """
    with ranks.all_or_none():
        prepared = _prepare(settings, run, ranks, is_plan)
    with ranks.all_or_none():
        # One after the other: a key can name the files in the settings, and what is in them among the origins.
        ranks.require_same(prepared.trainer.progress.origins)
        ranks.require_same(_what_decides(settings, prepared.trainer))
    return prepared


def _what_decides(settings: TrainSettings, trainer: Trainer) -> dict[str, str]:
    """Return the values that must agree on all ranks: else they would learn different models or wait for each other."""
    values = flatten(settings.recorded())
    precision = str(trainer.step.dtype).removeprefix("torch.")
    of_machine = {"device": trainer.step.device.type, "precision": precision}
    return {key: as_typed(value) for key, value in values} | of_machine


def _prepare(settings: TrainSettings, run: RunDirectory, ranks: Ranks, is_plan: bool) -> Prepared:
    run.require_readable(settings)
    require_determinism(settings.deterministic)
    require_what_comes_later(settings)
    device = prepare_device(settings.device)
    dtype = choose_precision(settings.precision, device)
    resuming = _require_folder(run, settings.resume)
    if not resuming:
        require_files_of_new(settings)
    parent = None
    if settings.training.from_run is not None and not run.steps():
        parent = RunDirectory.existing(settings.training.from_run, "training.from_run")
    teachers = _teachers_of(run, settings)
    if resuming or parent is not None:
        require_files(settings.data)
    read = load_corpus(settings.data)
    text = prepare_corpus(read, settings.data.filter)
    corpus = text.corpus
    if resuming and settings.data.model_dump(mode="json") != run.read_config()["data"]:
        refuse_other_text(run, corpus)  # it has moved, and must be the same
    tokenizer = run.read_tokenizer() if resuming else _tokenizer_of_new(settings, corpus, parent)
    require_vocabulary(teachers, tokenizer, device)
    if parent is not None:
        for split, lines in corpus.texts.items():
            require_tags(lines.source, known_tags(tokenizer.source.pieces), f"data.{split}")
    context = require_context(tokenizer, settings.data.context)
    dataset = _load_pairs(settings, read, text, tokenizer, context)
    selected, left_out = select_pairs(dataset, settings.data.max_length)
    shapes = parameter_shapes(settings.model, tokenizer)
    _require_weights(run, shapes)
    # Weights, gradients, two moments, and the gradients that are sent to other ranks.
    require_memory(count_parameters(shapes), 4 + (ranks.size > 1), device)
    torch.manual_seed(settings.seed)
    model = build_model(settings.model, tokenizer)
    # A resumed run that stopped before its first checkpoint gets its initial weights again.
    start_lines = [] if run.steps() else start_from(settings, parent, model, tokenizer)
    freeze(model, settings.training.freeze)
    # A head that has learned from links is still the one that aligns when training goes on without them.
    if resuming:
        _, model.is_guided = run.read_facts()
    model.is_guided |= dataset.links is not None
    model.learned_lengths = learned_lengths(dataset, selected, context)
    if teachers and is_plan:
        dataset = replace(dataset, expected=unread(teachers, settings, dataset, tokenizer))
    elif teachers:
        dataset = replace(dataset, expected=ask_teachers(teachers, settings, dataset, selected, tokenizer))
    pairs = training_pairs(settings, dataset, selected, tokenizer, device, corpus.groups)
    step = TrainingStep(settings, model, tokenizer, pairs, device, dtype, ranks)
    trainer = Trainer(step, run, corpus.validation)
    trainer.progress.origins = _origins(read, corpus, tokenizer, context, pairs, teachers)
    return Prepared(trainer, text, tokenizer, left_out, dataset.num_short, start_lines, resuming)


def _require_folder(run: RunDirectory, resume: bool) -> bool:
    """Return whether the folder holds a run, which is to be resumed. Raises RunError for one that cannot be used."""
    holds_run = run.config_path.exists()
    if holds_run and run.is_exported:
        raise RunError(f"run: a folder that was trained in is needed; got {run.path}, which was exported")
    if holds_run and not resume:
        raise RunError(
            f"run: a new folder is needed, or resume=true to go on; got {run.path}, which holds a run"
        )
    holds_anything = is_taken(run.path)
    is_begun = any((run.path / name).is_file() for name in BEGUN)
    if holds_anything and not resume:
        needed = (
            "new folder is needed, or resume=true to begin again"
            if is_begun
            else "new or empty folder is needed"
        )
        raise RunError(f"run: a {needed}; got {run.path}")
    if holds_anything and not holds_run:
        if (run.path / "sweep.json").is_file():
            raise RunError(f"run: the option -m is needed to go on with a sweep; got {run.path} without")
        if not is_begun:
            raise RunError(f"run: the folder of a run, or a new or empty one, is needed; got {run.path}")
    if run.path.is_dir():
        require_plain(run.path)  # no link may lead what is written there elsewhere
    return holds_run


def _load_pairs(
    settings: TrainSettings, read: Corpus, text: PreparedCorpus, tokenizer: Tokenizer, context: Context
) -> Dataset:
    """Return the training pairs as token ids, with their context and word links where the settings ask for these."""
    surroundings = None
    if context.num_lines:  # neighbours are those of the text as it was read, before anything is left out
        surroundings = Surroundings(
            context, settings.data.max_length, read.train.source, text.kept, read.train.starts
        )
    dataset = load_dataset(text.corpus.train, tokenizer, surroundings)
    if settings.training.guided_alignment is None:
        return dataset
    return replace(dataset, links=load_links(settings.training.guided_alignment, text, tokenizer))


def _teachers_of(run: RunDirectory, settings: TrainSettings) -> list[WordTeacher]:
    """Return the teachers of a run; none if its training is over, since their folders may be gone by then."""
    if settings.training.teacher is None:
        return []
    saved = Progress()
    with suppress(RunError):  # of damaged checkpoints, which are reported later
        saved = resumable_progress(run)
    if reason_to_stop(settings.training, saved) is not None:
        return []
    found = find_teachers(settings.training.teacher, settings.data.max_length)
    if run.path.resolve() in (teacher.path.resolve() for teacher in found):
        raise SettingsError(
            f"training.teacher: another run is needed; got {run.path}, which is to learn from it"
        )
    teachers = hashed(found)
    refuse_other_origins(saved.origins, origin_of(teachers))  # before they read all pairs
    return teachers


def require_what_comes_later(settings: RecipeSettings) -> None:
    """Raise UserError if something is missing that would be needed only after much has been read or learned."""
    require_tracker(settings.tracking)
    require_sacrebleu_seed()
    sentence_splitter(settings.decoding.sentence_splitter)
    if isinstance(settings.decoding, BeamSettings):
        if settings.decoding.glossary is not None:
            read_glossary(settings.decoding.glossary)
        if settings.decoding.coverage_penalty and isinstance(settings.model, RNNSettings):
            raise SettingsError(
                "decoding.coverage_penalty: 0 is needed for a model without attention (model=rnn); "
                f"got {settings.decoding.coverage_penalty:g}"
            )
    if settings.training.guided_alignment is not None:
        require_aligner(settings.training.guided_alignment)


def require_files_of_new(settings: RecipeSettings) -> None:
    """Raise DataError for a missing file that only a new run reads, and that only after much has been read."""
    for key, path in (
        ("tokenizer.model", settings.tokenizer.model),
        ("training.source_vectors", settings.training.source_vectors),
        ("training.target_vectors", settings.training.target_vectors),
    ):
        if path is not None and is_missing(path):
            raise DataError(f"{key}: no such file: {path}")


def _tokenizer_of_new(settings: TrainSettings, corpus: Corpus, parent: RunDirectory | None) -> Tokenizer:
    """Return the tokenizer of a new run: that of the run it starts from, if its settings are the same; else its own."""
    symbols = source_symbols(corpus, settings.data.context)
    own = settings.tokenizer
    if parent is None:
        return obtain_tokenizer(own, corpus.train, symbols)
    with naming("training.from_run"):
        if parent.read_model_settings().tokenizer != own:
            return obtain_tokenizer(own, corpus.train, symbols)
        return with_symbols(parent.read_tokenizer(), symbols, "training.from_run")


def _require_weights(run: RunDirectory, expected: Shapes) -> None:
    """Raise RunError if the newest checkpoint with a readable header has other shapes; damage is reported later."""
    for step in reversed(run.steps()):
        try:
            found = read_shapes(run.step_path(step) / MODEL_WEIGHTS)
        except RunError:
            continue
        require_shapes(expected, found, run.step_path(step))
        return


def _origins(
    read: Corpus,
    corpus: Corpus,
    tokenizer: Tokenizer,
    context: Context,
    pairs: TrainingPairs,
    teachers: Sequence[WordTeacher],
) -> dict[str, str]:
    """Return hashes of all that a run learns from, by key: a run can be resumed only while they are the same.

    `corpus` is what the filters left of the text that was `read`.
    """
    found = {f"data.{split}": text_facts(text).hash for split, text in corpus.texts.items()}
    found["tokenizer"] = content_key(tokenizer.source.model, tokenizer.target.model)
    if pairs.plain.links is not None:
        words = pairs.plain.links.words
        found[LINKS] = content_key(words.tokens.numpy().data, words.offsets.data)
    if corpus.groups is not None:
        found["data.pairs"] = content_key(pairs.rows_of_epoch.data)
    if context.num_lines:  # lines that a filter leaves out are context of others
        starts = map(str, read.train.starts)
        found["data.train with its context"] = content_key(read.train.source, starts)
    return found | origin_of(teachers)


def start_from(
    settings: TrainSettings, parent: RunDirectory | None, model: Seq2Seq, tokenizer: Tokenizer
) -> list[str]:
    """Replace initial weights by those of `parent` and by word vectors, if given; return lines on what was replaced."""
    lines = []
    if parent is not None:
        with naming("training.from_run"):
            other_model, other_tokenizer = load_model(parent, "best")
        copied = copy_matching(
            model, tokenizer, dict(other_model.named_parameters()), other_tokenizer, parent.path
        )
        model.is_guided = other_model.is_guided and not copied.left
        lines.append(f"start        from {parent.path}: {copied}")
        if others := other_meanings(settings.model, parent.read_model_settings().model):
            lines.append(f"note         {parent.path} computes otherwise with these weights: {others}")
    for side in ("source", "target"):
        path = getattr(settings.training, f"{side}_vectors")
        if path is not None:
            embedding = getattr(model, f"{side}_embedding")
            vocabulary = getattr(tokenizer, side)
            key = f"training.{side}_vectors"
            ids, vectors = read_word_vectors(path, key, vocabulary, embedding.embedding_dim)
            set_word_vectors(embedding, ids, vectors)
            lines.append(f"start        {len(ids)} {side} pieces of {vocabulary.size} from {path}")
    return lines

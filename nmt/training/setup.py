"""Parts of a training run, made before anything of it is written: text, tokenizer, model, trainer."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from nmt.config import (
    DataSettings,
    DecayingForcing,
    Files,
    FilesData,
    GrammarData,
    HubData,
    MixtureData,
    Multi30kData,
    TableData,
    TokenizerSettings,
    TrainingSettings,
    TrainSettings,
)
from nmt.data.batching import padding_share
from nmt.data.cache import content_key
from nmt.data.cleaning import PreparedCorpus, prepare_corpus
from nmt.data.corpus import Corpus, load_corpus, require_files
from nmt.data.dataset import Int64Array, LeftOut, load_dataset, select_pairs
from nmt.data.tokenizer import Tokenizer, Vocabulary, obtain_tokenizer, with_symbols
from nmt.data.word_vectors import read_word_vectors
from nmt.device import choose_device, choose_precision, require_determinism, require_memory
from nmt.errors import RunError, naming
from nmt.files.reading import require_plain
from nmt.models.build import build_model, parameter_shapes
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import MODEL_WEIGHTS, RunDirectory
from nmt.runs.weights import Shapes, count_parameters, read_shapes, require_shapes
from nmt.tracking.opening import require_tracker
from nmt.training.initialisation import copy_matching, freeze, set_word_vectors
from nmt.training.pairs import training_pairs
from nmt.training.trainer import Trainer


@dataclass(frozen=True)
class Prepared:
    """A run whose settings, device, data and tokenizer are known to be good, and of which nothing is written yet."""

    trainer: Trainer
    text: PreparedCorpus
    tokenizer: Tokenizer
    selected: Int64Array  # training pairs that are long and short enough, as often as they are to be seen
    left_out: LeftOut
    start: list[str]  # where first weights are from, a line each
    resuming: bool


def prepare(settings: TrainSettings, run: RunDirectory) -> Prepared:
    """Load text, tokenizer and model of a run. Raises UserError for what the user can mend."""
    run.require_readable(settings)
    require_determinism(settings.deterministic)
    require_tracker(settings.tracking)
    device = choose_device(settings.device)
    dtype = choose_precision(settings.precision, device)
    resuming = run.config_path.exists()
    if resuming and not settings.resume:
        raise RunError(
            f"run: a new folder is needed, or resume=true to go on; got {run.path}, which holds a run"
        )
    is_taken = run.path.exists() and (not run.path.is_dir() or any(run.path.iterdir()))
    if is_taken and not settings.resume:
        raise RunError(f"run: a new or empty folder is needed; got {run.path}")
    if run.path.is_dir():
        require_plain(run.path)  # what is written there is not to go elsewhere
    parent = None
    if settings.training.from_run is not None and not run.steps():
        parent = RunDirectory.existing(settings.training.from_run, "training.from_run")
    if resuming or parent is not None:
        require_files(settings.data)
    text = prepare_corpus(load_corpus(settings.data), settings.data.filter)
    corpus = text.corpus
    tokenizer = (
        run.read_tokenizer(settings.tokenizer.joint)
        if resuming
        else _tokenizer_of_new(settings.tokenizer, corpus, parent)
    )
    dataset = load_dataset(corpus.train, tokenizer)
    selected, left_out = select_pairs(dataset, settings.data.max_length)
    if corpus.groups is not None:
        selected = corpus.groups.repeat(selected, settings.seed)
    shapes = parameter_shapes(settings.model, tokenizer)
    _require_weights(run, shapes)
    require_memory(count_parameters(shapes), 4, device)  # weights, gradients, two moments
    torch.manual_seed(settings.seed)
    model = build_model(settings.model, tokenizer)
    # Also where a run goes on that stopped before its first checkpoint.
    start = [] if run.steps() else start_from(settings.training, parent, model, tokenizer)
    freeze(model, settings.training.freeze)
    trainer = Trainer(
        settings,
        run,
        model,
        tokenizer,
        training_pairs(settings, dataset, selected, tokenizer, device),
        (corpus.validation, load_dataset(corpus.validation, tokenizer)),
        device,
        dtype,
    )
    trainer.progress.origins = origins(corpus, tokenizer)
    return Prepared(trainer, text, tokenizer, selected, left_out, start, resuming)


def _tokenizer_of_new(settings: TokenizerSettings, corpus: Corpus, parent: RunDirectory | None) -> Tokenizer:
    """Return the vocabulary of a new run: that of the run it starts from, if it is to have the same settings."""
    symbols = corpus.groups.symbols if corpus.groups else ()
    if parent is None:
        return obtain_tokenizer(settings, corpus.train, symbols)
    with naming("training.from_run"):
        if parent.read_model_settings().tokenizer != settings:
            return obtain_tokenizer(settings, corpus.train, symbols)
        return with_symbols(parent.read_tokenizer(settings.joint), symbols, "training.from_run")


def _require_weights(run: RunDirectory, expected: Shapes) -> None:
    """Raise RunError where the newest checkpoint whose weights have a header holds others; damage is told of later."""
    for step in reversed(run.steps()):
        try:
            found = read_shapes(run.step_path(step) / MODEL_WEIGHTS)
        except RunError:
            continue
        require_shapes(expected, found, run.step_path(step))
        return


def origins(corpus: Corpus, tokenizer: Tokenizer) -> dict[str, str]:
    """Return hashes of what a run learns from, by the keys that it comes from: a run goes on with the same alone."""
    return {
        "data.train": content_key(corpus.train.source, corpus.train.target),
        "data.validation": content_key(corpus.validation.source, corpus.validation.target),
        "tokenizer": content_key(tokenizer.source.model, tokenizer.target.model),
    }


def start_from(
    settings: TrainingSettings, parent: RunDirectory | None, model: Seq2Seq, tokenizer: Tokenizer
) -> list[str]:
    """Replace first weights by those of another run and by word vectors, where there are any; say what was replaced."""
    lines = []
    if parent is not None:
        with naming("training.from_run"):
            other_model, other_tokenizer = parent.load_model("best")
        copied = copy_matching(
            model, tokenizer, dict(other_model.named_parameters()), other_tokenizer, parent.path
        )
        lines.append(f"start        from {parent.path}: {copied}")
    for side in ("source", "target"):
        path = getattr(settings, f"{side}_vectors")
        if path is not None:
            embedding = getattr(model, f"{side}_embedding")
            vocabulary = getattr(tokenizer, side)
            key = f"training.{side}_vectors"
            ids, vectors = read_word_vectors(path, key, vocabulary, embedding.embedding_dim)
            set_word_vectors(embedding, ids, vectors)
            lines.append(f"start        {len(ids)} {side} pieces of {vocabulary.size} from {path}")
    return lines


def plan_lines(prepared: Prepared) -> list[str]:
    """Say what a run is going to do, a line for each part."""
    trainer, corpus, tokenizer = prepared.trainer, prepared.text.corpus, prepared.tokenizer
    parameters = list(trainer.model.parameters())
    num_parameters = sum(parameter.numel() for parameter in parameters)
    num_frozen = sum(parameter.numel() for parameter in parameters if not parameter.requires_grad)
    frozen = f", {num_frozen} of them frozen" if num_frozen else ""
    updates = trainer.plan(trainer.progress.epoch)  # the one that training begins with
    pairs = trainer.pairs
    padding = 100 * padding_share(updates, pairs.source_lengths, pairs.target_lengths)
    mixture = [f"mixture      {corpus.groups.describe(prepared.selected)}"] if corpus.groups else []
    return [
        f"run          {trainer.run.path}",
        f"text         {_origin(trainer.settings.data)}",
        f"data         {len(pairs)} training pairs, {pairs.source_lengths.sum()} + {pairs.target_lengths.sum()} "
        f"tokens; {len(corpus.validation.source)} validation pairs; "
        f"{len(corpus.test.source) if corpus.test else 'no'} test pairs",
        *mixture,
        f"vocabulary   {tokenizer.source.size} source, {tokenizer.target.size} target pieces",
        f"normalised   {_normalization(tokenizer.target, corpus.validation.target)}",
        f"model        {trainer.settings.model.kind}, {num_parameters} parameters{frozen}",
        *prepared.start,
        f"epoch        {len(updates)} updates of at most {trainer.settings.training.update_tokens} target tokens",
        f"batches      up to {trainer.max_tokens} tokens at once in memory; {padding:.1f} % are padding, which makes "
        "sentences equally long",
        f"device       {trainer.device}, {str(trainer.dtype).removeprefix('torch.')}",
        *(f"note         {note}" for note in _notes(trainer.settings)),
    ]


def _notes(settings: TrainSettings) -> list[str]:
    """Say what a try-out of few updates may mean to leave out, and a long training surely does not."""
    last, schedule, forcing = settings.training.max_updates, settings.schedule, settings.teacher_forcing
    notes = []
    if schedule.warmup_updates > last:
        notes.append(
            f"schedule.warmup_updates={schedule.warmup_updates} lie beyond training.max_updates={last}: the learning "
            "rate will rise to the end"
        )
    if isinstance(forcing, DecayingForcing) and forcing.num_updates > last:
        notes.append(
            f"teacher_forcing.num_updates={forcing.num_updates} lie beyond training.max_updates={last}: "
            f"teacher_forcing.final_ratio={forcing.final_ratio:g} will not be reached"
        )
    return notes


def _normalization(target: Vocabulary, lines: Sequence[str]) -> str:
    """Say what is done to text before it is segmented, and which references no translation can be equal to."""
    changed = [number for number, line in enumerate(lines, 1) if not target.is_kept(line)]
    if not changed:
        return f"by {target.normalization}"
    return (
        f"by {target.normalization}, and so are translations: {len(changed)} of {len(lines)} validation targets are "
        f"written otherwise, such as line {changed[0]}; tokenizer.normalization=identity keeps them"
    )


def _origin(settings: DataSettings) -> str:
    """Say where text comes from."""
    match settings:
        case GrammarData():
            return "the built-in German and English; your own two files: data=files"
        case FilesData(train=train):
            return f"from {_names(train.source)} to {_names(train.target)}"
        case TableData(train=train, source_column=source, target_column=target):
            return f"from {source} to {target}, in {_names(train)}"
        case MixtureData(pairs=pairs):
            return f"a mixture of {len(pairs)} pairs of languages"
        case Multi30kData(directory=directory):
            return f"Multi30k, from {directory}"
        case HubData(path=path):
            return f"the data set {path}"


def _names(files: Files) -> str:
    return files if isinstance(files, str) else ", ".join(files)

"""One training run from settings to a scored model: data, run directory, training, final translation."""

import contextlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from nmt.check import flatten
from nmt.config import TrainingSettings, TrainSettings
from nmt.data.batching import padding_share
from nmt.data.cache import content_key
from nmt.data.corpus import Corpus, load_corpus, require_files
from nmt.data.dataset import load_dataset, select_pairs
from nmt.data.preparation import prepare_corpus
from nmt.data.tokenizer import Tokenizer, obtain_tokenizer
from nmt.data.word_vectors import read_word_vectors
from nmt.device import choose_device, choose_precision, require_determinism
from nmt.errors import RunError
from nmt.evaluation.scoring import Evaluation
from nmt.files import require_plain
from nmt.models.build import build_model
from nmt.models.interface import Seq2Seq
from nmt.run_directory import MODEL_WEIGHTS, RunDirectory, require_weights, to_json, write_atomically
from nmt.training.checkpoint import clear_unfinished, naming_last_checkpoint
from nmt.training.initialisation import copy_matching, freeze, set_word_vectors
from nmt.training.log_file import log_file
from nmt.training.pairs import training_pairs
from nmt.training.trainer import Trainer
from nmt.training.validation import evaluate_model
from nmt.weights import read_shapes

logger = logging.getLogger(__name__)


def train(settings: TrainSettings, run: RunDirectory) -> Evaluation | None:
    """Train in `run`, or go on there, then translate and score the test split, if there is one.

    Nothing is written before settings, device, data and tokenizer are known to be good.
    Raises UserError for what the user can mend.
    """
    require_determinism(settings.deterministic)
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
    if resuming:
        require_files(settings.data)
    prepared = prepare_corpus(load_corpus(settings.data), settings.data.filter)
    corpus = prepared.corpus
    tokenizer = (
        run.read_tokenizer(settings.tokenizer.joint)
        if resuming
        else obtain_tokenizer(
            settings.tokenizer, corpus.train, corpus.groups.symbols if corpus.groups else ()
        )
    )
    dataset = load_dataset(corpus.train, tokenizer)
    selected, left_out = select_pairs(dataset, settings.data.max_length)
    if corpus.groups is not None:
        selected = corpus.groups.repeat(selected, settings.seed)
    if steps := run.steps():
        require_weights(settings.model, tokenizer, _newest_readable(run, steps))
    torch.manual_seed(settings.seed)
    model = build_model(settings.model, tokenizer)
    if not steps:  # also where a run goes on that stopped before its first checkpoint
        start_from(settings.training, model, tokenizer)
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
    with naming_last_checkpoint(run), log_file(run.path / "train.log"):
        if run.config_path.exists() != resuming:
            raise RunError(
                f"run: a folder of its own is needed; got {run.path}, where another run began just now"
            )
        clear_unfinished(run)
        if resuming:
            trainer.resume()
            if reason := trainer.reason_to_stop():
                logger.info("%s is finished: %s", run.path, reason)
                if (run.path / "test.json").exists() or corpus.test is None:
                    return None
                return final_test(settings, run, corpus, device, dtype)
            _log_changes(run.read_config(), settings)
        run.write_tokenizer(tokenizer)
        write_atomically(run.path / "data.json", to_json(prepared.as_dict(left_out)))
        run.write_config(
            settings.model_dump(mode="json", exclude={"run", "resume"})
        )  # last: it makes the folder a run
        prepared.log()
        if left_out.empty or left_out.too_long:
            logger.warning(
                "left out of training: %d pairs with an empty side, %d longer than data.max_length=%d tokens",
                left_out.empty,
                left_out.too_long,
                settings.data.max_length,
            )
        if corpus.groups is not None:
            logger.info("mixture      %s", corpus.groups.describe(selected))
        _log_plan(trainer, corpus, tokenizer)
        trainer.train()
        return None if corpus.test is None else final_test(settings, run, corpus, device, dtype)


def _newest_readable(run: RunDirectory, steps: list[int]) -> list[Path]:
    """Return the newest checkpoint whose weights have a header; none, where all are damaged, which is said later."""
    for step in reversed(steps):
        with contextlib.suppress(RunError):
            read_shapes(run.step_path(step) / MODEL_WEIGHTS)
            return [run.step_path(step)]
    return []


def origins(corpus: Corpus, tokenizer: Tokenizer) -> dict[str, str]:
    """Return hashes of what a run learns from, by the keys that it comes from: a run goes on with the same alone."""
    return {
        "data.train": content_key(corpus.train.source, corpus.train.target),
        "data.validation": content_key(corpus.validation.source, corpus.validation.target),
        "tokenizer": content_key(tokenizer.source.model, tokenizer.target.model),
    }


def start_from(settings: TrainingSettings, model: Seq2Seq, tokenizer: Tokenizer) -> None:
    """Replace first weights by those of another run and by word vectors, where the settings name them."""
    if settings.from_run is not None:
        other = RunDirectory.existing(settings.from_run, "training.from_run")
        try:
            other_model, other_tokenizer = other.load_model("best")
        except RunError as error:
            raise RunError(f"training.from_run: {str(error).removeprefix('run: ')}") from None
        copied = copy_matching(
            model, tokenizer, dict(other_model.named_parameters()), other_tokenizer, other.path
        )
        logger.info("start        from %s: %s", other.path, copied)
    for side in ("source", "target"):
        path = getattr(settings, f"{side}_vectors")
        if path is not None:
            embedding = getattr(model, f"{side}_embedding")
            vocabulary = getattr(tokenizer, side)
            key = f"training.{side}_vectors"
            ids, vectors = read_word_vectors(path, key, vocabulary, embedding.embedding_dim)
            set_word_vectors(embedding, ids, vectors)
            logger.info("start        %d %s pieces of %d from %s", len(ids), side, vocabulary.size, path)


def final_test(
    settings: TrainSettings, run: RunDirectory, corpus: Corpus, device: torch.device, dtype: torch.dtype
) -> Evaluation:
    """Translate the test split with the best checkpoint and the run's own search, score it, and note the scores."""
    assert corpus.test is not None
    model, tokenizer = run.load_model("best")
    evaluation = evaluate_model(
        model, tokenizer, corpus.test, settings.decoding, settings.evaluation, device, dtype
    )
    write_atomically(run.path / "test.json", to_json(evaluation.as_dict()))
    return evaluation


def _log_plan(trainer: Trainer, corpus: Corpus, tokenizer: Tokenizer) -> None:
    parameters = list(trainer.model.parameters())
    num_parameters = sum(parameter.numel() for parameter in parameters)
    num_frozen = sum(parameter.numel() for parameter in parameters if not parameter.requires_grad)
    logger.info("run          %s", trainer.run.path)
    logger.info(
        "data         %d training pairs, %d + %d tokens; %d validation pairs; %s test pairs",
        len(trainer.pairs),
        trainer.pairs.source_lengths.sum(),
        trainer.pairs.target_lengths.sum(),
        len(corpus.validation.source),
        len(corpus.test.source) if corpus.test else "no",
    )
    logger.info("vocabulary   %d source, %d target pieces", tokenizer.source.size, tokenizer.target.size)
    frozen = f", {num_frozen} of them frozen" if num_frozen else ""
    logger.info("model        %s, %d parameters%s", trainer.settings.model.kind, num_parameters, frozen)
    updates = trainer.plan(trainer.progress.epoch)  # the one that training begins with
    logger.info(
        "epoch        %d updates of at most %d target tokens, padding %.1f %%",
        len(updates),
        trainer.settings.training.update_tokens,
        100 * padding_share(updates, trainer.pairs.source_lengths, trainer.pairs.target_lengths),
    )
    logger.info("device       %s, %s", trainer.device, str(trainer.dtype).removeprefix("torch."))


def _log_changes(own: Mapping[str, Any], settings: TrainSettings) -> None:
    """Say which settings of a run are others from now on."""
    before, now = (
        dict(flatten(own)),
        dict(flatten(settings.model_dump(mode="json", exclude={"run", "resume"}))),
    )
    for key in sorted(before.keys() | now.keys()):
        if before.get(key) != now.get(key):
            logger.info("changed      %s: %s before, %s now", key, before.get(key), now.get(key))

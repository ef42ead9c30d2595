"""The plan of a training in words, and its duration, estimated by timing a few of its updates."""

import time
from collections.abc import Sequence

import numpy as np
import torch

from nmt.config import DecayingForcing, NoamSettings, TrainSettings, as_list
from nmt.data.batching import Update, padding_share
from nmt.data.characters import is_unspaced
from nmt.data.tokenizer import Vocabulary
from nmt.runs.directory import RunDirectory
from nmt.training.checkpoint import refuse_other_origins, resumable_progress
from nmt.training.device.graphs import recordable_stream
from nmt.training.progress import Progress, reason_to_stop
from nmt.training.ranks import Ranks
from nmt.training.recipes import far_from_recipe
from nmt.training.schedule import learning_rate
from nmt.training.setup import Prepared, prepare
from nmt.training.trainer import Trainer
from nmt.wording import counted, duration

LINES_LOOKED_AT = 1000
LONG_WORD = 6  # letters, on the average: more than in text of Chinese or Thai that was cut into words
# The first updates are not counted where others follow: they also wait for memory, kernels and caches.
NUM_UNTIMED = 3
MAX_UPDATES = 20
MAX_SECONDS = 3.0  # of timing, after which no update is begun
PARTS = 4  # of an update: timing one part tells whether there is time for a whole update
# Where a whole update would take longer than this, one part alone is timed. That makes the update look slower: its
# fixed costs count once for each part.
MAX_SECONDS_OF_ONE = 8.0


def plan_and_time(settings: TrainSettings, run: RunDirectory, ranks: Ranks) -> list[str]:
    """Return the lines of the plan of a run, and of the time that it would take at most.

    No run folder is made; the text that is tokenised stays in the cache, for the training to come.
    Raises UserError for settings and data that training would refuse.
    """
    prepared = prepare(settings, run, ranks, is_plan=True)
    saved = resumable_progress(run)
    refuse_other_origins(saved.origins, prepared.trainer.progress.origins)
    prepared.log()
    return [*plan_lines(prepared), *_time_lines(prepared, saved)]


def plan_lines(prepared: Prepared) -> list[str]:
    """Return lines that say what a run is going to do, one for each aspect."""
    trainer, corpus, tokenizer = prepared.trainer, prepared.text.corpus, prepared.tokenizer
    parameters = list(trainer.model.parameters())
    num_parameters = sum(parameter.numel() for parameter in parameters)
    num_frozen = sum(parameter.numel() for parameter in parameters if not parameter.requires_grad)
    frozen = f", {num_frozen} of them frozen" if num_frozen else ""
    updates = trainer.enter(trainer.part)  # of the part that training begins with
    pairs = trainer.pairs
    padding = 100 * padding_share(updates, pairs.source_lengths, pairs.target_lengths)
    num_pairs, source_tokens, target_tokens = pairs.totals()
    mixture = []
    if corpus.groups is not None:
        mixture = [f"mixture      {corpus.groups.describe(pairs.rows_of_epoch)}"]
    links = []
    if pairs.plain.links is not None:
        num_links = len(pairs.plain.links.words.tokens) // 2
        links = [f"links        {num_links} of words, for attention to learn"]
    teacher = []
    if (runs := trainer.settings.training.teacher) is not None:
        names, share = ", ".join(as_list(runs)), trainer.settings.training.teacher_weight
        teacher = [
            f"teacher      {names}, whose words are {share:g} of the loss; each pair is read once, before training"
        ]
    is_new = ", which is new" if trainer.settings.resume and not prepared.resuming else ""
    parts = "" if pairs.num_parts == 1 else f"{pairs.num_parts} parts of about "
    return [
        f"run          {trainer.run.path}{is_new}",
        f"text         {trainer.settings.data.origin}",
        f"data         {num_pairs} training pairs, {source_tokens} + {target_tokens} tokens; "
        f"{len(corpus.validation.source)} validation pairs; "
        f"{len(corpus.test.source) if corpus.test else 'no'} test pairs",
        *mixture,
        *links,
        f"vocabulary   {tokenizer.source.size} source, {tokenizer.target.size} target pieces",
        f"normalised   {_normalization(tokenizer.target, corpus.validation.target)}",
        f"model        {trainer.settings.model.kind}, {num_parameters} parameters{frozen}",
        *prepared.start_lines,
        *teacher,
        f"epoch        {parts}{counted(len(updates), 'update')} of at most "
        f"{trainer.settings.training.update_tokens} target tokens",
        f"batches      up to {updates.max_tokens} tokens at once in memory; {padding:.1f} % are padding, which makes "
        "sentences equally long",
        f"device       {trainer.step.device}, {str(trainer.step.dtype).removeprefix('torch.')}{_of_ranks(trainer)}",
        *(f"note         {note}" for note in _notes(trainer, len(corpus.train.source))),
        *_unspaced(trainer.settings.evaluation.tokenize, corpus.validation.target),
    ]


def _of_ranks(trainer: Trainer) -> str:
    return f", on each of {trainer.ranks.size} ranks" if trainer.ranks.size > 1 else ""


def _notes(trainer: Trainer, num_pairs: int) -> list[str]:
    """Return notes on settings that a short trial may well have, but a long training hardly means to have."""
    settings = trainer.settings
    max_updates, schedule, forcing = (
        settings.training.max_updates,
        settings.schedule,
        settings.teacher_forcing,
    )
    last, end, notes = _last_update(trainer), f"training.max_updates={max_updates}", []
    if last < max_updates:
        end = f"the {last} updates of training.max_epochs={settings.training.max_epochs}"
        if schedule.kind in ("cosine", "warmup_stable_decay"):
            notes.append(
                f"training.max_updates={max_updates}, at which the learning rate of schedule={schedule.kind} has "
                f"fallen, lies beyond {end}"
            )
    if schedule.warmup_updates > last:
        notes.append(
            f"schedule.warmup_updates={schedule.warmup_updates} lies beyond {end}: the learning rate will rise to the "
            "end"
        )
    if isinstance(schedule, NoamSettings):
        highest = learning_rate(schedule, schedule.warmup_updates, 0.0, max_updates)
        notes.append(
            f"schedule=noam sets the learning rate, up to {highest:.3g}; optimizer.learning_rate is not used"
        )
    if isinstance(forcing, DecayingForcing) and forcing.num_updates > last:
        notes.append(
            f"teacher_forcing.num_updates={forcing.num_updates} lies beyond {end}: "
            f"teacher_forcing.final_ratio={forcing.final_ratio:g} will not be reached"
        )
    far = far_from_recipe(settings, num_pairs)
    return notes if far is None else [*notes, far]


def _unspaced(tokenize: str, lines: Sequence[str]) -> list[str]:
    """Return a note where BLEU would take whole lines for words, in a script without spaces, if there is one."""
    text = " ".join(lines[:LINES_LOOKED_AT])
    letters = [character for character in text if character.isalpha()]
    num_unspaced = sum(map(is_unspaced, letters))
    if (
        tokenize in ("char", "zh")
        or 2 * num_unspaced <= len(letters)
        or len(letters) < LONG_WORD * len(text.split())
    ):
        return []
    return [
        f"note         evaluation.tokenize={tokenize} takes a line without spaces for a word: char, or zh for "
        "Chinese, tells checkpoints apart, and cannot be chosen later"
    ]


def _normalization(target: Vocabulary, lines: Sequence[str]) -> str:
    """Describe the normalisation of text, and count the references it changes: no translation can be equal to them."""
    changed = [number for number, line in enumerate(lines, 1) if not target.is_kept(line)]
    if not changed:
        return f"by {target.normalization}"
    return (
        f"by {target.normalization}, and so are translations: {len(changed)} of {len(lines)} validation targets are "
        f"written otherwise, such as line {changed[0]}; tokenizer.normalization=identity keeps them"
    )


def _updates_of_epoch(trainer: Trainer) -> int:
    return len(trainer.enter(trainer.part)) * trainer.pairs.num_parts


def _last_update(trainer: Trainer) -> int:
    """Return the last update of a training, as the maximum number of updates or of epochs limits it."""
    limits = trainer.settings.training
    if limits.max_epochs is None:
        return limits.max_updates
    return min(limits.max_updates, limits.max_epochs * _updates_of_epoch(trainer))


def _time_lines(prepared: Prepared, saved: Progress) -> list[str]:
    """Return lines on how long the updates after those that are `saved` take."""
    trainer, limits = prepared.trainer, prepared.trainer.settings.training
    per_epoch = _updates_of_epoch(trainer)
    last, done, reached = _last_update(trainer), saved.update, reason_to_stop(limits, saved)
    num_left = 0 if reached else max(0, last - done)
    num_validations = -(-last // limits.validate_every) - done // limits.validate_every if num_left else 0
    num_validations += saved.validation_is_due
    lines = [
        f"updates      {num_left} at most, {num_left / per_epoch:.1f} epochs, {counted(num_validations, 'validation')}"
        + (f": the run has come to {reached}" if reached else "")
    ]
    if not num_left:
        return lines
    seconds, measured = _seconds_per_update(trainer, num_left)
    whole, capped, on_top = num_left * seconds, "", "validations and the test"
    if limits.max_seconds is not None and whole > limits.max_seconds - saved.seconds:
        whole, capped = limits.max_seconds - saved.seconds, ", as training.max_seconds says"
        on_top = "the last validation and the test"  # others count as training
    if limits.teacher is not None:
        on_top = f"what teachers read, {on_top}"
    return [
        *lines,
        f"time         about {duration(whole)} at most{capped}, and {on_top} on top: "
        f"{seconds:.3g} s an update, measured just now over {measured} on this machine",
    ]


def _seconds_per_update(trainer: Trainer, num_left: int) -> tuple[float, str]:
    """Return the mean seconds of an update and, in words, what was timed; the model is of no further use.

    At most `num_left` updates are timed, and none is begun after MAX_SECONDS.
    """
    updates, lengths = trainer.enter(trainer.part), trainer.pairs.target_lengths
    with recordable_stream(trainer.step.device):
        trainer.step.compile(lambda: updates[0][0])
        first = np.concatenate(updates[0])
        part = first[: -(-len(first) // PARTS)]
        _seconds(trainer, [part])  # pays for memory, kernels and caches
        of_whole = _seconds(trainer, [part]) * float(lengths[first].sum() / lengths[part].sum())
        if of_whole > MAX_SECONDS_OF_ONE:
            return of_whole, "a part of one"
        # These are from all over the epoch, so that a run of short or of long sentences does not bias the mean.
        stride = max(1, len(updates) // MAX_UPDATES)
        chosen = [updates[number * stride % len(updates)] for number in range(min(MAX_UPDATES, num_left))]
        if trainer.step.replay is not None:  # most updates replay a recording, made when a shape recurs
            for update in 2 * chosen:
                trainer.step.run(1, update)
        seconds: list[float] = []
        for update in chosen:
            seconds.append(_seconds(trainer, update))
            if sum(seconds) > MAX_SECONDS:
                break
        timed = seconds[min(NUM_UNTIMED, len(seconds) // 2) :]
        return sum(timed) / len(timed), f"{len(timed)} of them"


def _seconds(trainer: Trainer, update: Update) -> float:
    """Return how long an update takes, on the slowest rank."""
    _wait(trainer.step.device)
    began = time.monotonic()
    trainer.step.run(1, update)
    _wait(trainer.step.device)
    return trainer.ranks.all_reduce_max(time.monotonic() - began)[0]


def _wait(device: torch.device) -> None:
    """Wait until the device has finished its work, so that the clock covers it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()

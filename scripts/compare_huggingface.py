"""Train Hugging Face's Marian on the text of a run, for as long as the run took, and score both alike.

usage: python scripts/compare_huggingface.py RUN [--seconds N] [--learning-rate R] [--state FILE] [--json FILE]

RUN is a Transformer with one vocabulary for both sides. The other model, a MarianMTModel, has the sizes, vocabulary,
dropout, training pairs and tokens per update of RUN; its batches, too, have sentences of about the same length. AdamW
trains it, with a cosine schedule that ends with the time; the time of RUN includes its validations. Precision is
bfloat16, by autocast, where `nmt` chooses it on this CPU. Both models translate the validation text, and the test text
where there is one, with RUN's own search, and are scored alike. With --state, a training that was ended goes on from
what that file keeps of it; the time between is not counted. With --seconds and --state, RUN may still be in training:
its best checkpoint is read only after the other model is trained.
"""

import argparse
import json
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from arguments import file_to_write, in_one_line, positive
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import MarianConfig, MarianMTModel

from nmt.config import CosineSettings, RunScoring, TransformerSettings
from nmt.data.batching import Batch, collate, plan_epoch
from nmt.data.cache import content_key
from nmt.data.cleaning import prepare_corpus
from nmt.data.corpus import ParallelText
from nmt.data.dataset import load_dataset, select_pairs
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.engine import limit_of
from nmt.decoding.loading import load_translator
from nmt.device import choose_precision
from nmt.errors import UserError
from nmt.evaluation.scoring import score_against
from nmt.evaluation.translating import translate_text
from nmt.export.huggingface.format import generate, settings_of
from nmt.files.writing import write_atomically
from nmt.layouts.huggingface import KEYS
from nmt.models.build import build_model
from nmt.models.transformer import Transformer
from nmt.runs.directory import RunDirectory
from nmt.runs.text import corpus_of_run, data_of_run
from nmt.training.checkpoint import saved_progress
from nmt.training.schedule import learning_rate

LABEL_SMOOTHING = 0.1
WARMUP_SHARE = 0.08  # of the time, about as experiment=multi30k_transformer has of its updates
PADDED_TOKENS = 4  # of a batch, at most, as a multiple of the tokens of an update
LOG_EVERY = 100  # updates
KEEP_EVERY = 300  # seconds of training, where it is to go on after an end
SPLITS = ("validation", "test")


def build(settings: TransformerSettings, tokenizer: Tokenizer) -> Any:
    """Return Hugging Face's model of the same sizes, with random weights."""
    side = tokenizer.target
    with torch.device("meta"):  # sizes alone: drawing weights would change those of the other
        own = build_model(settings, tokenizer)
    assert isinstance(own, Transformer)
    return MarianMTModel(
        MarianConfig(
            **{theirs: settings_of(own)[ours] for theirs, ours in KEYS.items()},
            vocab_size=side.size,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=side.pad_id,
            eos_token_id=side.eos_id,
            bos_token_id=side.bos_id,
            decoder_start_token_id=side.bos_id,
            forced_eos_token_id=None,
        )
    )


def batches(
    text: ParallelText, tokenizer: Tokenizer, max_length: int, update_tokens: int
) -> Iterator[list[Batch]]:
    """Yield the updates of one epoch after the other without end, each as one batch or several."""
    dataset = load_dataset(text, tokenizer)
    rows, _ = select_pairs(dataset, max_length)
    lengths = dataset.source.lengths_of(rows) + 1, dataset.target.lengths_of(rows) + 1  # EOS counts
    for epoch in count():
        updates = plan_epoch(1, epoch, *lengths, update_tokens).within(PADDED_TOKENS * update_tokens)
        yield from ([collate(dataset, rows[part], tokenizer) for part in update] for update in updates)


def loss_of(model: Any, batch: Batch, pad_id: int) -> Tensor:
    """Return the summed loss of a batch."""
    mask = (batch.source != pad_id).long()
    logits = model(input_ids=batch.source, attention_mask=mask, decoder_input_ids=batch.target_in).logits
    return cross_entropy(
        logits.float().flatten(0, 1),
        batch.target_out.flatten(),
        ignore_index=pad_id,
        label_smoothing=LABEL_SMOOTHING,
        reduction="sum",
    )


def keep(path: Path, model: Any, optimizer: torch.optim.Optimizer, progress: dict[str, Any], of: str) -> None:
    """Keep a training of what `of` names in a file, as a whole or not at all."""
    tensors = {f"model/{name}": parameter.detach() for name, parameter in model.named_parameters()}
    for number, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{number}/{name}": tensor for name, tensor in moments.items()}
    tensors["random"] = torch.get_rng_state()
    write_atomically(path, safetensors.torch.save(tensors, {"of": of, "progress": json.dumps(progress)}))


def go_on(path: Path, model: Any, optimizer: torch.optim.Optimizer, of: str) -> dict[str, Any]:
    """Take up a training that was kept; return its progress. Raises UserError for that of another run."""
    with safetensors.safe_open(path, framework="pt") as file:
        if file.metadata().get("of") != of:
            raise UserError(
                "--state: a training with the text, the settings and the learning rate of now is needed to go on; "
                f"got that of others in {path}"
            )
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  it is no dict
        progress: dict[str, Any] = json.loads(file.metadata()["progress"])
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors.pop(f"model/{name}"))
    torch.set_rng_state(tensors.pop("random"))
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        _, number, key = name.split("/")
        moments.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})
    return progress


def train(
    model: Any,
    updates: Iterator[list[Batch]],
    pad_id: int,
    seconds: float,
    highest: float,
    path: Path | None,
    of: str,
) -> dict[str, Any]:
    """Train for `seconds`; return the number of updates and of target tokens, and the seconds that it took.

    With a path, the training is kept there, and goes on from there if it was kept before; `of` names what it learns.
    Raises UserError where what was kept learned something else.
    """
    is_narrow = choose_precision("auto", torch.device("cpu")) == torch.bfloat16
    # The schedule counts thousandths of a second, since the number of updates is not known beforehand.
    end = max(1, round(1000 * seconds))
    schedule = CosineSettings(
        kind="cosine", warmup_updates=max(1, round(WARMUP_SHARE * end)), final_share=0.0
    )
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=highest, betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )
    model.train()
    progress: dict[str, Any] = {"updates": 0, "target tokens": 0, "seconds": 0.0}
    if path and path.exists():
        progress = go_on(path, model, optimizer, of)
        for _ in range(progress["updates"]):  # learned from before
            next(updates)
    began, total, since = time.monotonic() - progress["seconds"], 0.0, progress["updates"]
    kept = progress["seconds"]
    for parts in updates:
        passed = progress["seconds"] = time.monotonic() - began
        is_over = passed >= seconds
        if path and (is_over or passed - kept >= KEEP_EVERY):
            keep(path, model, optimizer, progress, of)
            kept = passed
        if is_over:
            return progress
        num_now = sum(part.num_tokens for part in parts)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(schedule, 1 + int(1000 * passed), highest, end)
        for part in parts:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_narrow):
                loss = loss_of(model, part, pad_id) / num_now
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        progress["updates"] += 1
        progress["target tokens"] += num_now
        if (number := progress["updates"]) % LOG_EVERY == 0:
            mean = total / (number - since)
            print(
                f"update {number} loss {mean:.3f} tokens/s {progress['target tokens'] / passed:.0f}",
                flush=True,
            )
            total, since = 0.0, number
    raise AssertionError


def read(name: str) -> tuple[RunDirectory, TransformerSettings, Tokenizer]:
    """Return a run, its model and its tokenizer. Raises UserError for another model than the other can be."""
    run = RunDirectory.existing(name)
    recorded = run.read_model_settings()
    if not (isinstance(recorded.model, TransformerSettings) and recorded.tokenizer.joint):
        raise UserError(f"run: a Transformer with one vocabulary for both sides is needed; got {name}")
    return run, recorded.model, run.read_tokenizer()


def main() -> None:
    """Train, translate, score, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run")
    parser.add_argument("--seconds", type=positive, help="of training; those of the run by default")
    parser.add_argument("--learning-rate", type=float, default=0.001)
    parser.add_argument(
        "--state", type=file_to_write, help="where to keep the training, so that it can go on"
    )
    parser.add_argument("--json", type=file_to_write, help="figures, and what both translated")
    arguments = parser.parse_args()
    with in_one_line():
        compare(arguments)


def compare(arguments: argparse.Namespace) -> None:
    """Do what `main` was asked for. Raises UserError for what cannot be compared."""
    run, settings, tokenizer = read(arguments.run)
    if arguments.state is None:
        run.find_checkpoints("best")  # raises, before what is learned would be lost
    config = run.read_config()
    max_length, update_tokens = config["data"]["max_length"], config["training"]["update_tokens"]
    corpus = prepare_corpus(corpus_of_run(run), data_of_run(run).filter).corpus
    torch.manual_seed(1)
    model = build(settings, tokenizer)
    updates = batches(corpus.train, tokenizer, max_length, update_tokens)
    seconds = arguments.seconds or saved_progress(run).seconds
    what = settings.model_dump_json(), str(update_tokens), str(arguments.learning_rate)
    vocabulary = run.tokenizer_paths(joint=True)[0].read_bytes()
    of = content_key(corpus.train.source, corpus.train.target, vocabulary, *what)
    figures = train(
        model, updates, tokenizer.target.pad_id, seconds, arguments.learning_rate, arguments.state, of
    )
    model.eval()
    translator = load_translator(arguments.run, "best", "cpu", "auto", [])
    search = translator.settings

    def by_other(text: ParallelText) -> list[str]:
        source = [ids[: max_length - 1] for ids in tokenizer.source.encode(text.source)]
        limits = [limit_of(len(ids), search, settings.max_positions) for ids in source]
        return [tokenizer.target.decode(ids) for ids in generate(model, source, limits, search)]

    evaluation = run.read_settings(RunScoring).evaluation
    found: dict[str, Any] = {
        "run": arguments.run,
        "seconds of the run": saved_progress(run).seconds,
        "other": figures,
        "settings of the other": model.config.to_dict(),
    }
    for split in SPLITS:
        if (text := corpus.texts.get(split)) is None:
            continue
        for name, lines in (
            ("nmt", translate_text(translator, text.source)),
            ("Hugging Face", by_other(text)),
        ):
            scores = score_against(lines, [text.target], evaluation)[:2]
            print(f"{split:10} {name:12} " + " ".join(f"{one.name} {one.value:.2f}" for one in scores))
            found[f"{split} {name}"] = {one.name: one.value for one in scores} | {"translations": lines}
    print({name: round(value) for name, value in figures.items()})
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

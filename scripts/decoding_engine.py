"""One engine, in a process of its own, that translates what it is given: benchmark_decoding.py starts and asks it.

A task comes in as one line of JSON, then requests: groups of lines, each of which is translated at once, and how many
tokens a batch may have. Each request is answered by its translations, the seconds they took, and the peak of memory.
Segmenting the text and putting it together again counts, in all engines.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import peak_resident_memory

from nmt.config import BeamSettings, DecodingSettings, GreedySettings
from nmt.data.tokenizer import Tokenizer
from nmt.errors import UserError

NAMES = "names.json"  # of the tokens, beside an exported model


@dataclass(frozen=True)
class Task:
    """Which engine is to translate, in which precision, with which model, and how it is to search."""

    engine: str
    precision: str
    run: str
    checkpoint: str
    decoding: dict[str, Any]
    threads: int
    at_once: int = 1  # batches that CTranslate2 decodes at the same time, with a share of the threads each
    exported: str = ""  # folder of CTranslate2's model


class Own:
    """This project, as `nmt translate` has it."""

    def __init__(self, task: Task) -> None:
        import torch

        from nmt.decoding.translator import Translator
        from nmt.device import choose_precision, prepare_device
        from nmt.runs.directory import RunDirectory

        torch.set_num_threads(task.threads)
        device = prepare_device("cpu")
        dtype = choose_precision(task.precision, device)
        model, tokenizer = RunDirectory.existing(task.run).load_model(task.checkpoint)
        self.computes_in = str(dtype).removeprefix("torch.")
        self.translator = Translator(model, tokenizer, search_of(task), device, dtype)

    def translate(self, lines: Sequence[str], batch_tokens: int | None) -> list[str]:
        """Translate lines, in batches of the run's own size."""
        return list(self.translator.translate(lines))


class Other:
    """Another engine, with what nmt does before and after the search."""

    computes_in: str
    tokenizer: Tokenizer
    max_positions: int

    def __init__(self, task: Task) -> None:
        self.settings = search_of(task)
        self.beam_size, self.length_penalty = 1, 1.0
        if isinstance(self.settings, BeamSettings):
            self.beam_size, self.length_penalty = self.settings.beam_size, self.settings.length_penalty
            if self.settings.length_penalty_kind != "power":
                raise UserError(
                    f"decoding.length_penalty_kind: power is needed; got {self.settings.length_penalty_kind}"
                )

    def translate(self, lines: Sequence[str], batch_tokens: int | None) -> list[str]:
        """Translate lines in batches of at most `batch_tokens` padded source tokens; a blank line stays blank."""
        assert batch_tokens is not None
        settings, longest = self.settings, self.max_positions - 1
        encoded = self.tokenizer.source.encode(lines)
        kept = [i for i, ids in enumerate(encoded) if ids and lines[i].strip()]
        source = [encoded[i][: min(settings.max_source_tokens, longest)] for i in kept]
        limits = [
            max(1, min(longest, int(settings.max_length_ratio * len(ids)) + settings.max_length_extra))
            for ids in source
        ]
        translations = [""] * len(lines)
        for i, ids, limit in zip(kept, self.search(source, limits, batch_tokens), limits, strict=True):
            translations[i] = self.tokenizer.target.decode(ids[:limit])
        return translations

    def search(self, source: list[list[int]], limits: list[int], batch_tokens: int) -> list[list[int]]:
        """Return target ids, EOS not among them; a translation may be longer than its limit, and is cut then."""
        raise NotImplementedError


class CTranslate2(Other):
    """CTranslate2 on what `nmt export` writes, in a process that does not hold PyTorch."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        sys.modules["torch"] = None  # type: ignore[assignment]  # ctranslate2 imports it where it can, and needs it not
        import ctranslate2

        folder = Path(task.exported)
        models = [folder / f"tokenizer.{side}model" for side in ("", "source.", "target.")]
        self.tokenizer = Tokenizer.of_models(*(path.read_bytes() for path in models if path.exists()))
        facts = json.loads((folder / NAMES).read_text(encoding="utf-8"))
        self.source_names, self.max_positions = facts["source"], facts["max_positions"]
        self.target_ids = {name: i for i, name in enumerate(facts["target"])}
        self.model = ctranslate2.Translator(
            str(folder),
            device="cpu",
            compute_type={"int8": "int8_float32"}.get(task.precision, task.precision),
            inter_threads=task.at_once,
            intra_threads=max(1, task.threads // task.at_once),
        )
        self.computes_in = self.model.compute_type

    def search(self, source: list[list[int]], limits: list[int], batch_tokens: int) -> list[list[int]]:
        """Search as the exported model's own page says."""
        longest = max(limits, default=1)
        results = self.model.translate_batch(
            [[self.source_names[i] for i in ids] for ids in source],
            beam_size=self.beam_size,
            length_penalty=self.length_penalty,
            disable_unk=True,
            return_end_token=True,  # so that the length in the penalty counts it, as in nmt
            min_decoding_length=min(self.settings.min_length, longest),
            max_decoding_length=longest,
            max_input_length=0,
            max_batch_size=batch_tokens,
            batch_type="tokens",
        )
        eos = self.tokenizer.target.eos_id
        found = ([self.target_ids[name] for name in result.hypotheses[0]] for result in results)
        return [[i for i in ids if i != eos] for ids in found]


class HuggingFace(Other):
    """The same weights in a model of transformers, and its `generate` with a cache."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        import torch
        from huggingface_model import to_huggingface

        from nmt.runs.directory import RunDirectory

        torch.set_num_threads(task.threads)
        model, self.tokenizer = RunDirectory.existing(task.run).load_model(task.checkpoint)
        self.model = to_huggingface(model, self.tokenizer).to(getattr(torch, task.precision))
        assert model.max_positions is not None
        self.max_positions, self.computes_in = model.max_positions, task.precision

    def search(self, source: list[list[int]], limits: list[int], batch_tokens: int) -> list[list[int]]:
        """Search in batches of sentences of about one length."""
        import torch
        from transformers import GenerationConfig

        from nmt.data.batching import pad_with_end, plan_by_length
        from nmt.data.dataset import Ids

        vocabulary, ids = self.tokenizer.target, Ids.of(source)
        found: list[list[int]] = [[] for _ in source]
        for rows in plan_by_length(ids.lengths + 1, batch_tokens):
            specials = self.tokenizer.source.pad_id, self.tokenizer.source.eos_id
            padded, lengths, _ = pad_with_end(ids, rows, *specials)
            longest = max(limits[row] for row in rows)
            config = GenerationConfig(
                num_beams=self.beam_size,
                length_penalty=self.length_penalty,
                # As CTranslate2: done when as many hypotheses have ended; all other ways to stop take longer.
                early_stopping=self.beam_size > 1,
                min_new_tokens=min(self.settings.min_length, longest),
                max_new_tokens=longest + 1,
                pad_token_id=vocabulary.pad_id,
                eos_token_id=vocabulary.eos_id,
                forced_eos_token_id=vocabulary.eos_id,
                decoder_start_token_id=vocabulary.bos_id,
            )
            with torch.inference_mode():
                mask = torch.arange(padded.shape[1]) < lengths.unsqueeze(1)
                result = self.model.generate(padded, attention_mask=mask.long(), generation_config=config)
            for row, tokens in zip(rows, result[:, 1:].tolist(), strict=True):
                found[row] = tokens[: tokens.index(vocabulary.eos_id)]
        return found


ENGINES: dict[str, type[Own] | type[Other]] = {
    "nmt": Own,
    "ctranslate2": CTranslate2,
    "huggingface": HuggingFace,
}


def search_of(task: Task) -> DecodingSettings:
    """Return the settings of the search of a task."""
    kind = BeamSettings if task.decoding["kind"] == "beam" else GreedySettings
    return kind.model_validate(task.decoding)


def main() -> None:
    """Load an engine, then answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed is no answer

    def answer(**values: Any) -> None:
        print(json.dumps(values), file=answers, flush=True)

    task = Task(**json.loads(sys.stdin.readline()))
    try:
        engine = ENGINES[task.engine](task)
    except UserError as error:
        answer(left_out=str(error))
        return
    answer(computes_in=engine.computes_in)
    for line in sys.stdin:
        request = json.loads(line)
        began = time.perf_counter()
        translations = [engine.translate(lines, request["batch_tokens"]) for lines in request["groups"]]
        seconds = time.perf_counter() - began
        answer(translations=translations, seconds=seconds, peak_memory_gb=peak_resident_memory())


if __name__ == "__main__":
    main()

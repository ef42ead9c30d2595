"""The engine of CTranslate2: translates with a folder that a run was exported to, without PyTorch."""

import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from nmt.config import BeamSettings, DecodingSettings, MBRSettings, RandomSettings, SamplingSettings
from nmt.data.arrays import FloatArray
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.engine import Found, Hypothesis, Search, Sentence, limit_of
from nmt.decoding.vocabulary_map import read_map
from nmt.errors import DeviceError, RunError, SettingsError
from nmt.files.reading import read_json, read_plain
from nmt.runs.directory import MAX_TOKENIZER_BYTES, RunDirectory
from nmt.versions import importing, require

# Padded source tokens times hypotheses that a thread computes at once. Each batch has a thread of its own, which takes
# less processor time than threads that wait for each other. A single sentence is done sooner by all threads together.
TOKENS_AT_ONCE = 2048
ANY_SEED = (1 << 32) - 1  # with it, CTranslate2 chooses a seed by itself; it takes none above
# Settings of which CTranslate2 supports only one value, and that value.
FIXED = {
    "length_penalty_kind": "power",
    "early_stopping": True,
    "coverage_penalty": 0.0,
    "num_groups": 1,
    "glossary": None,
    "protect": [],
}


def load_ctranslate2(key: str = "format") -> Any:
    """Import CTranslate2, which nothing else here needs. Raises UserError, of `key`, where it is not installed."""
    with importing("export", key):
        import ctranslate2
    require("ctranslate2")
    return ctranslate2


class CTranslate2Engine:
    """An exported folder on a device; see `nmt.decoding.engine.Engine`."""

    def __init__(self, run: RunDirectory, device: str, precision: str) -> None:
        """Load the model. Raises UserError where the folder or the device does not allow it."""
        settings, library = run.read_model_settings(), load_ctranslate2("run")
        self.tokenizer = run.read_tokenizer()
        self.names = TokenNames.of(self.tokenizer)
        self.target_ids = {name: i for i, name in enumerate(self.names.target)}
        self.max_positions = getattr(settings.model, "max_positions", None)
        self.learned_lengths, _ = run.read_facts()
        self.has_map = run.shortlist_path.is_file()
        if self.has_map:  # CTranslate2 would die of a damaged one
            read_map(run.shortlist_path, self.tokenizer)
        where = choose_device(library, device)
        self._require_names(run.path)
        self.load = partial(
            library.Translator,
            str(run.path),
            device=where,
            compute_type=choose_type(library, device, precision),
        )
        self.num_threads = count_threads() if where == "cpu" else 1
        self.process = os.getpid()
        try:
            self.model = self.load(inter_threads=self.num_threads, intra_threads=1)
        except (RuntimeError, ValueError, IndexError) as error:
            raise RunError(f"run: an undamaged export is needed; got {run.path}: {error}") from None

    def _require_names(self, folder: Path) -> None:
        """Raise RunError unless the model has the names of the tokenizer's tokens, in the same order."""
        special = {"unk_token": self.names.unk, "bos_token": self.names.bos, "eos_token": self.names.eos}
        config = read_json(folder / "config.json")
        if any(config.get(key) != name for key, name in special.items()):
            raise RunError(
                f"run: an undamaged export is needed; got {folder / 'config.json'} with other tokens than its tokenizer"
            )
        shared = folder / "shared_vocabulary.json"
        for side, names in (("source", self.names.source), ("target", self.names.target)):
            path = shared if shared.exists() else folder / f"{side}_vocabulary.json"
            try:
                found = json.loads(read_plain(path, MAX_TOKENIZER_BYTES))
            except (ValueError, RecursionError):
                found = None
            if found != names:
                raise RunError(
                    f"run: an undamaged export is needed; got {path} with other tokens than its tokenizer"
                )

    def require_own_process(self) -> None:
        """Raise RunError in a process that was forked after loading: it lacks the model's threads, and would wait."""
        if os.getpid() != self.process:
            raise RunError("run: a model from before a fork cannot be used; load it in each process")

    @cached_property
    def together(self) -> Any:
        """A second copy of the model, whose threads share one batch; none for integer types, which are no faster so."""
        if self.num_threads == 1 or self.model.compute_type.startswith("int"):
            return self.model
        return self.load(inter_threads=1, intra_threads=self.num_threads)

    def search(self, settings: DecodingSettings, num_hypotheses: int) -> Search:
        """Return a search for `num_hypotheses` of each sentence.

        Raises SettingsError for a value that CTranslate2 does not support, RunError for a shortlist that is not there.
        """
        for key, value in FIXED.items():
            if getattr(settings, key, value) != value:
                needed, given = json.dumps(value), json.dumps(getattr(settings, key))
                raise SettingsError(
                    f"decoding.{key}: {needed} is needed for an exported folder, since CTranslate2 has nothing else; "
                    f"got {given}"
                )
        if settings.shortlist and not self.has_map:
            raise RunError(
                "decoding.shortlist: false is needed for a folder without one (`nmt shortlist run=FOLDER` makes one); "
                "got true"
            )
        if not isinstance(settings, RandomSettings):
            return partial(self.find, self.model, settings, num_hypotheses)
        return Sampling(self, settings, num_hypotheses)

    def find(
        self, model: Any, settings: DecodingSettings, num_hypotheses: int, sentences: Sequence[Sentence]
    ) -> list[Found]:
        """Search the sentences with a model; return the results in their order.

        Those with a prefix are searched by themselves: where any has one, CTranslate2 treats the others otherwise, too.
        """
        self.require_own_process()
        found = dict[int, Found]()
        for has_prefix in (False, True):
            rows = [i for i, one in enumerate(sentences) if bool(one.prefix) is has_prefix]
            alike = [sentences[i] for i in rows]
            found |= zip(rows, self._find(model, settings, num_hypotheses, alike, has_prefix), strict=True)
        return [found[i] for i in range(len(sentences))]

    def _find(
        self,
        model: Any,
        settings: DecodingSettings,
        num_hypotheses: int,
        sentences: Sequence[Sentence],
        has_prefix: bool,
    ) -> list[Found]:
        """Search sentences that all have a prefix, or all have none."""
        if not sentences:
            return []
        limits = [
            max(limit_of(len(one.source), settings, self.max_positions), len(one.prefix)) for one in sentences
        ]
        num_rows = num_copies = 1
        options: dict[str, Any] = {"num_hypotheses": num_hypotheses, "beam_size": 1}
        if isinstance(settings, BeamSettings):
            num_rows = options["beam_size"] = settings.beam_size
            options |= {"length_penalty": settings.length_penalty, "return_scores": True}
        elif isinstance(settings, RandomSettings):
            if isinstance(settings, MBRSettings):
                options["num_hypotheses"] = settings.num_samples
            if settings.top_k == 1:  # all samples are equal, and CTranslate2 finds one alone
                num_copies, options["num_hypotheses"] = options["num_hypotheses"], 1
            num_rows = options["num_hypotheses"]
            options |= {
                "sampling_topk": min(settings.top_k or 0, len(self.target_ids)),
                "sampling_topp": 1.0 if settings.top_p is None else settings.top_p,
                "sampling_temperature": settings.temperature,
            }
        # Batches are made small enough for every thread to get one, even where all sentences would fit into one batch.
        longest = max(len(one.source) for one in sentences) + 1
        num_threads = self.num_threads if model is self.model else 1
        share = -(-len(sentences) // num_threads) * longest
        if len(sentences) == 1 and model is self.model:
            model = self.together
        began = time.monotonic()
        results = model.translate_batch(
            self._source([one.source for one in sentences]),
            self._target([one.prefix for one in sentences]) if has_prefix else None,
            max_batch_size=max(1, min(min(settings.max_tokens, TOKENS_AT_ONCE) // num_rows, share)),
            batch_type="tokens",
            max_input_length=0,
            max_decoding_length=max(limits),
            min_decoding_length=min(settings.min_length, max(limits)),
            repetition_penalty=settings.repetition_penalty,
            no_repeat_ngram_size=settings.no_repeat_ngram_size or 0,
            disable_unk=True,
            # EOS counts in the length that a score is divided by, as in the other engine.
            return_end_token=True,
            # With a shortlist, version 4.8.5 takes the tokens of prefixes for others from its second batch on.
            use_vmap=settings.shortlist and not has_prefix,
            **options,
        )
        seconds = time.monotonic() - began
        return [
            Found(
                [self._hypothesis(result, i, limit) for i in range(len(result.hypotheses))] * num_copies,
                seconds,
            )
            for result, limit in zip(results, limits, strict=True)
        ]

    def _hypothesis(self, result: Any, number: int, limit: int) -> Hypothesis:
        """Return one hypothesis of a result, cut to its own limit: CTranslate2 has one limit for all sentences.

        One that is cut has no score, since that of CTranslate2 is of all of it.
        """
        ids = [self.target_ids[name] for name in result.hypotheses[number] if name != self.names.eos]
        has_score = result.scores and len(ids) <= limit
        return Hypothesis(ids[:limit], result.scores[number] if has_score else None)

    def token_log_probs(
        self, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]], max_tokens: int
    ) -> list[list[float]]:
        """Return the log-probabilities of given translations, see `Engine`."""
        self.require_own_process()
        scored = self.model.score_batch(
            self._source(source),
            self._target(target),
            max_batch_size=min(max_tokens, TOKENS_AT_ONCE),
            batch_type="tokens",
            max_input_length=0,
        )
        return [one.log_probs for one in scored]

    def attention(
        self, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]
    ) -> list[FloatArray] | None:
        """Return the attention of given translations, see `Engine`: of one layer, which the export chose."""
        self.require_own_process()
        results = self.model.translate_batch(
            self._source(source),
            self._target(target),
            beam_size=1,
            max_input_length=0,
            max_batch_size=TOKENS_AT_ONCE,
            batch_type="tokens",
            max_decoding_length=max(map(len, target), default=0) + 1,
            return_attention=True,
        )
        return [np.array(result.attention[0]) for result in results]

    def _source(self, rows: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self.names.source[i] for i in ids] for ids in rows]

    def _target(self, rows: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self.names.target[i] for i in ids] for ids in rows]


def count_threads() -> int:
    """Return how many batches to compute at once on a CPU: OMP_NUM_THREADS, or one for each core of this process."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose_device(library: Any, name: str) -> str:
    """Return cpu or cuda for `auto`, `cpu` or `cuda`. Raises DeviceError where there is no such device."""
    has_gpu = library.get_cuda_device_count() > 0
    if name == "auto":
        return "cuda" if has_gpu else "cpu"
    if name == "mps" or (name == "cuda" and not has_gpu):
        there = "cpu, cuda" if has_gpu else "cpu"
        raise DeviceError(f"device: one that CTranslate2 has here is needed ({there}); got {name}")
    return name


def choose_type(library: Any, device: str, precision: str) -> str:
    """Return the type of products; for `auto` it is that of the weights, as far as the device supports it.

    Raises DeviceError for a type that it does not support.
    """
    if precision == "auto":
        return "default"
    supported = library.get_supported_compute_types(choose_device(library, device))
    if precision not in supported:
        raise DeviceError(
            f"precision: auto or one that CTranslate2 has here is needed ({', '.join(sorted(supported))}); "
            f"got {precision}"
        )
    return precision


@dataclass(frozen=True)
class TokenNames:
    """Names of the ids of both sides for CTranslate2, which knows tokens by their text alone."""

    source: list[str]
    target: list[str]
    unk: str
    bos: str
    eos: str

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "TokenNames":
        """Name each id by its piece, and special ids by names that are the same on both sides and no piece of text."""
        sides = (tokenizer.source, tokenizer.target)
        of_text = {
            piece
            for side in sides
            for piece_id, piece in enumerate(side.pieces)
            if piece_id not in side.special_ids
        }
        specials = []
        for name in ("<pad>", "<unk>", "<s>", "</s>"):
            while name in of_text:
                name += "_"
            specials.append(name)
        source, target = (list(side.pieces) for side in sides)
        for side, names in zip(sides, (source, target), strict=True):
            for special_id, name in zip(side.special_ids, specials, strict=True):
                names[special_id] = name
        return cls(source, target, *specials[1:])


class Sampling:
    """A search that draws at random, with a model of its own, which is loaded for the first sentences.

    A thread of CTranslate2 draws from the seed that the process has when the thread first draws. A new seed thus needs
    a new thread, only one, and no other seed until it has drawn.
    """

    seeding = threading.Lock()

    def __init__(
        self, engine: CTranslate2Engine, settings: SamplingSettings | MBRSettings, num_hypotheses: int
    ) -> None:
        self.engine, self.settings, self.num_hypotheses = engine, settings, num_hypotheses
        self.model: Any = None

    def __call__(self, sentences: Sequence[Sentence]) -> list[Found]:
        """Return the samples of each sentence."""
        if not sentences:  # nothing is drawn, and no seed is taken
            return []
        if self.model is not None:
            return self._draw(sentences)
        with self.seeding:
            load_ctranslate2().set_random_seed(self.settings.seed % ANY_SEED)
            self.model = self.engine.load(inter_threads=1, intra_threads=1)
            return self._draw(sentences)

    def _draw(self, sentences: Sequence[Sentence]) -> list[Found]:
        return self.engine.find(self.model, self.settings, self.num_hypotheses, sentences)

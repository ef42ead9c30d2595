"""A folder that CTranslate2 loads, with the tokenizer and a page on how to translate with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmt.config import DecodingSettings, Quantization
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.ctranslate2_engine import TokenNames, load_ctranslate2
from nmt.decoding.shortlist import Shortlist
from nmt.errors import DeviceError
from nmt.evaluation.model import validation_search
from nmt.export.comparison import Comparison
from nmt.export.ctranslate2.readme import readme
from nmt.export.ctranslate2.specification import norm_epsilon, specification
from nmt.export.formats import Exported, Found
from nmt.files.writing import write_atomically
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import RunDirectory

VOCABULARY_MAP = "vmap.txt"  # the name that CTranslate2 looks for


class CTranslate2:
    """See `nmt.export.formats.Format`. It is compared in greedy search, and once more with the shortlist."""

    mark = "model.bin"

    def require(self) -> None:
        load_ctranslate2()

    def write(self, folder: Path, exported: Exported) -> None:
        quantization = exported.settings.quantization
        write_model(folder, exported.model, exported.tokenizer, quantization, exported.shortlist)

    def searches(self, exported: Exported) -> Sequence[DecodingSettings]:
        greedy = validation_search(exported.settings.decoding)
        short = greedy.model_copy(update={"shortlist": True})
        return [greedy] if exported.shortlist is None else [greedy, short]

    def translate(
        self,
        folder: Path,
        exported: Exported,
        search: DecodingSettings,
        source: Sequence[Sequence[int]],
        limits: Sequence[int],
    ) -> Found:
        library, names = load_ctranslate2(), TokenNames.of(exported.tokenizer)
        device, quantization = exported.settings.device, exported.settings.quantization
        if device == "cuda" and not library.get_cuda_device_count():
            raise DeviceError("device: cpu is needed, since CTranslate2 finds no GPU here; got cuda")
        supported = library.get_supported_compute_types(device)
        compute_type = quantization if quantization in supported else "float32"
        longest = max(limits)
        try:
            translator = library.Translator(str(folder), device=device, compute_type=compute_type)
            results = translator.translate_batch(
                [[names.source[i] for i in ids] for ids in source],
                max_batch_size=search.max_tokens,
                batch_type="tokens",
                beam_size=1,
                max_input_length=0,
                max_decoding_length=longest,
                min_decoding_length=min(search.min_length, longest),
                repetition_penalty=search.repetition_penalty,
                no_repeat_ngram_size=search.no_repeat_ngram_size or 0,
                disable_unk=True,
                use_vmap=search.shortlist,
            )
        except RuntimeError as error:
            if device == "cpu":
                raise
            raise DeviceError(
                f"device: one that CTranslate2 can compute on is needed; got {device}: {error}"
            ) from None
        target_ids = {name: i for i, name in enumerate(names.target)}
        found = [[target_ids[name] for name in result.hypotheses[0]] for result in results]
        # In greedy search a lower limit cuts, and changes nothing before.
        return Found([ids[:limit] for ids, limit in zip(found, limits, strict=True)], compute_type)

    def page(self, exported: Exported, comparisons: Sequence[Comparison]) -> str:
        return readme(exported, comparisons)


def write_model(
    folder: Path,
    model: Seq2Seq,
    tokenizer: Tokenizer,
    quantization: Quantization = "float32",
    shortlist: Shortlist | None = None,
) -> None:
    """Write model, vocabularies, tokenizer and, where there is one, the shortlist as a vocabulary map.

    Raises RunError for a model that CTranslate2 cannot hold.
    """
    spec: Any = specification(model, tokenizer.target)
    names = TokenNames.of(tokenizer)
    spec.register_source_vocabulary(names.source)
    spec.register_target_vocabulary(names.target)
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = names.unk, names.bos, names.eos
    spec.config.decoder_start_token = names.bos
    spec.config.add_source_bos, spec.config.add_source_eos = False, True
    spec.config.layer_norm_epsilon = norm_epsilon(model)
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))
    RunDirectory(folder).write_tokenizer(tokenizer)
    if shortlist is not None:
        write_atomically(folder / VOCABULARY_MAP, shortlist.to_bytes(tokenizer.source))

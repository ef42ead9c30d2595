"""A folder that CTranslate2 loads, with the tokenizer and a page on how to translate with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmt.config import DecodingSettings, Quantization
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.confidence import calibration_of
from nmt.decoding.ctranslate2_engine import FIXED, CTranslate2Engine, TokenNames, load_ctranslate2
from nmt.decoding.engine import Sentence
from nmt.decoding.shortlist import Shortlist
from nmt.evaluation.translating import validation_search
from nmt.export.comparison import Comparison
from nmt.export.ctranslate2.readme import readme
from nmt.export.ctranslate2.specification import norm_epsilon, specification
from nmt.export.formats import Exported, Found, NewModel, Work
from nmt.files.reading import MAX_JSON_BYTES, read_plain
from nmt.files.writing import to_json, write_atomically
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import CONFIDENCE, DATA, EXPORTED_CONFIG, VOCABULARY_MAP, RunDirectory
from nmt.runs.migration import FORMAT


class CTranslate2:
    """See `nmt.export.formats.Format`. It is compared in greedy search, and again with a shortlist, if any."""

    def require(self, new: NewModel | None = None) -> None:
        load_ctranslate2()

    def write(self, folder: Path, exported: Exported) -> None:
        quantization = exported.settings.quantization
        write_model(folder, exported.model, exported.tokenizer, quantization, exported.shortlist)
        write_facts(folder, exported)

    def searches(self, exported: Exported) -> Sequence[DecodingSettings]:
        greedy = validation_search(exported.settings.decoding)
        short = greedy.model_copy(update={"shortlist": True})
        return [greedy] if exported.shortlist is None else [greedy, short]

    def translate(self, folder: Path, exported: Exported, work: Work) -> Found:
        search, source, _ = work
        engine = CTranslate2Engine(RunDirectory(folder), exported.settings.device, "auto")
        found = engine.search(search, 1)([Sentence(ids) for ids in source])
        return Found([one.hypotheses[0].tokens for one in found], engine.model.compute_type)

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


def write_facts(folder: Path, exported: Exported) -> None:
    """Write what `nmt` needs to translate with the folder: the settings of the run, lengths, and curves of confidence.

    Keys of the search that CTranslate2 does not support get the value that describes what it does. Curves are written
    only if they were fitted on this checkpoint.
    """
    run, decoding = exported.run, exported.settings.decoding
    fixed = {key: value for key, value in FIXED.items() if hasattr(decoding, key)}
    config = run.read_config() | {"format": FORMAT}
    config["decoding"] = decoding.model_copy(update=fixed).model_dump(mode="json")
    write_atomically(folder / EXPORTED_CONFIG, to_json(config))
    for name, is_kept in (
        (DATA, True),
        (CONFIDENCE, calibration_of(run, exported.settings.checkpoint) is not None),
    ):
        if is_kept and (run.path / name).is_file():
            write_atomically(folder / name, read_plain(run.path / name, MAX_JSON_BYTES))

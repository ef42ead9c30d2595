"""A package of Argos Translate and LibreTranslate: a CTranslate2 model, its tokenizer, and the names of languages."""

import json
import shutil
import zipfile
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent

import sentencepiece
import torch

from nmt.config import BeamSettings, DecodingSettings, GreedySettings
from nmt.data.context import Context
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.ctranslate2_engine import choose_device, load_ctranslate2
from nmt.errors import DataError, RunError
from nmt.evaluation.translating import validation_search
from nmt.export.comparison import Comparison
from nmt.export.ctranslate2.format import write_model
from nmt.export.formats import Exported, Found, NewModel, Work
from nmt.export.weights import FORBIDDEN
from nmt.files.writing import write_atomically
from nmt.layouts.pieces import tags_of_lines
from nmt.models.interface import Seq2Seq
from nmt.models.transformer import Transformer
from nmt.runs.languages import Language, languages_of

VERSION = "1.0"
# The oldest version of Argos Translate that the package is for. Before 1.10, it shows the bytes by which a vocabulary
# spells what it lacks as `<0xE4>`.
ARGOS_VERSION, ARGOS_VERSION_OF_BYTES = "1.9.0", "1.10.0"
TOKENIZER = "sentencepiece.model"
# How Argos Translate searches, which no package can change; the limits of length are CTranslate2's defaults.
BEAM_SIZE, LENGTH_PENALTY, MIN_LENGTH, MAX_LENGTH, MAX_SOURCE_LENGTH, BATCH_SIZE = 4, 0.2, 1, 256, 1024, 32

PAGE = """\
# A translation model for Argos Translate and LibreTranslate

Exported by nmt from checkpoint `{checkpoint}` of the run `{run}`: {source} to {target}. It was compared with the run
before it was written, by CTranslate2 as Argos Translate runs it, greedily and in its beam:

{report}

To install it, where there is Argos Translate {argos_version} or later (`pip install argostranslate`, or the smaller
`argos-translate-lt`) or LibreTranslate:

```python
import argostranslate.package

argostranslate.package.install_from_path("{package}")
```

LibreTranslate has it when it starts again. To translate in Python:

```python
import argostranslate.translate

print(argostranslate.translate.translate({example!r}, "{source_code}", "{target_code}"))
```

What differs from `nmt translate`:

- Argos Translate searches by a beam of {beam_size} (`ARGOS_BEAM_SIZE`) with the length penalty {length_penalty},
  whatever the run was tuned with, and stops once so many hypotheses have ended; nmt goes on while a better one is in
  sight.
- It cuts text into sentences, {splitter}
- A sentence of more than {max_source_length} tokens is cut; a translation has from one to {max_length} tokens.
- An underscore in a translation becomes a space.
- Weights here are in {quantization}. `argostranslate` computes in what is fastest on the machine, often 8-bit integers;
  with `ARGOS_COMPUTE_TYPE=default` it computes in that of the weights, as `argos-translate-lt` does.
- UNK, PAD and BOS never come, because of their output bias.
"""
OWN_SPLITTER = "with the model that the package has for it."
FETCHED_SPLITTER = """\
with a model for `{source_code}` that it fetches when it first translates; `splitter=FILE.onnx` of
  `nmt export` puts one into the package."""


class Argos:
    """See `nmt.export.formats.Format`. It is compared in greedy search and in Argos Translate's own beam."""

    def require(self, new: NewModel | None = None) -> None:
        load_ctranslate2()

    def write(self, folder: Path, exported: Exported) -> None:
        _require_plain(exported.tokenizer)
        languages = _languages(exported)
        name = _package_name(*languages)
        with TemporaryDirectory(dir=folder) as temporary:
            package = Path(temporary) / name
            model = package / "model"
            model.mkdir(parents=True)
            write_model(
                model,
                _fitted(exported.model, exported.tokenizer),
                exported.tokenizer,
                exported.settings.quantization,
            )
            (model / "tokenizer.model").rename(package / TOKENIZER)
            metadata = _metadata(*languages, exported.tokenizer)
            write_atomically(package / "metadata.json", json.dumps(metadata, indent=1).encode())
            if exported.settings.splitter is not None:
                _copy_splitter(Path(exported.settings.splitter), package / "minisbd")
            archive = shutil.make_archive(str(Path(temporary) / "archive"), "zip", temporary, name)
            Path(archive).rename(folder / f"{name}.argosmodel")

    def searches(self, exported: Exported) -> Sequence[DecodingSettings]:
        """Return greedy search, which finds the same on both sides, and the beam, which now and then does not."""
        greedy = validation_search(exported.settings.decoding).model_dump() | {
            "max_length_ratio": 0.0, "max_length_extra": MAX_LENGTH, "max_source_tokens": MAX_SOURCE_LENGTH - 1,
            "min_length": MIN_LENGTH, "repetition_penalty": 1.0, "no_repeat_ngram_size": None,
        }  # fmt: skip
        beam = greedy | {
            "kind": "beam", "beam_size": BEAM_SIZE, "length_penalty": LENGTH_PENALTY, "length_penalty_kind": "power",
            "coverage_penalty": 0.0, "early_stopping": True, "num_groups": 1, "diversity_penalty": 0.0,
            "glossary": None, "protect": [],
        }  # fmt: skip
        return GreedySettings.model_validate(greedy), BeamSettings.model_validate(beam)

    def translate(self, folder: Path, exported: Exported, work: Work) -> Found:
        search, source, limits = work
        (path,) = folder.glob("*.argosmodel")
        with TemporaryDirectory() as temporary:
            with zipfile.ZipFile(path) as archive:
                archive.extractall(temporary)
            package = Path(temporary) / path.stem
            processor = sentencepiece.SentencePieceProcessor(model_file=str(package / TOKENIZER))
            library, device = load_ctranslate2(), exported.settings.device
            translator = library.Translator(str(package / "model"), device=choose_device(library, device))
            results = translator.translate_batch(
                [processor.id_to_piece(list(ids)) for ids in source],
                replace_unknowns=True,
                max_batch_size=BATCH_SIZE,
                batch_type="tokens",
                beam_size=search.beam_size if isinstance(search, BeamSettings) else 1,
                num_hypotheses=1,
                length_penalty=LENGTH_PENALTY,
                return_scores=True,
                max_decoding_length=max(limits),
            )
        found: list[list[int]] = [processor.piece_to_id(result.hypotheses[0]) for result in results]
        return Found(found, translator.compute_type, is_same_search=not isinstance(search, BeamSettings))

    def page(self, exported: Exported, comparisons: Sequence[Comparison]) -> str:
        source, target = _languages(exported)
        has_splitter = exported.settings.splitter is not None
        return PAGE.format(
            argos_version=_argos_version(exported.tokenizer),
            checkpoint=exported.settings.checkpoint,
            run=exported.run.path.resolve().name,
            source=source.name,
            target=target.name,
            report=indent("\n\n".join(one.report() for one in comparisons), "    "),
            package=f"{_package_name(source, target)}.argosmodel",
            example=f"Text in {source.name}",
            source_code=source.code,
            target_code=target.code,
            beam_size=BEAM_SIZE,
            length_penalty=LENGTH_PENALTY,
            splitter=OWN_SPLITTER if has_splitter else FETCHED_SPLITTER.format(source_code=source.code),
            max_source_length=MAX_SOURCE_LENGTH - 1,
            max_length=MAX_LENGTH,
            quantization=exported.settings.quantization,
        )


def _require_plain(tokenizer: Tokenizer) -> None:
    """Raise RunError for two vocabularies, language tags or context lines: a package cannot have them."""
    if not tokenizer.joint:
        raise RunError(
            "run: tokenizer.joint=true is needed with format=argos, since a package has one tokenizer, which reads the "
            "source and puts the translation together; got false"
        )
    if tags := tags_of_lines(tokenizer.source.pieces):
        raise RunError(
            "run: a model of one pair of languages is needed with format=argos, since a package cannot say which tag "
            f"its lines begin with; got {', '.join(tags)}"
        )
    if num_lines := Context.of(tokenizer.source).num_lines:
        raise RunError(
            "run: data.context=0 is needed with format=argos, since Argos Translate gives each sentence alone; "
            f"got {num_lines}"
        )


def _fitted(model: Seq2Seq, tokenizer: Tokenizer) -> Seq2Seq:
    """Return the model fitted to Argos Translate: it never writes UNK, and reads up to MAX_SOURCE_LENGTH positions.

    Raises RunError for a model that has learned fewer positions.
    """
    if not isinstance(model, Transformer):
        return model  # `write_model` refuses it, with the reason
    fitted = deepcopy(model)
    with torch.no_grad():  # nothing else tells CTranslate2 that UNK must not come
        fitted.output.bias[tokenizer.target.unk_id] = FORBIDDEN
    assert fitted.max_positions is not None
    if model.options.positions == "learned" and fitted.max_positions < MAX_SOURCE_LENGTH:
        raise RunError(
            f"run: model.max_positions of at least {MAX_SOURCE_LENGTH} is needed with format=argos and learned "
            f"positions, since Argos Translate cuts no sentence to fewer tokens; got {fitted.max_positions}"
        )
    fitted.max_positions = max(fitted.max_positions, MAX_SOURCE_LENGTH)
    return fitted


def _languages(exported: Exported) -> tuple[Language, Language]:
    settings = exported.settings
    return languages_of(exported.run, settings.source_language, settings.target_language)


def _package_name(source: Language, target: Language) -> str:
    return f"translate-{source.code}_{target.code}-{VERSION.replace('.', '_')}"


def _argos_version(tokenizer: Tokenizer) -> str:
    return ARGOS_VERSION_OF_BYTES if tokenizer.target.has_bytes else ARGOS_VERSION


def _metadata(source: Language, target: Language, tokenizer: Tokenizer) -> dict[str, str]:
    return {
        "package_version": VERSION,
        "argos_version": _argos_version(tokenizer),
        "from_code": source.code,
        "from_name": source.name,
        "to_code": target.code,
        "to_name": target.name,
    }


def _copy_splitter(path: Path, folder: Path) -> None:
    if path.suffix != ".onnx" or not path.is_file():
        raise DataError(f"splitter: a model of MiniSBD, a file XX.onnx, is needed; got {path}")
    folder.mkdir()
    shutil.copyfile(path, folder / path.name)

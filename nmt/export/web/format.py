"""A folder with a page that translates in the browser, and all that it needs."""

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from nmt.config import BeamSettings, DecodingSettings
from nmt.data.learned_lengths import USUAL_LENGTH
from nmt.export.comparison import Comparison
from nmt.export.formats import NO_RULES, Exported, Found, NewModel, Work, plain_search
from nmt.export.onnx.format import SUFFIXES, check_settings, limits_of, write_graphs
from nmt.export.onnx.graph import check
from nmt.export.onnx.run import DECODER, ENCODER, Beam, Graphs, SpecialIds, beam_search, load_onnxruntime
from nmt.export.web.readme import licenses, readme
from nmt.export.web.runtime import PROGRAM, copy_runtime
from nmt.export.web.vocabulary import vocabulary_json
from nmt.files.writing import to_json, write_atomically
from nmt.layouts.pieces import tags_of_lines
from nmt.models.transformer import Transformer
from nmt.runs.languages import code_of, names_of_text, shown

GRAPHS, RUNTIME = "model", "runtime"  # folders beside the page
FACTS = "translation.json"  # what the page reads first
PAGE = ("index.html", "style.css", "icon.svg", "page.js", "search.js", "segmentation.js")


class Web:
    """See `nmt.export.formats.Format`. It is compared in the page's own search."""

    def require(self, new: NewModel | None = None) -> None:
        load_onnxruntime()

    def write(self, folder: Path, exported: Exported) -> None:
        check_settings(exported)
        model, settings = check(exported.model), exported.settings
        version = copy_runtime(settings.runtime, folder / RUNTIME)
        (folder / GRAPHS).mkdir()
        write_graphs(folder / GRAPHS, model, exported.tokenizer, settings.quantization)
        vocabularies = _write_vocabularies(folder / GRAPHS, exported)
        for name in PAGE:
            content = resources.files("nmt.export.web").joinpath("page", name).read_bytes()
            write_atomically(folder / name, content)
        write_atomically(folder / "LICENSES.md", licenses(version).encode())
        graphs = [f"{GRAPHS}/{name}{SUFFIXES[settings.quantization]}.onnx" for name in (ENCODER, DECODER)]
        files = dict.fromkeys([f"{RUNTIME}/{PROGRAM}", *graphs, *vocabularies])
        facts = _facts(exported, model) | {
            "encoder": graphs[0],
            "decoder": graphs[1],
            "source_vocabulary": vocabularies[0],
            "target_vocabulary": vocabularies[1],
            "files": {name: (folder / name).stat().st_size for name in files},
        }
        write_atomically(folder / FACTS, to_json(facts))

    def searches(self, exported: Exported) -> Sequence[DecodingSettings]:
        decoding = exported.settings.decoding
        if not isinstance(decoding, BeamSettings):
            return [plain_search(exported)]
        plain = {"split": "none", "shortlist": False, "coverage_penalty": 0.0, "num_groups": 1}
        unbound: dict[str, Any] = {"glossary": None, "protect": []}
        return [decoding.model_copy(update=NO_RULES | plain | unbound)]

    def translate(self, folder: Path, exported: Exported, work: Work) -> Found:
        search, source, limits = work
        quantization = exported.settings.quantization
        graphs = Graphs(folder / GRAPHS, SUFFIXES[quantization])
        special, beam = SpecialIds.of(exported.tokenizer), beam_of(search)
        found = [
            beam_search(graphs, ids, limit, special, beam) for ids, limit in zip(source, limits, strict=True)
        ]
        return Found(found, quantization)

    def page(self, exported: Exported, comparisons: Sequence[Comparison]) -> str:
        return readme(exported, comparisons)


def beam_of(search: DecodingSettings) -> Beam:
    """Return the beam of these settings, without their rules; for any search without a beam, greedy search."""
    if not isinstance(search, BeamSettings):
        return Beam()
    return Beam(search.beam_size, search.length_penalty, search.length_penalty_kind, search.early_stopping)


def _write_vocabularies(folder: Path, exported: Exported) -> list[str]:
    """Write the vocabulary files, and return the names of those of source and target; a joint one is named twice."""
    sides = {"vocabulary.json": exported.tokenizer.source}
    if not exported.tokenizer.joint:
        sides = {
            "source_vocabulary.json": exported.tokenizer.source,
            "target_vocabulary.json": exported.tokenizer.target,
        }
    for name, side in sides.items():
        # The JSON has no white space, since browsers would have to fetch it.
        text = json.dumps(vocabulary_json(side), ensure_ascii=False, separators=(",", ":"))
        write_atomically(folder / name, text.encode())
    names = [f"{folder.name}/{name}" for name in sides]
    return [names[0], names[-1]]


def _facts(exported: Exported, model: Transformer) -> dict[str, Any]:
    """Return what the page has to know about the model and its run."""
    limits, learned = limits_of(exported), model.learned_lengths
    long_line = exported.settings.decoding.long_line or (learned.usual if learned else USUAL_LENGTH)
    names = names_of_text(exported.run)
    source_language, target_language = (shown(code_of(name)) if name else None for name in names)
    return {
        "name": exported.run.path.resolve().name,
        "quantization": exported.settings.quantization,
        "source_language": source_language,
        "target_language": target_language,
        "tags": tags_of_lines(exported.tokenizer.source.pieces),
        "cache": [model.options.num_shared_heads, model.options.d_head],
        "beam": beam_of(exported.settings.decoding)._asdict(),
        "long_line": min(long_line, limits["max_source_tokens"]),
        **limits,
    }

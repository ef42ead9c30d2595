"""`nmt data`: measure a corpus before anything is learned from it."""

from collections.abc import Sequence
from pathlib import Path

from nmt.config import DataReportSettings, HubData, OpusData, as_list
from nmt.data.cleaning import prepare_corpus
from nmt.data.context import source_symbols
from nmt.data.downloads import local_files
from nmt.data.opus import Offer, list_corpora
from nmt.data.sources import load_corpus, named_files
from nmt.data.tokenizer import obtain_tokenizer
from nmt.errors import DataError
from nmt.evaluation.tables import align_columns
from nmt.files.writing import require_new_file, to_json, write_atomically
from nmt.reports.corpus.corpus_measures import measure_corpus
from nmt.reports.corpus.corpus_page import as_page
from nmt.reports.corpus.corpus_text import as_text


def main(settings: DataReportSettings) -> None:
    """Measure a corpus, print what it is like, and write JSON and a page where they are asked for."""
    if isinstance(settings.data, OpusData) and not settings.data.corpora:
        print(_table(list_corpora(settings.data)))
        return
    files = {"json": settings.json_file, "html": settings.html}
    read = {"text": [one for _, files in named_files(settings.data) for one in as_list(files)]}
    if isinstance(settings.data, HubData):
        read["text"] += local_files(settings.data)
    for key, name in files.items():
        require_new_file(key, name, settings.overwrite, read)
    named = [Path(name).resolve() for name in files.values() if name is not None]
    if len(set(named)) < len(named):
        raise DataError(f"html: another file than that of json is needed; got {settings.html}")
    corpus = load_corpus(settings.data)
    prepared = prepare_corpus(corpus, settings.data.filter)
    symbols = source_symbols(prepared.corpus, settings.data.context)
    tokenizer = obtain_tokenizer(settings.tokenizer, prepared.corpus.train, symbols)
    measures = measure_corpus(corpus, prepared, tokenizer, settings)
    if settings.json_file is not None:
        write_atomically(Path(settings.json_file), to_json(measures.as_dict()))
    if settings.html is not None:
        write_atomically(
            Path(settings.html), as_page(measures, corpus.texts, f"Corpus: {settings.data.kind}")
        )
    print(as_text(measures), end="")


def _table(offers: Sequence[Offer]) -> str:
    """Return a table of what OPUS offers, one corpus a line."""
    rows = [["corpus", "version", "pairs", "MB to download"]]
    rows += [
        [offer.name, offer.version, f"{offer.num_pairs:,}", f"{offer.num_bytes / 1e6:,.1f}"]
        for offer in offers
    ]
    return align_columns(rows)

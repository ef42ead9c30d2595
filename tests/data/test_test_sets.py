"""Test sets by the names that sacreBLEU gives them, from a cache of its own."""

import json

import pytest
from sacrebleu.dataset import DATASETS

GERMAN = ["Der Hund schläft.", "Ein Haus\u2028steht dort.", "Das ist gut."]
ENGLISH = ["The dog sleeps.", "A house stands there.", "That is good."]
NO_NETWORK = {"https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9", "no_proxy": ""}


@pytest.fixture
def kept(tmp_path):
    """Lay out two test sets as sacreBLEU stores downloads; return the environment: their folder, and no network."""
    for name in ("wmt14", "wmt13"):
        folder = tmp_path / "sacrebleu" / name
        folder.mkdir(parents=True)
        number = 3 if name == "wmt14" else 2
        for field in DATASETS[name].fieldnames("de-en"):
            lines = {"src": GERMAN, "ref": ENGLISH}.get(field, ["other"] * 3)[:number]
            (folder / f"{name}.de-en.{field}").write_text("".join(f"{line}\n" for line in lines))
    return {"SACREBLEU": str(tmp_path / "sacrebleu"), **NO_NETWORK}


@pytest.fixture
def files(tmp_path, tiny_training):
    """Write training text, and return the overrides of a tiny run of it."""
    (tmp_path / "train.de").write_text("Der Hund ist gut.\nDas Haus steht.\n" * 20)
    (tmp_path / "train.en").write_text("The dog is good.\nThe house stands.\n" * 20)
    small = [option for option in tiny_training() if not option.startswith(("data.", "tokenizer."))]
    return [*small, "data=files", "data.train.source=train.de", "data.train.target=train.en",
            "tokenizer.vocabulary_size=40"]  # fmt: skip


def test_training_validates_and_tests_on_them(nmt, tmp_path, kept, files):
    named = ["data.validation=wmt13:de-en", "data.test=wmt14:de-en"]
    done = nmt("train", "run=run", *files, *named, **kept)
    assert b"2 validation pairs; 3 test pairs" in done.stderr
    assert json.loads((tmp_path / "run" / "test.json").read_text())["num_lines"] == 3
    assert b"lines           3" in nmt("evaluate", "run=run", **kept).stdout
    nmt("train", "run=run", "resume=true", "training.max_updates=5", **kept)
    nmt("evaluate", "run=run", "source=sacrebleu/wmt14/wmt14.de-en.src",
        "reference=sacrebleu/wmt14/wmt14.de-en.ref", "json=own.json")  # fmt: skip
    tested = json.loads((tmp_path / "run" / "test.json").read_text())
    own = json.loads((tmp_path / "own.json").read_text())
    assert tested == own


@pytest.mark.slow
def test_tables_and_data_sets_know_them_as_well(nmt, tmp_path, kept, files):
    rows = [json.dumps({"source": line, "target": line[::-1]}) for line in GERMAN * 9]
    (tmp_path / "train.jsonl").write_text("\n".join(rows))
    small = [option for option in files if not option.startswith("data")]
    table = ["data=table", "data.train=train.jsonl", "data.validation=wmt13:de-en", "data.test=wmt14:de-en"]
    done = nmt("train", "run=table", *small, *table, **kept)
    assert b"27 training pairs" in done.stderr
    assert b"2 validation pairs; 3 test pairs" in done.stderr
    data_set = ["data=hub", "data.path=json", "data.data_files={train: train.jsonl, validation: train.jsonl}",
                "data.source_column=source", "data.target_column=target", "data.test=wmt14:de-en"]  # fmt: skip
    done = nmt("train", "run=hub", *small, *data_set, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path), **kept)
    assert b"27 validation pairs; 3 test pairs" in done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wmt14", "nmt: data.test: a test set of sacreBLEU with a pair of languages is needed, such as wmt14:de-en; got wmt14, which has cs-en, "),
        ("wmt41:de-en", "nmt: data.test: a test set that sacreBLEU knows is needed; got wmt41; did you mean wmt"),
        ("wmt14:de-xx", "nmt: data.test: one of cs-en, de-en, en-cs, "),
        ("wmt15:de-en", "nmt: data.test: the network or an earlier download is needed for wmt15:de-en; got "),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_said_in_one_line(nmt, tmp_path, kept, files, name, message):
    done = nmt("train", "run=run", *files, "data.validation=wmt13:de-en", f"data.test={name}", code=2, **kept)
    (line,) = [line for line in done.stderr.decode().split("\n") if line.startswith("nmt: ")]
    assert line.startswith(message)
    assert "Traceback" not in done.stderr.decode()
    assert not (tmp_path / "run").exists()


def test_a_set_of_the_other_direction_is_refused(nmt, tmp_path, kept, files):
    named = ["data.validation=wmt13:en-de", "data.test=wmt14:de-en"]
    refused = nmt("train", "--plan", *files, *named, **kept, code=2).stderr
    needed = b"nmt: data.validation: wmt13:de-en is needed, since the text is translated from de to en; got wmt13:en-de"
    assert needed in refused
    (tmp_path / "table.tsv").write_text("de_CH\ten\nDer Hund.\tThe dog.\n")
    table = ["data=table", "data.train=table.tsv", "data.source_column=de_CH", "data.target_column=en"]
    refused = nmt("data", *table, "data.validation=wmt13:en-de", **kept, code=2).stderr
    assert needed in refused

"""The classifier learns what no bag of words can, minds no padding, and says in one line what it lacks."""

import csv
import json
import random

import pytest
import torch
from command_line import SCRIPTS, run_script

FILLERS = ["the", "old", "man", "saw", "a", "small", "dog", "and", "some", "birds", "near", "our", "house"]


def run(folder, *arguments, code=0):
    environment = {"OMP_NUM_THREADS": "1", "HF_HOME": str(folder / "hub"), "HF_HUB_OFFLINE": "1"}
    done = run_script("classify", arguments, folder, environment)
    assert done.returncode == code, done.stderr
    return done


def sentences(count, seed):
    """Make sentences that all hold `rain` and `sun` once; the label says which of the two comes first."""
    generator = random.Random(seed)
    rows = []
    for i in range(count):
        pair = ["rain", "sun"] if i % 2 else ["sun", "rain"]
        words = generator.choices(FILLERS, k=generator.randint(0, 8))
        first, second = sorted(generator.randint(0, len(words)) for _ in pair)
        words = [*words[:first], pair[0], *words[first:second], pair[1], *words[second:]]
        rows.append((" ".join(words), i % 2))
    return rows


@pytest.fixture
def folder(tmp_path):
    """Write the same sentences as CSV with words as labels, and as JSON lines with numbers as labels."""
    for split, count in (("train", 1500), ("test", 200)):
        rows = sentences(count, seed=count)
        with open(tmp_path / f"{split}.csv", "w", newline="") as file:
            csv.writer(file).writerows(
                [("review", "sky"), *((text, ("dry", "wet")[label]) for text, label in rows)]
            )
        lines = [json.dumps({"text": text, "label": label}) for text, label in rows]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(lines))
    return tmp_path


CSV = (
    "csv",
    "--data-files",
    "train=train.csv",
    "test=test.csv",
    "--text-column",
    "review",
    "--label-column",
    "sky",
)
JSON_LINES = ("json", "--data-files", "train=train.jsonl", "test=test.jsonl")


@pytest.mark.parametrize(("encoder", "data"), [("transformer", CSV), ("recurrent", JSON_LINES)])
def test_the_order_of_two_words_is_learned(encoder, data, folder):
    options = ("--encoder", encoder, "--vocabulary-size", "60", "--batch-tokens", "512", "--json", "out.json")
    done = run(folder, *data, *options, "--epochs", "6" if encoder == "transformer" else "4")
    figures = json.loads((folder / "out.json").read_text())
    assert figures["accuracy"][-1] > 0.95
    assert figures["majority"] == 0.5
    assert done.stdout.count("accuracy") == len(figures["accuracy"]) + 1
    assert "training: 1,500 sentences, 0 of them cut to 400 tokens" in done.stdout


def test_sentences_that_are_cut_are_counted(folder):
    options = ("--vocabulary-size", "60", "--epochs", "1", "--max-length", "3", "--json", "out.json")
    done = run(folder, *CSV, *options)
    num_cut = json.loads((folder / "out.json").read_text())["num_test_cut"]
    assert 0 < num_cut < 200
    assert f"testing: 200 sentences, {num_cut} of them cut to 3 tokens" in done.stdout


@pytest.mark.parametrize("encoder", ["transformer", "recurrent"])
def test_a_prediction_does_not_depend_on_the_batch(encoder, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    from classify import Classifier

    torch.manual_seed(0)
    model = Classifier(encoder, vocabulary_size=20, num_classes=3, max_positions=50, width=16).eval()
    ids, lengths = torch.randint(1, 20, (4, 40)), torch.tensor([3, 40, 1, 17])
    together = model(ids, lengths)
    alone = [model(ids[i : i + 1, :length], lengths[i : i + 1]) for i, length in enumerate(lengths.tolist())]
    torch.testing.assert_close(together, torch.cat(alone))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*CSV, "--text-column", "txt"), "nmt: column: one of review, sky is needed; got txt"),
        ((*CSV, "--test-split", "dev"), "nmt: split: one of train, test is needed; got dev"),
        ((*CSV, "--vocabulary-size", "5000"), "nmt: --vocabulary-size: at most "),
        (("nobody/nothing",), "nmt: PATH: a data set is needed; got nobody/nothing: "),
        (("csv", "--data-files", "train=none.csv"), "nmt: PATH: a data set is needed; got csv: "),
        (("csv", "--data-files", "train=gaps.csv", "test=gaps.csv"), "nmt: train, row 2: a label, number or word, is "),
        (("csv", "--data-files", "train=one.csv", "test=two.csv"), "nmt: label: two labels or more are needed; got 1"),
        (("csv", "--data-files", "train=two.csv", "test=more.csv"), "nmt: label: one of 1, 2 is needed to test; got 3"),
    ],
)  # fmt: skip
def test_what_is_lacking_is_said_in_one_line(arguments, message, folder):
    for name, labels in {"gaps": ("1", ""), "one": ("1", "1"), "two": ("1", "2"), "more": ("1", "3")}.items():
        (folder / f"{name}.csv").write_text(
            "text,label\n" + "".join(f"some words,{label}\n" for label in labels)
        )
    error = run(folder, *arguments, code=2).stderr
    assert error.startswith(message)
    assert error.count("\n") == 1


@pytest.mark.parametrize("seed", ["-1", str(1 << 63), "x"])
def test_a_seed_that_no_generator_takes_is_refused_in_a_line(seed, folder):
    error = run(folder, *CSV, "--seed", seed, code=2).stderr
    assert error.endswith(f"error: argument --seed: invalid seed value: '{seed}'\n")


def test_a_result_that_could_not_be_written_is_refused_beforehand(folder):
    assert "an existing folder is needed" in run(folder, *CSV, "--json", "none/out.json", code=2).stderr

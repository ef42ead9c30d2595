"""Context in translating: a word that only the line before tells, and the same lines however a text is cut."""

import os
import re
import subprocess
import sys
from itertools import chain

import numpy as np
import pytest
import torch
from students import lines_of

import nmt as package
from nmt.data import lines as module
from nmt.decoding.chunks import Chunk, number_chunks
from nmt.decoding.search_settings import choose_search
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.evaluation.translating import translate_lines
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model


def with_pronoun(source, lines):
    return [line for given, line in zip(source, lines, strict=True) if given.startswith("es")]


def test_what_only_the_line_before_tells_is_learned(learned, whole):
    source, target = (lines_of(learned / f"test.{side}") for side in ("source", "target"))
    assert len(whole) == len(source)
    assert [line == "" for line in whole] == [line == "" for line in source]
    right = sum(map(str.__eq__, with_pronoun(source, whole), with_pronoun(source, target)))
    assert right >= 76  # of 80; a coin finds 40
    log = (learned / "run" / "train.log").read_text()
    assert "left out of 900 training pairs: 400 by min_words" in log


def test_each_line_is_translated_as_beside_its_neighbour_alone(learned, whole):
    source = lines_of(learned / "test.source")
    model = package.load(str(learned / "run"), device="cpu")
    assert [one.text for one in model.translate(source)] == whole
    assert [one.text for one in model.translate(iter(source))] == whole
    for i in range(1, 40):
        assert model.translate(source[i - 1 : i + 1])[-1].text == whole[i]
    assert model.translate(["a", "", "es k l a"])[-1].text == model.translate(["b", "", "es k l a"])[-1].text
    assert model.translate(["a", "es k l a"])[-1].text != model.translate(["b", "es k l a"])[-1].text


def test_shards_joined_and_a_translation_gone_on_with_are_the_whole(nmt, learned, whole, tmp_path):
    common = ("translate", f"run={learned}/run", f"input={learned}/test.source")
    for number in range(1, 8):
        nmt(*common, "output=parts", f"shard={number}/7")
    parts = [lines_of(tmp_path / f"parts.{number}-of-7") for number in range(1, 8)]
    assert list(chain.from_iterable(parts)) == whole
    sources = lines_of(learned / "test.source")
    starts = np.cumsum([len(part) for part in parts])[:-1]
    assert any(sources[start].startswith("es") for start in starts)  # whose name is in the shard before
    (tmp_path / "some").write_text("".join(f"{line}\n" for line in whole[:101]))
    nmt(*common, "output=some", "resume=true")
    assert lines_of(tmp_path / "some") == whole


def test_chunks_tell_the_lines_before_them_wherever_they_are_translated(learned, whole, monkeypatch):
    source = lines_of(learned / "test.source")
    model = package.load(str(learned / "run"), device="cpu")
    translator = model.translator(model.decoding)
    chunks = [source[start : start + 3] for start in range(0, len(source), 3)]
    numbered = list(number_chunks(chunks, context=1))
    # By any worker, in any order.
    found = {chunk.num_before: translator.translate_chunk(chunk) for chunk in reversed(numbered)}
    assert [one.text for number in sorted(found) for one in found[number]] == whole
    monkeypatch.setattr("nmt.data.lines.LINES_AT_ONCE", 5)
    assert list(translator.translate(source)) == whole


def test_a_sender_has_its_answer_at_once(learned):
    command = [sys.executable, "-m", "nmt", "translate", f"run={learned}/run", "device=cpu"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        answers = []
        for line in (b"a", b"es k l a", b"b", b"es k l a", b"", b"a", b"es l l k"):
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            answers.append(process.stdout.readline())
        process.stdin.close()
    assert [answers[i] for i in (1, 3, 4, 6)] == [b"x k l a\n", b"y k l a\n", b"\n", b"x l l k\n"]


def test_a_line_in_parts_has_the_parts_before_as_context(tiny, monkeypatch):
    model = package.load(str(tiny / "run"), device="cpu")
    translator = model.translator(choose_search("greedy", split="sentences"))
    pieces = translator.tokenizer.source.pieces
    given = []
    found = translator.search
    monkeypatch.setattr(
        translator, "search", lambda some: given.extend(s.source for s in some) or found(some)
    )
    monkeypatch.setattr(
        translator.cutter, "split_into_sentences", lambda line: re.split("(?<=b)(?= [bl])", line)
    )
    translator.translate_chunk(Chunk(["a b b l", "k"], before=["a", "l"]))
    separator = "<context=2>"
    read = [[pieces[i].lstrip("▁") for i in ids] for ids in given]
    assert read == [
        ["a", separator, "l", separator, "a", "b"],
        ["l", separator, "a", "b", separator, "b"],
        ["a", "b", separator, "b", separator, "l"],
        ["l", separator, "a", "b", "b", "l", separator, "k"],
    ]


def test_details_of_a_text_have_context_across_chunks(learned, monkeypatch):
    run = RunDirectory(learned / "run")
    model, tokenizer = load_model(run, "best")
    lines, greedy = lines_of(learned / "test.source"), choose_search("greedy")
    engine = TorchEngine(model, tokenizer, torch.device("cpu"), torch.float32)
    translator = Translator(engine, greedy).with_search(greedy, details=True)
    together = [one.text for one in translate_lines(translator, lines)]
    monkeypatch.setattr(module, "LINES_AT_ONCE", 1)
    assert [one.text for one in translate_lines(translator, lines)] == together


def test_runs_of_other_contexts_make_no_ensemble(nmt, tiny, learned):
    done = nmt("translate", f"run={tiny}/run", f"ensemble=[{learned}/run]", code=2)
    assert "ensemble: runs with the vocabulary of" in done.stderr.decode()


def test_the_page_of_an_export_reads_lines_as_nmt_does(nmt, learned, whole, tmp_path, monkeypatch):
    pytest.importorskip("ctranslate2")
    out = nmt("export", f"run={learned}/run", "output=model").stdout.decode()
    assert "identical" in out
    monkeypatch.chdir(tmp_path / "model")
    namespace = {}
    exec((tmp_path / "model" / "README.md").read_text().split("```python\n")[1].split("```")[0], namespace)
    assert namespace["translate"](lines_of(learned / "test.source")) == whole


def test_the_page_of_an_export_leaves_out_what_does_not_fit(nmt, tiny, tmp_path, monkeypatch):
    pytest.importorskip("ctranslate2")
    nmt("export", f"run={tiny}/run", "output=model")
    monkeypatch.chdir(tmp_path / "model")
    namespace = {}
    exec((tmp_path / "model" / "README.md").read_text().split("```python\n")[1].split("```")[0], namespace)
    source = package.load(str(tiny / "run"), device="cpu").pair_reader()
    ids = source.read(lines_of(tiny / "test.source"))
    joined, short = source.join([], ids)
    assert short
    assert namespace["with_context"](ids) == joined

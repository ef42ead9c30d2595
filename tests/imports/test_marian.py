"""A folder of Marian becomes a run that translates as CTranslate2 does after its own conversion of the folder."""

import io
import re
import shutil
import tracemalloc
import zipfile
from functools import partial

import numpy as np
import pytest
import sentencepiece
import torch
import yaml
from foreign import LONGEST, both_models, given_lines, make_marian, pieces_of, translate_by_ctranslate2

from nmt.decoding.engine import Sentence
from nmt.decoding.search_settings import choose_search
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.errors import RunError
from nmt.files.reading import MAX_JSON_BYTES
from nmt.imports.npz import read_headers
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model

pytest.importorskip("ctranslate2")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder of Marian and the arrays in it."""
    folder = tmp_path_factory.mktemp("made") / "marian"
    return folder, make_marian(folder)


@pytest.fixture
def spoiled(made, tmp_path):
    """Return a copy of the folder, which a test may change."""
    shutil.copytree(made[0], tmp_path / "marian")
    return tmp_path / "marian"


def run_of(main, folder, output):
    code, out, error = main("import", "format=marian", f"input={folder}", f"output={output}")
    assert (code, error) == (0, "")
    return out


def translate(run, lines):
    """Return the pieces of a run's greedy translations of lines."""
    model, tokenizer = load_model(RunDirectory(run), "best")
    search = choose_search("greedy", split="none", max_length_ratio=0.0, max_length_extra=LONGEST)
    translator = Translator(TorchEngine(model, tokenizer, torch.device("cpu"), torch.float32), search)
    found = translator.search([Sentence(ids) for ids in tokenizer.source.encode(lines)])
    return [[tokenizer.target.pieces[i] for i in one.hypotheses[0].tokens] for one in found]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_it_translates_as_ctranslate2_does(norm, main, tmp_path):
    make_marian(tmp_path / "marian", norm)
    assert f"norm={norm}, activation=silu" in run_of(main, tmp_path / "marian", tmp_path / "run")
    lines = given_lines()
    expected = translate_by_ctranslate2(tmp_path / "marian", lines)
    assert len({tuple(pieces) for pieces in expected}) > 30, "translations depend on the lines"
    found = translate(tmp_path / "run", lines)
    assert sum(ours == theirs for ours, theirs in zip(found, expected, strict=True)) >= len(lines) - 2


def test_an_output_layer_of_its_own_and_two_embeddings(main, made, tmp_path):
    """Newer versions of Marian store the output layer as `Wt`, with a row for each token; `W` is its transpose."""
    folder = tmp_path / "marian"
    arrays = dict(make_marian(folder))
    shared = arrays.pop("Wemb")
    arrays |= {"encoder_Wemb": shared, "decoder_Wemb": shared[::-1], "decoder_ff_logit_out_Wt": shared * 2}
    np.savez(folder / "model.npz", **arrays)
    lines = given_lines()[:40]
    expected = translate_by_ctranslate2(folder, lines)
    run_of(main, folder, tmp_path / "run")
    assert RunDirectory(tmp_path / "run").read_model_settings().model.tied_embeddings == "none"
    assert translate(tmp_path / "run", lines) == expected
    arrays["decoder_ff_logit_out_W"] = arrays.pop("decoder_ff_logit_out_Wt").T
    np.savez(folder / "model.npz", **arrays)
    run_of(main, folder, tmp_path / "other")
    assert translate(tmp_path / "other", lines) == expected


def test_words_that_yaml_takes_for_something_else(main, tmp_path):
    folder = tmp_path / "marian"
    make_marian(folder, more=["yes", "no", "null", "1", "1.5", "~", "on"])
    text = (folder / "vocab.yml").read_text()
    (folder / "vocab.yml").write_text(re.sub('"(yes|no|null|1|1.5|~|on)"', r"\1", text))
    run_of(main, folder, tmp_path / "run")
    run = RunDirectory(tmp_path / "run")
    assert run.find_checkpoints("best") == run.find_checkpoints("last")
    with pytest.raises(RunError, match=r"^checkpoint: best or last of a run that was imported is needed"):
        run.find_checkpoints("average")
    pieces = run.read_tokenizer().target.pieces
    assert {"yes", "no", "null", "1", "1.5", "~", "on"} <= set(pieces)


def test_vocabularies_that_are_sentencepiece_models(main, made, tmp_path):
    folder, arrays = tmp_path / "marian", dict(made[1])
    make_marian(folder)
    size = len(pieces_of(both_models()[0])) + 3
    arrays |= {
        "Wemb": arrays["Wemb"][:size],
        "decoder_ff_logit_out_b": arrays["decoder_ff_logit_out_b"][:, :size],
    }
    np.savez(folder / "model.npz", **arrays)
    shutil.copy(folder / "source.spm", folder / "vocab.spm")
    decoder = {"models": ["model.npz"], "vocabs": ["vocab.spm", "vocab.spm"]}
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder))
    assert "one for both sides" in run_of(main, folder, tmp_path / "run")
    assert (tmp_path / "run" / "tokenizer.model").read_bytes() == (folder / "source.spm").read_bytes()
    model, tokenizer = load_model(RunDirectory(tmp_path / "run"), "best")
    assert torch.equal(
        model.source_embedding.weight[: tokenizer.source.num_pieces][5], torch.tensor(arrays["Wemb"][5])
    )


def arrays_of(folder):
    with np.load(folder / "model.npz") as found:
        return dict(found)


def arrays(change):
    def spoil(folder):
        found = arrays_of(folder)
        change(found)
        np.savez(folder / "model.npz", **found)

    return spoil


def options(**changes):
    def change(found):
        content = yaml.safe_load(found["special:model.yml"].tobytes().rstrip(b"\0"))
        content |= {name.replace("_", "-"): value for name, value in changes.items()}
        found["special:model.yml"] = np.frombuffer(yaml.safe_dump(content).encode() + b"\0", np.int8)

    return arrays(change)


def text_of(name, change):
    def spoil(folder):
        (folder / name).write_text(change((folder / name).read_text()))

    return spoil


def header_that_lies(folder):
    """Write an array whose header claims a terabyte."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (1 << 38,)}
    )
    with zipfile.ZipFile(folder / "model.npz", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Wemb2.npy", header.getvalue() + bytes(1000))


def endless_options(folder):
    """Put options without a byte into the weights, whose header has a dimension that no machine could count."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|i1", "fortran_order": False, "shape": (10**30, 0)}
    )
    found = arrays_of(folder)
    del found["special:model.yml"]
    np.savez(folder / "model.npz", **found)
    with zipfile.ZipFile(folder / "model.npz", "a") as archive:
        archive.writestr("special:model.yml.npy", header.getvalue())


def lzma_that_is_none(folder):
    with zipfile.ZipFile(folder / "model.npz", "a", zipfile.ZIP_LZMA) as archive:
        archive.writestr("more.npy", bytes(range(256)) * 40)
    content = (folder / "model.npz").read_bytes()
    place = content.rindex(b"more.npy", 0, content.rindex(b"more.npy")) + len(b"more.npy") + 20
    (folder / "model.npz").write_bytes(content[:place] + b"\xff" * 20 + content[place + 20 :])


def objects(folder):
    found = arrays_of(folder)
    np.savez(folder / "model.npz", **found, more=np.array([{}], dtype=object))


B = "encoder_l1_self_bq"


def header_of_python(folder, header):
    """Put an array into the weights whose header is no dictionary of a shape and a type."""
    content = header.encode().ljust(117) + b"\n"
    with zipfile.ZipFile(folder / "model.npz", "a") as archive:
        archive.writestr("more.npy", b"\x93NUMPY\x01\x00" + len(content).to_bytes(2, "little") + content)


SPOILED = {
    "no decoder": (lambda folder: (folder / "decoder.yml").unlink(), "with decoder.yml is needed"),
    "elsewhere": (text_of("decoder.yml", lambda text: text.replace("model.npz", "../model.npz")), "got ../model.npz"),
    "absolute": (text_of("decoder.yml", lambda text: text.replace("model.npz", "/etc/passwd")), "got /etc/passwd"),
    "ensemble": (text_of("decoder.yml", lambda text: text.replace("- model.npz", "- a\n- b")), "models: "),
    "object": (text_of("decoder.yml", lambda text: "!!python/object/apply:os.system [ls]"), "readable YAML"),
    **{
        tagged: (text_of("decoder.yml", lambda text, tagged=tagged: f"a: {tagged}"), "readable YAML")
        for tagged in ('!!int ""', '!!float ""', "!!bool x", "!!timestamp x")
    },
    "base 60": (text_of("decoder.yml", lambda text: text + "workspace: 1" + ":1" * 200_000), "at most 1000 characters"),
    "no float": (text_of("decoder.yml", lambda text: text + "workspace: 1" + ":1" * 200 + ".5"), "readable YAML"),
    "many settings": (text_of("decoder.yml", lambda text: "{" + "a," * 20_000 + "}"), "at most 10000 values"),
    "no mapping": (text_of("decoder.yml", lambda text: "- 1"), "a mapping in YAML"),
    "no numbers": (text_of("vocab.yml", lambda text: text.replace(": 7\n", ": x\n")), "a number for each piece"),
    "a list": (text_of("vocab.yml", lambda text: text.replace(": 7\n", ": [7]\n")), "a number for each piece"),
    "many pieces": (text_of("vocab.yml", lambda text: "{" + "a," * 1_000_001 + "}"), "at most 1000000 pieces"),
    "twice": (text_of("vocab.yml", lambda text: re.sub("(.*): 8\n", r"\1: 8\n\1: 8\n", text)), "a number for each piece"),
    "a gap": (text_of("vocab.yml", lambda text: text.replace(": 7\n", ": 9999\n")), "each number from 0 to"),
    "deep": (text_of("vocab.yml", lambda text: "[" * 5000), "readable YAML"),
    "deeper": (text_of("vocab.yml", lambda text: "[" * 100_000), "readable YAML"),
    "deeper options": (text_of("decoder.yml", lambda text: "{a: " * 100_000), "readable YAML"),
    "itself": (text_of("decoder.yml", lambda text: "&a\nmodels: *a\nvocabs: *a\n"), "without aliases"),
    "blank piece": (text_of("vocab.yml", lambda text: re.sub(".*: 7\n", '"": 7\n', text)), "pieces that SentencePiece"),
    "no end": (text_of("vocab.yml", lambda text: text.replace('"</s>"', '"</t>"')), "a vocabulary with </s>"),
    "recurrent": (options(type="s2s"), "type: transformer is needed; got s2s"),
    "ssru": (options(transformer_decoder_autoreg="rnn"), "self-attention is needed; got rnn"),
    "other gelu": (options(transformer_ffn_activation="gelu"), "one of relu, swish is needed; got gelu"),
    "order": (options(transformer_postprocess="nda"), "normalisation behind sub-layers"),
    "positions": (options(transformer_train_position_embeddings=True), "false is needed; got true"),
    "from the end": (options(right_left=True), "right-left: false is needed; got true"),
    "wide": (options(dim_emb=1 << 30), "dim-emb: "),
    "depth": (options(enc_depth=3), "which lacks encoder_l3_"),
    "no options": (arrays(lambda found: found.pop("special:model.yml")), "with special:model.yml is needed"),
    "long options": (
        arrays(lambda found: found.update({"special:model.yml": np.zeros(MAX_JSON_BYTES + 1, np.int8)})),
        "with special:model.yml is needed",
    ),
    "missing": (arrays(lambda found: found.pop(B)), f"which lacks {B}"),
    "unknown": (arrays(lambda found: found.update(more=np.ones(1, np.float32))), "which has an unknown more"),
    "shape": (arrays(lambda found: found.update({B: np.ones((16, 1), np.float32)})), f"{B} is (16, 1), not (1, 16)"),
    "infinite": (arrays(lambda found: found[B].fill(np.inf)), f"whose {B} is not"),
    "pickled": (objects, "more holds object"),
    "lies": (header_that_lies, "Wemb2 is not what it says"),
    "torn": (lambda folder: (folder / "model.npz").write_bytes((folder / "model.npz").read_bytes()[:5000]), "undamaged"),
    "lzma": (lzma_that_is_none, "undamaged weights"),
    **{
        f"header {header}": (partial(header_of_python, header=header), "undamaged weights")
        for header in ("{1: 2, 'a': 3}", "{[]: 1}", "{'a': (", "{'descr': (), 'fortran_order': False, 'shape': ()}")
    },
    "endless": (endless_options, "undamaged weights"),
    "no zip": (lambda folder: (folder / "model.npz").write_bytes(b"model"), "undamaged weights"),
}  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILED)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(spoil, main, spoiled, tmp_path):
    damage, message = SPOILED[spoil]
    damage(spoiled)
    code, out, error = main("import", "format=marian", f"input={spoiled}", f"output={tmp_path / 'run'}")
    assert (code, out) == (2, "")
    assert error.startswith("nmt: input: ")
    assert message in error
    assert error.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"marian"}


def test_the_header_of_an_array_is_read_no_further_than_a_header_can_be_long(spoiled):
    content = b" " * (64 << 20)  # which the archive holds in 64 KiB
    with zipfile.ZipFile(spoiled / "model.npz", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more.npy", b"\x93NUMPY\x02\x00" + len(content).to_bytes(4, "little") + content)
    tracemalloc.start()
    try:
        with pytest.raises(RunError, match="undamaged weights"):
            read_headers(spoiled / "model.npz")
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_vocabulary_that_no_sentence_can_end_with_is_refused(main, spoiled, tmp_path):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["abc de fgh"] * 20), model_writer=model, vocab_size=14, hard_vocab_limit=False,
        minloglevel=2, pad_id=0, unk_id=1, bos_id=2, eos_id=-1,
    )  # fmt: skip
    (spoiled / "vocab.spm").write_bytes(model.getvalue())
    decoder = {"models": ["model.npz"], "vocabs": ["vocab.spm", "vocab.spm"]}
    (spoiled / "decoder.yml").write_text(yaml.safe_dump(decoder))
    _, _, error = main("import", "format=marian", f"input={spoiled}", f"output={tmp_path / 'run'}")
    assert error == f"nmt: input: a vocabulary with </s> is needed; got {spoiled / 'vocab.spm'}\n"

"""A folder of Hugging Face becomes a run that translates as transformers does, and that can be trained further."""

import json
import shutil

import pytest
import safetensors.torch
import torch
from foreign import SEARCH, given_lines, make_huggingface, translate_by_transformers

import nmt as library
from nmt.data.tokenizer import Tokenizer
from nmt.files.reading import MAX_JSON_BYTES
from nmt.imports.imported import NEVER
from nmt.layouts.pieces import tags_of_lines
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model

pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore:Recommended")


@pytest.fixture(scope="module")
def opus(tmp_path_factory):
    """Return a folder in the layout of OPUS-MT."""
    folder = tmp_path_factory.mktemp("made") / "opus"
    make_huggingface(folder)
    return folder


@pytest.fixture
def spoiled(opus, tmp_path):
    """Return a copy of the folder, which a test may change."""
    shutil.copytree(opus, tmp_path / "opus")
    return tmp_path / "opus"


def run_of(main, folder, output):
    code, out, error = main("import", "format=huggingface", f"input={folder}", f"output={output}")
    assert (code, error) == (0, "")
    return out


def translate(main, run, lines, tmp_path):
    """Return a run's greedy translations of lines, as text."""
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in lines))
    files = f"input={tmp_path / 'in'}", f"output={tmp_path / 'out'}", "overwrite=true"
    code, _, _ = main(
        "translate", f"run={run}", *files, "device=cpu", "precision=float32", "decoding=greedy", *SEARCH
    )
    assert code == 0
    return (tmp_path / "out").read_text().split("\n")[:-1]


def test_it_translates_as_transformers_does(main, opus, tmp_path):
    out = run_of(main, opus, tmp_path / "run")
    assert "norm=post, activation=silu" in out
    lines = given_lines()
    expected = translate_by_transformers(opus, lines)
    assert len(set(expected)) > 30, "translations depend on the lines"
    assert translate(main, tmp_path / "run", lines, tmp_path) == expected


def test_biases_and_the_begin_are_those_of_the_folder(main, opus, tmp_path):
    run_of(main, opus, tmp_path / "run")
    settings = RunDirectory(tmp_path / "run").read_model_settings()
    assert settings.model.attention_bias
    assert settings.model.zero_start
    assert settings.model.tied_embeddings == "two_way"
    model, tokenizer = load_model(RunDirectory(tmp_path / "run"), "best")
    vocabulary = tokenizer.target
    assert not model.target_embedding(torch.tensor([vocabulary.bos_id])).any()
    assert model.output.bias[[vocabulary.pad_id, vocabulary.bos_id]].tolist() == [NEVER, NEVER]
    assert (model.output.bias > NEVER / 2).sum() > 100


def test_biases_that_are_zero_are_none(main, spoiled, tmp_path):
    weights = safetensors.torch.load_file(spoiled / "model.safetensors")
    for name, tensor in weights.items():
        if name.endswith(("q_proj.bias", "k_proj.bias", "v_proj.bias")):
            tensor.zero_()
    safetensors.torch.save_file(weights, spoiled / "model.safetensors")
    run_of(main, spoiled, tmp_path / "run")
    assert not RunDirectory(tmp_path / "run").read_model_settings().model.attention_bias
    lines = given_lines()[:20]
    expected = translate_by_transformers(spoiled, lines)
    assert translate(main, tmp_path / "run", lines, tmp_path) == expected


def test_half_precision_and_what_was_saved_twice(main, spoiled, tmp_path):
    weights = safetensors.torch.load_file(spoiled / "model.safetensors")
    weights |= {
        name: weights["model.shared.weight"].clone()
        for name in ("lm_head.weight", "model.encoder.embed_tokens.weight")
    }
    safetensors.torch.save_file(
        {name: tensor.half() for name, tensor in weights.items()}, spoiled / "model.safetensors"
    )
    run_of(main, spoiled, tmp_path / "run")
    lines = given_lines()[:20]
    assert translate(main, tmp_path / "run", lines, tmp_path) == translate_by_transformers(spoiled, lines)


@pytest.mark.parametrize(
    "names",
    [
        ["model.decoder.embed_tokens.weight"],
        ["lm_head.weight"],
        ["model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"],
        ["model.encoder.embed_tokens.weight", "lm_head.weight"],
    ],
)
def test_the_table_of_both_sides_may_have_any_of_its_names(main, opus, spoiled, tmp_path, names):
    weights = safetensors.torch.load_file(spoiled / "model.safetensors")
    table = weights.pop("model.shared.weight")
    safetensors.torch.save_file(
        weights | {name: table.clone() for name in names}, spoiled / "model.safetensors"
    )
    run_of(main, spoiled, tmp_path / "run")
    lines = given_lines()[:20]
    assert translate(main, tmp_path / "run", lines, tmp_path) == translate_by_transformers(opus, lines)


def test_a_tag_says_which_language(main, tmp_path):
    tags = [">>fra<<", ">>ron<<"]
    make_huggingface(tmp_path / "opus", more=tags)
    run_of(main, tmp_path / "opus", tmp_path / "run")
    lines = [f"{tag} {line}" for line in given_lines()[:20] for tag in tags]
    expected = translate_by_transformers(tmp_path / "opus", lines)
    assert sum(one != other for one, other in zip(expected[::2], expected[1::2], strict=True)) > 10
    assert translate(main, tmp_path / "run", lines, tmp_path) == expected
    run = RunDirectory(tmp_path / "run")
    assert tags_of_lines(run.read_tokenizer().source.pieces) == tags
    # Each part of a line begins with the tag of the line.
    model = library.load(str(tmp_path / "run"), device="cpu", precision="float32")

    def found(some):
        options = {"decoding": "greedy", "split": "sentences", "max_length_extra": 10}
        return [one.text for one in model.translate(some, **options)]

    first, second = "Der Hund schläft.", "Ein Mann liest das Buch."
    for tag in tags:
        apart = found([f"{tag} {first}", f"{tag} {second}"])
        assert found([f"{tag} {first} {second}"]) == [" ".join(apart)]


def test_it_is_tuned_evaluated_and_exported(nmt, opus, tmp_path):
    few = ("data=grammar", "data.num_train=300", "data.num_validation=20", "data.num_test=20")
    nmt("import", "format=huggingface", f"input={opus}", "output=run", *few)
    short = ("decoding=greedy", *SEARCH)
    assert b"BLEU" in nmt("evaluate", "run=run", *short).stdout
    exported = nmt("export", "run=run", "output=exported", *short)
    assert b"identical      20  token by token, at least 20 are needed" in exported.stdout
    done = nmt(
        "train",
        "run=tuned",
        "training.from_run=run",
        "training.max_updates=2",
        "training.update_tokens=400",
        "training.validate_every=2",
        *short,
    )
    assert b" 0 left as they were" in done.stderr
    models = [load_model(RunDirectory(tmp_path / name), "best") for name in ("run", "tuned")]
    assert models[0][1].models == models[1][1].models
    assert models[1][0].target_embedding.zero_id == models[1][1].target.bos_id
    refused = nmt("train", "run=run", "resume=true", code=2).stderr
    assert b"training.from_run" in refused
    assert refused.count(b"\n") == 1


def test_without_text_only_what_needs_it_is_refused(main, opus, tmp_path):
    run_of(main, opus, tmp_path / "run")
    for command in (("evaluate",), ("export", f"output={tmp_path / 'exported'}")):
        code, _, error = main(*command, f"run={tmp_path / 'run'}")
        assert code == 2
        assert error.count("\n") == 1
        assert "text of its own" in error


def config(**changes):
    def spoil(folder):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return spoil


def weights(change):
    def spoil(folder):
        tensors = safetensors.torch.load_file(folder / "model.safetensors")
        change(tensors)
        safetensors.torch.save_file(tensors, folder / "model.safetensors")

    return spoil


def written(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def numbers(change):
    def spoil(folder):
        table = json.loads((folder / "vocab.json").read_text())
        change(table)
        (folder / "vocab.json").write_text(json.dumps(table))

    return spoil


def make_pickle(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def make_link(folder):
    (folder / "source.spm").unlink()
    (folder / "source.spm").symlink_to("/etc/passwd")


Q = "model.encoder.layers.0.self_attn.q_proj.weight"
SPOILED = {
    "pickle": (make_pickle, "which can run code"),
    "link": (make_link, "which is a link"),
    "no folder": (lambda folder: shutil.rmtree(folder), "a folder is needed"),
    "no vocabulary": (lambda folder: (folder / "vocab.json").unlink(), "with vocab.json is needed"),
    "no JSON": (written("config.json", b"{"), "readable config.json"),
    "a list": (written("config.json", b"[]"), "a JSON object is needed"),
    "another model": (config(model_type="bert"), "model_type: one of marian, pegasus is needed; got bert"),
    "text": (config(d_model="wide"), "d_model: an integer is needed; got wide"),
    "huge": (config(d_model=1 << 40), "d_model: "),
    "not scaled": (config(scale_embedding=False), "scale_embedding: true is needed; got false"),
    "learned positions": (config(static_position_embeddings=False), "static_position_embeddings: true is needed"),
    "two widths": (config(decoder_ffn_dim=25), "decoder_ffn_dim: 24 is needed"),
    "heads": (config(encoder_attention_heads=3, decoder_attention_heads=3), "a multiple of num_heads=3"),
    "another activation": (config(activation_function="tanh"), "activation_function: "),
    "a row too far": (config(pad_token_id=10_000), "for the token pad; got 10000"),
    "more layers": (config(decoder_layers=2), "which lacks model.decoder.layers.1."),
    "missing": (weights(lambda found: found.pop(Q)), f"which lacks {Q}"),
    "unknown": (weights(lambda found: found.update(more=torch.ones(1))), "which has an unknown more"),
    "shape": (weights(lambda found: found.update({Q: torch.ones(16, 15)})), f"{Q} is (16, 15), not (16, 16)"),
    "nan": (weights(lambda found: found[Q].fill_(float("nan"))), f"whose {Q} is not"),
    "integers": (weights(lambda found: found.update({Q: torch.ones(16, 16, dtype=torch.int64)})), "got I64"),
    "positions": (
        weights(lambda found: found.update({"model.encoder.embed_positions.weight": torch.ones(256, 16)})),
        "positions by sines and cosines",
    ),
    "header": (
        written("model.safetensors", (MAX_JSON_BYTES + 1).to_bytes(8, "little") + b" " * 100), "a header of"
    ),
    "own output": (
        weights(lambda found: found.update({"lm_head.weight": found["model.shared.weight"] + 0.1})),
        "whose lm_head.weight is not model.shared.weight",
    ),
    "own decoder": (
        weights(lambda found: found.update({"model.decoder.embed_tokens.weight": torch.ones(3, 16)})),
        "whose model.decoder.embed_tokens.weight is not model.shared.weight",
    ),
    "no weights": (written("model.safetensors", b"pickle"), "undamaged weights"),
    "no pieces": (written("source.spm", b"pieces"), "a SentencePiece model is needed"),
    "no numbers": (numbers(lambda table: table.update({"a": "b"})), "a number for each piece"),
    "true": (numbers(lambda table: table.update({"</s>": True})), "a number for each piece"),
    "a gap": (numbers(lambda table: table.update({"more": 5000})), "each number from 0 to"),
    "no unknown": (numbers(lambda table: table.update({"other": table.pop("<unk>")})), "for the token unk"),
    "another size": (numbers(lambda table: table.update({"more": len(table)})), "model.shared.weight is"),
}  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILED)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(spoil, main, spoiled, tmp_path):
    damage, message = SPOILED[spoil]
    damage(spoiled)
    code, out, error = main("import", "format=huggingface", f"input={spoiled}", f"output={tmp_path / 'run'}")
    assert (code, out) == (2, "")
    assert error.startswith("nmt: input: ")
    assert message in error
    assert error.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"opus"}


def test_an_output_that_is_there_is_left_alone(main, opus, tmp_path):
    (tmp_path / "run").mkdir()
    code, _, error = main("import", "format=huggingface", f"input={opus}", f"output={tmp_path / 'run'}")
    assert code == 2
    assert error == f"nmt: output: a new folder in an existing one is needed; got {tmp_path / 'run'}\n"


def test_pieces_of_two_bpe_models_in_one_table_are_refused(main, tmp_path):
    """Unused pieces of a BPE model take part in its merges, and would lead to other pieces."""
    make_huggingface(tmp_path / "opus", kind="bpe")
    code, _, error = main(
        "import", "format=huggingface", f"input={tmp_path / 'opus'}", f"output={tmp_path / 'run'}"
    )
    assert code == 2
    assert "kind unigram is needed" in error


def test_segmentation_is_that_of_the_folder(main, opus, tmp_path):
    """Also of characters that only the other side's pieces have."""
    run_of(main, opus, tmp_path / "run")
    imported = RunDirectory(tmp_path / "run").read_tokenizer()
    own = Tokenizer.of_models((opus / "source.spm").read_bytes(), (opus / "target.spm").read_bytes())
    lines = given_lines()
    assert imported.source.segment(lines) == own.source.segment(lines)
    assert imported.target.segment(lines) == own.target.segment(lines)
    (x,) = imported.source.encode(["x"])
    assert imported.source.unk_id not in x
    assert own.source.unk_id in own.source.encode(["x"])[0]

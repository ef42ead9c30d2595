"""What CTranslate2's converter of Marian models makes of an exported folder, and that the folder can be imported back."""

import shutil

import numpy as np
import pytest
import torch
import yaml
from foreign import exported, lines_of_both, sentencepiece_model

from nmt.data.corpus import ParallelText
from nmt.data.tokenizer import Tokenizer
from nmt.errors import RunError
from nmt.export.comparison import compare
from nmt.export.marian import Marian
from nmt.imports.imported import NEVER
from nmt.imports.marian import read
from nmt.runs.directory import RunDirectory

pytest.importorskip("ctranslate2")

GREEDY = {"decoding": "greedy", "decoding.max_length_extra": 9, "decoding.max_length_ratio": 0.1}
VARIANTS = [
    {"norm": "post", "tied": "three_way"},
    {
        "norm": "post",
        "tied": "two_way",
        "activation": "silu",
        "attention_bias": True,
        "num_decoder_layers": 1,
    },
    {"norm": "pre", "tied": "none"},
    {"norm": "pre", "tied": "three_way", "attention_bias": True},
]


def make_tokenizer(is_joint):
    """Make a tokenizer of models with BOS and without PAD, as those of OPUS-MT."""
    german, english = (tuple(lines) for lines in lines_of_both())
    if is_joint:
        return Tokenizer.of_models(sentencepiece_model((*german, *english, 'it\'s "quoted": \\x yes')))
    return Tokenizer.of_models(sentencepiece_model(german), sentencepiece_model(english))


def random_model(tiny_model, tokenizer, **options):
    sizes = tokenizer.source.size, tokenizer.target.size
    model = tiny_model("transformer", width=16, sizes=sizes, max_positions=1024, **options).float()
    model.target_embedding.zero_id = tokenizer.target.bos_id
    return model


def written(folder, model, tokenizer, **options):
    """Export a model into a folder; return the `Exported` that the format was given."""
    folder.mkdir()
    given = exported(RunDirectory(folder), model, tokenizer, "marian", **{**GREEDY, **options})
    Marian().write(folder, given)
    return given


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_200_lines_and_back(options, tiny_model, tmp_path):
    tokenizer = make_tokenizer(options["tied"] == "three_way")
    model = random_model(tiny_model, tokenizer, **options)
    given = written(tmp_path / "model", model, tokenizer)
    text = ParallelText(*(lines[:200] for lines in lines_of_both()))
    (search,) = Marian().searches(given)
    comparison = compare(tmp_path / "model", Marian(), given, text, search)
    assert comparison.num_lines == 200
    comparison.require()
    imported = read(tmp_path / "model")
    assert imported.weights["output.bias"].min() == NEVER
    assert imported.tokenizer.models == tokenizer.models
    assert imported.model.zero_start
    assert (imported.model.norm, imported.model.tied_embeddings) == (options["norm"], options["tied"])
    own = dict(model.named_parameters())
    assert imported.weights.keys() == own.keys()
    special = {tokenizer.target.pad_id, tokenizer.target.bos_id, tokenizer.target.unk_id}
    kept = [i for i in range(tokenizer.target.size) if i not in special]
    assert all(torch.equal(imported.weights[name][kept], own[name][kept]) for name in ("output.bias",))
    for name, tensor in own.items():
        if name.startswith(("encoder.", "decoder.")):
            assert torch.equal(imported.weights[name], tensor), name
    target = "source_embedding.weight" if options["tied"] == "three_way" else "target_embedding.weight"
    assert torch.equal(imported.weights[target][kept], own[target][kept])


def test_a_model_that_translates_to_nothing_does_so_there(tiny_model, tmp_path):
    tokenizer = make_tokenizer(True)
    model = random_model(tiny_model, tokenizer, norm="post", tied="three_way")
    with torch.no_grad():
        model.output.bias[tokenizer.target.eos_id] = 50.0
    given = written(tmp_path / "model", model, tokenizer)
    text = ParallelText(*(lines[:20] for lines in lines_of_both()))
    (search,) = Marian().searches(given)
    comparison = compare(tmp_path / "model", Marian(), given, text, search)
    comparison.require()
    assert comparison.num_lines == 20


def test_its_arrays_are_laid_out_as_marian_reads_them(tiny_model, tmp_path):
    tokenizer = make_tokenizer(True)
    model = random_model(tiny_model, tokenizer, norm="post", tied="three_way", activation="silu")
    written(tmp_path / "model", model, tokenizer)
    with np.load(tmp_path / "model" / "model.npz") as arrays:
        assert all(array.flags["C_CONTIGUOUS"] for array in arrays.values()), "Marian reads no other order"
        assert arrays["decoder_l2_context_bk"].shape == (1, 16)
        assert not arrays["decoder_l2_context_bk"].any()
        weights = model.decoder.layers[1].cross_attention.key_value.weight.detach().numpy()
        assert (arrays["decoder_l2_context_Wv"] == weights[16:].T).all()
        options = yaml.safe_load(arrays["special:model.yml"].tobytes().rstrip(b"\0"))
    assert options["transformer-ffn-activation"] == "swish"
    names = yaml.safe_load((tmp_path / "model" / "vocab.yml").read_text())
    assert [*names][:2] == ["</s>", "<unk>"]
    assert [*names.values()] == list(range(tokenizer.source.size - 2))
    assert {"'", '"', "\\"} <= names.keys()


def test_marian_is_told_the_beam_and_the_length_penalty_of_the_run(tiny_model, tmp_path):
    tokenizer = make_tokenizer(True)
    model = random_model(tiny_model, tokenizer, norm="post", tied="three_way")
    beam = {"decoding": "beam", "decoding.beam_size": 3, "decoding.length_penalty": 0.25}
    written(tmp_path / "model", model, tokenizer, **beam)
    found = yaml.safe_load((tmp_path / "model" / "decoder.yml").read_text())
    assert (found["beam-size"], found["normalize"]) == (3, 0.25)
    # Without it, Marian drops a longer line and prints none of the translations behind it.
    assert (found["max-length"], found["max-length-crop"]) == (model.max_positions, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"activation": "gelu"},
            "model.activation=relu or silu is needed, since Marian has nothing else; got gelu",
        ),
        ({"positions": "learned"}, "model.positions=sinusoidal is needed"),
    ],
)
def test_what_marian_does_not_have_is_refused(options, message, tiny_model, tokenizer, tmp_path):
    with pytest.raises(RunError, match=message):
        written(tmp_path / "model", tiny_model("transformer", **options).float(), tokenizer)


def test_a_begin_that_was_learned_and_fewer_bits_are_refused(tiny_model, tokenizer, tmp_path):
    model = tiny_model("transformer").float()
    with pytest.raises(RunError, match=r"model.zero_start=true is needed, .*training.from_run=RUN"):
        written(tmp_path / "learned", model, tokenizer)
    with torch.no_grad():
        model.target_embedding.weight[tokenizer.target.bos_id] = 0.0
    written(tmp_path / "zeros", model, tokenizer)
    with pytest.raises(RunError, match="float32 is needed for format=marian; got float16"):
        written(tmp_path / "half", model, tokenizer, quantization="float16")


def test_pieces_that_cannot_be_printed_are_refused(tiny_model, tmp_path):
    model = sentencepiece_model(("ab", "a\u200fb"), "char", 20, "identity")
    tokenizer = Tokenizer.of_models(model)
    with pytest.raises(RunError, match="pieces that can be printed"):
        written(tmp_path / "model", random_model(tiny_model, tokenizer, norm="post"), tokenizer)


def test_the_command(nmt, trained_run, tmp_path):
    refused = nmt("export", f"run={trained_run}", "format=marian", "output=model", code=2).stderr
    assert b"model.zero_start=true is needed" in refused
    shutil.copytree(trained_run, tmp_path / "run")
    few = "training.max_updates=2", "training.update_tokens=400", "training.validate_every=2"
    nmt(
        "train",
        "run=zeros",
        "training.from_run=run",
        "model.zero_start=true",
        *few,
        "decoding.max_length_extra=3",
    )
    out = nmt("export", "run=zeros", "format=marian", "output=model").stdout
    assert b"identical      20  token by token, at least 20 are needed" in out
    page = (tmp_path / "model" / "README.md").read_text()
    assert "marian-decoder -c decoder.yml" in page
    nmt("import", "format=marian", "input=model", "output=back")
    lines = "Der Hund schläft.\nDie Lehrerin kauft ein Buch.\n".encode()
    greedy = (
        "decoding=greedy",
        "decoding.max_length_ratio=1",
        "decoding.max_length_extra=3",
        "precision=float32",
    )
    both = [nmt("translate", f"run={run}", *greedy, stdin=lines).stdout for run in ("zeros", "back")]
    assert both[0] == both[1]

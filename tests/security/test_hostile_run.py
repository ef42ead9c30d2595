"""Runs from strangers: each either translates as before, or is refused in one line; none hangs, writes or runs code."""

import json
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from nmt.errors import RunError
from nmt.runs.migration import FORMAT
from nmt.runs.weights import read_shapes

FILES = (
    "config.json", "tokenizer.model", "best.json", "last.json", "train.log", "metrics.jsonl", "test.json", "run.json",
    "confidence.json",
    "checkpoints/step-000002/model.safetensors", "checkpoints/step-000002/manifest.json",
    "checkpoints/step-000002/training.safetensors", "checkpoints/step-000002/state.json",
)  # fmt: skip
# Read by nobody who translates, or without a part in the text.
SILENT = {
    "confidence.json",
    "last.json",
    "train.log",
    "metrics.jsonl",
    "test.json",
    "run.json",
    "training.safetensors",
    "state.json",
}


def tree(folder: Path) -> dict[str, object]:
    """Return everything in a folder: of files the content, of the rest the kind."""
    return {
        str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else path.lstat().st_mode
        for path in sorted(folder.rglob("*"))
    }


def is_refused(outcome: tuple[object, bytes, str]) -> bool:
    code, out, err = outcome
    return (
        code == 2
        and out == b""
        and err.startswith("nmt: ")
        and err.count("\n") == 1
        and err[:-1].isprintable()
    )


@pytest.fixture
def judge(good_run, victim, command, tmp_path, monkeypatch):
    """Return a function that spoils copies of the run, and returns what became of those that were not just refused.

    The outcome `as before` is that of a run that translates as if nothing were; nothing may be written by any.
    """

    def translate(run: Path) -> tuple[object, bytes, str]:
        return command("translate", f"run={run}", "device=cpu", "precision=float32")

    (tmp_path / "outside").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    code, expected, _ = translate(good_run)
    assert code == 0
    assert expected.count(b"\n") == 3

    def judge(mutations: dict[str, Callable]) -> dict[str, object]:
        found = {}
        for name, spoil in mutations.items():
            spoiled = victim()
            spoil(spoiled)
            before = tree(tmp_path)
            outcome = translate(spoiled.path)
            assert tree(tmp_path) == before, f"{name} wrote something"
            if outcome == (0, expected, ""):
                found[name] = "as before"
            elif not is_refused(outcome):
                found[name] = outcome
        return found

    return judge


def damages() -> dict[str, Callable]:
    """Return what can happen to the bytes of each file by itself."""
    generator = random.Random(0)

    def damage(name: str, change: Callable[[bytes], bytes]) -> Callable:
        def spoil(victim):
            path = victim.path / name
            path.write_bytes(change(path.read_bytes()))

        return spoil

    def flip(share: float, bit: int) -> Callable[[bytes], bytes]:
        def change(content: bytes) -> bytes:
            at = int(share * len(content))
            return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]

        return change

    found = {}
    for name in FILES:
        for _ in range(5):
            share, bit = generator.random(), generator.randrange(8)
            found[f"{name} flipped at {share}, {bit}"] = damage(name, flip(share, bit))
        for _ in range(2):
            share = generator.random()
            found[f"{name} cut at {share}"] = damage(
                name, lambda content, share=share: content[: int(share * len(content))]
            )
        noise = generator.randbytes(300)
        found[f"{name} empty"] = damage(name, lambda content: b"")
        found[f"{name} noise"] = damage(name, lambda content, noise=noise: noise)
        found[f"{name} not UTF-8"] = damage(name, lambda content: b"\xff\xfe" + content)
        found[f"{name} twice"] = damage(name, lambda content: content + content)
    return found


def test_damaged_files(judge):
    outcomes = judge(damages())
    for name, outcome in outcomes.items():
        file = name.split(" ")[0].split("/")[-1]
        if file in SILENT:
            assert outcome == "as before", name
        elif file == "config.json" and "flipped" in name and outcome != "as before":
            # Another digit may be another setting, as good as the first; then that is what translates.
            code, out, err = outcome
            assert (code, out.count(b"\n"), err) == (0, 3, ""), name
        else:
            assert outcome == "as before", (name, outcome)
            assert "flipped" in name, (name, outcome)
            assert file in ("config.json", "manifest.json", "best.json"), (name, outcome)


def in_place_of(name: str, make: Callable[[Path, Path], None]) -> Callable:
    def spoil(victim):
        path = victim.path / name
        kept = path.with_name("kept")
        path.rename(kept)
        make(path, kept)

    return spoil


def things() -> dict[str, Callable]:
    """Return what can be in place of a file or a folder."""
    makers = {
        "missing": lambda path, kept: None,
        "a pipe": lambda path, kept: os.mkfifo(path),
        "a folder": lambda path, kept: path.mkdir(),
        "a link to /dev/zero": lambda path, kept: path.symlink_to("/dev/zero"),
        "a link to /etc/passwd": lambda path, kept: path.symlink_to("/etc/passwd"),
        "a link beside": lambda path, kept: path.symlink_to(kept.name),
        "a link to itself": lambda path, kept: path.symlink_to(path),
        "a link outside": lambda path, kept: path.symlink_to("../outside"),
    }
    found = {f"{name} is {kind}": in_place_of(name, make) for name in FILES for kind, make in makers.items()}
    for name in ("checkpoints", "checkpoints/step-000002"):
        for kind, make in makers.items():
            found[f"{name} is {kind}"] = in_place_of(name, make)
    found["a pipe that nobody knows"] = lambda victim: os.mkfifo(victim.path / "pipe")
    found["a link that nobody knows"] = lambda victim: (victim.path / "checkpoints" / "up").symlink_to("..")
    found["folders without end"] = lambda victim: (victim.path / "/".join("d" * 40)).mkdir(parents=True)
    return found


def test_other_things_in_place_of_files(judge):
    outcomes = judge(things())
    harmless = {f"{name} is {kind}" for name in FILES for kind in ("missing", "a folder")}
    assert {name: outcome for name, outcome in outcomes.items() if outcome != "as before"} == {}
    assert {name for name in outcomes if name.split(" ")[0].split("/")[-1] not in SILENT} == set()
    assert outcomes.keys() <= harmless


SETTINGS = [
    ("model", None), ("model", "transformer"), ("model", []), ("model", {}), ("model", {"kind": []}), ("model", 3),
    ("tokenizer", None), ("tokenizer", "kind"), ("decoding", "kind"), ("decoding", ["kind"]), ("decoding", {"kind": {}}),
    ("format", None), ("format", FORMAT + 1), ("format", str(FORMAT)), ("format", [2]), ("format", 10**400),
    ("model.kind", "rnn"), ("model.kind", "../../etc"), ("model.kind", "${oc.env:HOME}"), ("model.kind", None),
    ("model.kind", "transformer\nnmt: fine"), ("model.kind", "\x1b[2J"), ("model.kind", "os.system"),
    ("model._target_", "os.system"), ("decoding._target_", "os.system"), ("tokenizer._target_", "builtins.exec"),
    ("model.d_model", 10**9), ("model.d_model", 65_536), ("model.d_model", 10**18), ("model.d_model", 10**4000),
    ("model.d_model", "${oc.env:HOME}"), ("model.d_model", "???"), ("model.d_model", -16), ("model.d_model", 1.5),
    ("model.d_model", [16]), ("model.d_model", {"a": 1}), ("model.d_model", True), ("model.d_model", 32),
    ("model.d_ff", 10**9), ("model.d_ff", 65_536), ("model.num_encoder_layers", 10**6), ("model.num_encoder_layers", 1000),
    ("model.num_decoder_layers", 10**6), ("model.num_decoder_layers", 2), ("model.num_heads", 10**9),
    ("model.num_heads", 0), ("model.max_positions", 10**12), ("model.max_relative_distance", 10**12),
    ("model.positions", "learned"), ("model.positions", "relative"), ("model.positions", "/etc/passwd"),
    ("model.dropout", float("nan")), ("model.dropout", float("inf")), ("model.dropout", -1), ("model.dropout", "1e999"),
    ("model.norm", "pre\x00"), ("model.norm", "\ud800"), ("model.activation", "swiglu"),
    ("tokenizer.joint", False), ("tokenizer.joint", "maybe"), ("tokenizer.kind", "${oc.env:PATH}"),
    ("tokenizer.vocabulary_size", -1), ("tokenizer.vocabulary_size", 10**9), ("tokenizer.model", float("-inf")), ("tokenizer.model", ["a"]),
    ("decoding.kind", "beam,greedy"), ("decoding.kind", "../train"), ("decoding.kind", "beam}"), ("decoding.kind", "'"),
    ("decoding.beam_size", 10**9), ("decoding.beam_size", 0), ("decoding.beam_size", "2; rm"), ("decoding.beam_size", None),
    ("decoding.max_length_extra", 10**9), ("decoding.max_length_extra", 10**17), ("decoding.max_length_ratio", 10**300),
    ("decoding.max_length_ratio", float("inf")), ("decoding.max_source_tokens", 10**12), ("decoding.min_length", 10**12),
    ("decoding.max_tokens", 10**15), ("decoding.length_penalty", 1e300), ("decoding.length_penalty", float("nan")),
    ("decoding.length_penalty_kind", {"_target_": "os.system"}),
]  # fmt: skip
# What asks for nothing else of this run.
SAME = [
    ("_target_", "os.system"), ("data", None), ("training", "${oc.env:HOME}"), ("hydra", {"run": {"dir": "/"}}),
    ("run", "../../outside"), ("tokenizer.model", "../../etc/passwd"), ("tokenizer.vocabulary_size", 10**6),
    ("model.d_ff", "32"), ("format", 1),
]  # fmt: skip


def settings(pairs) -> dict[str, Callable]:
    return {
        f"{key}={str(value)[:30]!r}": lambda victim, key=key, value=value: victim.edit_config(key, value)
        for key, value in pairs
    }


def test_settings(judge):
    assert judge(settings(SETTINGS)) == {}
    assert judge(settings(SAME)) == dict.fromkeys(settings(SAME), "as before")


def written(name: str, content: bytes) -> Callable:
    def spoil(victim):
        (victim.path / name).write_bytes(content)

    return spoil


def pointers() -> dict[str, Callable]:
    contents = [
        b"", b"{}", b"[]", b"4", b"null", b"true", b'"last"', b'{"step": "../../etc"}', b'{"step": null}', b'{"step": []}',
        b'{"step": true}', b'{"step": 2.0}', b'{"step": 2e0}', b'{"step": -2}', b'{"step": 3}', b'{"step": NaN}',
        b'{"step": 1e999}', b'{"step": ' + b"9" * 5000 + b"}", b'{"step": 2, "step": 2}', b'{"step": "000002"}',
        b"[" * 100_000, b'{"step":' * 2000 + b"2" + b"}" * 2000, b'{"a": [[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]], "step": 2}',
        b"\xff\xfe{\x00}\x00", b'{"step": 2}\x00', b" " * (1 << 23) + b'{"step": 2}', b"\x80\x04\x95.",
    ]  # fmt: skip
    found = {f"best.json {content[:30]!r}": written("best.json", content) for content in contents}
    name = "checkpoints/step-000002/manifest.json"
    facts = [
        b"{}",
        b'{"model.safetensors": null}',
        b'{"model.safetensors": {"bytes": 1}}',
        b"[]",
        b"[" * 100_000,
    ]
    return found | {f"manifest {content[:30]!r}": written(name, content) for content in facts}


def test_pointers_and_manifests(judge):
    assert judge(pointers()) == {}


def headers() -> dict[str, Callable]:
    """Return what a header of weights can claim."""

    def claim(key: str, value: object) -> Callable:
        def change(header):
            name = sorted(header)[0]
            header[name] = value(header[name]) if callable(value) else {**header[name], key: value}

        return lambda victim: victim.edit_header(change)

    def whole(change: Callable) -> Callable:
        return lambda victim: victim.edit_header(change)

    def rename(new: str) -> Callable:
        return whole(lambda header: {new if i == 0 else n: header[n] for i, n in enumerate(sorted(header))})

    def raw(change: Callable[[bytes], bytes]) -> Callable:
        return lambda victim: victim.write_weights(change(victim.weights.read_bytes()))

    def of_length(length: int) -> Callable:
        return raw(lambda content: struct.pack("<Q", length) + content[8:])

    lengths = (0, 1, 7, 10**5, 10**8, 2**32, 2**63, 2**64 - 1)
    shapes = (
        [],
        [0],
        [10**9, 10**9],
        [-1, -1],
        [2**62, 4],
        ["a"],
        None,
        "8,8",
        [1.5],
        [True],
        [[1]],
        [10**30],
    )
    offsets = (
        [],
        [0],
        [0, 0],
        [0, 10**12],
        [-4, 0],
        [10, 0],
        ["0", "8"],
        None,
        [0, 1, 2],
        [2**63, 2**63 + 8],
    )
    types = ("F8_E4M3", "BOOL", "I64", "U8", "F64", "F16", "object", "", None, 3, ["F32"])
    names = ("", "../../etc/passwd", "a" * 10_000, "x\ny", "\x1b[2J", "encoder.layers.99.x", "__class__")
    return (
        {f"length {length}": of_length(length) for length in lengths}
        | {f"shape {shape}": claim("shape", shape) for shape in shapes}
        | {f"offsets {place}": claim("data_offsets", place) for place in offsets}
        | {f"type {name}": claim("dtype", name) for name in types}
        | {f"name {name[:20]!r}": rename(name) for name in names}
        | {
            "an entry more": claim("extra", 1),
            "an entry that is a list": claim("", lambda entry: [entry]),
            "an entry that is null": claim("", lambda entry: None),
            "no entries": whole(lambda header: b"{}"),
            "no object": whole(lambda header: b"[]"),
            "no JSON": whole(lambda header: b"{'a': 1}"),
            "deep": whole(lambda header: b"[" * 100_000),
            "names twice": whole(
                lambda header: (json.dumps(header)[:-1] + ", " + json.dumps(header)[1:]).encode()
            ),
            "a million entries": whole(
                lambda header: json.dumps(
                    {str(i): {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(10**5)}
                ).encode()
            ),
            "one tensor less": whole(lambda header: {name: header[name] for name in sorted(header)[1:]}),
            "two at one place": whole(lambda header: dict.fromkeys(header, header[sorted(header)[0]])),
            "bytes behind": raw(lambda content: content + b"\0" * 8),
            "bytes less": raw(lambda content: content[:-8]),
            "not a number": raw(lambda content: content[:-4] + struct.pack("<f", float("nan"))),
            "infinite": raw(lambda content: content[:-4] + struct.pack("<f", float("-inf"))),
            "a pickle": raw(lambda content: b"\x80\x04cos\nsystem\n(Vtouch ../outside/x\ntR."),
            "a zip": raw(lambda content: b"PK\x03\x04" + content),
        }
    )


def test_headers_of_weights(judge):
    # The reader of safetensors passes over what it does not know, and takes the last of two entries of one name.
    assert judge(headers()) == {"an entry more": "as before", "names twice": "as before"}


@pytest.mark.parametrize(
    ("places", "size"),
    [
        ([[0, 8], [8, 16]], 15),
        ([[0, 8], [8, 16]], 17),
        ([[0, 8], [0, 8]], 8),
        ([[0, 8], [9, 17]], 17),
        ([[8, 16]] * 2, 16),
    ],
)
def test_tensors_fill_their_file(tmp_path, places, size):
    entries = {
        str(i): {"dtype": "F32", "shape": [2], "data_offsets": place} for i, place in enumerate(places)
    }
    header = json.dumps(entries).encode()
    (tmp_path / "x").write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
    with pytest.raises(RunError, match="undamaged weights are needed"):
        read_shapes(tmp_path / "x")


def test_other_metadata_and_order_change_nothing(judge):
    def annotate(header):
        return {
            "__metadata__": {"by": "a stranger"},
            **{name: header[name] for name in sorted(header, reverse=True)},
        }

    assert judge({"annotated": lambda victim: victim.edit_header(annotate)}) == {"annotated": "as before"}


def field(number: int, content: bytes | int | float) -> bytes:
    """Return a field of a protobuf message."""

    def varint(value: int) -> bytes:
        low, rest = value & 127, value >> 7
        return bytes([low | 128]) + varint(rest) if rest else bytes([low])

    if isinstance(content, bytes):
        return varint(number << 3 | 2) + varint(len(content)) + content
    if isinstance(content, float):
        return varint(number << 3 | 5) + struct.pack("<f", content)
    return varint(number << 3) + varint(content)


def vocabularies() -> dict[str, Callable]:
    """Return what can be wrong with a SentencePiece model, as somebody makes it who knows what the manifest says."""
    generator = random.Random(1)

    def changed(change: Callable[[bytes], bytes]) -> Callable:
        def spoil(victim):
            path = victim.path / "tokenizer.model"
            path.write_bytes(change(path.read_bytes()))
            victim.describe(path)

        return spoil

    def piece(text: bytes, score: float = -1.0) -> bytes:
        return field(1, field(1, text) + field(2, score))

    root = struct.pack("<I", 1024) + struct.pack("<I", 0xFFFFFE00) + bytes(1020) + b"abc\0"
    added = {
        "a piece more": piece(b"xyzzy"),
        "a piece of ten million letters": piece(b"x" * 10_000_000),
        "a piece that is not UTF-8": piece(b"\xff\xfe"),
        "an empty piece": piece(b""),
        "a score that is no number": piece(b"xyzzy", float("nan")),
        "a normalization that leads outside": field(3, field(2, root)),
        "a normalization of a strange size": field(3, field(2, b"\xff\xff\xff\xff")),
        "padding that is the end": field(2, field(48, b"</s>")),
        "another kind": field(2, field(3, 77)),
    }
    flips = {}
    for _ in range(40):
        share, bit = generator.random(), generator.randrange(8)

        def flip(content, share=share, bit=bit):
            at = int(share * len(content))
            return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]

        flips[f"flip {share}"] = changed(flip)
    not_text = {
        "pieces that are not UTF-8": changed(lambda content: content.replace("▁".encode(), b"\xff\x96\x81"))
    }
    appended = {
        name: changed(lambda content, field=content: content + field) for name, content in added.items()
    }
    return flips | not_text | appended


def test_vocabularies(judge):
    outcomes = judge(vocabularies())
    for (
        name,
        outcome,
    ) in outcomes.items():  # another piece or score is another vocabulary, as good as the first
        if outcome != "as before":
            code, out, err = outcome
            assert (code, out.count(b"\n"), err) == (0, 3, ""), name
    assert {name for name in outcomes if not name.startswith("flip")} <= {"another kind"}


def test_there_are_hundreds_of_them():
    groups = (damages(), things(), settings(SETTINGS), settings(SAME), pointers(), headers(), vocabularies())
    assert sum(map(len, groups)) >= 400

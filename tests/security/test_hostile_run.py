"""Runs from strangers: each either translates as before, or is refused in one line; none hangs, writes or runs code."""

import os
import random
from collections.abc import Callable
from pathlib import Path

from nmt.runs.migration import FORMAT

FILES = (
    "config.json", "tokenizer.model", "best.json", "last.json", "train.log", "metrics.jsonl", "test.json", "run.json",
    "confidence.json",
    "checkpoints/step-000002/model.safetensors", "checkpoints/step-000002/manifest.json",
    "checkpoints/step-000002/training.safetensors", "checkpoints/step-000002/state.json",
)  # fmt: skip
# Files that translating does not read, or that do not affect the text.
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


def damages() -> dict[str, Callable]:
    """Return ways to damage the bytes of each single file."""
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
            # Another digit may make another valid setting, with which the run then translates.
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
    """Return things that can stand in place of a file or a folder."""
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
# Settings that change nothing for this run.
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


def test_there_are_hundreds_of_them():
    groups = (damages(), things(), settings(SETTINGS), settings(SAME), pointers())
    assert sum(map(len, groups)) >= 350

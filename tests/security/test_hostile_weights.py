"""Weights and vocabularies from strangers who forge the manifest, too: they translate, or are refused in one line."""

import json
import random
import struct
from collections.abc import Callable

import pytest

from nmt.errors import RunError
from nmt.runs.weights import read_shapes


def headers() -> dict[str, Callable]:
    """Return false claims of a header of weights."""

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
            "a hundred thousand entries": whole(
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
    # The reader of safetensors ignores unknown keys, and takes the last of two entries of one name.
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
    """Return faults of a SentencePiece model, made by somebody who forges the manifest, too."""
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
    for name, outcome in outcomes.items():  # another piece or score may make another valid vocabulary
        if outcome != "as before":
            code, out, err = outcome
            assert (code, out.count(b"\n"), err) == (0, 3, ""), name
    assert {name for name in outcomes if not name.startswith("flip")} <= {"another kind"}


def test_there_are_a_hundred_of_them():
    assert len(headers()) + len(vocabularies()) >= 100

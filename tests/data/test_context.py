"""Context: which lines stand before a line, also in filtered text, several files, chunks and shards."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmt.config import TokenizerSettings
from nmt.data import dataset as dataset_module
from nmt.data import lines as lines_module
from nmt.data.context import Context, Surroundings, context_symbols, require_context, with_lines_before
from nmt.data.corpus import ParallelText, read_parallel_files
from nmt.data.dataset import Ids, load_dataset
from nmt.data.shards import Shard, lines_before
from nmt.data.tokenizer import obtain_tokenizer
from nmt.errors import DataError, SettingsError
from nmt.training.pairs import lengths_behind

SEPARATOR = 99


def letters(num_lines):
    """Return a tokenizer of letters with the symbol for so many lines of context."""
    settings = TokenizerSettings(
        kind="char", vocabulary_size=40, joint=True, character_coverage=1.0, byte_fallback=False,
        normalization="identity", model=None,
    )  # fmt: skip
    return obtain_tokenizer(settings, ParallelText(["abcdef"], ["abcdef"]), context_symbols(num_lines))


sentences = st.lists(st.lists(st.integers(1, 9), max_size=4), max_size=12)


def expected(lines, number, num_lines, max_tokens):
    """Return the line after as many of the `num_lines` lines before it as fit, none of them blank."""
    fitting = [lines[number]]
    for count in range(1, num_lines + 1):
        run = lines[number - count : number + 1] if count <= number else [[]]
        joined = [token for line in run for token in [*line, SEPARATOR]][:-1]
        if all(run) and len(joined) <= max_tokens:
            fitting.append(joined)
    return max(fitting, key=len)


@given(sentences, st.integers(0, 3), st.integers(1, 12), st.integers(0, 12))
@example([[1, 1], [2], [3, 3]], 2, 5, 0)
def test_context_is_the_longest_run_of_neighbours_that_fits(lines, num_lines, max_tokens, cut):
    context = Context(num_lines, SEPARATOR)
    joined, short = context.join([], lines, max_tokens)
    assert joined == [expected(lines, i, num_lines, max_tokens) for i in range(len(lines))]
    unlimited = [expected(lines, i, num_lines, 10**6) for i in range(len(lines))]
    assert short == [i for i, whole in enumerate(unlimited) if joined[i] != whole]
    before = lines[:cut][-num_lines:] if num_lines else []
    assert context.join(before, lines[cut:], max_tokens)[0] == joined[cut:]


@given(st.lists(st.integers(), max_size=20), st.integers(0, 3), st.integers(1, 4))
def test_each_chunk_has_the_lines_before_it(lines, num_lines, size):
    chunks = [lines[start : start + size] for start in range(0, len(lines), size)]
    found = list(with_lines_before(chunks, num_lines))
    assert [chunk for chunk, _ in found] == chunks
    for number, (_, before) in enumerate(found):
        place = number * size
        assert list(before) == lines[max(0, place - num_lines) : place]


def test_the_vocabulary_says_how_many_lines_there_are():
    assert context_symbols(0) == []
    with_context, without = letters(12), letters(0)
    separator = with_context.source.pieces.index("<context=12>")
    assert Context.of(with_context.source) == (12, separator)
    assert Context.of(without.source).num_lines == 0
    assert require_context(with_context, 12).separator_id == separator
    for tokenizer, wanted in ((with_context, 1), (with_context, 0), (without, 1)):
        with pytest.raises(SettingsError, match=r"data.context: (12|0) is needed, since the vocabulary"):
            require_context(tokenizer, wanted)


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_a_data_set_has_the_neighbours_of_the_text_as_it_was_read(monkeypatch, at_once):
    monkeypatch.setattr(dataset_module, "LINES_ENCODED_AT_ONCE", at_once)
    tokenizer = letters(2)
    context = Context.of(tokenizer.source)
    lines = ["ab", "c", "\u3000", "de", "f", "abcdef", "a", "b", "cc"]
    kept = np.array([True, False, True, True, True, True, False, True, True])
    text = ParallelText(*[[line for line, keep in zip(lines, kept, strict=True) if keep]] * 2)
    own = tokenizer.source.encode([line.replace("\u3000", "") for line in lines])
    # A file begins with line 3, which follows a blank one, and with line 7.
    joined = [*context.join([], own[:7], 8)[0], *context.join([], own[7:], 8)[0]]
    short = [*context.join([], own[:7], 8)[1], *(7 + i for i in context.join([], own[7:], 8)[1])]
    found = load_dataset(text, tokenizer, Surroundings(context, 8, lines, kept, (3, 7)))
    wanted = Ids.of([ids for ids, keep in zip(joined, kept, strict=True) if keep])
    assert found.source.tokens.tolist() == wanted.tokens.tolist()
    assert found.source.offsets.tolist() == wanted.offsets.tolist()
    assert found.num_short == sum(bool(kept[i]) for i in short) > 0
    alone = load_dataset(text, tokenizer)
    assert alone.target.tokens.tolist() == found.target.tokens.tolist()
    assert context.separator_id not in alone.source.tokens.tolist()


def test_the_cache_knows_the_context():
    tokenizer = letters(1)
    context, lines = Context.of(tokenizer.source), ["ab", "c", "ab", "d"]
    kept = np.array([False, True, False, True])
    text = ParallelText(["c", "d"], ["c", "d"])
    ways = [
        None,
        Surroundings(context, 20, lines, kept),
        Surroundings(context, 3, lines, kept),
        Surroundings(context, 20, ["ab", "c", "b", "d"], kept),
        Surroundings(context, 20, lines, kept, (3,)),
        Surroundings(context, 20, lines, np.array([False, True, True, False])),
    ]
    files = [load_dataset(text, tokenizer, way).source.offsets.filename for way in ways]
    assert len(set(files)) == len(ways)
    assert files == [load_dataset(text, tokenizer, way).source.offsets.filename for way in ways]


@given(sentences, st.integers(1, 3))
def test_lengths_are_those_of_lines_without_their_context(lines, num_lines):
    joined, _ = Context(num_lines, SEPARATOR).join([], lines, 12)
    assert lengths_behind(Ids.of(joined), SEPARATOR).tolist() == list(map(len, lines))


def test_files_of_a_list_are_documents(tmp_path):
    for name, content in (("a", "1\n2\n"), ("b", "3\n"), ("c", "4\n5\n")):
        (tmp_path / name).write_text(content)
    a, b, c = (str(tmp_path / name) for name in "abc")
    text = read_parallel_files([a, b, c], [a, b, c], "data.train", context=1)
    assert (text.source, text.starts) == (["1", "2", "3", "4", "5"], (2, 3))
    assert read_parallel_files([a, b, c], [a, b, c], "data.train").starts == ()
    with pytest.raises(DataError, match=r"data.train: as many files of source as of target .* got 3 and 2"):
        read_parallel_files([a, b, c], [a, c], "data.train", context=1)
    with pytest.raises(DataError, match=r"data.train: as many lines"):
        read_parallel_files([a, b, c], [b, a, c], "data.train", context=1)


@pytest.mark.parametrize(
    "content", [b"a\n\nbb\r\nccc\n", "ä\nö\nü".encode(), b"\xef\xbb\xbfa\nb\n", b"\n" * 5]
)
@pytest.mark.parametrize("block", [1, 2, 1000])
def test_a_shard_has_the_lines_before_it(tmp_path, monkeypatch, content, block):
    path = tmp_path / "text"
    path.write_bytes(content)
    monkeypatch.setattr("nmt.data.shards.BLOCK_SIZE", block)
    whole = [line.decode() for line in lines_module.read_raw_lines(path, "input")]
    for count in (1, 2, 3, 7):
        for number in range(1, count + 1):
            start, _ = Shard(number, count).span(str(path), "input")
            num_before = content[:start].count(b"\n")
            for num_lines in (0, 1, 2, 9):
                wanted = whole[max(0, num_before - num_lines) : num_before]
                assert lines_before(str(path), "input", start, num_lines) == wanted


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("data=mixture data.pairs=[{source:a,target:b,train:[x,y],validation:[x,y]}]", "with data=mixture"),
        ("data=opus data.corpora=[x] data.source=a data.target=b", "where pairs are held out"),
        (
            "data=opus data.corpora=[x] data.source=a data.target=b data.validation=wmt13:de-en",
            "are held out",
        ),
        ("data=grammar data.context=100", "data.context"),
        ("data=grammar data.context=-1", "data.context"),
    ],
)
def test_text_without_neighbours_is_refused(main, settings, message):
    code, _, err = main("train", "data.context=1", *settings.split())
    assert code == 2
    assert "data" in err
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("kind", ["table", "tmx data.source=de data.target=en"])
def test_a_folder_without_tables_is_no_text(main, tmp_path, kind):
    (tmp_path / "empty").mkdir()
    given = [f"data.{split}={tmp_path}/empty" for split in ("train", "validation")]
    code, _, err = main("data", *f"data={kind}".split(), *given, "data.context=1")
    assert (code, err) == (2, f"nmt: data.train: text is needed; got none in {tmp_path}/empty\n")


@pytest.mark.parametrize("kind", ["files", "table"])
def test_validation_text_of_several_files_is_refused(main, tmp_path, kind):
    for name in ("a.tsv", "b.tsv", "a.source", "b.source", "a.target", "b.target"):
        (tmp_path / name).write_text("source\ttarget\nx\ty\n")
    if kind == "table":
        paths = f"[{tmp_path}/a.tsv,{tmp_path}/b.tsv]"
        given_files = [f"data.train={paths}", f"data.validation={paths}"]
    else:
        splits = ("train", "validation")
        given_files = [
            f"data.{split}.{side}=[{tmp_path}/a.{side},{tmp_path}/b.{side}]"
            for split in splits
            for side in ("source", "target")
        ]
    code, _, err = main("data", f"data={kind}", *given_files, "data.context=1")
    assert code == 2
    assert err == (
        "nmt: data.validation: one file is needed with data.context=1, with blank lines between documents; got 2\n"
    )

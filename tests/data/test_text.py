"""Text: lines, vocabularies, ids, and the cache."""

import gzip

import numpy as np
import pytest
import sentencepiece
from hypothesis import assume, given
from hypothesis import strategies as st

from nmt.cli.compose import compose
from nmt.config import TokenizerSettings
from nmt.data.cache import content_key
from nmt.data.corpus import ParallelText, read_parallel_files
from nmt.data.dataset import load_dataset, select_pairs
from nmt.data.encoding import find_wide
from nmt.data.lines import read_lines, read_raw_lines
from nmt.data.sources import load_corpus
from nmt.data.tokenizer import Tokenizer, obtain_tokenizer
from nmt.errors import DataError, SettingsError
from nmt.models.build import parameter_shapes

GERMAN = ["das ist ein Haus", "der Hund schläft", "wir lesen ein Buch", "sie kauft Brot und Käse"] * 5
ENGLISH = ["this is a house", "the dog sleeps", "we read a book", "she buys bread and cheese"] * 5


def tokenizer_settings(**changes):
    defaults = {
        "kind": "bpe", "vocabulary_size": 50, "character_coverage": 1.0, "byte_fallback": False,
        "normalization": "identity", "joint": True, "model": None,
    }  # fmt: skip
    return TokenizerSettings(**{**defaults, **changes})


@given(st.lists(st.binary().filter(lambda line: b"\n" not in line)))
def test_a_line_ends_at_line_feed_and_nowhere_else(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    assume(find_wide(path.read_bytes()) is None)
    expected = [line.removesuffix(b"\r") for line in lines]
    if expected:
        expected[0] = lines[0].removeprefix(b"\xef\xbb\xbf").removesuffix(b"\r")
    assert list(read_raw_lines(path, "key")) == expected


def test_line_separators_of_unicode_stay_inside_their_line(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress("\ufeffeins\u2028zwei\u0085drei\rvier\r\nfünf".encode()))
    assert read_lines(str(path), "key") == ["eins\u2028zwei\u0085drei\rvier", "fünf"]


def test_damaged_gzip_is_an_error(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"word\n" * 1000)[:-20])
    with pytest.raises(DataError, match=r"^data.x: a readable file is needed; got .*text.gz"):
        read_lines(str(path), "data.x")


def test_files_of_a_side_follow_each_other(tmp_path):
    for name, content in {"a.de": "eins\nzwei\n", "b.de": "drei", "all.en": "one\ntwo\nthree\n"}.items():
        (tmp_path / name).write_text(content)
    text = read_parallel_files(
        [str(tmp_path / "a.de"), str(tmp_path / "b.de")], str(tmp_path / "all.en"), "key"
    )
    assert text == ParallelText(["eins", "zwei", "drei"], ["one", "two", "three"])


def test_multi30k_is_found_by_its_names(tmp_path, data_settings):
    for name in ("train", "val", "test_2016_flickr"):
        (tmp_path / f"{name}.en").write_text(f"{name} english\n")
        (tmp_path / f"{name}.fr").write_text(f"{name} french\n")
    corpus = load_corpus(
        data_settings("multi30k", f"directory={tmp_path}", "source_language=fr", "target_language=en")
    )
    assert corpus.train == ParallelText(["train french"], ["train english"])
    assert corpus.test == ParallelText(["test_2016_flickr french"], ["test_2016_flickr english"])


def test_a_damaged_file_of_multi30k_is_of_the_key_of_its_folder(tmp_path, data_settings):
    (tmp_path / "train.de").write_text("eins\n")
    (tmp_path / "train.en").write_bytes(b"\xff\n")
    with pytest.raises(DataError, match=r"^data.directory: UTF-8 text is needed"):
        load_corpus(data_settings("multi30k", f"directory={tmp_path}"))


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
@pytest.mark.parametrize("joint", [True, False])
def test_text_survives_the_way_to_ids_and_back(kind, joint):
    tokenizer = obtain_tokenizer(
        tokenizer_settings(kind=kind, joint=joint, vocabulary_size=100 if kind == "word" else 32),
        ParallelText(GERMAN, ENGLISH),
    )
    assert tokenizer.joint == joint
    for vocabulary, lines in ((tokenizer.source, GERMAN), (tokenizer.target, ENGLISH)):
        assert [vocabulary.decode(ids) for ids in vocabulary.encode(lines)] == lines
        specials = [vocabulary.pad_id, vocabulary.unk_id, vocabulary.bos_id, vocabulary.eos_id]
        assert specials == [0, 1, 2, 3]
        assert vocabulary.decode([2, *vocabulary.encode(lines)[0], 3, 0, 0]) == lines[0]


def test_byte_fallback_spells_what_was_never_seen():
    text = ParallelText(GERMAN, ENGLISH)
    spelled = obtain_tokenizer(tokenizer_settings(byte_fallback=True, vocabulary_size=320), text).source
    assert spelled.decode(spelled.encode(["das 🙂"])[0]) == "das 🙂"
    unknown = obtain_tokenizer(tokenizer_settings(), text).source
    assert unknown.unk_id in unknown.encode(["das 🙂"])[0]


# Ways to write "das Mädchen liest" that a reader cannot tell apart.
SAME_TO_A_READER = (
    "das\tMädchen liest", "das\u00a0Mädchen liest", "das\u200b Mädchen liest", "das Ma\u0308dchen liest",
    "\ufeffdas  Mädchen\u3000liest\u2009",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
def test_what_a_reader_cannot_tell_apart_is_the_same_text(kind):
    typed = [f"tokenizer={kind}", "tokenizer.vocabulary_size=45"]
    settings = compose("train", typed, None).settings().tokenizer
    german = [*GERMAN, "das Mädchen liest"]
    vocabulary = obtain_tokenizer(settings, ParallelText(german, ENGLISH)).source
    assert vocabulary.normalization == "nmt_nfkc"
    (plain,) = vocabulary.encode(["das Mädchen liest"])
    assert vocabulary.unk_id not in plain
    assert vocabulary.encode(SAME_TO_A_READER) == [plain] * len(SAME_TO_A_READER)


def test_identity_keeps_what_the_default_writes_otherwise():
    text = ParallelText([*GERMAN, "ﬁn ½"], [*ENGLISH, "ﬁn ½"])
    plain = obtain_tokenizer(tokenizer_settings(vocabulary_size=60), text).source
    assert plain.normalization == "identity"
    assert plain.decode(plain.encode(["ﬁn"])[0]) == "ﬁn"
    folded = obtain_tokenizer(tokenizer_settings(vocabulary_size=60, normalization="nmt_nfkc"), text).source
    assert folded.decode(folded.encode(["ﬁn"])[0]) == "fin"
    lines = ["ﬁn", "fin", "das\u00a0ist", "", "▁"]
    assert [plain.is_kept(line) for line in lines] == [True] * 5
    assert [folded.is_kept(line) for line in lines] == [False, True, True, True, True]


@pytest.mark.parametrize("model", ["transformer", "attention", "rnn"])
@pytest.mark.parametrize("kind", ["word", "char"])
def test_words_and_characters_need_no_other_setting(kind, model):
    settings = compose("train", [f"tokenizer={kind}", f"model={model}"], None).settings()
    tokenizer = obtain_tokenizer(settings.tokenizer, ParallelText(GERMAN, ENGLISH))
    shapes = parameter_shapes(settings.model, tokenizer)
    rows = {name: shape[0] for name, shape in shapes.items() if "embedding" in name}
    assert rows.get("source_embedding.weight") == tokenizer.source.size
    assert rows.get("target_embedding.weight", tokenizer.source.size) == tokenizer.target.size


@pytest.mark.parametrize(("joint", "is_shared"), [(True, True), (False, False)])
def test_embeddings_are_tied_as_far_as_the_vocabularies_allow(joint, is_shared):
    tokenizer = obtain_tokenizer(tokenizer_settings(joint=joint), ParallelText(GERMAN, ENGLISH))
    settings = compose("train", [f"tokenizer.joint={str(joint).lower()}"], None).settings().model
    names = parameter_shapes(settings, tokenizer).keys()
    assert ("target_embedding.weight" not in names) == is_shared
    assert "output.weight" not in names


def test_special_tokens_that_a_given_model_lacks_get_ids_after_its_pieces(tmp_path):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(GERMAN + ENGLISH),
        model_prefix=str(tmp_path / "given"),
        vocab_size=45,
        minloglevel=2,
    )
    settings = tokenizer_settings(model=str(tmp_path / "given.model"))
    vocabulary = obtain_tokenizer(settings, ParallelText([], [])).source
    assert (vocabulary.unk_id, vocabulary.bos_id, vocabulary.eos_id) == (0, 1, 2)
    assert vocabulary.pad_id == vocabulary.num_pieces == 45
    assert vocabulary.size == 46
    assert vocabulary.decode([45, 1, *vocabulary.encode(["das ist"])[0], 2]) == "das ist"


def test_what_is_no_sentencepiece_model_is_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    with pytest.raises(DataError, match="a SentencePiece model is needed"):
        obtain_tokenizer(tokenizer_settings(model=str(tmp_path / "text")), ParallelText([], []))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_the_largest_vocabulary_that_is_named_works(kind):
    text = ParallelText(GERMAN, ENGLISH)
    with pytest.raises(SettingsError, match=r"at most \d+ is possible") as error:
        obtain_tokenizer(tokenizer_settings(kind=kind, vocabulary_size=9000), text)
    largest = int(str(error.value).split("at most ")[1].split()[0])
    assert (
        obtain_tokenizer(tokenizer_settings(kind=kind, vocabulary_size=largest), text).source.size == largest
    )


def test_ids_on_disk_are_those_of_the_text():
    text = ParallelText([*GERMAN, ""], [*ENGLISH, "x"])
    tokenizer = obtain_tokenizer(tokenizer_settings(), text)
    dataset = load_dataset(text, tokenizer)
    assert isinstance(dataset.source.offsets, np.memmap)
    for ids, vocabulary, lines in (
        (dataset.source, tokenizer.source, text.source),
        (dataset.target, tokenizer.target, text.target),
    ):
        rows = [ids.tokens[a:b].tolist() for a, b in zip(ids.offsets[:-1], ids.offsets[1:], strict=True)]
        assert rows == vocabulary.encode(lines)
    kept, left_out = select_pairs(dataset, max_length=14)
    too_long = [i for i in range(20) if max(dataset.source.lengths[i], dataset.target.lengths[i]) > 14]
    assert 0 < len(too_long) < 20
    assert (len(left_out.empty), len(left_out.too_long)) == (1, len(too_long))
    assert sorted([*kept.tolist(), *too_long, 20]) == list(range(21))
    with pytest.raises(DataError, match=r"up to data.max_length=1 tokens"):
        select_pairs(dataset, max_length=1)


def test_the_cache_tells_texts_and_tokenizers_apart():
    text = ParallelText(GERMAN, ENGLISH)
    tokenizer = obtain_tokenizer(tokenizer_settings(), text)
    first = load_dataset(text, tokenizer)
    assert load_dataset(text, tokenizer).source.offsets.filename == first.source.offsets.filename
    for changed in (ParallelText(GERMAN[::-1], ENGLISH), ParallelText(GERMAN + ENGLISH, GERMAN + ENGLISH)):
        assert load_dataset(changed, tokenizer).source.offsets.filename != first.source.offsets.filename
    other = obtain_tokenizer(tokenizer_settings(kind="char"), text)
    assert load_dataset(text, other).source.offsets.filename != first.source.offsets.filename
    assert content_key(["a", "b"], ["c"]) != content_key(["a"], ["b", "c"])


def test_optional_text_needs_both_sides(data_settings):
    both = [f"{split}.{side}={side}" for split in ("train", "validation") for side in ("source", "target")]
    with pytest.raises(SettingsError, match=r"^data.test.target: a file is needed, since source is given"):
        data_settings("files", *both, "test.source=a")


def test_one_vocabulary_serves_both_sides():
    model = obtain_tokenizer(tokenizer_settings(), ParallelText(GERMAN, ENGLISH)).source.model
    assert Tokenizer.of_models(model).joint
    assert not Tokenizer.of_models(model, model).joint
